//go:build unix

package worker

import (
	"errors"

	"golang.org/x/sys/unix"
)

// awaitParent returns when the process that started this one has gone, and its end of the pipe with it, while a call
// runs, too.
func awaitParent() {
	for {
		fds := []unix.PollFd{{Fd: 0}} // only its end is of interest
		_, err := unix.Poll(fds, -1)
		if err != nil && !errors.Is(err, unix.EINTR) || fds[0].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0 {
			return
		}
	}
}
