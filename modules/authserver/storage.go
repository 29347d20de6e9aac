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

// Storage is the database that the authorization server's settings file configures with its storage keys. The
// configuration adapter authserver uses Storage. The configuration that the adapter generates then names only the file,
// and contains no password.
//
// In the Caddyfile, in the option tollgate:
//
//	database authserver authserver_config [<file>]
type Storage struct {
	// Config is the settings file. Default: no file, only environment variables.
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

// Provision loads the keys.
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

// Open returns the database without starting it. It does not connect.
func (s *Storage) Open(logger *zap.Logger) (*store.DB, error) {
	if s.keys.Driver == config.SQLite {
		return store.NewSQLite(store.SQLiteOptions{Path: s.keys.SQLite.Path, NoWAL: !s.keys.SQLite.WAL}, logger)
	}
	p := s.keys.Postgres
	return store.NewPostgres(store.PostgresOptions{
		DSN: p.DSN, MaxConns: p.MaxConns, MinConns: p.MinConns, MaxIdleTime: p.MaxConnIdleTime,
		MaxLifetime: p.MaxConnLifetime,
	}, logger)
}

// storageKey identifies a database and its settings. It contains only a digest of the DSN, so that printing the key
// does not reveal the password.
type storageKey struct {
	keys config.Storage
	dsn  [sha256.Size]byte
}

// Key returns a comparable value that identifies the database and its settings.
func (s *Storage) Key() any {
	key := storageKey{s.keys, sha256.Sum256([]byte(s.keys.Postgres.DSN))}
	key.keys.Postgres.DSN = ""
	return key
}

// Dir returns the folder of the database file, or "" if the database is not a file.
func (s *Storage) Dir() string {
	if s.keys.Driver != config.SQLite {
		return ""
	}
	return filepath.Dir(s.keys.SQLite.Path)
}

// File returns the database file, or "" if the database is not a file.
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
		s.Config = directive.ResolvePath(d, d.Val())
	}
	if d.NextArg() {
		return d.ArgErr()
	}
	if d.NextBlock(0) {
		return d.Err("authserver_config has no options; configure the database with the storage keys of the settings file")
	}
	return nil
}

// loadKeys loads the settings from a file and the environment.
func loadKeys(file string) (*config.Config, error) {
	file = caddy.NewReplacer().ReplaceKnown(file, "")
	keys, err := config.Load(file)
	if err != nil {
		return nil, fmt.Errorf("the settings of the authorization server %s:\n%w", file, err)
	}
	return keys, nil
}

// ownStorage returns an error if storage keys are set although the app configures another database. Otherwise the
// operator might believe that the storage keys apply.
func ownStorage(app *tollgate.App, keys *config.Config) error {
	if _, isStorage := app.Storage(serviceName).(*Storage); isStorage {
		return nil
	}
	for _, k := range config.Keys() {
		if strings.HasPrefix(k.Name, "storage.") && keys.Given(k.Name) {
			return fmt.Errorf("%s: the option tollgate configures the database, so the storage keys have no effect: remove them, or add to the option tollgate: database %s authserver_config <file>", k.String(), serviceName)
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
