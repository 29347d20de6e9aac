package gateway

import (
	"context"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/tollgate-gateway/tollgate/backends/gateway/cascade"
	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/memory"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

// OpenKeychain opens the keychain of a configuration, its ledger and its catalog, for a command, which runs in a
// different process than the server. It opens nothing else. A running server notices changes within keychain.CacheTTL.
// The caller must close the service.
func OpenKeychain(
	ctx context.Context, app *tollgate.App,
) (*keychain.Service, *spending.Ledger, *catalog.Catalog, error) {
	logger := caddy.Log().Named(id)
	cat, err := catalogOf(app, logger)
	if err != nil {
		return nil, nil, nil, err
	}
	db, ring, err := app.OpenSealed(ctx, Name)
	if err != nil {
		return nil, nil, nil, err
	}
	service, ledger, err := newKeychain(db, ring, app.AllowedNetworks(), logger)
	return service, ledger, cat.source.Current(), err
}

// probeMemory limits the memory for the bodies of a probe that a command sends.
const probeMemory = 32 << 20

// Probe sends one small request with a provider key, for a command. It does not check the key's limits, and a running
// server does not learn the outcome. provider is the code of the key's provider.
func Probe(
	ctx context.Context, service *keychain.Service, cat *catalog.Catalog, owner keychain.Owner, keyID string,
) (provider string, probe *cascade.Probe, err error) {
	candidate, key, err := service.ProbeOf(ctx, cat, owner, keyID, owner.ID)
	if err != nil {
		return "", nil, err
	}
	transport := cascade.NewTransport()
	defer transport.CloseIdleConnections()
	engine := &cascade.Engine{
		Memory: cascade.NewMemory(time.Now), Budget: memory.New(probeMemory), Catalog: func() *catalog.Catalog { return cat },
		Providers: transport, Custom: transport, Mark: cascade.NewMark(), Logger: caddy.Log().Named(id), Now: time.Now,
	}
	probe, err = engine.Probe(ctx, owner.ID, candidate, key)
	return candidate.Provider.Code, probe, err
}
