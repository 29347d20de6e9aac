package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

// server is the process under test.
type server struct {
	*child
	dir    string
	admin  string // host:port
	config string // as a Caddyfile
	// plain is reverse_proxy alone, gateway the model gateway, guarded
	// reverse_proxy behind api_auth and budget. All lead to the mock, and all get
	// the same requests, the key included.
	plain, gateway, guarded site
}

// site is where requests are sent.
type site struct {
	address string // host:port
	key     string // sent as a bearer token; empty: none
}

// caddyfile takes the addresses of admin, plain, gateway and guarded, and the
// mock's three times over.
const caddyfile = `{
	admin %[1]s
	auto_https off
	persist_config off
	storage file_system caddy
	grace_period 5s
	log {
		level ERROR
	}
	tollgate {
		database sqlite ` + database + `
		catalog {
			provider openai {
				base_url http://%[5]s/v1
			}
		}
	}
}

http://%[2]s {
	reverse_proxy %[5]s
}

http://%[3]s {
	tollgate gateway
}

http://%[4]s {
	api_auth gateway_key
	budget {
		limit {http.auth.user.rate_limit_per_minute}
	}
	reverse_proxy %[5]s
}
`

// serve starts a server with an empty database and waits until each of its
// sites answers.
func (b *bench) serve(ctx context.Context) (*server, error) {
	dir, err := os.MkdirTemp(b.dir, "server-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the server: %w", err)
	}
	key, err := seed(ctx, dir)
	if err != nil {
		return nil, err
	}
	addresses, err := freeAddresses(ctx, 4)
	if err != nil {
		return nil, err
	}
	s := &server{
		dir: dir, admin: addresses[0],
		plain: site{addresses[1], key}, gateway: site{addresses[2], key}, guarded: site{addresses[3], key},
		config: fmt.Sprintf(caddyfile, addresses[0], addresses[1], addresses[2], addresses[3], b.upstream),
	}
	if err := s.start(ctx, b); err != nil {
		return nil, err
	}
	for _, to := range []site{s.plain, s.gateway, s.guarded} {
		if err := s.await(ctx, &load{to: to, request: to.request(chat(askWhole, false, 1<<10)), check: isWhole}); err != nil {
			said := s.said()
			s.stop()
			return nil, fmt.Errorf("the server does not answer: %w\n%s", err, said)
		}
	}
	return s, nil
}

// start launches the server with its configuration.
func (s *server) start(ctx context.Context, b *bench) (err error) {
	file := filepath.Join(s.dir, "Caddyfile")
	if err := os.WriteFile(file, []byte(s.config), 0o600); err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
	}
	// A bare environment: provider keys of the person at the keyboard and Go's
	// own settings stay out.
	environment := append([]string{"HOME=" + s.dir, "PATH=" + os.Getenv("PATH")}, b.environment...)
	s.child, err = launch(ctx, s.dir, "server", nil, nil, environment, b.binary, "run", "--config", file, "--adapter", "caddyfile")
	return err
}

// await tries a load until it gets a good answer.
func (s *server) await(ctx context.Context, l *load) error {
	for deadline := time.Now().Add(20 * time.Second); ; {
		c := &client{address: l.to.address}
		err := l.exchange(ctx, c)
		c.close()
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

// cpu is the CPU time the server has used so far.
func (s *server) cpu() (time.Duration, error) { return cpuTime(s.cmd.Process.Pid) }

// resident is the server's anonymous memory in bytes.
func (s *server) resident() (int64, error) { return resident(s.cmd.Process.Pid) }

// freeAddresses finds loopback addresses that nobody listens on.
func freeAddresses(ctx context.Context, n int) ([]string, error) {
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
