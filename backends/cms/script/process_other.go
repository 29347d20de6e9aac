//go:build !unix && !windows

package script

import "syscall"

// attributes returns the attributes of a worker process.
func attributes() *syscall.SysProcAttr { return nil }
