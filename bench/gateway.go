package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/bench/load"
	"github.com/tollgate-gateway/tollgate/bench/mock"
	"github.com/tollgate-gateway/tollgate/bench/process"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// globalOptions is the beginning of every Caddyfile. The first argument of a Caddyfile is the address of the admin
// endpoint. Each Caddyfile adds further options and closes the block.
const globalOptions = `{
	admin %[1]s
	auto_https off
	persist_config off
	storage file_system caddy
	grace_period 5s
	log {
		level ERROR
	}
`

// plenty is a limit that no run reaches, although the server still has to count for it.
const plenty = 1_000_000_000

// caddyfile is a format string for the Caddyfile of a server. Its arguments are the addresses of the admin endpoint, of
// the sites plain, gateway and guarded, and of the mock provider, which the text contains three times.
const caddyfile = globalOptions + `	tollgate {
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

// serve starts a server with an empty database and waits until each of its sites answers.
func (b *bench) serve(ctx context.Context) (*process.Server, error) {
	dir, err := os.MkdirTemp(b.dir, "server-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the server: %w", err)
	}
	key, err := seed(ctx, dir)
	if err != nil {
		return nil, err
	}
	addresses, err := process.FreeAddresses(ctx, 4)
	if err != nil {
		return nil, err
	}
	s := &process.Server{
		Dir: dir, Admin: addresses[0],
		Plain: load.Site{Address: addresses[1], Key: key}, Gateway: load.Site{Address: addresses[2], Key: key},
		Guarded: load.Site{Address: addresses[3], Key: key},
		Config:  fmt.Sprintf(caddyfile, addresses[0], addresses[1], addresses[2], addresses[3], b.upstream),
	}
	if err := s.Start(ctx, b.binary, b.environment); err != nil {
		return nil, err
	}
	for _, site := range []load.Site{s.Plain, s.Gateway, s.Guarded} {
		if err := s.Await(ctx, &load.Load{
			Site: site, Request: site.Chat(mock.Chat(mock.Whole, false, 1<<10)),
			Check: mock.IsWhole,
		}); err != nil {
			output := s.Said()
			s.Stop()
			return nil, fmt.Errorf("the server does not answer: %w\n%s", err, output)
		}
	}
	return s, nil
}

// seed creates the database of a server before the server starts, with one user who has a key at the provider. It
// returns a gateway key with a limit, so that the gateway's budget has something to count.
func seed(ctx context.Context, dir string) (key string, err error) {
	db, err := openDatabase(ctx, dir)
	if err != nil {
		return "", err
	}
	defer func() { _ = db.Close() }() // all changes are already committed
	master, _, err := keyring.LoadOrCreateKeyFile(filepath.Join(dir, "tollgate.key"))
	if err != nil {
		return "", fmt.Errorf("making the master key: %w", err)
	}
	service, _, err := newKeychain(db, master)
	if err != nil {
		return "", err
	}
	defer service.Close()
	const user = "bench"
	if _, _, _, err := service.InitUser(ctx, user); err != nil {
		return "", fmt.Errorf("making the user: %w", err)
	}
	known := func(string) bool { return true }
	if _, err := service.AddProviderKey(ctx, user, "openai", "sk-bench-not-a-secret", "", known); err != nil {
		return "", fmt.Errorf("adding the provider key: %w", err)
	}
	limit := int64(plenty)
	gatewayKey, err := service.CreateKey(ctx, user,
		keychain.KeyOptions{Limits: keychain.Limits{RateLimitPerMinute: &limit}})
	if err != nil {
		return "", fmt.Errorf("making the gateway key: %w", err)
	}
	return gatewayKey.Key, nil
}

// usageRecords returns the number of entries in the usage log of a server.
func usageRecords(ctx context.Context, dir string) (n int64, err error) {
	db, err := openDatabase(ctx, dir)
	if err != nil {
		return 0, err
	}
	defer func() { _ = db.Close() }() // all changes are already committed
	err = db.Read(ctx, func(c store.Conn) error {
		return c.Row("SELECT COUNT(*) FROM gateway_usage").Scan(&n)
	})
	if err != nil {
		return 0, fmt.Errorf("counting usage records: %w", err)
	}
	return n, nil
}
