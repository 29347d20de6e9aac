// Package gateway is the app that the modules of the model gateway share: its
// keychain, catalog, cascade and usage log.
package gateway

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/alerts"
	"github.com/tollgate-gateway/tollgate/backends/gateway/cascade"
	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/look"
	"github.com/tollgate-gateway/tollgate/internal/memory"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

func init() {
	caddy.RegisterModule(new(App))
}

const (
	// Name is the gateway among the services that a database can be given to.
	Name = "gateway"
	// id is the app's. It lies under the app tollgate, which has its options.
	id = "tollgate.gateway"
)

// jobMetrics live for the process and are registered with each configuration.
var jobMetrics = tollgate.NewJobMetrics("gateway", "requests and sums of hours deleted, alerts written and sent")

// App is loaded by the first module of the gateway: keychain, cascade, api_auth
// gateway_key. Without one there is none, and no table of it. It has no options of its
// own: they are catalog, first_run and allow_networks of the app tollgate.
type App struct {
	host    *tollgate.App
	ctx     caddy.Context
	logger  *zap.Logger
	db      *store.DB
	catalog *Catalog
	first   *FirstRun       // nil: not wanted
	kept    *time.Duration  // of the request log; nil: the default
	alerts  *alerts.Options // nil: nobody is told
	gateway atomic.Pointer[Gateway]
}

// CaddyModule returns the Caddy module information.
func (*App) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  id,
		New: func() caddy.Module { return new(App) },
	}
}

// Provision asks the app tollgate for what the gateway needs.
func (a *App) Provision(ctx caddy.Context) error {
	a.ctx, a.logger = ctx, ctx.Logger()
	var err error
	if a.host, err = tollgate.From(ctx); err != nil {
		return err
	}
	if a.db, err = a.host.SealedDatabase(Name, schema.Gateway(), keychain.SealedSample); err != nil {
		return err
	}
	if a.catalog, err = catalogOf(a.host, a.logger); err != nil {
		return err
	}
	first, err := a.host.Option("first_run")
	if err != nil {
		return err
	}
	a.first, _ = first.(*FirstRun)
	if err := jobMetrics.Register(ctx); err != nil {
		return err
	}
	a.host.OnStart(a.begin)
	a.host.OnSettled(a.cutRequests)
	a.host.OnSettled(a.tell)
	a.host.OnCut(a.cut)
	return nil
}

// catalogOf is the catalog that the app has, or else the built-in one.
func catalogOf(host *tollgate.App, logger *zap.Logger) (*Catalog, error) {
	option, err := host.Option("catalog")
	if err != nil {
		return nil, err
	}
	if c, ok := option.(*Catalog); ok {
		return c, nil
	}
	c := new(Catalog)
	c.source, err = c.open(logger)
	return c, err
}

// Start implements caddy.App. The gateway begins with the app tollgate: it needs the
// keyring, and apps start in no fixed order.
func (a *App) Start() error { return nil }

// Stop implements caddy.App. What is shared is given back by the app tollgate.
func (a *App) Stop() error { return nil }

// begin takes the gateway, which starts to write usage.
func (a *App) begin() error {
	ring, err := a.host.Ring(Name)
	if err != nil {
		return err
	}
	allow := a.host.AllowedNetworks()
	gateway, err := tollgate.Share(a.host, gateways, gatewayKey{a.db, ring, fmt.Sprint(allow)},
		func() (*Gateway, error) { return newGateway(a.db, ring, allow, a.logger) }, (*Gateway).close)
	if err != nil {
		return fmt.Errorf("gateway: %w", err)
	}
	a.gateway.Store(gateway)
	go a.catalog.source.Run(a.ctx)
	if a.first != nil {
		go a.firstRun(a.ctx, gateway)
	}
	return nil
}

// cut ends what requests wait for.
func (a *App) cut() {
	if g := a.gateway.Load(); g != nil {
		g.Stored.Cut() // first: what is cut off must not be taken for an answer
		g.connections.Cut()
	}
}

// Gateway is the model gateway. Before the app has started, and while the keyring is
// not that of the database, it is a 503.
func (a *App) Gateway() (*Gateway, error) {
	g := a.gateway.Load()
	if g == nil {
		return nil, apierror.Unavailable("the gateway", errNotStarted)
	}
	return g, g.ring.Ready()
}

// Catalog is the catalog as of now.
func (a *App) Catalog() *catalog.Catalog { return a.catalog.source.Current() }

// Engine puts the cascade together. What it learns of providers is the same for all.
func (a *App) Engine(g *Gateway, options cascade.Options, logger *zap.Logger) *cascade.Engine {
	return &cascade.Engine{
		Options: options, Memory: g.Memory, Budget: a.host.MemoryBudget(), Catalog: a.Catalog,
		Providers: g.Providers, Custom: g.Custom, Mark: g.Mark, Logger: logger, Now: time.Now,
		AdmitKey: func(ctx context.Context, key *keychain.Key, cost int64) (*keychain.KeyRefusal, error) {
			return g.Keychain.AdmitKey(ctx, a.Counters(), key, cost)
		},
	}
}

// OnSettled has a function called once the configuration has lasted; see [tollgate.App.OnSettled].
func (a *App) OnSettled(do func()) { a.host.OnSettled(do) }

// Acquire keeps what a request needs open; see [tollgate.App.Acquire].
func (a *App) Acquire() (release func()) { return a.host.Acquire() }

// Bar returns what the bar at the top of the gateway's pages shows.
func (a *App) Bar() func(*http.Request) look.Bar { return a.host.Bar(Name) }

// Counters are those that all nodes share.
func (a *App) Counters() counters.Store { return a.host.Counters() }

// MemoryBudget is what bodies of requests and answers take from.
func (a *App) MemoryBudget() *memory.Budget { return a.host.MemoryBudget() }

// Parts tells the errors of what the gateway needs; see [tollgate.App.Parts].
func (a *App) Parts(ctx context.Context) map[string]error { return a.host.Parts(ctx, Name) }

// From returns the app for a module that is being provisioned. The server that the module
// belongs to answers nothing before the app tollgate has started.
func From(ctx caddy.Context) (*App, error) {
	loaded, err := ctx.App(id)
	if err != nil {
		return nil, err
	}
	a := loaded.(*App)
	a.host.Gate(ctx)
	return a, nil
}

// Interface guards
var (
	_ caddy.App         = (*App)(nil)
	_ caddy.Provisioner = (*App)(nil)
)
