package outbound

import (
	"errors"
	"net"
	"strings"
	"syscall"
)

// OutOfFiles reports whether a connection could not be made since the process, or
// the machine, has no file descriptor left. The other side has no part in that.
func OutOfFiles(err error) bool {
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return true
	}
	lookup, ok := errors.AsType[*net.DNSError](err) // which keeps only the text
	return ok && (strings.HasSuffix(lookup.Err, syscall.EMFILE.Error()) || strings.HasSuffix(lookup.Err, syscall.ENFILE.Error()))
}
