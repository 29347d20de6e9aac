package process

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/tollgate-gateway/tollgate/bench/load"
)

// Server is the process under test.
type Server struct {
	*Child
	Dir    string
	Admin  string // host:port
	Config string // a Caddyfile
	// Plain is the site with reverse_proxy alone, Gateway is the site with the model gateway, and Guarded is the site with
	// reverse_proxy behind api_auth and budget. All of them lead to the mock provider, and all get the same requests,
	// including the key.
	Plain, Gateway, Guarded load.Site
}

// Start starts the program with the server's configuration. environment is added to a minimal environment.
func (s *Server) Start(ctx context.Context, program string, environment []string) (err error) {
	file := filepath.Join(s.Dir, "Caddyfile")
	if err := os.WriteFile(file, []byte(s.Config), 0o600); err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
	}
	// The environment is minimal, so that the user's provider keys and settings of Go have no effect.
	environment = append([]string{"HOME=" + s.Dir, "PATH=" + os.Getenv("PATH")}, environment...)
	s.Child, err = Launch(ctx, s.Dir, "server", nil, nil, environment, program, "run", "--config", file, "--adapter",
		"caddyfile")
	return err
}

// Resident returns the server's anonymous memory in bytes.
func (s *Server) Resident() (int64, error) { return Resident(s.cmd.Process.Pid) }

// FreeAddresses returns n different loopback addresses on which no process listens.
func FreeAddresses(ctx context.Context, n int) ([]string, error) {
	addresses := make([]string, n)
	for i := range addresses {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("finding a free port: %w", err)
		}
		defer listener.Close() // all listeners are closed at the end, so that no port is found twice
		addresses[i] = listener.Addr().String()
	}
	return addresses, nil
}
