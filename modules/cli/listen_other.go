//go:build !windows

package cli

import (
	"os"
	"runtime"
	"syscall"
)

// The errors of listening on an address: somebody else listens there, it is not of this machine, this user may not.
const (
	errInUse     = syscall.EADDRINUSE
	errElsewhere = syscall.EADDRNOTAVAIL
	errForbidden = syscall.EACCES
)

// permission returns what to do if a user may not listen on a port.
func permission() string {
	if runtime.GOOS != "linux" {
		return "use a port from 1024 on"
	}
	return "use a port from 1024 on, or allow the program to use it with: sudo setcap cap_net_bind_service=+ep " + os.Args[0]
}
