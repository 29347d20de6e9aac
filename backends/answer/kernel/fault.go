package kernel

import (
	"fmt"
	"runtime/debug"
)

// Caught calls fn and turns a panic into an error, so that a fault in a goroutine does not end the program.
func Caught(fn func() error) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("the program has failed: %v\n%s", fault, debug.Stack())
		}
	}()
	return fn()
}
