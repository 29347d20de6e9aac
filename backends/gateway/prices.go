package gateway

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/ownprices"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// pricesEvery is the interval at which prices are read from the database.
const pricesEvery = 5 * time.Second

// storedPrices are the prices that were last read from the database, with their version.
type storedPrices struct {
	prices  catalog.Prices
	version string
}

// Prices copies the operator's prices from the database to the catalog of a configuration. It is safe for concurrent
// use.
type Prices struct {
	gateway *Gateway
	db      *store.DB
	source  *catalog.Source
	logger  *zap.Logger

	// mu guards current. It is held while prices are read, so that old prices never replace newer ones.
	mu      sync.Mutex
	current *storedPrices // the prices in the catalog; nil until they have been read
}

// NewPrices returns a Prices for a catalog. Until the Prices has read the database, the catalog has the prices that
// the gateway last read for any configuration.
func (g *Gateway) NewPrices(source *catalog.Source, logger *zap.Logger) *Prices {
	p := &Prices{gateway: g, db: g.Keychain.DB(), source: source, logger: logger, current: g.prices.Load()}
	if p.current != nil {
		source.UsePrices(p.current.prices)
	}
	return p
}

// Follow calls Read every pricesEvery until the context ends. While the prices cannot be read, the previous
// prices stay in use, and the first failure is logged.
func (p *Prices) Follow(ctx context.Context) {
	if err := p.db.WaitReady(ctx); err != nil {
		return // the context has ended
	}
	ticker := time.NewTicker(pricesEvery)
	defer ticker.Stop()
	for failing := false; ; {
		err := p.Read(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !failing {
			p.logger.Error("prices of the database are not usable, keeping the last good ones", zap.Error(err))
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Read reads the prices in the database, and updates the catalog if they have changed. The error comes from the
// database, or means that a stored price is invalid; the catalog then stays unchanged.
func (p *Prices) Read(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	prices, version, err := ownprices.Read(ctx, p.db)
	if err != nil {
		return err
	}
	changed := len(prices) > 0 // at the first read, when the catalog has no prices of the database yet
	if p.current != nil {
		changed = p.current.version != version
	}
	if changed {
		p.source.UsePrices(prices)
		p.logger.Info("prices replaced", zap.Int("prices", len(prices)))
	}
	p.current = &storedPrices{prices, version}
	p.gateway.prices.Store(p.current)
	return nil
}
