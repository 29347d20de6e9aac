// Package gateway is the app that the modules of the model gateway share. It contains their keychain, catalog, cascade
// and usage log.
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

	"github.com/tollgate-gateway/tollgate/backends/gateway"
	"github.com/tollgate-gateway/tollgate/backends/gateway/alerts"
	"github.com/tollgate-gateway/tollgate/backends/gateway/cascade"
	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/look"
	"github.com/tollgate-gateway/tollgate/internal/memory"
	"github.com/tollgate-gateway/tollgate/internal/sealed"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/modules/tollgate"
)

func init() {
	caddy.RegisterModule(new(App))
}

const (
	// Name is the gateway's name in the configuration of databases.
	Name = "gateway"
	// id is the app's module id. It is below the id of the app tollgate, which has the gateway's options.
	id = "tollgate.gateway"
)

// jobMetrics live as long as the process and are registered with each configuration.
var jobMetrics = tollgate.NewJobMetrics("gateway", "requests and sums of hours deleted, alerts written and sent")

// App is loaded by the first module of the gateway that is provisioned: keychain, cascade or api_auth gateway_key. A
// configuration without such a module has no App and no gateway tables. App's options are catalog, first_run and
// allow_networks of the app tollgate.
type App struct {
	host       *tollgate.App
	ctx        caddy.Context
	logger     *zap.Logger
	db         *store.DB
	catalog    *Catalog
	first      *FirstRun                       // nil if first_run is not configured
	requestLog *time.Duration                  // how long requests stay in the log; nil means the default
	alerts     *alerts.Options                 // nil if no alerts are configured
	gateway    atomic.Pointer[gateway.Gateway] // nil until the app tollgate has started
	prices     *gateway.Prices                 // set before the field gateway, so code that has the gateway can read it
}

// gateways keeps gateways across reloads.
var gateways = caddy.NewUsagePool()

var errNotStarted = errors.New("the app has not started yet")

// gatewayKey identifies a gateway. Configurations with the same key share a gateway.
type gatewayKey struct {
	db    *store.DB
	ring  *sealed.Ring
	allow string // the text of Options.Allow
}

// CaddyModule returns the Caddy module information.
func (*App) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  id,
		New: func() caddy.Module { return new(App) },
	}
}

// Provision gets the database, the catalog and the option first_run from the app tollgate. It registers the metrics
// of background jobs. It also registers the functions that the app tollgate calls at its start, after it has run for
// a while, and when the process ends while requests are left. keychain.Sealed.Sample returns stored secrets. With
// these secrets the app checks at its start that the keyring can decrypt them.
func (a *App) Provision(ctx caddy.Context) error {
	a.ctx, a.logger = ctx, ctx.Logger()
	var err error
	if a.host, err = tollgate.From(ctx); err != nil {
		return err
	}
	if a.db, err = a.host.SealedDatabase(Name, schema.Gateway(), keychain.Sealed.Sample); err != nil {
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
	a.host.OnStart(a.takeGateway)
	a.host.OnSettled(a.applyRequestLog)
	a.host.OnSettled(a.applyAlerts)
	a.host.OnCut(a.closeConnections)
	return nil
}

// catalogOf returns the catalog configured in the app tollgate, or the built-in catalog.
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

// Start implements caddy.App and does nothing. The app tollgate starts the gateway, because the gateway needs the
// keyring and Caddy starts apps in no fixed order.
func (a *App) Start() error { return nil }

// Stop implements caddy.App and does nothing. The app tollgate releases the shared gateway.
func (a *App) Stop() error { return nil }

// takeGateway gets the shared gateway, or creates it, and starts the jobs of this configuration.
func (a *App) takeGateway() error {
	ring, err := a.host.Ring(Name)
	if err != nil {
		return err
	}
	allow := a.host.AllowedNetworks()
	create := func() (*gateway.Gateway, error) { return gateway.New(options(a.db, ring, allow, a.logger)) }
	key := gatewayKey{a.db, ring, fmt.Sprint(allow)}
	g, err := tollgate.Share(a.host, gateways, key, create, (*gateway.Gateway).Close)
	if err != nil {
		return fmt.Errorf("gateway: %w", err)
	}
	go a.catalog.source.Run(a.ctx)
	a.prices = g.NewPrices(a.catalog.source, a.logger)
	a.gateway.Store(g) // from now on requests may call Reprice
	go a.prices.Follow(a.ctx)
	if a.first != nil {
		go a.firstRun(a.ctx, g)
	}
	return nil
}

// options returns the options of a gateway.
func options(db *store.DB, ring *sealed.Ring, allow []netip.Prefix, logger *zap.Logger) gateway.Options {
	return gateway.Options{DB: db, Ring: ring, Allow: allow, Logger: logger, Observe: jobMetrics.Observe}
}

// closeConnections closes the upstream connections, which ends the requests that wait for them.
func (a *App) closeConnections() {
	if g := a.gateway.Load(); g != nil {
		g.Cut()
	}
}

// Gateway returns the model gateway. It returns an error with status 503 before the app has started, and while the
// keyring does not match the database.
func (a *App) Gateway() (*gateway.Gateway, error) {
	g := a.gateway.Load()
	if g == nil {
		return nil, apierror.Unavailable("the gateway", errNotStarted)
	}
	return g, g.Ready()
}

// Catalog returns the current catalog.
func (a *App) Catalog() *catalog.Catalog { return a.catalog.source.Current() }

// Reprice reads the prices in the database, and updates the catalog of this configuration if they have changed.
func (a *App) Reprice(ctx context.Context) error {
	if _, err := a.Gateway(); err != nil {
		return err
	}
	return a.prices.Read(ctx)
}

// Engine returns a cascade of the gateway g with this configuration's catalog, counters and memory.
func (a *App) Engine(g *gateway.Gateway, o cascade.Options, logger *zap.Logger) *cascade.Engine {
	return g.Engine(gateway.Surroundings{
		Catalog: a.Catalog, Counters: a.Counters, Memory: a.host.MemoryBudget(), Logger: logger,
	}, o)
}

// OnSettled registers a function that is called once the configuration has run for some seconds; see
// [tollgate.App.OnSettled].
func (a *App) OnSettled(fn func()) { a.host.OnSettled(fn) }

// Acquire keeps the resources of a request open until release is called; see [tollgate.App.Acquire].
func (a *App) Acquire() (release func()) { return a.host.Acquire() }

// Bar returns a function that describes the bar at the top of the gateway's pages.
func (a *App) Bar() func(*http.Request) look.Bar { return a.host.Bar(Name) }

// Counters returns the counters that all nodes share.
func (a *App) Counters() counters.Store { return a.host.Counters() }

// MemoryBudget returns the memory budget for the bodies of requests and responses.
func (a *App) MemoryBudget() *memory.Budget { return a.host.MemoryBudget() }

// Parts returns the errors of the parts that the gateway needs; see [tollgate.App.Parts].
func (a *App) Parts(ctx context.Context) map[string]error { return a.host.Parts(ctx, Name) }

// From returns the app for a module that is being provisioned. The module's server then holds new connections until the
// app tollgate has started.
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
