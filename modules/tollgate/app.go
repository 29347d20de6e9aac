// Package tollgate is the app that Tollgate's modules share: databases,
// counters, keyring, model catalog, and the model gateway's memory.
package tollgate

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/memory"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

func init() {
	caddy.RegisterModule(new(App))
}

// Storage is a guest of the namespace tollgate.storage.
type Storage interface {
	// Open makes the database; it touches nothing yet.
	Open(logger *zap.Logger) (*store.DB, error)
	// Key is comparable and identifies the database and its settings.
	Key() any
}

// CounterStore is a guest of the namespace tollgate.counters.
type CounterStore interface {
	Open(logger *zap.Logger) (counters.Store, error)
	Key() any
}

// KeyringProvider is a guest of the namespace tollgate.keyring.
type KeyringProvider interface {
	// Open makes the keyring; dir is the folder for files that it makes.
	Open(dir string, logger *zap.Logger) (keyring.Keyring, error)
	Key() any
}

// App holds what the modules of Tollgate share. It is loaded by the first
// module that needs it; without configuration it keeps everything in the folder
// data of the working directory. The database and the keyring are opened only for
// modules that need them, which budget does not. All of it survives reloads: pools
// stay open, budgets keep their counts, requests and streams of the configuration
// before go on.
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
//		}
//	}
type App struct {
	// The database of all services: tollgate.storage.sqlite or
	// tollgate.storage.postgres. Default: sqlite data/tollgate.db.
	DatabaseRaw json.RawMessage `json:"database,omitempty" caddy:"namespace=tollgate.storage inline_key=engine"`

	// Databases for single services, by the name of the service: gateway, board,
	// cms, answer, authserver, events.
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

	// The providers and models of the gateway.
	Catalog *Catalog `json:"catalog,omitempty"`

	// The networks (CIDR) that the base URLs of users' own models may lead to
	// beside public addresses, for example 127.0.0.0/8 for a server on this
	// machine. Default: none, so that users cannot reach what is private here.
	AllowNetworks []string `json:"allow_networks,omitempty"`

	// For a first try on one's own machine: makes a user and a gateway key and
	// prints how to use it.
	FirstRun *FirstRun `json:"first_run,omitempty"`

	logger *zap.Logger
	ctx    caddy.Context
	allow  []netip.Prefix

	memory   *memory.Budget
	db       *store.DB
	common   Storage
	named    map[string]any       // loaded storages of single services
	opened   []opened             // what Start opens
	sealings []*sealing           // the services with secrets among them
	served   map[string]*store.DB // by service
	counters counters.Store
	ring     KeyringProvider
	source   *catalog.Source
	dir      string

	leases   []lease // references on pooled values, in the order they were taken
	gateway  atomic.Pointer[Gateway]
	dbKey    any
	needed   bool           // some module needs more than the counters
	kept     *time.Duration // of the request log; nil: the default
	begun    atomic.Bool    // Start was called
	started  atomic.Bool    // what is shared is there
	inflight atomic.Int64
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
	a.ctx, a.logger = ctx, ctx.Logger()
	if err := a.provisionMemory(ctx); err != nil {
		return err
	}
	if err := a.provisionKeychain(ctx); err != nil {
		return err
	}
	counting, err := guest[CounterStore](ctx, a, "CountersRaw", a.CountersRaw, "tollgate.counters.memory", nil)
	if err != nil {
		return fmt.Errorf("counters: %w", err)
	}
	if a.counters, err = take(a, counterStores, counting.Key(), func() (counters.Store, error) { return counting.Open(a.logger) },
		func(s counters.Store) error { return s.Close() }); err != nil {
		return fmt.Errorf("counters: %w", err)
	}
	if a.FirstRun != nil {
		if err := a.FirstRun.provision(); err != nil {
			return fmt.Errorf("first_run: %w", err)
		}
	}
	return nil
}

// provisionKeychain loads what the keychain works on: the database, the keyring,
// the catalog and the allowed networks. The command line has need of no more.
func (a *App) provisionKeychain(ctx caddy.Context) error {
	for _, text := range a.AllowNetworks {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return fmt.Errorf("allow_networks: %q is not a network such as 127.0.0.0/8", text)
		}
		a.allow = append(a.allow, prefix.Masked())
	}
	storage, err := a.storages()
	if err != nil {
		return err
	}
	a.dir = "data"
	if local, ok := storage.(interface{ Dir() string }); ok {
		a.dir = local.Dir()
	}
	a.dbKey = storage.Key()
	if a.db, err = a.SealedDatabase(GatewaySchema, keychain.Schema(), keychain.SealedSample); err != nil {
		return err
	}
	if a.ring, err = guest[KeyringProvider](ctx, a, "KeyringRaw", a.KeyringRaw, "tollgate.keyring.aes", nil); err != nil {
		return fmt.Errorf("keyring: %w", err)
	}
	if a.source, err = a.Catalog.source(a.logger); err != nil {
		return fmt.Errorf("catalog: %w", err)
	}
	return nil
}

// Services are the names that a database of its own can be given to.
var Services = []string{GatewaySchema, "board", "cms", "answer", "authserver", "events"}

// opened is a database and a schema that Start puts into it.
type opened struct {
	db     *store.DB
	schema store.Schema
}

// storages loads all storages and returns the gateway's.
func (a *App) storages() (Storage, error) {
	for name := range a.DatabasesRaw {
		if !slices.Contains(Services, name) {
			return nil, fmt.Errorf("databases: there is no service %q; there are: %s", name, strings.Join(Services, ", "))
		}
	}
	if len(a.DatabasesRaw) > 0 {
		loaded, err := a.ctx.LoadModule(a, "DatabasesRaw")
		if err != nil {
			return nil, fmt.Errorf("databases: %w", err)
		}
		a.named = loaded.(map[string]any)
	}
	common, err := guest[Storage](a.ctx, a, "DatabaseRaw", a.DatabaseRaw, "tollgate.storage.sqlite", json.RawMessage(`{"path":"data/tollgate.db"}`))
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	a.common = common
	return a.storage(GatewaySchema), nil
}

// storage is a service's database, or the one of all services.
func (a *App) storage(service string) Storage {
	if named, ok := a.named[service].(Storage); ok {
		return named
	}
	return a.common
}

// open takes a database, for Start to open with a schema in it.
func (a *App) open(storage Storage, schema store.Schema) (*store.DB, error) {
	db, err := take(a, databases, storage.Key(), func() (*store.DB, error) { return storage.Open(a.logger) },
		func(db *store.DB) error { return db.Close() })
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	a.opened = append(a.opened, opened{db, schema})
	return db, nil
}

// ServiceDatabase is the database of a service: its own where the configuration
// names one, else that of all services. A module calls it while it is
// provisioned; Start migrates the schema and opens the database, which is
// waited for in the background where it is down.
func (a *App) ServiceDatabase(service string, schema store.Schema) (*store.DB, error) {
	db, err := a.open(a.storage(service), schema)
	if err != nil {
		return nil, err
	}
	if a.served == nil {
		a.served = make(map[string]*store.DB)
	}
	a.served[service] = db
	return db, nil
}

// guest loads a guest module, or the default one when none is configured.
func guest[T any](ctx caddy.Context, app *App, field string, raw json.RawMessage, byDefault string, config json.RawMessage) (T, error) {
	var none T
	var loaded any
	var err error
	if raw == nil {
		loaded, err = ctx.LoadModuleByID(byDefault, config)
	} else {
		loaded, err = ctx.LoadModule(app, field)
	}
	if err != nil {
		return none, err
	}
	module, ok := loaded.(T)
	if !ok {
		return none, fmt.Errorf("module %T cannot be used here", loaded)
	}
	return module, nil
}

// Start opens the keyring and the database and begins to write usage. A
// database that is down is waited for in the background; requests that need it
// get 503 until it is there. A keyring that is not that of a database is an error.
// Where no module needs them, nothing is opened.
func (a *App) Start() error {
	a.begun.Store(true)
	a.memory.Resize(a.MemorySize())
	if !a.needed && a.FirstRun == nil {
		return nil
	}
	// First what a reload finds in the pools: another app may serve requests already.
	if err := a.takeKeyrings(); err != nil {
		return err
	}
	a.started.Store(true)
	key := gatewayKey{a.dbKey, a.ring.Key(), fmt.Sprint(a.allow)}
	gateway, err := take(a, gateways, key, a.makeGateway, (*Gateway).close)
	if err != nil {
		return fmt.Errorf("gateway: %w", err)
	}
	a.gateway.Store(gateway)
	if err := a.register(); err != nil {
		return err
	}
	for i, o := range a.opened {
		if !slices.ContainsFunc(a.opened[:i], func(before opened) bool { return before.db == o.db }) {
			o.db.Start(a.ctx)
		}
	}
	if err := a.checkKeyrings(a.ctx); err != nil {
		return err
	}
	go a.source.Run(a.ctx)
	go a.cutRequests(a.ctx, gateway)
	if a.FirstRun != nil {
		go a.firstRun(a.ctx, gateway)
	}
	return nil
}

// register puts the schemas into the databases. None is started before: it would
// seem ready without the rest.
func (a *App) register() error {
	for _, o := range a.opened {
		if err := o.db.Register(o.schema); err != nil {
			return fmt.Errorf("database: %w", err)
		}
	}
	return nil
}

func (a *App) makeGateway() (*Gateway, error) {
	ring, err := a.sealedRing(GatewaySchema)
	if err != nil {
		return nil, err
	}
	return newGateway(a.db, ring, a.allow, a.logger)
}

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

// Database is the database of the gateway.
func (a *App) Database() *store.DB { return a.db }

// ModelCatalog is the catalog as of now.
func (a *App) ModelCatalog() *catalog.Catalog { return a.source.Current() }

// Gateway is the model gateway. Before the app has started, and while the keyring is
// not that of the database, it is a 503.
func (a *App) Gateway() (*Gateway, error) {
	g := a.gateway.Load()
	if g == nil {
		return nil, apierror.Unavailable("the gateway", errNotStarted)
	}
	return g, g.ring.Ready()
}

// From loads the app for a module that is being provisioned and needs the
// database, the keyring or the gateway. One that needs only Counters takes the app
// from the context instead, so that nothing is opened for it.
func From(ctx caddy.Context) (*App, error) {
	loaded, err := ctx.App("tollgate")
	if err != nil {
		return nil, err
	}
	app := loaded.(*App)
	app.needed = true
	return app, nil
}

// Interface guards
var (
	_ caddy.App          = (*App)(nil)
	_ caddy.Provisioner  = (*App)(nil)
	_ caddy.CleanerUpper = (*App)(nil)
)
