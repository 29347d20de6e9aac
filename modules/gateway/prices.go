package gateway

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/ownprices"
)

// pricesEvery is the interval at which prices are read from the database.
const pricesEvery = 5 * time.Second

// storedPrices are the prices in the database at the last reading, with their version.
type storedPrices struct {
	prices  catalog.Prices
	version string
}

// followPrices calls reprice every pricesEvery until the context ends. While the prices cannot be read, the previous
// prices stay in use.
func (a *App) followPrices(ctx context.Context, g *Gateway) {
	if err := a.db.WaitReady(ctx); err != nil {
		return // the configuration ends
	}
	ticker := time.NewTicker(pricesEvery)
	defer ticker.Stop()
	for failing := false; ; {
		err := a.reprice(ctx, g)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !failing {
			a.logger.Error("prices of the database are not usable, keeping the last good ones", zap.Error(err))
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Reprice reads the prices from the database. If they have changed, it updates the catalog of this configuration.
// Several goroutines may call it; older prices never replace newer ones.
func (a *App) Reprice(ctx context.Context) error {
	g, err := a.Gateway()
	if err != nil {
		return err
	}
	return a.reprice(ctx, g)
}

func (a *App) reprice(ctx context.Context, g *Gateway) error {
	a.pricing.Lock()
	defer a.pricing.Unlock()
	prices, version, err := ownprices.Read(ctx, a.db)
	if err != nil {
		return err
	}
	if a.priced == nil && len(prices) > 0 || a.priced != nil && a.priced.version != version {
		a.catalog.source.UsePrices(prices)
		a.logger.Info("prices replaced", zap.Int("prices", len(prices)))
	}
	a.priced = &storedPrices{prices, version}
	g.prices.Store(a.priced)
	return nil
}
