package gateway

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/ownprices"
)

// pricesEvery is how often the prices in the database are read.
const pricesEvery = 5 * time.Second

// storedPrices has the prices that were last read from the database, with their version.
type storedPrices struct {
	prices  catalog.Prices
	version string
}

// followPrices reads the prices in the database every pricesEvery, and updates the catalog of this configuration when
// they have changed. It returns when the context ends. While they cannot be read, the last ones stay in use.
func (a *App) followPrices(ctx context.Context, g *Gateway) {
	last := g.prices.Load()
	if err := a.db.WaitReady(ctx); err != nil {
		return // the configuration ends
	}
	ticker := time.NewTicker(pricesEvery)
	defer ticker.Stop()
	for failing := false; ; {
		prices, version, err := ownprices.Read(ctx, a.db)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if !failing {
				a.logger.Error("prices of the database are not usable, keeping the last good ones", zap.Error(err))
			}
		case last == nil && len(prices) > 0 || last != nil && last.version != version:
			a.catalog.source.UsePrices(prices)
			a.logger.Info("prices replaced", zap.Int("prices", len(prices)))
		}
		if failing = err != nil; !failing {
			last = &storedPrices{prices, version}
			g.prices.Store(last)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
