// Package tollgate is the Caddy app that Tollgate's modules share: databases, counters, the keyring, the memory budget,
// and their lifetimes. It knows nothing about single services; those of the model gateway, for example, share an app of
// their own (modules/gateway).
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

// CounterStore is a guest module of the namespace tollgate.counters.
type CounterStore interface {
	Open(logger *zap.Logger) (counters.Store, error)
	Key() any
}

// App holds what the modules of Tollgate share. It is loaded by the first module that needs it. Without configuration
// it keeps everything in the folder data of the working directory. A database is opened, and its tables are made, only
// if a module asks for it; the keyring is opened, and a key file made, only if a module seals or signs something. All
// of it survives reloads: pools stay open, budgets keep their counts, and requests and streams of the previous
// configuration go on.
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

	// Where budgets are counted: tollgate.counters.memory for one node, tollgate.counters.redis for several. Default:
	// memory.
	CountersRaw json.RawMessage `json:"counters,omitempty" caddy:"namespace=tollgate.counters inline_key=store"`

	// What encrypts secrets in the database. Default: aes with a key file.
	KeyringRaw json.RawMessage `json:"keyring,omitempty" caddy:"namespace=tollgate.keyring inline_key=ring"`

	// How many bytes the unpacked bodies of requests and whole answers of upstreams may take together. A request that
	// finds no room within 2 seconds gets a 503. At least 96 MiB. Default: a quarter of the memory that GOMEMLIMIT, or
	// else the control group or the machine, leaves to the process.
	Memory int64 `json:"memory,omitempty"`

	// The providers and models of the model gateway, as the module tollgate.catalog.
	CatalogRaw json.RawMessage `json:"catalog,omitempty"`

	// The networks (CIDR) that the base URLs of users' own models may lead to besides public addresses, for example
	// 127.0.0.0/8 for a server on this machine. Default: none, so that users cannot reach private addresses.
	AllowNetworks []string `json:"allow_networks,omitempty"`

	// Settings for a first try on one's own machine, as the module tollgate.first_run.
	FirstRunRaw json.RawMessage `json:"first_run,omitempty"`

	// How long a start waits for the databases before the server listens without them and answers 503. Default: 10s.
	StartWait caddy.Duration `json:"start_wait,omitempty"`

	// The name and the colours of all pages and mails. Default: the product's own.
	Brand *Brand `json:"brand,omitempty"`

	logger *zap.Logger
	ctx    caddy.Context
	allow  []netip.Prefix
	config json.RawMessage // the whole configuration, when a command works on it

	memory   *memory.Budget
	counters counters.Store
	common   Storage
	chosen   bool                 // the configuration names common
	named    map[string]any       // loaded storages of single services
	opened   []opened             // databases and schemas for Start to open
	served   map[string]*store.DB // databases by service
	ring     KeyringProvider
	dir      string          // folder for files that ring makes
	keyed    bool            // some module derives keys from the keyring
	base     keyring.Keyring // the keyring that ring opened
	sealings []*sealing      // services with secrets
	options  map[string]any  // loaded options of services, by name
	issuers  issuers
	brand    *look.Brand                // loaded from Brand
	mounted  atomic.Pointer[[]*Mounted] // the services, once the app starts
	loaded   time.Time                  // when the app was provisioned

	onSignOut []signOutListener
	onStart   []func() error
	onSettled []func()
	onCut     []func()
	leases    []lease             // references on pooled values, in the order in which they were taken
	begun     atomic.Bool         // Start was called
	started   atomic.Bool         // the shared values are open
	startOver chan struct{}       // closed when Start returns
	gated     []*caddyhttp.Server // servers that wait for startOver
	inflight  atomic.Int64
}

// CaddyModule returns the Caddy module information.
func (*App) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "tollgate",
		New: func() caddy.Module { return new(App) },
	}
}

// Provision loads the guest modules. It opens no database, does not migrate and does not listen.
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
	if a.counters, err = Share(a, counterStores, counting.Key(),
		func() (counters.Store, error) { return counting.Open(a.logger) },
		func(s counters.Store) error { return s.Close() }); err != nil {
		return fmt.Errorf("counters: %w", err)
	}
	return nil
}

// provisionStores loads the networks, the databases and the keyring, which is all that a command needs.
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

// Start opens what the modules have asked for. It waits in the background for a database that is down, and requests
// that need it get 503 until it is up. A keyring that does not fit a database is an error. New connections wait until
// Start returns.
func (a *App) Start() error {
	defer close(a.startOver)
	a.begun.Store(true)
	a.memory.Resize(a.MemorySize())
	a.findServices()
	if err := a.holdFiles(); err != nil {
		return err
	}
	// First take what a reload finds in the pools, because another app may serve requests already.
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

// OnStart registers a function that Start calls after the keyrings are open and before the databases are. A module
// calls OnStart while it is provisioned.
func (a *App) OnStart(do func() error) { a.onStart = append(a.onStart, do) }

// settleTime is how long a configuration has to last before anything is deleted according to it.
const settleTime = 3 * time.Second

// OnSettled registers a function to be called once the configuration has lasted for some seconds, for work that deletes
// old data. Before that, a reload may still be undone because another app does not start, and its settings must not
// have deleted anything. A module calls OnSettled while it is provisioned.
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

// OnCut registers a function that ends what the requests of this configuration wait for. It is called when the process
// ends and requests are left after the grace period.
func (a *App) OnCut(do func()) { a.onCut = append(a.onCut, do) }

// Stop implements caddy.App. It does nothing; Cleanup releases what is shared.
func (a *App) Stop() error { return nil }

// Cleanup releases the references on pooled values once the last request of this configuration is done. Unless the
// process ends it does so in the background; if the process ends it cuts the remaining requests short.
func (a *App) Cleanup() error {
	switch {
	case !a.begun.Load():
		return a.release()
	case caddy.Exiting():
		end()
		a.cutShort()
		lingering.Wait() // the last reference ends a value, and its end must be awaited
		return a.release()
	}
	lingering.Go(a.linger)
	return nil
}

// release releases what was taken, last first.
func (a *App) release() error {
	var errs []error
	for _, give := range slices.Backward(a.leases) {
		errs = append(errs, give())
	}
	a.leases = nil
	return errors.Join(errs...)
}

// Acquire keeps what the app holds open, also across a reload, until release is called. A request that may outlive its
// configuration calls it.
func (a *App) Acquire() (release func()) {
	a.inflight.Add(1)
	return a.done
}

func (a *App) done() { a.inflight.Add(-1) }

// Counters returns the shared counters.
func (a *App) Counters() counters.Store { return a.counters }

// Started reports whether the app has opened what its modules share.
func (a *App) Started() bool { return a.started.Load() }

// AllowedNetworks returns the networks that connections to addresses given by users may lead to, besides public ones.
func (a *App) AllowedNetworks() []netip.Prefix { return a.allow }

// From returns the app for a module that is being provisioned. The server that the module belongs to answers nothing
// before the app has started; see [App.Gate].
func From(ctx caddy.Context) (*App, error) {
	loaded, err := ctx.App("tollgate")
	if err != nil {
		return nil, fmt.Errorf("loading the app tollgate: %w", err)
	}
	a := loaded.(*App)
	a.Gate(ctx)
	return a, nil
}

// Active returns the app of the running configuration, or nil if it has none. It serves callers outside the
// configuration, such as Caddy's admin endpoint.
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
