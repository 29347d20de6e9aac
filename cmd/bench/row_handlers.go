package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tollgate-gateway/tollgate/cmd/bench/load"
	"github.com/tollgate-gateway/tollgate/cmd/bench/process"
)

// handlersCaddyfile takes the addresses of admin, plain and the CMS, and the site.
const handlersCaddyfile = `{
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
	}
}

http://%[2]s {
	header Content-Type application/json
	respond ` + "`" + handlersAnswer + "`" + `
}

http://%[3]s {
	cms {
		site %[4]s
	}
}
`

const (
	handlersAnswer = `{"message":"no endpoint defined"}`
	handlersRoutes = `<?php
require __DIR__ . '/Trivial.js';
$routes = [
  ['GET', 'js', Trivial::class, 'get', ['auth' => false]],
  ['GET', 'go', RestApiHelper::class, 'noEndPoint', ['auth' => false]],
];
`
	handlersClass = "class Trivial { static get() { return 'no endpoint defined'; } }\nmodule.exports = { Trivial };\n"
)

// handlersRow is a trivial handler of the CMS, in JavaScript and in Go, beside Caddy's respond.
func handlersRow(ctx context.Context, b *bench) ([]line, error) {
	s, err := b.serveHandlers(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Stop()
	ask := func(to load.Site, path string) *load.Load {
		return &load.Load{To: to, Request: to.Get(path), Check: isHandled, Conns: conns}
	}
	var all []line
	for _, kind := range []struct {
		what, path string
		aim        float64
	}{
		{"handler of the CMS in JavaScript beside respond", "/api/js", 0.5},
		{"handler of the CMS in Go beside respond", "/api/go", 0.75},
	} {
		other := ask(s.Gateway, kind.path)
		if err := s.Await(ctx, other); err != nil {
			return all, fmt.Errorf("the server does not answer: %w\n%s", err, s.Said())
		}
		p, err := b.compare(ctx, s, b.rounds, ask(s.Plain, "/"), other)
		if err != nil {
			return all, err
		}
		all = append(all, p.lines(kind.what, kind.aim)...)
	}
	return all, nil
}

// serveHandlers starts a server with a site of two routes.
func (b *bench) serveHandlers(ctx context.Context) (*process.Server, error) {
	dir, err := os.MkdirTemp(b.dir, "server-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the server: %w", err)
	}
	folder := filepath.Join(dir, "site", "api")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("making a site: %w", err)
	}
	for name, text := range map[string]string{"Routes.php": handlersRoutes, "Trivial.js": handlersClass} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			return nil, fmt.Errorf("making a site: %w", err)
		}
	}
	addresses, err := process.FreeAddresses(ctx, 3)
	if err != nil {
		return nil, err
	}
	s := &process.Server{
		Dir: dir, Admin: addresses[0], Plain: load.Site{Address: addresses[1]}, Gateway: load.Site{Address: addresses[2]},
		Config: fmt.Sprintf(handlersCaddyfile, addresses[0], addresses[1], addresses[2], filepath.Join(dir, "site")),
	}
	return s, s.Start(ctx, b.binary, b.environment)
}

func isHandled(got load.Reply) error {
	if got.Status != 200 || got.Bytes != len(handlersAnswer) {
		return fmt.Errorf("status %d with %d bytes instead of 200 with %d", got.Status, got.Bytes, len(handlersAnswer))
	}
	return nil
}
