//go:build unix

package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// account is the user that runs a server.
type account struct{ uid, gid int }

// unprivileged returns the account for servers that refuse to run as root, or nil if the test does not run as root.
func unprivileged() (*account, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.Atoi(u.Uid)
		if err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		gid, err := strconv.Atoi(u.Gid)
		if err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		return &account{uid: uid, gid: gid}, nil
	}
	return nil, fmt.Errorf("the test runs as root, and there is no user postgres or nobody to run the server")
}

// apply makes cmd run under the account. For a nil account it does nothing.
func (a *account) apply(cmd *exec.Cmd) {
	if a != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Credential: &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}, //nolint:gosec // ids of the system fit
		}
	}
}
