package cli

import "golang.org/x/sys/windows"

// The errors of listening on an address: another process listens there, the address belongs to another machine, or the
// user lacks the permission.
const (
	errInUse     = windows.WSAEADDRINUSE
	errElsewhere = windows.WSAEADDRNOTAVAIL
	errForbidden = windows.WSAEACCES
)

// permission returns advice for a user who may not listen on a port.
func permission() string {
	return "another program has reserved it for itself, or Windows has; list the reserved ranges with: " +
		"netsh interface ipv4 show excludedportrange protocol=tcp"
}
