package kernel

import (
	"fmt"
	"runtime/debug"
)

// Caught runs a part of the work that has a goroutine of its own: a fault in it is its error, and
// not the end of the program.
func Caught(fn func() error) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("the program has failed: %v\n%s", fault, debug.Stack())
		}
	}()
	return fn()
}
