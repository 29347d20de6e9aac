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
	"github.com/tollgate-gateway/tollgate/backends/gateway/answeritems"
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

// gateways are kept across reloads.
var gateways = caddy.NewUsagePool()

var errNotStarted = errors.New("the app has not started yet")

// gatewayKey identifies a gateway. Configurations with the same key share one.
type gatewayKey struct {
	db    *store.DB
	ring  *sealed.Ring
	allow string
}

// Gateway is the state of the model gateway that is kept across reloads.
type Gateway struct {
	Keychain *keychain.Service
	// Spending knows what was spent, and Usage records it.
	Spending *spending.Ledger
	Usage    *spending.Log
	// Items stores the items of responses to which clients refer later.
	Items *answeritems.Store
	// Resources stores which files and batches providers keep for whom.
	Resources *passthrough.Resources
	// Stored keeps responses and conversations for clients that ask for it.
	Stored *stored.Service
	// Alerts notifies the operator and others of what is spent.
	Alerts *alerts.Service
	// retention deletes old rows of the usage log and of other tables.
	retention *spending.Retention
	Memory    *cascade.Memory
	// Mark marks the gateway's own requests to detect loops. It is the same on all nodes that share the keyring.
	Mark *cascade.Mark
	// Sealer encrypts the tokens in which clients carry reasoning state.
	Sealer *hub.Sealer
	// Providers sends to the base URLs of the catalog, Custom to those of users.
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
		Items:     answeritems.New(db, ring, logger, time.Now),
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

// newRetention creates the job that deletes what the gateway keeps for a limited time.
func newRetention(ledger *spending.Ledger, logger *zap.Logger) *spending.Retention {
	expired := timings.Expired()
	also := make([]spending.Expiry, 0, 5+len(expired))
	also = append(also, answeritems.Expired, keychain.ExpiredAudit,
		stored.Expired, stored.ExpiredConversations, stored.ExpiredEvents)
	for _, expiry := range expired {
		also = append(also, expiry)
	}
	return spending.NewRetention(ledger, logger, jobMetrics.Observe, also...)
}

// newKeychain creates the keychain and the ledger that it uses. Users' own models may be at public addresses and in the
// networks of allow.
func newKeychain(db *store.DB, ring *sealed.Ring, allow []netip.Prefix, logger *zap.Logger,
) (*keychain.Service, *spending.Ledger, error) {
	ledger := spending.NewLedger(db, logger, time.Now)
	service, err := keychain.New(db, ring, ledger, logger, time.Now)
	if err == nil {
		service.CheckHost = func(ctx context.Context, host string) error { return outbound.Check(ctx, host, allow) }
	}
	return service, ledger, err
}

// close writes the remaining usage and closes the connections. It takes 10 seconds at most: the process must not hang
// on a database that is down.
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

// Unavailable converts the error of an unreachable database or counter store into one with status 503. It returns other
// errors unchanged.
func Unavailable(err error) error {
	switch {
	case errors.Is(err, store.ErrUnavailable):
		return apierror.Unavailable("the database", err)
	case errors.Is(err, counters.ErrUnavailable):
		return apierror.Unavailable("the counters", err)
	}
	return err
}
