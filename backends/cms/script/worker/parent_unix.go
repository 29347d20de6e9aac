//go:build unix

package worker

import (
	"errors"

	"golang.org/x/sys/unix"
)

// awaitParent returns when the other end of the pipe is closed, because the parent process has ended. A read from the
// pipe would notice this only between two calls; awaitParent also notices it while a call runs.
func awaitParent() {
	for {
		fds := []unix.PollFd{{Fd: 0}} // only the hang-up is of interest
		_, err := unix.Poll(fds, -1)
		if err != nil && !errors.Is(err, unix.EINTR) || fds[0].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0 {
			return
		}
	}
}
