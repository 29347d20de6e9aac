package cli

import "golang.org/x/sys/windows"

// The errors of listening on an address: somebody else listens there, it is not of this machine, this user may not.
const (
	errInUse     = windows.WSAEADDRINUSE
	errElsewhere = windows.WSAEADDRNOTAVAIL
	errForbidden = windows.WSAEACCES
)

// permission returns what to do if a user may not listen on a port.
func permission() string {
	return "another program has reserved it for itself, or Windows has; list the reserved ranges with: " +
		"netsh interface ipv4 show excludedportrange protocol=tcp"
}
