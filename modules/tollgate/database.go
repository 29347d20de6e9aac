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
	// Open makes the database without any I/O.
	Open(logger *zap.Logger) (*store.DB, error)
	// Key returns a comparable value that identifies the database and its settings.
	Key() any
}

// opened is a database with a schema that Start applies to it.
type opened struct {
	db     *store.DB
	schema store.Schema
}

// provisionStorages loads all storages. It does not open a database.
func (a *App) provisionStorages(ctx caddy.Context) error {
	for name := range a.DatabasesRaw {
		if err := Known(name); err != nil {
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
	a.chosen = a.DatabaseRaw != nil // loading clears DatabaseRaw
	a.common, err = guest[Storage](ctx, a, "DatabaseRaw", a.DatabaseRaw, "tollgate.storage.sqlite",
		json.RawMessage(`{"path":"data/tollgate.db"}`))
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	return nil
}

// Storage returns a service's own database, or else the common one.
func (a *App) Storage(service string) Storage {
	if named, ok := a.named[service].(Storage); ok {
		return named
	}
	return a.common
}

// newDatabase returns a database that knows the release of this program, not started.
func newDatabase(storage Storage, logger *zap.Logger) (*store.DB, error) {
	db, err := storage.Open(logger)
	if err == nil {
		db.SetRelease(Version())
	}
	return db, err
}

// open returns a database that Start opens with a schema.
func (a *App) open(storage Storage, schema store.Schema) (*store.DB, error) {
	db, err := Share(a, databases, storage.Key(), func() (*store.DB, error) { return newDatabase(storage, a.logger) },
		func(db *store.DB) error { return db.Close() })
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	a.opened = append(a.opened, opened{db, schema})
	return db, nil
}

// ServiceDatabase returns the database of a service: its own if the configuration names one, and else the common one. A
// module calls it while it is provisioned. Start migrates the schema and opens the database, and waits in the
// background while it is down.
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

// ServiceFolder returns the folder for the files of a service, which is that of its database. It is empty if the
// database is not a file, since several nodes may then share it.
func (a *App) ServiceFolder(service string) string {
	if local, ok := a.Storage(service).(interface{ Dir() string }); ok {
		return local.Dir()
	}
	return ""
}

// register registers the schemas with the databases. No database is started before all its schemas are registered,
// because it would become ready without the rest.
func (a *App) register() error {
	for _, o := range a.opened {
		if err := o.db.Register(o.schema); err != nil {
			return fmt.Errorf("database: %w", err)
		}
	}
	return nil
}
