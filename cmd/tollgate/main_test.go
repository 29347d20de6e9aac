package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
)

var update = flag.Bool("update", false, "write what the adapter says now into testdata/adapt")

// binary is the program under test: that of TOLLGATE_BIN, or one built here.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
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
	if binary, err = program(dir); err != nil {
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
		"-tags", "nobadger,nomysql,nopgx", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the program under test: %w\n%s", err, out)
	}
	return path, nil
}
