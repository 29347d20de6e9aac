// Package tollgate is the app that Tollgate's modules share: databases, counters,
// keyring, memory, and how long they live. It knows no service; those of the model
// gateway, for example, share an app of their own (modules/gateway).
package tollgate

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/look"
	"github.com/tollgate-gateway/tollgate/internal/memory"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

func init() {
	caddy.RegisterModule(new(App))
}

// CounterStore is a guest of the namespace tollgate.counters.
type CounterStore interface {
	Open(logger *zap.Logger) (counters.Store, error)
	Key() any
}

// App holds what the modules of Tollgate share. It is loaded by the first
// module that needs it; without configuration it keeps everything in the folder
// data of the working directory. A database is opened, and tables are made in it, for
// modules that ask for one; the keyring is opened, and a key file made, where one of
// them seals something or signs with it. All of it survives reloads: pools stay open,
// budgets keep their counts, requests and streams of the configuration before go on.
//
// In the Caddyfile, a global option:
//
//	{
//		tollgate {
//			database sqlite data/tollgate.db
//			database <service> postgres {env.TOLLGATE_DSN}   # for one service
//			counters memory
//			keyring  aes {env.TOLLGATE_MASTER_KEY}
//			memory   <size>
//			catalog  {
//				file    <path>
//				enable  <code>...
//				disable <code>...
//				provider_keys env
//				provider <code> {
//					base_url      <url>
//					api_key       <key>
//					param         <name> <value>
//					header        <name> <value>
//					connect       <duration>
//					first_content [low|medium|high] <duration>
//					answer        [low|medium|high] <duration>
//					idle          <duration>
//				}
//			}
//			allow_networks <cidr>...
//			first_run <url> {
//				discover <base url>...
//				fallback <base url>
//			}
//			start_wait <duration>
//			brand {
//				name   <text>
//				logo   <file>
//				accent <colour> [<colour on dark ground>]
//				footer <text>
//				css    <file>
//			}
//		}
//	}
type App struct {
	// The database of all services: tollgate.storage.sqlite or
	// tollgate.storage.postgres. Default: sqlite data/tollgate.db.
	DatabaseRaw json.RawMessage `json:"database,omitempty" caddy:"namespace=tollgate.storage inline_key=engine"`

	// Databases for single services, by the name of the service: gateway, board, events.
	DatabasesRaw map[string]json.RawMessage `json:"databases,omitempty" caddy:"namespace=tollgate.storage inline_key=engine"`

	// Where budgets are counted: tollgate.counters.memory for one node,
	// tollgate.counters.redis for several. Default: memory.
	CountersRaw json.RawMessage `json:"counters,omitempty" caddy:"namespace=tollgate.counters inline_key=store"`

	// What encrypts secrets in the database. Default: aes with a key file.
	KeyringRaw json.RawMessage `json:"keyring,omitempty" caddy:"namespace=tollgate.keyring inline_key=ring"`

	// How many bytes the bodies of requests, unpacked, and whole answers of
	// upstreams may take together; what finds no room within 2 seconds is a 503. At
	// least 96 MiB. Default: a quarter of the memory that GOMEMLIMIT, or else the
	// control group or the machine, leaves to the process.
	Memory int64 `json:"memory,omitempty"`

	// The providers and models of the model gateway: the module tollgate.catalog.
	CatalogRaw json.RawMessage `json:"catalog,omitempty"`

	// The networks (CIDR) that the base URLs of users' own models may lead to
	// beside public addresses, for example 127.0.0.0/8 for a server on this
	// machine. Default: none, so that users cannot reach what is private here.
	AllowNetworks []string `json:"allow_networks,omitempty"`

	// For a first try on one's own machine: the module tollgate.first_run.
	FirstRunRaw json.RawMessage `json:"first_run,omitempty"`

	// How long a start waits for the databases before it listens without them, and
	// answers 503. Default: 10s.
	StartWait caddy.Duration `json:"start_wait,omitempty"`

	// The name and the colours of all pages and mails. Default: the product's own.
	Brand *Brand `json:"brand,omitempty"`

	logger *zap.Logger
	ctx    caddy.Context
	allow  []netip.Prefix
	whole  json.RawMessage // the configuration that a command works on

	memory   *memory.Budget
	counters counters.Store
	common   Storage
	chosen   bool                 // the configuration names common
	named    map[string]any       // loaded storages of single services
	opened   []opened             // what Start opens
	served   map[string]*store.DB // by service
	ring     KeyringProvider
	dir      string          // of files that ring makes
	keyed    bool            // some module derives keys of it
	base     keyring.Keyring // what it opened
	sealings []*sealing      // the services with secrets
	options  map[string]any  // loaded ones of services, by name
	issuers  issuers
	brand    *look.Brand                // what Brand says
	mounted  atomic.Pointer[[]*Mounted] // the services, once the app starts
	loaded   time.Time                  // when it was provisioned

	onSignOut []signOutListener
	onStart   []func() error
	onSettled []func()
	onCut     []func()
	leases    []lease             // references on pooled values, in the order they were taken
	begun     atomic.Bool         // Start was called
	started   atomic.Bool         // what is shared is there
	startOver chan struct{}       // closed when Start has returned
	gated     []*caddyhttp.Server // those that wait for it
	inflight  atomic.Int64
}

// CaddyModule returns the Caddy module information.
func (*App) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "tollgate",
		New: func() caddy.Module { return new(App) },
	}
}

// Provision loads the guests. Nothing is opened, migrated or listened on.
func (a *App) Provision(ctx caddy.Context) error {
	a.ctx, a.logger, a.startOver, a.loaded = ctx, ctx.Logger(), make(chan struct{}), time.Now()
	if a.StartWait < 0 {
		return errors.New("start_wait must not be negative")
	}
	if err := a.provisionMemory(ctx); err != nil {
		return err
	}
	if err := a.provisionStores(ctx); err != nil {
		return err
	}
	var err error
	if a.brand, err = a.Brand.load(); err != nil {
		return fmt.Errorf("brand: %w", err)
	}
	for name := range a.optionsRaw() {
		if _, err := a.Option(name); err != nil {
			return err
		}
	}
	counting, err := guest[CounterStore](ctx, a, "CountersRaw", a.CountersRaw, "tollgate.counters.memory", nil)
	if err != nil {
		return fmt.Errorf("counters: %w", err)
	}
	if a.counters, err = Share(a, counterStores, counting.Key(), func() (counters.Store, error) { return counting.Open(a.logger) },
		func(s counters.Store) error { return s.Close() }); err != nil {
		return fmt.Errorf("counters: %w", err)
	}
	return nil
}

// provisionStores loads the networks, the databases and the keyring. A command line
// has need of no more.
func (a *App) provisionStores(ctx caddy.Context) error {
	for _, text := range a.AllowNetworks {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return fmt.Errorf("allow_networks: %q is not a network such as 127.0.0.0/8", text)
		}
		a.allow = append(a.allow, prefix.Masked())
	}
	if err := a.provisionStorages(ctx); err != nil {
		return err
	}
	return a.provisionKeyring(ctx)
}

// Start opens what the modules have asked for. A database that is down is waited
// for in the background; requests that need it get 503 until it is there. A keyring
// that is not that of a database is an error. New connections wait until Start returns.
func (a *App) Start() error {
	defer close(a.startOver)
	a.begun.Store(true)
	a.memory.Resize(a.MemorySize())
	a.findServices()
	if err := a.holdFiles(); err != nil {
		return err
	}
	// First what a reload finds in the pools: another app may serve requests already.
	if err := a.takeKeyrings(); err != nil {
		return err
	}
	a.started.Store(true)
	for _, start := range a.onStart {
		if err := start(); err != nil {
			return err
		}
	}
	go a.settle()
	if err := a.register(); err != nil {
		return err
	}
	if err := a.openDatabases(); err != nil {
		return err
	}
	return a.checkKeyrings(a.ctx)
}

// OnStart has a function called when the app starts: the keyrings are open, and the
// databases are about to be. A module calls it while it is provisioned.
func (a *App) OnStart(do func() error) { a.onStart = append(a.onStart, do) }

// settleTime is how long a configuration has to last before anything is deleted as it
// says.
const settleTime = 3 * time.Second

// OnSettled has a function called when the configuration has lasted for some seconds:
// one that begins to delete what is old. A reload may still be refused by another app
// that does not start, and what it would have deleted is not its. A module calls it
// while it is provisioned.
func (a *App) OnSettled(do func()) { a.onSettled = append(a.onSettled, do) }

func (a *App) settle() {
	select {
	case <-a.ctx.Done():
		return
	case <-time.After(settleTime):
	}
	for _, do := range a.onSettled {
		if a.ctx.Err() == nil {
			do()
		}
	}
}

// OnCut has a function called when the process ends and the grace period has left
// requests of this configuration: it ends what they wait for.
func (a *App) OnCut(do func()) { a.onCut = append(a.onCut, do) }

// Stop implements caddy.App. What is shared is given back by Cleanup.
func (a *App) Stop() error { return nil }

// Cleanup gives the references on pooled values back: when the last request of
// this configuration is done, or was ended because the process ends.
func (a *App) Cleanup() error {
	switch {
	case !a.begun.Load():
		return a.release()
	case caddy.Exiting():
		end()
		a.cutShort()
		lingering.Wait() // the last reference ends a value, and its end must be seen
		return a.release()
	}
	lingering.Go(a.linger)
	return nil
}

// release gives back what was taken, last first.
func (a *App) release() error {
	var errs []error
	for _, give := range slices.Backward(a.leases) {
		errs = append(errs, give())
	}
	a.leases = nil
	return errors.Join(errs...)
}

// Acquire keeps what the app holds open until the returned function is called,
// also across a reload. A request that may outlive its configuration holds it.
func (a *App) Acquire() (release func()) {
	a.inflight.Add(1)
	return a.done
}

func (a *App) done() { a.inflight.Add(-1) }

// Counters are the shared counters.
func (a *App) Counters() counters.Store { return a.counters }

// Started reports whether the app has opened what its modules share.
func (a *App) Started() bool { return a.started.Load() }

// AllowedNetworks are those that connections to addresses of users may lead to
// beside public ones.
func (a *App) AllowedNetworks() []netip.Prefix { return a.allow }

// From returns the app for a module that is being provisioned. The server that the module
// belongs to answers nothing before the app has started; see [App.Gate].
func From(ctx caddy.Context) (*App, error) {
	loaded, err := ctx.App("tollgate")
	if err != nil {
		return nil, fmt.Errorf("loading the app tollgate: %w", err)
	}
	a := loaded.(*App)
	a.Gate(ctx)
	return a, nil
}

// Active is the app of the configuration that runs, for who is asked beside it, as Caddy's
// admin endpoint is; nil: it has none.
func Active() *App {
	loaded, err := caddy.ActiveContext().AppIfConfigured("tollgate")
	if err != nil {
		return nil
	}
	return loaded.(*App)
}

// Interface guards
var (
	_ caddy.App          = (*App)(nil)
	_ caddy.Provisioner  = (*App)(nil)
	_ caddy.CleanerUpper = (*App)(nil)
)
