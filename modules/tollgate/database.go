package tollgate

import (
	"encoding/json"
	"fmt"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Storage is a guest of the namespace tollgate.storage.
type Storage interface {
	// Open makes the database; it touches nothing yet.
	Open(logger *zap.Logger) (*store.DB, error)
	// Key is comparable and identifies the database and its settings.
	Key() any
}

// opened is a database and a schema that Start puts into it.
type opened struct {
	db     *store.DB
	schema store.Schema
}

// provisionStorages loads all storages. No module has asked for a database yet.
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
	a.chosen = a.DatabaseRaw != nil // which loading it clears
	a.common, err = guest[Storage](ctx, a, "DatabaseRaw", a.DatabaseRaw, "tollgate.storage.sqlite", json.RawMessage(`{"path":"data/tollgate.db"}`))
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	return nil
}

// Storage is a service's database, or the one of all services.
func (a *App) Storage(service string) Storage {
	if named, ok := a.named[service].(Storage); ok {
		return named
	}
	return a.common
}

// open takes a database, for Start to open with a schema in it.
func (a *App) open(storage Storage, schema store.Schema) (*store.DB, error) {
	db, err := Share(a, databases, storage.Key(), func() (*store.DB, error) { return storage.Open(a.logger) },
		func(db *store.DB) error { return db.Close() })
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	a.opened = append(a.opened, opened{db, schema})
	return db, nil
}

// ServiceDatabase is the database of a service: its own where the configuration
// names one, else that of all services. A module calls it while it is
// provisioned; Start migrates the schema and opens the database, which is
// waited for in the background where it is down.
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

// ServiceFolder is where a service keeps files: beside its database. It is empty
// where the database is not a file, so that several nodes may share it.
func (a *App) ServiceFolder(service string) string {
	if local, ok := a.Storage(service).(interface{ Dir() string }); ok {
		return local.Dir()
	}
	return ""
}

// register puts the schemas into the databases. None is started before: it would
// seem ready without the rest.
func (a *App) register() error {
	for _, o := range a.opened {
		if err := o.db.Register(o.schema); err != nil {
			return fmt.Errorf("database: %w", err)
		}
	}
	return nil
}
