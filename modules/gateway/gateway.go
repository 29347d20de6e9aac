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
	"github.com/tollgate-gateway/tollgate/backends/gateway/passthrough"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/backends/gateway/stored"
	"github.com/tollgate-gateway/tollgate/backends/gateway/timings"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/outbound"
	"github.com/tollgate-gateway/tollgate/internal/sealed"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/webhook"
)

// gateways keeps gateways across reloads.
var gateways = caddy.NewUsagePool()

var errNotStarted = errors.New("the app has not started yet")

// gatewayKey identifies a gateway. Configurations with the same key share a gateway.
type gatewayKey struct {
	db    *store.DB
	ring  *sealed.Ring
	allow string
}

// Gateway is the state of the model gateway that is kept across reloads.
type Gateway struct {
	Keychain *keychain.Service
	// Spending reports and limits spending, and Usage records it.
	Spending *spending.Ledger
	Usage    *spending.Log
	// Items stores items of responses. Later requests of clients may refer to them.
	Items *keychain.Items
	// Resources records the owner and the provider of each file and batch that providers store.
	Resources *passthrough.Resources
	// Stored stores responses and conversations at the request of clients.
	Stored *stored.Service
	// Alerts notifies the operator and other people about spending, refused keys, errors and latency.
	Alerts *alerts.Service
	// retention deletes old rows of the usage log and of other tables.
	retention *spending.Retention
	Memory    *cascade.Memory
	// Mark marks requests of this gateway, so that a request that returns to the gateway is detected as a loop. All nodes
	// that share the keyring have the same mark.
	Mark *cascade.Mark
	// Sealer encrypts reasoning state in tokens that clients store and send back.
	Sealer *hub.Sealer
	// Providers is the transport for the catalog's base URLs, and Custom the transport for users' base URLs.
	Providers, Custom *http.Transport

	ring        *sealed.Ring
	connections outbound.Connections // of both transports
	greeted     atomic.Bool          // whether this process has printed the banner of FirstRun
	prices      atomic.Pointer[storedPrices]
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
		Resources: passthrough.NewResources(db, time.Now),
		retention: newRetention(ledger, logger),
		Stored:    stored.New(db, ring, logger, jobMetrics.Observe, time.Now),
		Memory:    cascade.NewMemory(time.Now),
		Mark:      cascade.NewMark(marks...),
		Providers: cascade.NewTransport(),
		Custom:    cascade.NewGuardedTransport(allow),
	}
	g.Alerts = alerts.New(alerts.Deps{
		Keychain: service, Sender: webhook.NewSender(allow, logger), Logger: logger, Observe: jobMetrics.Observe,
		Now: time.Now,
	})
	g.connections.Watch(g.Providers)
	g.connections.Watch(g.Custom)
	return g, nil
}

// newRetention creates the job that deletes rows which the gateway stores only for a limited time.
func newRetention(ledger *spending.Ledger, logger *zap.Logger) *spending.Retention {
	expired := timings.Expired()
	also := make([]spending.Expiry, 0, 5+len(expired))
	also = append(also, keychain.ExpiredItems, keychain.ExpiredAudit,
		stored.Expired, stored.ExpiredConversations, stored.ExpiredEvents)
	for _, expiry := range expired {
		also = append(also, expiry)
	}
	return spending.NewRetention(ledger, logger, jobMetrics.Observe, also...)
}

// newKeychain creates the keychain and its ledger. Users' models may be at public addresses and in the networks of
// allow.
func newKeychain(db *store.DB, ring *sealed.Ring, allow []netip.Prefix, logger *zap.Logger,
) (*keychain.Service, *spending.Ledger, error) {
	ledger := spending.NewLedger(db, logger, time.Now)
	service, err := keychain.New(db, ring, ledger, logger, time.Now)
	if err == nil {
		service.CheckHost = func(ctx context.Context, host string) error { return outbound.Check(ctx, host, allow) }
	}
	return service, ledger, err
}

// close writes the remaining usage and closes the connections, within 10 seconds, because the process must not hang if
// the database is down.
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

// Unavailable converts the error of an unreachable database or counter store into an error with status 503. It returns
// other errors unchanged.
func Unavailable(err error) error {
	switch {
	case errors.Is(err, store.ErrUnavailable):
		return apierror.Unavailable("the database", err)
	case errors.Is(err, counters.ErrUnavailable):
		return apierror.Unavailable("the counters", err)
	}
	return err
}
