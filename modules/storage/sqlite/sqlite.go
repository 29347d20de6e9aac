// Package sqlite provides the guest module tollgate.storage.sqlite: a database in one file, for one node.
package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/modules/placeholder"
)

func init() {
	caddy.RegisterModule(new(SQLite))
}

// SQLite stores a database in one file on this machine. It needs no server and serves one node; use PostgreSQL for
// several nodes. Other processes on the same machine, such as commands of Tollgate, may use the file at the same time.
type SQLite struct {
	// Path is the database file, for example "data/tollgate.db". A missing file is created, with its folder, readable only
	// by the user of the process. A relative path is relative to the working directory. The path may contain the
	// placeholders {env.*} and {file.*}. Required.
	Path string `json:"path,omitempty"`

	// Readers is the number of queries that read at the same time, from 1 to 256. Default: the number of CPUs, at least 4.
	Readers int `json:"readers,omitempty"`

	// Synchronous is "full" (an acknowledged write survives the loss of power) or "normal" (the last writes may be lost
	// then, but not when the process is killed). Default: full.
	Synchronous string `json:"synchronous,omitempty"`

	// BusyTimeout is how long a write waits while another process writes. Default: 5s.
	BusyTimeout caddy.Duration `json:"busy_timeout,omitempty"`

	path string // Path made absolute, with its placeholders replaced
}

// CaddyModule returns the Caddy module information.
func (*SQLite) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "tollgate.storage.sqlite",
		New: func() caddy.Module { return new(SQLite) },
	}
}

// Provision resolves the placeholders. It reads no files except those that a {file.*} placeholder names.
func (s *SQLite) Provision(caddy.Context) error {
	if s.Path == "" {
		return errors.New("path is required")
	}
	path, err := placeholder.Resolve(s.Path)
	if err != nil {
		return fmt.Errorf("path: %w", err)
	}
	if s.path, err = filepath.Abs(path); err != nil {
		return fmt.Errorf("path: %w", err)
	}
	return nil
}

// Validate checks the options.
func (s *SQLite) Validate() error {
	_, err := s.Open(zap.NewNop())
	return err
}

// Open returns the database, which is not started yet. It does not access the file.
func (s *SQLite) Open(logger *zap.Logger) (*store.DB, error) {
	return store.NewSQLite(store.SQLiteOptions{
		Path:        s.path,
		Readers:     s.Readers,
		Synchronous: s.Synchronous,
		BusyTimeout: time.Duration(s.BusyTimeout),
	}, logger)
}

// key identifies a database: equal keys mean the same database and settings.
type key struct {
	path        string
	readers     int
	synchronous string
	busyTimeout caddy.Duration
}

// Key returns a comparable value that identifies the database and its settings in a caddy.UsagePool.
func (s *SQLite) Key() any {
	return key{s.path, s.Readers, s.Synchronous, s.BusyTimeout}
}

// Dir returns the folder of the database file, an absolute path.
func (s *SQLite) Dir() string { return filepath.Dir(s.path) }

// File returns the database file, an absolute path.
func (s *SQLite) File() string { return s.path }

// Interface guards.
var (
	_ caddy.Provisioner     = (*SQLite)(nil)
	_ caddy.Validator       = (*SQLite)(nil)
	_ caddyfile.Unmarshaler = (*SQLite)(nil)
)
