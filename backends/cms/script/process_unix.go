//go:build unix

package script

import "syscall"

// attributes returns the attributes of a worker process: a new process group, so that an interrupt from a terminal does
// not end running calls.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
