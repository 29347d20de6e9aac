package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/alerts"
	"github.com/tollgate-gateway/tollgate/backends/gateway/cascade"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/backends/gateway/stored"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/outbound"
	"github.com/tollgate-gateway/tollgate/internal/sealed"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
)

// gateways survive reloads.
var gateways = caddy.NewUsagePool()

var errNotStarted = errors.New("the app has not started yet")

// gatewayKey is what makes two configurations share a gateway.
type gatewayKey struct {
	db    *store.DB
	ring  *sealed.Ring
	allow string
}

// Gateway is what the model gateway keeps across reloads.
type Gateway struct {
	Keychain *keychain.Service
	// Spending knows what was spent, and Usage writes it down.
	Spending *spending.Ledger
	Usage    *spending.Log
	// Items keeps the items of answers that clients refer to.
	Items *keychain.Items
	// Stored keeps responses and conversations for clients that want that.
	Stored *stored.Service
	// Alerts tells who wants to know what is spent.
	Alerts *alerts.Service
	// retention deletes what is old of it.
	retention *spending.Retention
	Memory    *cascade.Memory
	// Mark is known to all nodes that share the keyring.
	Mark *cascade.Mark
	// Sealer makes the tokens in which clients carry reasoning state.
	Sealer *hub.Sealer
	// Providers sends to the catalog's base URLs, Custom to those of users.
	Providers, Custom *http.Transport

	ring        *sealed.Ring
	connections outbound.Connections // of both
	greeted     atomic.Bool          // the banner of FirstRun was printed by this process
}

func newGateway(db *store.DB, ring *sealed.Ring, allow []netip.Prefix, logger *zap.Logger) (*Gateway, error) {
	service, ledger, err := newKeychain(db, ring, allow, logger)
	if err != nil {
		return nil, err
	}
	keys, err := ring.Derive(context.Background(), "reasoning state")
	if err != nil {
		return nil, err
	}
	sealer, err := hub.NewSealer(keys...)
	if err != nil {
		return nil, err
	}
	marks, err := ring.Derive(context.Background(), "request loops")
	if err != nil {
		return nil, err
	}
	g := &Gateway{
		ring:      ring,
		Sealer:    sealer,
		Keychain:  service,
		Spending:  ledger,
		Usage:     spending.NewLog(ledger, service.KeyUses(), logger).Start(),
		Items:     keychain.NewItems(service, logger),
		retention: spending.NewRetention(ledger, logger, jobMetrics.Observe, keychain.ExpiredItems, keychain.ExpiredAudit, stored.Expired, stored.ExpiredConversations, stored.ExpiredEvents),
		Stored:    stored.New(db, ring, logger, jobMetrics.Observe, time.Now),
		Memory:    cascade.NewMemory(time.Now),
		Mark:      cascade.NewMark(marks...),
		Providers: cascade.NewTransport(),
		Custom:    cascade.NewGuardedTransport(allow),
	}
	g.Alerts = alerts.New(alerts.Deps{
		Keychain: service, Sender: webhook.NewSender(allow, logger), Logger: logger, Observe: jobMetrics.Observe, Now: time.Now,
	})
	g.connections.Watch(g.Providers)
	g.connections.Watch(g.Custom)
	return g, nil
}

// newKeychain makes the keychain, and the ledger that it asks; users' own models may be at public addresses and
// in the networks of allow.
func newKeychain(db *store.DB, ring *sealed.Ring, allow []netip.Prefix, logger *zap.Logger,
) (*keychain.Service, *spending.Ledger, error) {
	ledger := spending.NewLedger(db, logger, time.Now)
	service, err := keychain.New(db, ring, ledger, logger, time.Now)
	if err == nil {
		service.CheckHost = func(ctx context.Context, host string) error { return outbound.Check(ctx, host, allow) }
	}
	return service, ledger, err
}

// close writes the usage that is left and ends the connections. It is bounded:
// an exit must not hang on a database that is down.
func (g *Gateway) close() error {
	g.retention.Close()
	g.Alerts.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := errors.Join(g.Stored.Close(ctx), g.Usage.Close(ctx), g.Items.Close(ctx))
	g.Keychain.Close()
	g.Providers.CloseIdleConnections()
	g.Custom.CloseIdleConnections()
	if err != nil {
		return fmt.Errorf("closing stored responses, the usage log and the items of answers: %w", err)
	}
	return nil
}

// Unavailable turns an error of the database or the counters that are down into a 503; other
// errors stay as they are.
func Unavailable(err error) error {
	switch {
	case errors.Is(err, store.ErrUnavailable):
		return apierror.Unavailable("the database", err)
	case errors.Is(err, counters.ErrUnavailable):
		return apierror.Unavailable("the counters", err)
	}
	return err
}
