package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

const nodeLimit = 5 * time.Minute // for all cases of a client

// NodeClients returns the folder of the Node.js clients.
func NodeClients() string { return Repo("cmd/tollgate/testdata/npm") }

// NodeProgram returns the path of node. It fails the test unless the packages are installed in the versions of
// package.json.
func NodeProgram(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("node")
	if err != nil {
		t.Fatalf("%v: run make deps", err)
	}
	var clients struct {
		DevDependencies map[string]string `json:"devDependencies"`
	}
	readJSON(t, filepath.Join(NodeClients(), "package.json"), &clients)
	for name, version := range clients.DevDependencies {
		var installed struct{ Version string }
		readJSON(t, filepath.Join(NodeClients(), "node_modules", name, "package.json"), &installed)
		if installed.Version != version {
			t.Fatalf("%s is installed in version %s, want %s: run make deps", name, installed.Version, version)
		}
	}
	return program
}

// readJSON reads a JSON file into target.
func readJSON(t *testing.T, path string, target any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		t.Fatalf("%v: run make deps", err)
	}
	if err == nil {
		err = json.Unmarshal(text, target)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// RunNode runs one file of tests. It does not use "node --test", which would start a second process for the file that
// also had to be ended.
func RunNode(t *testing.T, program, file string, env ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), nodeLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--test-reporter=spec", file)
	cmd.Dir = NodeClients()
	cmd.Env = append(Environment(t.TempDir()), append(env, "NO_COLOR=1")...)
	out := new(Output)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	Watch(cmd.Process.Pid, true)
	err := cmd.Wait()
	Watch(cmd.Process.Pid, false)
	t.Logf("%s", out)
	if ctx.Err() != nil {
		t.Errorf("%s has not ended after %s", file, nodeLimit)
	} else if err != nil {
		t.Errorf("%s: %v", file, err)
	}
}
