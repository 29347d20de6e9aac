package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/bench/load"
	"github.com/tollgate-gateway/tollgate/bench/process"
)

// handlersCaddyfile is a format string for the Caddyfile of a CMS. Its arguments are the addresses of the admin
// endpoint, of the plain site, of the CMS, and of the CMS that runs handlers in the gateway's process, and the folder
// of the site.
const handlersCaddyfile = globalOptions + `	tollgate {
		database sqlite ` + database + `
	}
}

http://%[2]s {
	header Content-Type application/json
	respond ` + "`" + handlersAnswer + "`" + `
}

http://%[3]s {
	cms {
		site %[5]s
	}
}

http://%[4]s {
	cms {
		site      %[5]s
		isolation none
	}
}
`

const (
	handlersAnswer = `{"message":"no endpoint defined"}`
	handlersRoutes = `<?php
require __DIR__ . '/Trivial.js';
$routes = [
  ['GET', 'js', Trivial::class, 'get', ['auth' => false]],
  ['GET', 'pages', Trivial::class, 'pages', ['auth' => false]],
  ['GET', 'sparse', Trivial::class, 'sparse', ['auth' => false]],
  ['GET', 'stuck', Trivial::class, 'stuck', ['auth' => false]],
  ['GET', 'memory', Trivial::class, 'memory', ['auth' => false]],
  ['GET', 'go', RestApiHelper::class, 'noEndPoint', ['auth' => false]],
];
`
	handlersClass = `class Trivial {
  static get() { return 'no endpoint defined'; }
  static pages() {
    let paths = '';
    for (let i = 0; i < 20; i++) paths += pages.get('/').path;
    return { paths };
  }
  static sparse() { const a = []; a[4294967290] = 1; return { n: [...a].length }; }
  static stuck() { return /^(a+)+\1$/.test('a'.repeat(60) + 'b'); }
  static memory() { for (const all = [];;) all.push({ n: all.length }); }
}
module.exports = { Trivial };
`
	handlersPages = `{"paths":"////////////////////"}`
)

// handlersRow compares a trivial handler of the CMS, in JavaScript and in Go, with Caddy's respond. It also compares
// JavaScript handlers in separate processes with the same handlers in the gateway's process. One of these handlers is
// trivial, and the other reads 20 pages. Finally, handlersRow measures the delay of other requests while handlers are
// attacked.
func handlersRow(ctx context.Context, b *bench) ([]line, error) {
	s, err := b.serveHandlers(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Stop()
	ask := func(site load.Site, path, answer string) *load.Load {
		return &load.Load{Site: site, Request: site.Get(path), Check: isHandled(answer), Conns: conns}
	}
	respond, inside := ask(s.Plain, "/", handlersAnswer), s.Guarded
	var all []line
	for _, kind := range []struct {
		label, name  string
		plain, other *load.Load
		aim          float64
	}{
		{
			"handler of the CMS in JavaScript beside respond", "process", respond, ask(s.Gateway, "/api/js", handlersAnswer),
			0.45,
		},
		{"handler of the CMS in Go beside respond", "go", respond, ask(s.Gateway, "/api/go", handlersAnswer), 0.75},
		{
			"handler in a process beside isolation none", "none", ask(inside, "/api/js", handlersAnswer),
			ask(s.Gateway, "/api/js", handlersAnswer), 0.6,
		},
		{
			"handler that reads 20 pages beside isolation none", "pages", ask(inside, "/api/pages", handlersPages),
			ask(s.Gateway, "/api/pages", handlersPages), 0.6,
		},
	} {
		for _, l := range []*load.Load{kind.plain, kind.other} {
			if err := s.Await(ctx, l); err != nil {
				return all, fmt.Errorf("the server does not answer: %w\n%s", err, s.Said())
			}
		}
		p, err := b.compare(ctx, s, b.rounds, kind.plain, kind.other)
		if err != nil {
			return all, err
		}
		all = append(all, p.lines(kind.label, kind.aim)...)
		if err := b.profile(ctx, s, kind.other, "s-"+kind.name); err != nil {
			return all, err
		}
	}
	more, err := b.besideAttack(ctx, s)
	return append(all, more...), err
}

// besideAttack measures the latency of the slowest responses of respond and of a trivial handler, before an attack and
// during the attack. In the attack, clients make other handlers of the same site use all the time and memory that they
// can get.
func (b *bench) besideAttack(ctx context.Context, s *process.Server) (all []line, err error) {
	attack, end := context.WithCancel(ctx)
	var attackers sync.WaitGroup
	defer attackers.Wait()
	defer end()
	others := []*load.Load{
		{Site: s.Plain, Request: s.Plain.Get("/"), Check: isHandled(handlersAnswer), Conns: 2},
		{Site: s.Gateway, Request: s.Gateway.Get("/api/js"), Check: isHandled(handlersAnswer), Conns: 2},
	}
	var baseline, attacked [2][]sample
	measure := func(samples *[2][]sample) error {
		for range b.rounds {
			for i, l := range others {
				got, err := b.sample(ctx, s.Child, l)
				if err != nil {
					return err
				}
				samples[i] = append(samples[i], got)
			}
		}
		return nil
	}
	if err := measure(&baseline); err != nil {
		return nil, err
	}
	for _, path := range []string{"/api/sparse", "/api/stuck", "/api/memory"} {
		l := &load.Load{Site: s.Gateway, Request: s.Gateway.Get(path), Conns: 4, Check: func(got load.Reply) error {
			if got.Status != 500 && got.Status != 503 && got.Status != 504 {
				return fmt.Errorf("%s: status %d", path, got.Status)
			}
			return nil
		}}
		attackers.Go(func() { l.Run(attack, time.Hour) })
	}
	time.Sleep(time.Second) // wait until the attack is under way
	if err := measure(&attacked); err != nil {
		return nil, err
	}
	for i, label := range []string{"respond", "a trivial handler"} {
		baselineLatency, attackLatency := medianOf(baseline[i], lateOf), medianOf(attacked[i], lateOf)
		all = append(all, atLeast("p99 of "+label+" before and under an attack on handlers, ms",
			baselineLatency, attackLatency, baselineLatency/attackLatency, 0.5))
	}
	return all, nil
}

// serveHandlers starts a server with a site whose routes are those in handlersRoutes.
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
	addresses, err := process.FreeAddresses(ctx, 4)
	if err != nil {
		return nil, err
	}
	s := &process.Server{
		Dir: dir, Admin: addresses[0], Plain: load.Site{Address: addresses[1]}, Gateway: load.Site{Address: addresses[2]},
		Guarded: load.Site{Address: addresses[3]},
		Config: fmt.Sprintf(handlersCaddyfile, addresses[0], addresses[1], addresses[2], addresses[3],
			filepath.Join(dir, "site")),
	}
	return s, s.Start(ctx, b.binary, b.environment)
}

// isHandled returns a function that checks that a response has the length of answer.
func isHandled(answer string) func(load.Reply) error {
	return func(got load.Reply) error {
		if got.Status != 200 || got.Bytes != len(answer) {
			return fmt.Errorf("status %d with %d bytes instead of 200 with %d", got.Status, got.Bytes, len(answer))
		}
		return nil
	}
}
