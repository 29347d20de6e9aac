package kernel

import (
	"fmt"
	"runtime/debug"
)

// Caught calls fn and returns its error. It turns a panic of fn into an error with the stack, so that a fault in a
// goroutine does not end the program.
func Caught(fn func() error) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("the program has failed: %v\n%s", fault, debug.Stack())
		}
	}()
	return fn()
}
