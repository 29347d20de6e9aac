//go:build !linux

package cli

import "net"

// peer returns the id of the process at the other end of a Unix socket, or 0 if it is unknown. On this system it always
// is.
func peer(net.Conn) int32 { return 0 }
