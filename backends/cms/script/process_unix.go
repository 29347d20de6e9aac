//go:build unix

package script

import "syscall"

// attributes are those of a process for handlers. It has a process group of its own, so that who ends the gateway from a
// terminal lets calls end that run.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
