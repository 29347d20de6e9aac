package tollgate

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tollgate-gateway/tollgate/internal/sealed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Reseal seals with the current master key, the first of the keyring, all secrets of the services of the configuration
// that another master key has sealed. All nodes seal with the current key from then on, so each must have it. Reseal
// works while servers run, and may be interrupted and called again. It calls progress after each batch, and returns
// what it has done for each service until then, also with an error.
func (a *App) Reseal(
	ctx context.Context, progress func(service string, done sealed.Result),
) (done map[string]sealed.Result, err error) {
	services, err := a.sealedServices()
	if err != nil {
		return nil, err
	}
	databases := make([]*store.DB, len(services))
	for i, name := range services {
		if databases[i], err = a.openSealed(name); err != nil {
			return nil, err
		}
	}
	if err := a.register(); err != nil {
		return nil, err
	}
	for _, db := range databases {
		if err := await(ctx, db); err != nil {
			return nil, err
		}
	}
	base, err := a.openKeyring(ctx)
	if err != nil {
		return nil, fmt.Errorf("keyring: %w", err)
	}
	done = make(map[string]sealed.Result, len(services))
	for i, name := range services {
		columns := registered[name].Sealed
		ring := sealed.New(databases[i], name, base, columns.Sample, a.logger)
		if err := ring.Check(ctx); err != nil {
			return done, err
		}
		done[name], err = columns.Reseal(ctx, databases[i], ring, a.logger,
			func(r sealed.Result) { progress(name, r) })
		if err != nil {
			return done, err
		}
	}
	return done, nil
}

// sealedServices returns the names of the services of the configuration that keep secrets in their databases. If there
// is none, as without a configuration file, it returns that of the gateway, whose commands need no file.
func (a *App) sealedServices() (names []string, err error) {
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

// openSealed returns the database of a service that keeps secrets, which must exist, with all schemas of the service.
func (a *App) openSealed(name string) (*store.DB, error) {
	if err := a.Exists(name); err != nil {
		return nil, err
	}
	service := registered[name]
	for _, further := range service.Schemas[1:] {
		if _, err := a.ServiceDatabase(name, further); err != nil {
			return nil, err
		}
	}
	return a.SealedDatabase(name, service.Schemas[0], service.Sealed.Sample)
}
