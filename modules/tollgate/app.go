// Package tollgate is the Caddy app that Tollgate's modules share: databases, counters, the keyring, the memory budget,
// and their lifetimes. It contains nothing about single services. The modules of the model gateway, for example, share
// another app (modules/gateway).
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
	// Open opens the store. The app calls it once for each key and closes the store after its last use.
	Open(logger *zap.Logger) (counters.Store, error)
	// Key returns a comparable value that identifies the store and its settings. Configurations with equal keys share the
	// store.
	Key() any
}

// App manages the resources that the modules of Tollgate share: databases, counters, the keyring and memory. The first
// module that needs the app loads it. Without configuration it stores everything in the folder data of the working
// directory. A database is opened, and its tables are created, only if a module needs it. The keyring is opened, and a
// key file created, only if a module encrypts or signs something. All resources survive reloads: connections stay open,
// budgets keep their counts, and requests and streams of the previous configuration continue.
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
//			catalog  {   # the most common options; all are in Catalog of modules/gateway
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
	// DatabaseRaw is the common database of all services: tollgate.storage.sqlite or tollgate.storage.postgres. Default:
	// sqlite data/tollgate.db.
	DatabaseRaw json.RawMessage `json:"database,omitempty" caddy:"namespace=tollgate.storage inline_key=engine"`

	// DatabasesRaw are separate databases for single services, by the service's name: gateway, board, events.
	DatabasesRaw map[string]json.RawMessage `json:"databases,omitempty" caddy:"namespace=tollgate.storage inline_key=engine"`

	// CountersRaw is the store that counts budgets: tollgate.counters.memory for one node, tollgate.counters.redis for
	// several nodes. Default: memory.
	CountersRaw json.RawMessage `json:"counters,omitempty" caddy:"namespace=tollgate.counters inline_key=store"`

	// KeyringRaw is the keyring, which encrypts secrets in the databases. Default: aes with a key file.
	KeyringRaw json.RawMessage `json:"keyring,omitempty" caddy:"namespace=tollgate.keyring inline_key=ring"`

	// Memory is the number of bytes that all decompressed request bodies and buffered upstream answers may take together,
	// at least 96 MiB. A request that gets no memory within 2 seconds is answered with 503. Default: a quarter of the
	// memory available to the process, as limited by GOMEMLIMIT, or else by the control group or the machine.
	Memory int64 `json:"memory,omitempty"`

	// CatalogRaw is the configuration of the module tollgate.catalog: the providers and models of the model gateway.
	CatalogRaw json.RawMessage `json:"catalog,omitempty"`

	// AllowNetworks are networks (CIDR) to which users' models may connect, besides public addresses, for example
	// 127.0.0.0/8 for a server on this machine. Default: none, users cannot reach private addresses.
	AllowNetworks []string `json:"allow_networks,omitempty"`

	// FirstRunRaw is the configuration of the module tollgate.first_run: settings for trying Tollgate on a personal
	// machine.
	FirstRunRaw json.RawMessage `json:"first_run,omitempty"`

	// StartWait is how long a start waits for the databases. After that time the server listens without them and answers
	// 503. Default: 10s.
	StartWait caddy.Duration `json:"start_wait,omitempty"`

	// Brand has the name and the colours of all pages and mails. Default: the product's.
	Brand *Brand `json:"brand,omitempty"`

	// The other fields are set while the configuration is provisioned and started, by one goroutine. Requests, which begin
	// later, only read them, except for the atomic values and issuers.
	logger *zap.Logger
	ctx    caddy.Context
	allow  []netip.Prefix
	config json.RawMessage // the whole configuration; only set by Load, for a command

	memory         *memory.Budget
	counters       counters.Store
	common         Storage              // loaded from DatabaseRaw
	commonNamed    bool                 // DatabaseRaw was configured, so common is not the default
	named          map[string]any       // loaded from DatabasesRaw: a Storage by service
	pending        []pendingDatabase    // databases and schemas for Start to open
	served         map[string]*store.DB // databases by service
	ring           KeyringProvider
	dir            string           // folder for files that ring creates
	needsKeys      bool             // some module derives keys from the keyring
	base           keyring.Keyring  // the opened keyring; nil if no module needs it
	sealedServices []*sealedService // services with secrets
	options        map[string]any   // loaded options of services, by name
	issuers        issuers
	brand          *look.Brand                // loaded from Brand
	mounted        atomic.Pointer[[]*Mounted] // the services; nil before Start
	loaded         time.Time                  // when the app was provisioned

	onSignOut []signOutListener
	onStart   []func() error
	onSettled []func()
	onCut     []func()
	leases    []lease             // references on pooled values, in the order in which they were taken
	begun     atomic.Bool         // Start was called
	started   atomic.Bool         // the shared values are open
	startDone chan struct{}       // closed when Start returns
	gated     []*caddyhttp.Server // servers that wait for startDone
	inflight  atomic.Int64        // calls of Acquire that were not released
}

// CaddyModule returns the Caddy module information.
func (*App) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "tollgate",
		New: func() caddy.Module { return new(App) },
	}
}

// Provision loads the guest modules. It neither opens databases nor listens.
func (a *App) Provision(ctx caddy.Context) error {
	a.ctx, a.logger, a.startDone, a.loaded = ctx, ctx.Logger(), make(chan struct{}), time.Now()
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
	counting, err := loadGuest[CounterStore](ctx, a, "CountersRaw", a.CountersRaw, "tollgate.counters.memory", nil)
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

// provisionStores loads the allowed networks, the storages and the keyring. These are the parts of the app that
// commands need, too.
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

// Start opens the resources that the modules have requested. If a database is down, Start waits for the time StartWait
// and then returns; the database is opened in the background, and requests that need it get 503 until then. Start
// returns an error if the keyring does not fit a database. New connections are held until it returns.
func (a *App) Start() error {
	defer close(a.startDone)
	a.begun.Store(true)
	a.memory.Resize(a.MemorySize())
	a.findServices()
	if err := a.holdFiles(); err != nil {
		return err
	}
	// Values that are already in the pools are taken first, because after a reload another app may already serve requests,
	// which need these values.
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

// OnStart registers a function that Start calls after the keyrings are open and before the databases are open. A module
// calls OnStart while it is provisioned.
func (a *App) OnStart(fn func() error) { a.onStart = append(a.onStart, fn) }

// settleTime is how long a configuration must have run before any data is deleted according to its settings.
const settleTime = 3 * time.Second

// OnSettled registers a function that is called once the configuration has run for settleTime. It is meant for work
// that deletes old data. Before that time, the reload may still be undone because another app fails to start, and in
// that case the old data must still exist. A module calls OnSettled while it is provisioned.
func (a *App) OnSettled(fn func()) { a.onSettled = append(a.onSettled, fn) }

// settle calls the functions registered with OnSettled after settleTime, unless the configuration ends before.
func (a *App) settle() {
	select {
	case <-a.ctx.Done():
		return
	case <-time.After(settleTime):
	}
	for _, fn := range a.onSettled {
		if a.ctx.Err() == nil {
			fn()
		}
	}
}

// OnCut registers a function that ends the upstream connections for which this configuration's requests wait. It is
// called when the process ends and requests are left after the grace period.
func (a *App) OnCut(fn func()) { a.onCut = append(a.onCut, fn) }

// Stop implements caddy.App and does nothing. Cleanup releases the shared resources.
func (a *App) Stop() error { return nil }

// Cleanup releases the pooled values once the last request of this configuration has ended. If the process continues,
// that happens in the background. If the process ends, Cleanup ends the remaining requests.
func (a *App) Cleanup() error {
	switch {
	case !a.begun.Load(): // the configuration was only validated, or refused: it has had no requests
		return a.release()
	case caddy.Exiting():
		endProcess() // ends the waiting of replaced configurations too
		a.cutShort()
		lingering.Wait() // the last reference closes a value; wait until that is done
		return a.release()
	}
	lingering.Go(a.linger)
	return nil
}

// release releases all pooled values, in the reverse order of Share.
func (a *App) release() error {
	var errs []error
	for _, give := range slices.Backward(a.leases) {
		errs = append(errs, give())
	}
	a.leases = nil
	return errors.Join(errs...)
}

// Acquire keeps the app's resources open until release is called, even after a reload. Every request that may outlive
// its configuration calls it. release must be called exactly once.
func (a *App) Acquire() (release func()) {
	a.inflight.Add(1)
	return a.done
}

func (a *App) done() { a.inflight.Add(-1) }

// Counters returns the shared counters.
func (a *App) Counters() counters.Store { return a.counters }

// Started reports whether the app has opened the shared resources.
func (a *App) Started() bool { return a.started.Load() }

// AllowedNetworks returns the networks to which the gateway connects, besides public addresses, if a user has set the
// URL.
func (a *App) AllowedNetworks() []netip.Prefix { return a.allow }

// From returns the app for a module that is being provisioned. The module's server then holds connections until the app
// has started; see [App.Gate].
func From(ctx caddy.Context) (*App, error) {
	loaded, err := ctx.App("tollgate")
	if err != nil {
		return nil, fmt.Errorf("loading the app tollgate: %w", err)
	}
	a := loaded.(*App)
	a.Gate(ctx)
	return a, nil
}

// Active returns the app of the running configuration, or nil if the configuration has no such app. It is meant for
// callers outside the configuration, such as Caddy's admin endpoint.
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
