// Package testenv starts temporary PostgreSQL and Redis servers for tests, on free loopback ports, from the programs
// installed on the machine. If a program is missing, the test fails with the name of the Debian package to install; no
// test is skipped.
package testenv

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	startTimeout = 2 * time.Minute // time until a server answers; machines under load are slow
	stopTimeout  = 60 * time.Second
	pollInterval = 20 * time.Millisecond
)

// supervise is a script that sh runs as the parent of one server. It waits for the end of its standard input, which
// comes when the test process ends, even by a crash. It then stops the server and removes the folder $1. If it reads
// the word "keep", it only stops the server. Unlike a signal bound to the parent's death this works on every Unix and
// does not depend on the lifetime of a thread.
const supervise = `
trap '' INT TERM HUP
dir=$1 log=$2 signal=$3
shift 3
"$@" </dev/null >>"$log" 2>&1 &
pid=$!
read -r word
kill -s "$signal" "$pid"
wait "$pid"
[ "$word" = keep ] || rm -rf "$dir"
`

// server is a server program with its folder and port, running or stopped.
type server struct {
	name    string
	dir     string
	port    int
	signal  string // stops the program in an orderly way
	command []string
	account *account // runs the program; nil for the account of the test
	// answers returns nil once the server can be used.
	answers func() error

	input io.WriteCloser // to the supervisor; nil while stopped
	ended chan struct{}  // closed when the supervisor has ended
}

// newServer makes the folder of a server and chooses its port. account is the account under which the server's
// program runs, and signal is the signal that stops the program.
func newServer(name, signal string, account *account) (*server, error) {
	// t.TempDir is not used, because the server's account may have no access to its parents.
	dir, err := os.MkdirTemp("", "tollgate-"+name+"-")
	if err != nil {
		return nil, err
	}
	if account != nil {
		if err := os.Chown(dir, account.uid, account.gid); err != nil {
			return nil, err
		}
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	return &server{name: name, dir: dir, port: port, signal: signal, account: account}, nil
}

func (s *server) address() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port))
}

// start runs the server and waits until it answers.
func (s *server) start() error {
	args := append([]string{"-c", supervise, "supervise", s.dir, s.logFile(), s.signal}, s.command...)
	cmd := exec.CommandContext(context.Background(), "sh", args...) //nolint:gosec // runs only the servers below
	cmd.Dir = s.dir
	s.account.apply(cmd)
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.input, s.ended = input, make(chan struct{})
	go func(ended chan struct{}) {
		_ = cmd.Wait()
		close(ended)
	}(s.ended)

	deadline := time.Now().Add(startTimeout)
	for {
		if err = s.answers(); err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(s.logFile())
			_ = s.stop(false)
			return fmt.Errorf("%s does not answer on %s: %w\n%s", s.name, s.address(), err, text)
		}
		time.Sleep(pollInterval)
	}
}

// stop stops the server and waits for its end. If keep is true, the server's folder stays, so that the server can
// start again.
func (s *server) stop(keep bool) error {
	if s.input == nil {
		if !keep {
			return os.RemoveAll(s.dir)
		}
		return nil
	}
	if keep {
		_, _ = io.WriteString(s.input, "keep\n")
	}
	_ = s.input.Close()
	s.input = nil
	select {
	case <-s.ended:
		return nil
	case <-time.After(stopTimeout):
		return fmt.Errorf("%s does not stop", s.name)
	}
}

// testServer is a server in the hands of a test.
type testServer struct {
	tb      testing.TB
	server  *server
	private bool // only this test uses the server
}

// privateServer starts a server that only one test uses. The server is removed at the end of the test.
func privateServer(tb testing.TB, start func() (*server, error)) testServer {
	tb.Helper()
	s, err := start()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.stop(false); err != nil {
			tb.Error(err)
		}
	})
	return testServer{tb, s, true}
}

// Stop stops a private server, which breaks the connections.
func (s *testServer) Stop() {
	s.tb.Helper()
	if !s.private {
		s.tb.Fatal("testenv: only a private server can be stopped, from NewPostgres or NewRedis")
	}
	if err := s.server.stop(true); err != nil {
		s.tb.Fatal(err)
	}
}

// Start starts a stopped server again, on the same port, and waits until it answers.
func (s *testServer) Start() {
	s.tb.Helper()
	if err := s.server.start(); err != nil {
		s.tb.Fatal(err)
	}
}

func (s *server) logFile() string { return filepath.Join(s.dir, "server.log") }

// lookUp finds a program in PATH or else in one of the folders. If several folders have it, the folder with the highest
// version number is used.
func lookUp(program string, folders ...string) (string, bool) {
	if found, err := exec.LookPath(program); err == nil {
		return found, true
	}
	best, bestVersion := "", -1.0
	for _, pattern := range folders {
		matches, _ := filepath.Glob(filepath.Join(pattern, program))
		for _, m := range matches {
			version, err := strconv.ParseFloat(filepath.Base(strings.TrimSuffix(filepath.Dir(m), "/bin")), 64)
			if err == nil && version > bestVersion {
				best, bestVersion = m, version
			}
		}
	}
	return best, best != ""
}
