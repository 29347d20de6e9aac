package cli

import (
	"net"
	"syscall"
)

// peer returns the id of the process at the remote end of a Unix socket, or 0 if it is unknown.
func peer(conn net.Conn) (id int32) {
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return 0
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		if credentials, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil {
			id = credentials.Pid
		}
	})
	return id
}
