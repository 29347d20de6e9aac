// Package process starts the processes of a benchmark, and measures their CPU time and memory. The figures come from
// the system and from the admin endpoint of a server.
package process

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/tollgate-gateway/tollgate/bench/load"
)

// Child is a process that this process has started, and that ends with it.
type Child struct {
	cmd  *exec.Cmd
	log  string // the file of its standard error
	done chan struct{}
}

// Launch starts a process. stdin and stdout may be nil.
func Launch(ctx context.Context, dir, name string, stdin io.Reader, stdout io.Writer, environment []string,
	program string, args ...string,
) (*Child, error) {
	c := &Child{log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	file, err := os.Create(c.log)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	defer func() { _ = file.Close() }()                // the child process has its own copy
	c.cmd = exec.CommandContext(ctx, program, args...) //nolint:gosec // this program or the one it is to measure
	c.cmd.Dir, c.cmd.Env = dir, environment
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = stdin, stdout, file
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		defer close(c.done)
		_ = c.cmd.Wait() // the exit status does not matter
	}()
	return c, nil
}

// Stop ends the process and waits for it. After ten seconds it kills the process.
func (c *Child) Stop() {
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.done:
	case <-time.After(10 * time.Second):
		_ = c.cmd.Process.Kill()
		<-c.done
	}
}

// Await sends the request of a load until it gets a good response, for at most 30 seconds.
func (c *Child) Await(ctx context.Context, l *load.Load) error {
	for deadline := time.Now().Add(30 * time.Second); ; {
		client := &load.Client{Address: l.Site.Address}
		err := l.Exchange(ctx, client)
		client.Close()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-c.done:
			return fmt.Errorf("it has ended: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// CPU returns the CPU time that the process has used so far.
func (c *Child) CPU() (time.Duration, error) { return CPU(c.cmd.Process.Pid) }

// Said returns the last 2,000 bytes of the process's log.
func (c *Child) Said() string {
	text, _ := os.ReadFile(c.log)
	return string(text[max(0, len(text)-2000):])
}
