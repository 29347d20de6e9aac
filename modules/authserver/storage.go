package authserver

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/authserver/config"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/modules/directive"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

func init() {
	caddy.RegisterModule(new(Storage))
}

// Storage is the database that the storage keys of the authorization server name. The
// configuration adapter authserver puts it in, so that a password in the file is in no
// other configuration.
//
// In the Caddyfile, in the option tollgate:
//
//	database authserver authserver_config [<file>]
type Storage struct {
	// Config is the file with the keys. Default: none, only the environment.
	Config string `json:"config,omitempty"`

	keys config.Storage
}

// CaddyModule returns the Caddy module information.
func (*Storage) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "tollgate.storage.authserver_config",
		New: func() caddy.Module { return new(Storage) },
	}
}

// Provision reads the keys.
func (s *Storage) Provision(caddy.Context) error {
	keys, err := loadKeys(s.Config)
	if err != nil {
		return err
	}
	s.keys = keys.Storage
	if path := &s.keys.SQLite.Path; s.keys.Driver == config.SQLite {
		if *path, err = filepath.Abs(*path); err != nil {
			return fmt.Errorf("storage.sqlite.path: %w", err)
		}
	}
	_, err = s.Open(zap.NewNop())
	return err
}

// Open returns the database, not started; nothing is reached for yet.
func (s *Storage) Open(logger *zap.Logger) (*store.DB, error) {
	if s.keys.Driver == config.SQLite {
		return store.NewSQLite(store.SQLiteOptions{Path: s.keys.SQLite.Path, NoWAL: !s.keys.SQLite.WAL}, logger)
	}
	p := s.keys.Postgres
	return store.NewPostgres(store.PostgresOptions{
		DSN: p.DSN, MaxConns: p.MaxConns, MinConns: p.MinConns, MaxIdleTime: p.MaxConnIdleTime, MaxLifetime: p.MaxConnLifetime,
	}, logger)
}

// storageKey is what makes two configurations the same database. It holds a digest of
// the DSN, so that printing it gives no password away.
type storageKey struct {
	keys config.Storage
	dsn  [sha256.Size]byte
}

// Key identifies the database and its settings. It is comparable.
func (s *Storage) Key() any {
	key := storageKey{s.keys, sha256.Sum256([]byte(s.keys.Postgres.DSN))}
	key.keys.Postgres.DSN = ""
	return key
}

// Dir is the folder of the database file; empty: it is not a file.
func (s *Storage) Dir() string {
	if s.keys.Driver != config.SQLite {
		return ""
	}
	return filepath.Dir(s.keys.SQLite.Path)
}

// File is the database file; empty: it is not one.
func (s *Storage) File() string {
	if s.keys.Driver != config.SQLite {
		return ""
	}
	return s.keys.SQLite.Path
}

// UnmarshalCaddyfile sets up the module; see Storage for the syntax.
func (s *Storage) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // authserver_config
	if d.NextArg() {
		s.Config = directive.Beside(d, d.Val())
	}
	if d.NextArg() {
		return d.ArgErr()
	}
	if d.NextBlock(0) {
		return d.Err("authserver_config has no options: they are keys of the file")
	}
	return nil
}

// loadKeys reads a file of keys, and the environment.
func loadKeys(file string) (*config.Config, error) {
	file = caddy.NewReplacer().ReplaceKnown(file, "")
	keys, err := config.Load(file)
	if err != nil {
		return nil, fmt.Errorf("the keys of the authorization server %s:\n%w", file, err)
	}
	return keys, nil
}

// ownStorage is an error where storage keys are given and the database is another one,
// which would be taken for theirs.
func ownStorage(app *tollgate.App, keys *config.Config) error {
	if _, own := app.Storage(serviceName).(*Storage); own {
		return nil
	}
	for _, k := range config.Keys() {
		if strings.HasPrefix(k.Name, "storage.") && keys.Given(k.Name) {
			return fmt.Errorf("%s: the database is that of the option tollgate; leave the storage keys out, or write there: database %s authserver_config <file>", k.String(), serviceName)
		}
	}
	return nil
}

// Interface guards
var (
	_ caddy.Provisioner     = (*Storage)(nil)
	_ caddyfile.Unmarshaler = (*Storage)(nil)
	_ tollgate.Storage      = (*Storage)(nil)
)
