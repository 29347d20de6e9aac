package tollgate

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tollgate-gateway/tollgate/internal/sealed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Reseal encrypts secrets again with the current master key, the first key of the keyring. It does so for all services
// of the configuration and all secrets that another key has encrypted. From then on all nodes encrypt with the current
// key, so every node must have it. Reseal works while servers run; it may be interrupted and called again. It calls
// progress after each batch. done counts the processed secrets of each service, even if an error is returned.
func (a *App) Reseal(
	ctx context.Context, progress func(service string, done sealed.Result),
) (done map[string]sealed.Result, err error) {
	services, err := a.sealedServiceNames()
	if err != nil {
		return nil, err
	}
	for _, name := range services {
		if err := a.Exists(name); err != nil {
			return nil, err
		}
	}
	databases, rings, err := a.openSealed(ctx, services...)
	if err != nil {
		return nil, err
	}
	done = make(map[string]sealed.Result, len(services))
	for i, name := range services {
		if err := rings[i].Check(ctx); err != nil {
			return done, err
		}
		done[name], err = registered[name].Sealed.Reseal(ctx, databases[i], rings[i], a.logger,
			func(r sealed.Result) { progress(name, r) })
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// OpenSealed opens, for a command, the database of a service that stores secrets, and its keyring. It waits for the
// database as OpenDatabase does. It returns an error if the keyring does not fit the database.
func (a *App) OpenSealed(ctx context.Context, service string) (*store.DB, *sealed.Ring, error) {
	databases, rings, err := a.openSealed(ctx, service)
	if err != nil {
		return nil, nil, err
	}
	return databases[0], rings[0], rings[0].Check(ctx)
}

// openSealed opens the databases of services that store secrets, with all their schemas, and the keyring of each
// service. It does not check the keyrings against the databases.
func (a *App) openSealed(
	ctx context.Context, services ...string,
) (databases []*store.DB, rings []*sealed.Ring, err error) {
	// All schemas must be registered before any database is opened, and the keyring is opened last, because openKeyring
	// looks for secrets in the databases.
	for _, name := range services {
		service := registered[name]
		for _, schema := range service.Schemas[1:] {
			if _, err := a.ServiceDatabase(name, schema); err != nil {
				return nil, nil, err
			}
		}
		db, err := a.SealedDatabase(name, service.Schemas[0], service.Sealed.Sample)
		if err != nil {
			return nil, nil, err
		}
		databases = append(databases, db)
	}
	if err := a.register(); err != nil {
		return nil, nil, err
	}
	for _, db := range databases {
		if err := openAndWait(ctx, db); err != nil {
			return nil, nil, err
		}
	}
	base, err := a.openKeyring(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("keyring: %w", err)
	}
	for i, name := range services {
		rings = append(rings, sealed.New(databases[i], name, base, registered[name].Sealed.Sample, a.logger))
	}
	return databases, rings, nil
}

// sealedServiceNames returns the names of the configuration's services that store secrets in their databases. If there
// is no such service, as without a configuration file, it returns the gateway, whose commands need no file.
func (a *App) sealedServiceNames() (names []string, err error) {
	for _, name := range Services() {
		if len(registered[name].Sealed) == 0 {
			continue
		}
		configured := false
		err := a.Handlers(name, func(json.RawMessage) error {
			configured = true
			return nil
		})
		if err != nil {
			return nil, err
		}
		if configured {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return []string{keyService}, nil
	}
	return names, nil
}
