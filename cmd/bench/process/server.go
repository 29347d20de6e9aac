package process

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/tollgate-gateway/tollgate/cmd/bench/load"
)

// Server is the process under test.
type Server struct {
	*Child
	Dir    string
	Admin  string // host:port
	Config string // as a Caddyfile
	// Plain is reverse_proxy alone, Gateway the model gateway, Guarded
	// reverse_proxy behind api_auth and budget. All lead to the mock, and all get
	// the same requests, the key included.
	Plain, Gateway, Guarded load.Site
}

// Start launches the program with the server's configuration. environment is what it has
// beside a bare one.
func (s *Server) Start(ctx context.Context, program string, environment []string) (err error) {
	file := filepath.Join(s.Dir, "Caddyfile")
	if err := os.WriteFile(file, []byte(s.Config), 0o600); err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
	}
	// A bare environment: provider keys of the person at the keyboard and Go's
	// own settings stay out.
	environment = append([]string{"HOME=" + s.Dir, "PATH=" + os.Getenv("PATH")}, environment...)
	s.Child, err = Launch(ctx, s.Dir, "server", nil, nil, environment, program, "run", "--config", file, "--adapter", "caddyfile")
	return err
}

// Await tries a load until it gets a good answer.
func (s *Server) Await(ctx context.Context, l *load.Load) error {
	for deadline := time.Now().Add(30 * time.Second); ; {
		c := &load.Client{Address: l.To.Address}
		err := l.Exchange(ctx, c)
		c.Close()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-s.done:
			return fmt.Errorf("it has ended: %w", err)
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// CPU is the CPU time the server has used so far.
func (s *Server) CPU() (time.Duration, error) { return CPU(s.cmd.Process.Pid) }

// Resident is the server's anonymous memory in bytes.
func (s *Server) Resident() (int64, error) { return Resident(s.cmd.Process.Pid) }

// FreeAddresses finds loopback addresses that nobody listens on.
func FreeAddresses(ctx context.Context, n int) ([]string, error) {
	addresses := make([]string, n)
	for i := range addresses {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("finding a free port: %w", err)
		}
		defer listener.Close() // all of them at the end, so that none is found twice
		addresses[i] = listener.Addr().String()
	}
	return addresses, nil
}
