// Package postgres is the guest module tollgate.storage.postgres: a database
// on a PostgreSQL server, which any number of nodes share.
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

// Postgres keeps a database on a PostgreSQL server, for one node or many. While
// the server is away requests that need it are answered 503; they work again
// when it is back, without a reload.
type Postgres struct {
	// DSN is where and as whom to connect: a URL such as
	// postgres://user:password@host:5432/name?sslmode=verify-full or the
	// key=value words that libpq understands. It holds a password, so write it
	// as {env.NAME} or {file.PATH}; it is never logged. Required.
	DSN string `json:"dsn,omitempty"`

	// MaxConns bounds the connections of this node, from 1 to 1000.
	// Default: 16.
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

// Provision resolves the placeholders. It does not reach for the server.
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

// Validate checks the options; its errors do not repeat the DSN.
func (p *Postgres) Validate() error {
	_, err := p.Open(zap.NewNop())
	return err
}

// Open returns the database, not started; nothing is reached for yet.
func (p *Postgres) Open(logger *zap.Logger) (*store.DB, error) {
	return store.NewPostgres(store.PostgresOptions{DSN: p.dsn, MaxConns: p.MaxConns}, logger)
}

// key is what makes two configurations the same database. It holds a digest
// of the DSN, so that printing it gives no password away.
type key struct {
	dsn      [sha256.Size]byte
	maxConns int
}

// Key identifies the database and its settings, in a caddy.UsagePool, among
// the configurations of this process. It is comparable.
func (p *Postgres) Key() any {
	return key{sha256.Sum256([]byte(p.dsn)), p.MaxConns}
}

// Interface guards.
var (
	_ caddy.Provisioner     = (*Postgres)(nil)
	_ caddy.Validator       = (*Postgres)(nil)
	_ caddyfile.Unmarshaler = (*Postgres)(nil)
)
