//go:build !unix

package testenv

import "os/exec"

// account is the user that runs a server. On this system it is always the user of the test.
type account struct{ uid, gid int }

func unprivileged() (*account, error) { return nil, nil }

func (a *account) apply(*exec.Cmd) {}
