package gateway

import (
	"context"

	"github.com/caddyserver/caddy/v2"

	"github.com/tollgate-gateway/tollgate/backends/gateway"
	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
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
	service, ledger, err := gateway.NewKeychain(options(db, ring, app.AllowedNetworks(), logger))
	return service, ledger, cat.source.Current(), err
}
