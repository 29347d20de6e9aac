//go:build !unix

package script

import "syscall"

// attributes are those of a process for handlers.
func attributes() *syscall.SysProcAttr { return nil }
