// Package gateway is the model gateway. It creates the parts that are in the packages below, connects them and closes
// them:
//
//   - keychain knows users, teams, keys and limits; management is the API and the console for them, declared applies
//     them from a file, and alerts notifies people of spent budgets and refused keys;
//   - catalog knows providers, models and list prices; ownprices replaces list prices;
//   - wire translates the formats of requests and responses;
//   - cascade sends a request to one provider after another until one answers; credentials signs requests for clouds;
//   - spending records and sums the cost of requests, timings their latencies and failures; overview reports on both;
//   - stored stores responses and conversations, and answeritems single items of answers; passthrough serves the APIs
//     that are not translated; modellist and modelaccess list models and the users who may use them;
//   - schema has the tables.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

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

// Options are the dependencies and settings of a Gateway. All fields except Allow are required.
type Options struct {
	DB   *store.DB // with the tables of schema.Gateway
	Ring *sealed.Ring
	// Allow lists networks, besides the public internet, that may contain the addresses that users enter for models and
	// webhooks.
	Allow  []netip.Prefix
	Logger *zap.Logger
	// Observe is called after each run of a background job; see jobs.Options.
	Observe func(job, outcome string, done int)
}

// Gateway has the parts of the model gateway, and their state in memory. Several configurations can use one Gateway,
// one after another or at the same time. It is safe for concurrent use.
type Gateway struct {
	Keychain *keychain.Service
	// Spending reports and limits spending, and Usage records it.
	Spending *spending.Ledger
	Usage    *spending.Log
	// Items stores items of responses, to which later requests of clients may refer.
	Items *answeritems.Store
	// Resources records the owner and the provider of each file and batch that providers store.
	Resources *passthrough.Resources
	// Stored stores responses and conversations at the request of clients.
	Stored *stored.Service
	// Alerts notifies the operator and other people about spending, refused keys, errors and latency.
	Alerts *alerts.Service
	// Memory is the state that cascades gather from answers and failures of providers.
	Memory *cascade.Memory
	// Mark marks requests of this gateway, so that a request that returns to the gateway is detected as a loop. All
	// nodes that share the keyring have the same mark.
	Mark *cascade.Mark
	// Sealer encrypts reasoning state in tokens that clients store and send back.
	Sealer *hub.Sealer
	// Providers is the transport for the catalog's base URLs, and Custom the transport for users' base URLs.
	Providers, Custom *http.Transport
	// Greeted is set once this process has printed the banner of the first run.
	Greeted atomic.Bool

	ring        *sealed.Ring
	retention   *spending.Retention
	connections outbound.Connections // of both transports
	prices      atomic.Pointer[storedPrices]
}

// New creates a gateway and starts its background jobs, which wait until the database is ready.
func New(o Options) (*Gateway, error) {
	service, ledger, err := NewKeychain(o)
	if err != nil {
		return nil, err
	}
	keys, err := o.Ring.Derive(context.Background(), "reasoning state")
	if err != nil {
		return nil, err
	}
	sealer, err := hub.NewSealer(keys...)
	if err != nil {
		return nil, err
	}
	marks, err := o.Ring.Derive(context.Background(), "request loops")
	if err != nil {
		return nil, err
	}
	g := &Gateway{
		ring:      o.Ring,
		Sealer:    sealer,
		Keychain:  service,
		Spending:  ledger,
		Usage:     spending.NewLog(ledger, service.KeyUses(), o.Logger).Start(),
		Items:     answeritems.New(o.DB, o.Ring, o.Logger, time.Now),
		Resources: passthrough.NewResources(o.DB, time.Now),
		retention: newRetention(ledger, o),
		Stored:    stored.New(o.DB, o.Ring, o.Logger, o.Observe, time.Now),
		Memory:    cascade.NewMemory(time.Now),
		Mark:      cascade.NewMark(marks...),
		Providers: cascade.NewTransport(),
		Custom:    cascade.NewGuardedTransport(o.Allow),
	}
	g.Alerts = alerts.New(alerts.Deps{
		Keychain: service, Sender: webhook.NewSender(o.Allow, o.Logger), Logger: o.Logger, Observe: o.Observe, Now: time.Now,
	})
	g.connections.Watch(g.Providers)
	g.connections.Watch(g.Custom)
	return g, nil
}

// NewKeychain creates only the keychain and its ledger, without background jobs. It is for commands; servers use New.
func NewKeychain(o Options) (*keychain.Service, *spending.Ledger, error) {
	ledger := spending.NewLedger(o.DB, o.Logger, time.Now)
	service, err := keychain.New(o.DB, o.Ring, ledger, o.Logger, time.Now)
	if err == nil {
		service.CheckHost = func(ctx context.Context, host string) error { return outbound.Check(ctx, host, o.Allow) }
	}
	return service, ledger, err
}

// newRetention creates the job that deletes expired rows.
func newRetention(ledger *spending.Ledger, o Options) *spending.Retention {
	timingExpiries := timings.Expired()
	expiries := make([]spending.Expiry, 0, 5+len(timingExpiries))
	expiries = append(expiries, answeritems.Expired, keychain.ExpiredAudit,
		stored.Expired, stored.ExpiredConversations, stored.ExpiredEvents)
	for _, expiry := range timingExpiries {
		expiries = append(expiries, expiry)
	}
	return spending.NewRetention(ledger, o.Logger, o.Observe, expiries...)
}

// KeepRequests sets how long single requests stay in the usage log. 0 means that they are never deleted.
func (g *Gateway) KeepRequests(d time.Duration) { g.retention.Keep(d) }

// Ready returns an error with status 503 while it is not known that the keyring matches the database.
func (g *Gateway) Ready() error { return g.ring.Ready() }

// CheckRing compares the keyring with the database, and returns an error if it does not match.
func (g *Gateway) CheckRing(ctx context.Context) error { return g.ring.Check(ctx) }

// Cut closes the connections to providers, so that requests which wait for a provider end. It is used when the process
// must shut down before they have ended by themselves.
func (g *Gateway) Cut() {
	g.Stored.Cut() // first, so that no cut-off response is stored as a complete one
	g.connections.Cut()
}

// Close writes the remaining usage, stops the background jobs and closes the connections. It takes at most 10 seconds,
// so that the process does not hang while the database is down.
func (g *Gateway) Close() error {
	g.retention.Close()
	g.Alerts.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err := errors.Join(g.Stored.Close(ctx), g.Usage.Close(ctx), g.Items.Close(ctx))
	g.Keychain.Close()
	g.Providers.CloseIdleConnections()
	g.Custom.CloseIdleConnections()
	if err != nil {
		return fmt.Errorf("closing stored responses, the usage log and the items of responses: %w", err)
	}
	return nil
}

// Unavailable converts the error of an unreachable database or counter store into an error with status 503. Other
// errors are returned unchanged.
func Unavailable(err error) error {
	switch {
	case errors.Is(err, store.ErrUnavailable):
		return apierror.Unavailable("the database", err)
	case errors.Is(err, counters.ErrUnavailable):
		return apierror.Unavailable("the counters", err)
	}
	return err
}
