package tollgate

import (
	"encoding/json"
	"fmt"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Storage is a guest module of the namespace tollgate.storage.
type Storage interface {
	// Open returns the database without any I/O.
	Open(logger *zap.Logger) (*store.DB, error)
	// Key returns a comparable value that identifies the database and its settings.
	Key() any
}

// pendingDatabase is a database that Start opens, and a schema that Start applies to it.
type pendingDatabase struct {
	db     *store.DB
	schema store.Schema
}

// provisionStorages loads all storages, but opens no database.
func (a *App) provisionStorages(ctx caddy.Context) error {
	for name := range a.DatabasesRaw {
		if err := CheckService(name); err != nil {
			return fmt.Errorf("databases: %w", err)
		}
	}
	if len(a.DatabasesRaw) > 0 {
		loaded, err := ctx.LoadModule(a, "DatabasesRaw")
		if err != nil {
			return fmt.Errorf("databases: %w", err)
		}
		a.named = loaded.(map[string]any)
	}
	var err error
	a.commonNamed = a.DatabaseRaw != nil // loading clears DatabaseRaw
	a.common, err = loadGuest[Storage](ctx, a, "DatabaseRaw", a.DatabaseRaw, "tollgate.storage.sqlite",
		json.RawMessage(`{"path":"data/tollgate.db"}`))
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	return nil
}

// Storage returns the storage of a service: the separate storage that the configuration names, or the common storage.
func (a *App) Storage(service string) Storage {
	if named, ok := a.named[service].(Storage); ok {
		return named
	}
	return a.common
}

// newDatabase returns the database of a storage, not started. The database records the release of this program.
func newDatabase(storage Storage, logger *zap.Logger) (*store.DB, error) {
	db, err := storage.Open(logger)
	if err == nil {
		db.SetRelease(Version())
	}
	return db, err
}

// open returns the database of a storage from the pool, and makes Start open it and apply the schema.
func (a *App) open(storage Storage, schema store.Schema) (*store.DB, error) {
	db, err := Share(a, databases, storage.Key(), func() (*store.DB, error) { return newDatabase(storage, a.logger) },
		func(db *store.DB) error { return db.Close() })
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	a.pending = append(a.pending, pendingDatabase{db, schema})
	return db, nil
}

// ServiceDatabase returns the database of a service: the separate database that the configuration names, or the common
// database. A module calls it while it is provisioned. Start opens the database and applies the schema; if the database
// is down, Start does so in the background.
func (a *App) ServiceDatabase(service string, schema store.Schema) (*store.DB, error) {
	db, err := a.open(a.Storage(service), schema)
	if err != nil {
		return nil, err
	}
	if a.served == nil {
		a.served = make(map[string]*store.DB)
	}
	a.served[service] = db
	return db, nil
}

// ServiceFolder returns the folder of a service's database, where the service may store files. It is empty if the
// database is not a file, because then several nodes may share the database.
func (a *App) ServiceFolder(service string) string {
	if local, ok := a.Storage(service).(interface{ Dir() string }); ok {
		return local.Dir()
	}
	return ""
}

// register registers the schemas with the databases. That must happen before any database is started, because a
// database becomes ready when its registered schemas are applied.
func (a *App) register() error {
	for _, p := range a.pending {
		if err := p.db.Register(p.schema); err != nil {
			return fmt.Errorf("database: %w", err)
		}
	}
	return nil
}
