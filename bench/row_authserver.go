package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tidwall/gjson"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/bench/load"
	"github.com/tollgate-gateway/tollgate/bench/process"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// issuerCaddyfile is a format string for the Caddyfile of an authorization server. Its arguments are the addresses of
// the admin endpoint, of a plain site and of the authorization server, the database, and the address of a service
// behind the edge.
const issuerCaddyfile = globalOptions + `	tollgate {
		database %[4]s
	}
}

http://%[2]s {
	header Content-Type application/json
	respond "{}"
}

http://%[3]s {
	tollgate authserver {
		config keys.yaml
	}
}

http://%[5]s {
	api_auth oauth {
		issuer http://%[3]s
		audience https://notes.example/mcp
	}
	header Content-Type application/json
	respond "{}"
}
`

// issuerKeys is a format string for the configuration file of the authorization server. Its argument is the address of
// the server. The signature algorithm is ES256, which is the default.
const issuerKeys = `server: {issuer: 'http://%s'}
session: {secret: '` + issuerSecret + `'}
client_secret_pepper: '` + issuerPepper + `'
rate_limit: {enabled: false}
`

// issuer is an authorization server and its database, which this process has opened as well.
type issuer struct {
	*process.Server
	oauthClient

	plain, edge load.Site
	db          *store.DB
	size        string // the SQL statement for the size of the database

	introspected atomic.Int64
	tokens       [][]byte // requests to introspect tokens
	granting     string   // an access token of the user
	bound        string   // an access token of the client, bound to the key of prover
	bearer       string   // an access token of the client that is not bound
	prover       *load.Prover
}

// authserverRow measures an authorization server and compares it with plain `respond`. It does so on SQLite with
// durable commits and on PostgreSQL, where the CPU time of the database server is not counted. If a label says "plain:
// PostgreSQL", the column "plain" of that line has the figure for PostgreSQL.
func authserverRow(ctx context.Context, b *bench) ([]line, error) {
	dir, err := os.MkdirTemp(b.dir, "authserver-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the server: %w", err)
	}
	file := filepath.Join(dir, database)
	db, err := store.NewSQLite(store.SQLiteOptions{Path: file}, zap.NewNop())
	lite, err := b.issue(ctx, dir, `sqlite "`+file+`"`, db, err)
	if err != nil {
		return nil, err
	}
	defer lite.end()
	lite.size = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
	dsn, stop, err := testenv.StartPostgres()
	if err != nil {
		return nil, fmt.Errorf("starting PostgreSQL: %w", err)
	}
	defer func() { _ = stop() }() // nothing in it is kept
	if dir, err = os.MkdirTemp(b.dir, "authserver-"); err != nil {
		return nil, fmt.Errorf("making a folder for the server: %w", err)
	}
	db, err = store.NewPostgres(store.PostgresOptions{DSN: dsn}, zap.NewNop())
	postgres, err := b.issue(ctx, dir, `postgres "`+dsn+`"`, db, err)
	if err != nil {
		return nil, err
	}
	defer postgres.end()
	postgres.size = "SELECT pg_database_size(current_database())"

	var lines []line
	for _, kind := range []struct {
		name, label string
		load        func(s *issuer) *load.Load
		aim         float64 // requests per core and second; 0 for none
	}{
		{"q-jwks", "JWKS", (*issuer).keySet, 0},
		{"q-client", "client_credentials", (*issuer).machine, 3000},
		{"q-introspect", "introspection", (*issuer).introspection, 10_000},
		{"q-refresh", "refresh", func(s *issuer) *load.Load { return s.refreshing() }, 2000},
		{"q-dpop", "client_credentials with a proof", (*issuer).proving, 0},
		{"q-exchange", "token exchange", (*issuer).exchanging, 0},
		{"q-edge", "a service behind the edge, bearer token", (*issuer).atEdge, 0},
		{"q-edge-dpop", "a service behind the edge, token and proof", (*issuer).provingAtEdge, 0},
		{"q-code", "code flow, 2 requests", func(s *issuer) *load.Load { return s.flow() }, 0},
		{"q-authorize", "authorization request of a registered client", (*issuer).asking, 0},
		{"q-cimd", "authorization request of a client with a document", (*issuer).askingDocumented, 0},
	} {
		more, err := b.issuerLines(ctx, lite, postgres, kind.name, kind.label, kind.load, kind.aim)
		if lines = append(lines, more...); err != nil {
			return lines, fmt.Errorf("%s: %w", kind.label, err)
		}
	}
	for _, kind := range []struct {
		label string
		load  func(s *issuer) *load.Load
	}{
		{"token of a client", (*issuer).machine},
		{"code flow", func(s *issuer) *load.Load { return s.flow() }},
	} {
		heap, size, err := lite.kept(ctx, kind.load(lite))
		if err != nil {
			return lines, err
		}
		_, other, err := postgres.kept(ctx, kind.load(postgres))
		if err != nil {
			return lines, err
		}
		lines = append(lines,
			line{label: "bytes in memory a live " + kind.label, tollgate: number(heap)},
			line{
				label: "bytes in the database a live " + kind.label + ", with its audit (plain: PostgreSQL)",
				plain: number(other), tollgate: number(size),
			})
	}
	return lines, nil
}

// issue fills a database and starts an authorization server on it. The parameters db and err are the results of a
// constructor of package store, and option is the database in the server's configuration.
func (b *bench) issue(ctx context.Context, dir, option string, db *store.DB, err error) (*issuer, error) {
	if db, err = open(ctx, db, err, authserver.Schema()); err != nil {
		return nil, err
	}
	s := &issuer{db: db}
	addresses, err := process.FreeAddresses(ctx, 4)
	if err == nil {
		s.oauthClient, err = seedIssuing(ctx, db)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "keys.yaml"), fmt.Appendf(nil, issuerKeys, addresses[2]), 0o600)
	}
	if err == nil {
		s.plain, s.site, s.edge = load.Site{Address: addresses[1]}, load.Site{Address: addresses[2]},
			load.Site{Address: addresses[3]}
		s.Server = &process.Server{
			Dir: dir, Admin: addresses[0],
			Config: fmt.Sprintf(issuerCaddyfile, addresses[0], addresses[1], addresses[2], option, addresses[3]),
		}
		err = s.Start(ctx, b.binary, b.environment)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("preparing an authorization server: %w", err), db.Close())
	}
	err = s.Await(ctx, &load.Load{Site: s.site, Request: s.site.Get("/ready"), Check: isOK})
	if err == nil {
		err = s.prepare(ctx)
	}
	if err != nil {
		output := s.Said()
		s.end()
		return nil, fmt.Errorf("the authorization server does not answer: %w\n%s", err, output)
	}
	return s, nil
}

// end ends the server and closes the database.
func (s *issuer) end() {
	s.Stop()
	_ = s.db.Close() // nothing in it is kept
}

// prepare obtains the tokens that the loads introspect, refresh and use.
func (s *issuer) prepare(ctx context.Context) error {
	c := &load.Client{Address: s.site.Address, Keep: true}
	defer c.Close()
	for _, id := range []string{s.id, issuingDocument} {
		if got, err := c.Do(ctx, s.site.Get(s.authorizing(id))); err != nil || !strings.HasPrefix(got.Location, "/login") {
			return fmt.Errorf("%s: status %d to %q instead of a redirect to the login: %.300s: %w",
				id, got.Status, got.Location, got.Text, err)
		}
	}
	access, err := s.collect(ctx, c)
	if err != nil {
		return err
	}
	s.granting = access[0]
	for _, token := range access {
		s.tokens = append(s.tokens, s.form("/oauth/introspect", url.Values{"token": {token}}))
	}
	if s.prover, err = load.NewProver(); err != nil {
		return err
	}
	request, err := s.proved()
	if err != nil {
		return err
	}
	for request, token := range map[string]*string{string(request): &s.bound, string(s.machine().Request): &s.bearer} {
		text, err := s.ask(ctx, c, []byte(request))
		if err != nil {
			return err
		}
		*token = gjson.Get(text, "access_token").String()
	}
	return nil
}

// isOK checks that a response has the status 200.
func isOK(got load.Reply) error {
	if got.Status != 200 {
		return fmt.Errorf("status %d instead of 200: %.300s", got.Status, got.Text)
	}
	return nil
}

// keySet returns the load of clients that fetch the keys of the server.
func (s *issuer) keySet() *load.Load {
	return &load.Load{Site: s.site, Request: s.site.Get("/.well-known/jwks.json"), Check: isOK, Conns: conns}
}

// machines are the parameters of a request with which the client obtains a token for itself.
var machines = url.Values{"grant_type": {"client_credentials"}, "scope": {"notes:read"}, "resource": {"notes"}}

// machine returns the load of a client that obtains tokens for itself.
func (s *issuer) machine() *load.Load {
	return &load.Load{
		Site: s.site, Request: s.form(tokenPath, machines), Check: isToken, Conns: conns,
		Settle: backgroundPause,
	}
}

const tokenPath = "/oauth/token" //nolint:gosec // G101: a path

// proved returns the request that machine uses, with a proof. The proof can be used only once.
func (s *issuer) proved() ([]byte, error) {
	proof, err := s.prover.Proof("POST", "http://"+s.site.Address+tokenPath, "")
	return s.form(tokenPath, machines, proof), err
}

// proving returns the same load as machine, with a new proof in each request.
func (s *issuer) proving() *load.Load {
	return &load.Load{Site: s.site, Next: s.proved, Check: isToken, Conns: conns, Settle: backgroundPause}
}

// exchanging returns the load of a client that exchanges the token of a user for a narrower one.
func (s *issuer) exchanging() *load.Load {
	request := s.form(tokenPath, url.Values{
		"grant_type": {clients.GrantExchange}, "subject_token": {s.granting},
		"subject_token_type": {"urn:ietf:params:oauth:token-type:access_token"}, "resource": {"notes"},
	})
	return &load.Load{Site: s.site, Request: request, Check: isToken, Conns: conns, Settle: backgroundPause}
}

// atEdge returns the load of calls to the service behind the edge.
func (s *issuer) atEdge() *load.Load {
	request := []byte("GET /notes HTTP/1.1\r\nHost: " + s.edge.Address +
		"\r\nUser-Agent: bench\r\nAccept: */*\r\nAuthorization: Bearer " + s.bearer + "\r\n\r\n")
	return &load.Load{Site: s.edge, Request: request, Check: isOK, Conns: conns}
}

// provingAtEdge returns the load of calls to the service with a bound token. Each call has a new proof, because a proof
// can be used only once.
func (s *issuer) provingAtEdge() *load.Load {
	return &load.Load{Site: s.edge, Conns: conns, Check: isOK, Next: func() ([]byte, error) {
		proof, err := s.prover.Proof("GET", "https://notes.example/notes", s.bound)
		return []byte("GET /notes HTTP/1.1\r\nHost: " + s.edge.Address +
			"\r\nUser-Agent: bench\r\nAccept: */*\r\nAuthorization: DPoP " + s.bound + "\r\n" + proof + "\r\n"), err
	}}
}

// introspection returns the load of a service that checks tokens.
func (s *issuer) introspection() *load.Load {
	return &load.Load{Site: s.site, Conns: conns, Settle: backgroundPause, Next: func() ([]byte, error) {
		return s.tokens[int(s.introspected.Add(1))%len(s.tokens)], nil
	}, Check: func(got load.Reply) error {
		if got.Status != 200 || got.Bytes < 100 {
			return fmt.Errorf("status %d with %d bytes instead of 200 with an active token", got.Status, got.Bytes)
		}
		return nil
	}}
}

// asking returns the load of authorization requests from browsers in which nobody is signed in.
func (s *issuer) asking() *load.Load { return s.begins(s.id) }

// askingDocumented returns the same load for a client whose metadata document has already been fetched.
func (s *issuer) askingDocumented() *load.Load { return s.begins(issuingDocument) }

// begins returns the load of browsers that the client with the given id sends to the server.
func (s *issuer) begins(client string) *load.Load {
	return &load.Load{
		Site: s.site, Request: s.site.Get(s.authorizing(client)), Conns: conns,
		Check: func(got load.Reply) error {
			if got.Status != 302 {
				return fmt.Errorf("status %d instead of a redirect to the login: %.300s", got.Status, got.Text)
			}
			return nil
		},
	}
}

// issuerLines measures one kind of request on three sides in turn: plain Caddy, the server on SQLite, and the server on
// PostgreSQL.
func (b *bench) issuerLines(
	ctx context.Context, lite, postgres *issuer, name, label string, kind func(*issuer) *load.Load, aim float64,
) ([]line, error) {
	type side struct {
		server *issuer
		load   *load.Load
		got    []sample
	}
	plain := &side{
		server: lite,
		load:   &load.Load{Site: lite.plain, Request: lite.plain.Get("/"), Check: isOK, Conns: conns},
	}
	ours, other := &side{server: lite, load: kind(lite)}, &side{server: postgres, load: kind(postgres)}
	sides := []*side{plain, ours, other}
	for _, s := range sides {
		if o := s.load.Run(ctx, warmUp); o.Failure != nil {
			return nil, o.Failure
		}
	}
	for range (b.rounds + 1) / 2 { // half of the rounds, because three sides take long
		for _, s := range sides {
			got, err := b.sample(ctx, s.server.Child, s.load)
			if err != nil {
				return nil, err
			}
			s.got = append(s.got, got)
		}
		sides = append(sides[1:], sides[0]) // another side begins the next round
	}
	if err := b.profile(ctx, lite.Server, ours.load, name); err != nil {
		return nil, err
	}
	p := &pair{plain.got, ours.got}
	rate, cpu := beside(label+", a second (plain: respond)", medianOf(p.plain, rateOf), medianOf(p.other, rateOf)),
		beside(label+", server CPU µs (plain: respond)", medianOf(p.plain, cpuOf), medianOf(p.other, cpuOf))
	rate.ratio, cpu.ratio = fmt.Sprintf("%.2f", p.ratio(rateOf)), fmt.Sprintf("%.2f", p.ratio(cpuOf))
	core := beside(label+", a second and core of the server (plain: PostgreSQL)",
		1e6/medianOf(other.got, cpuOf), 1e6/medianOf(ours.got, cpuOf))
	if aim > 0 {
		core.aim, core.met = fmt.Sprintf(">= %.0f", aim), 1e6/medianOf(ours.got, cpuOf) >= aim
	}
	return []line{
		rate, cpu, core,
		beside(label+", a second (plain: PostgreSQL)", medianOf(other.got, rateOf), medianOf(ours.got, rateOf)),
		beside(label+", p99 ms (plain: PostgreSQL)", medianOf(other.got, lateOf), medianOf(ours.got, lateOf)),
	}, nil
}

// keptTime is the length of the load in kept. It is long enough for thousands of tokens.
const keptTime = 2 * time.Second

// kept runs a load that creates tokens. It returns how much of the server's memory and how much space in its database a
// token takes, in bytes.
func (s *issuer) kept(ctx context.Context, l *load.Load) (heap, size float64, err error) {
	look := func() (heap, size int64, err error) {
		time.Sleep(l.Settle)
		memory, err := s.Memory(ctx)
		if err == nil {
			size, err = stored(ctx, s.db, s.size)
		}
		return memory.Heap, size, err
	}
	initialHeap, initialSize, err := look()
	if err != nil {
		return 0, 0, err
	}
	o := l.Run(ctx, keptTime)
	if o.Failure != nil {
		return 0, 0, o.Failure
	}
	finalHeap, finalSize, err := look()
	if err != nil {
		return 0, 0, err
	}
	requests := float64(o.Requests)
	return float64(finalHeap-initialHeap) / requests, float64(finalSize-initialSize) / requests, nil
}
