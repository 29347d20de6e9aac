package cli

import (
	"net"
	"syscall"
)

// peer is the id of the process at the other end of a Unix socket; 0: unknown.
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
