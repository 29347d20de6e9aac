package outbound

import (
	"errors"
	"net"
	"strings"
	"syscall"
)

// OutOfFiles reports whether a connection could not be made because the process or the machine has no file descriptor
// left. Such an error is not the other server's fault.
func OutOfFiles(err error) bool {
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return true
	}
	lookup, ok := errors.AsType[*net.DNSError](err) // keeps only the text of the cause
	return ok && (strings.HasSuffix(lookup.Err, syscall.EMFILE.Error()) ||
		strings.HasSuffix(lookup.Err, syscall.ENFILE.Error()))
}
