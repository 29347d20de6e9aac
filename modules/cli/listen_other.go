//go:build !windows

package cli

import (
	"os"
	"runtime"
	"syscall"
)

// The errors of listening on an address: another process listens there, the address belongs to another machine, or the
// user lacks the permission.
const (
	errInUse     = syscall.EADDRINUSE
	errElsewhere = syscall.EADDRNOTAVAIL
	errForbidden = syscall.EACCES
)

// permission returns advice for a user who may not listen on a port.
func permission() string {
	if runtime.GOOS != "linux" {
		return "use a port from 1024 on"
	}
	return "use a port from 1024 on, or allow the program to use it with: sudo setcap cap_net_bind_service=+ep " + os.Args[0]
}
