// Package postgres provides the guest module tollgate.storage.postgres: a database on a PostgreSQL server, which any
// number of nodes share.
package postgres

import (
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/modules/placeholder"
)

func init() {
	caddy.RegisterModule(new(Postgres))
}

// Postgres stores a database on a PostgreSQL server, for one node or many. While the server is down, requests that need
// it get 503. No reload is needed when the server is back.
type Postgres struct {
	// DSN is the connection string: a URL such as postgres://user:password@host:5432/name?sslmode=verify-full, or
	// key=value pairs as in libpq. Write it as {env.NAME} or {file.PATH}, because it contains a password. It is never
	// logged. Required.
	DSN string `json:"dsn,omitempty"`

	// MaxConns limits the connections of this node to the server, from 1 to 1000. Default: 16.
	MaxConns int `json:"max_conns,omitempty"`

	dsn string // DSN with the placeholders replaced
}

// CaddyModule returns the Caddy module information.
func (*Postgres) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "tollgate.storage.postgres",
		New: func() caddy.Module { return new(Postgres) },
	}
}

// Provision resolves the placeholders. It does not contact the server.
func (p *Postgres) Provision(caddy.Context) error {
	if p.DSN == "" {
		return errors.New("dsn is required")
	}
	var err error
	if p.dsn, err = placeholder.Resolve(p.DSN); err != nil {
		return fmt.Errorf("dsn: %w", err)
	}
	return nil
}

// Validate checks the options. Its errors do not repeat the DSN.
func (p *Postgres) Validate() error {
	_, err := p.Open(zap.NewNop())
	return err
}

// Open returns the database, which is not started yet. It does not contact the server.
func (p *Postgres) Open(logger *zap.Logger) (*store.DB, error) {
	return store.NewPostgres(store.PostgresOptions{DSN: p.dsn, MaxConns: p.MaxConns}, logger)
}

// key identifies a database: equal keys mean the same database and settings. It contains a digest of the DSN, so that
// printing the key does not reveal the password.
type key struct {
	dsn      [sha256.Size]byte
	maxConns int
}

// Key returns a comparable value that identifies the database and its settings in a caddy.UsagePool.
func (p *Postgres) Key() any {
	return key{sha256.Sum256([]byte(p.dsn)), p.MaxConns}
}

// Interface guards.
var (
	_ caddy.Provisioner     = (*Postgres)(nil)
	_ caddy.Validator       = (*Postgres)(nil)
	_ caddyfile.Unmarshaler = (*Postgres)(nil)
)
