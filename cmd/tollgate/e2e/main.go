// Package e2e is what tests of the running binary share: processes with a folder of their
// own, a gateway, clients and upstreams. The packages below are the tests, by subject;
// each has a TestMain that calls Run.
package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
)

// Binary is the program under test: that of TOLLGATE_BIN, or one built here.
var Binary string

// Run runs the tests of a package. The result is its exit code.
func Run(m *testing.M) int {
	flag.Parse()
	// Most of the time is spent in waiting for processes, not in work.
	if flag.Lookup("test.parallel").Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		if err := flag.Set("test.parallel", "8"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	dir, err := os.MkdirTemp("", "tollgate-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	// What the configurations of testdata/adapt ask the environment for, and a
	// place for what Caddy may write while it validates them.
	for name, value := range map[string]string{
		"XDG_DATA_HOME": dir, "XDG_CONFIG_HOME": dir,
		"TOLLGATE_DSN":        "postgres://tollgate@127.0.0.1/tollgate",
		"TOLLGATE_REDIS_URL":  "redis://127.0.0.1:6379/0",
		"TOLLGATE_MASTER_KEY": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
	} {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	if Binary, err = program(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// program is the path of the binary; without TOLLGATE_BIN it is built.
func program(dir string) (string, error) {
	if path := os.Getenv("TOLLGATE_BIN"); path != "" {
		return filepath.Abs(path)
	}
	path := filepath.Join(dir, "tollgate")
	build := exec.CommandContext(context.Background(), "go", "build", "-buildvcs=false", "-trimpath",
		"-tags", "nobadger,nomysql,nopgx", "-o", path, "github.com/tollgate-gateway/tollgate/cmd/tollgate")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the program under test: %w\n%s", err, out)
	}
	return path, nil
}

var root = sync.OnceValue(func() string {
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	panic("the tests run outside of the repository")
})

// Repo is the path of a file of the repository.
func Repo(parts ...string) string { return filepath.Join(append([]string{root()}, parts...)...) }
