// Package e2e is the common base for the tests of the running binary: processes with separate folders, a gateway,
// clients and upstreams. The packages below it contain the tests, by subject. Each has a TestMain that calls Run.
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

// Binary is the path of the program under test: the value of TOLLGATE_BIN, or a program built by Run.
var Binary string

// Run runs the tests of a package and returns the exit code.
func Run(m *testing.M) int {
	flag.Parse()
	// The tests mostly wait for processes. So more of them run in parallel, unless the flag was given.
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
	// The configurations of testdata/adapt use these environment variables, and Caddy may write to these folders while
	// it validates them.
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

// program returns the path of the binary. It builds the binary unless TOLLGATE_BIN is set.
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

// root returns the folder of the repository: the closest one around the working directory that has a go.mod.
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

// Repo returns the path of a file of the repository.
func Repo(parts ...string) string { return filepath.Join(append([]string{root()}, parts...)...) }
