package tollgate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/sealed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// databaseWait is how long a command waits for the database.
const databaseWait = 5 * time.Second

// migrationWait is how long it waits for one that is being migrated.
const migrationWait = 15 * time.Minute

// maxConfig bounds a configuration file, in bytes.
const maxConfig = 64 << 20

// OpenDatabase opens the database of a service, with its schema, for a command. One
// that cannot be used within five seconds is an error.
func (a *App) OpenDatabase(ctx context.Context, service string, schema store.Schema) (*store.DB, error) {
	db, err := a.ServiceDatabase(service, schema)
	if err == nil {
		err = waitFor(ctx, db, schema)
	}
	return db, err
}

// OpenSealed is OpenDatabase for a service that keeps secrets, with its keyring: one
// that is not that of the database is an error.
func (a *App) OpenSealed(ctx context.Context, service string, schema store.Schema, sample sealed.Sample) (*store.DB, *sealed.Ring, error) {
	db, err := a.SealedDatabase(service, schema, sample)
	if err == nil {
		err = a.register()
	}
	if err == nil {
		err = await(ctx, db)
	}
	if err != nil {
		return nil, nil, err
	}
	base, err := a.openKeyring(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("keyring: %w", err)
	}
	ring := sealed.New(db, service, base, sample, a.logger)
	return db, ring, ring.Check(ctx)
}

// DeriveKeys is what Keys tells, for a command: of a keyring that exists, since no
// server would know one that is made now. No database is opened.
func (a *App) DeriveKeys(ctx context.Context, label string) ([][]byte, error) {
	if file := a.missingKey(); file != "" {
		return nil, fmt.Errorf("there is no key file at %s: run it in the folder of the server or give --config; the server makes the file when it starts", file)
	}
	ring, err := a.ring.Open(a.dir, a.logger)
	if err != nil {
		return nil, fmt.Errorf("keyring: %w", err)
	}
	return ring.Derive(ctx, label)
}

// AdoptKeyring makes the keyring of the configuration that of a service's database.
func (a *App) AdoptKeyring(ctx context.Context, service string) error {
	if err := Known(service); err != nil {
		return err
	}
	if err := a.Exists(service); err != nil {
		return err
	}
	db, err := a.open(a.Storage(service), sealed.Schema())
	if err == nil {
		err = waitFor(ctx, db, sealed.Schema())
	}
	if err != nil {
		return err
	}
	base, err := a.ring.Open(a.dir, a.logger)
	if err != nil {
		return fmt.Errorf("keyring: %w", err)
	}
	return sealed.New(db, service, base, nil, a.logger).Adopt(ctx)
}

// Exists is an error where the database of a service would be a new file: a command
// that has no use for an empty one is in the wrong folder.
func (a *App) Exists(service string) error {
	local, ok := a.Storage(service).(interface{ File() string })
	if !ok || local.File() == "" {
		return nil
	}
	if _, err := os.Stat(local.File()); errors.Is(err, fs.ErrNotExist) {
		return noDatabase(local.File())
	}
	return nil
}

func noDatabase(file string) error {
	return fmt.Errorf("there is no database at %s: run it in the folder of the server or give --config", file)
}

// Load makes the app of a configuration file without starting it, for a command of
// another process than the server. It works while the server runs and while it does
// not; nothing is opened yet.
//
// configFile "" is ./Caddyfile when there is one, else the defaults of App;
// adapter "" goes by the name of the file as Caddy's own commands do. end gives
// everything back.
func Load(configFile, adapter string) (a *App, end func(), err error) {
	whole, raw, err := appConfig(configFile, adapter)
	if err != nil {
		return nil, nil, err
	}
	// An empty configuration gives the guests a place to live in. Only what a
	// person has to know is logged.
	base, err := caddy.ProvisionContext(&caddy.Config{Logging: &caddy.Logging{
		Logs: map[string]*caddy.CustomLog{caddy.DefaultLoggerName: {BaseLog: caddy.BaseLog{Level: "WARN"}}},
	}})
	if err != nil {
		return nil, nil, fmt.Errorf("preparing the configuration: %w", err)
	}
	guests, cancel := caddy.NewContext(base)
	guests.Context = context.WithValue(guests.Context, commandKey{}, true)
	a = &App{ctx: guests, logger: caddy.Log().Named("tollgate"), whole: whole}
	end = func() {
		if err := a.release(); err != nil {
			a.logger.Error("closing the database", zap.Error(err))
		}
		cancel()
	}
	if raw != nil {
		if err = caddy.StrictUnmarshalJSON(raw, a); err != nil {
			err = fmt.Errorf("the app tollgate of the configuration: %w", err)
		}
	}
	if err == nil {
		err = a.provisionStores(guests)
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	return a, end, nil
}

// commandKey marks the context of what Load loads.
type commandKey struct{}

// ForCommand reports whether a module is loaded for a command, which sends nothing to
// providers: what only requests need may be missing.
func ForCommand(ctx caddy.Context) bool { return ctx.Value(commandKey{}) != nil }

// waitFor opens a database for a command.
func waitFor(ctx context.Context, db *store.DB, schema store.Schema) error {
	if err := db.Register(schema); err != nil {
		return fmt.Errorf("database: %w", err)
	}
	return await(ctx, db)
}

// await is waitFor when the schemas are registered.
func await(ctx context.Context, db *store.DB) error {
	wait, cancel := context.WithTimeout(ctx, databaseWait)
	defer cancel()
	db.Start(wait)
	err := db.WaitReady(wait)
	if err != nil && ctx.Err() == nil && errors.Is(db.Ready(), store.ErrOpening) {
		// Nothing has failed: it migrates, or the machine is slow.
		patient, cancel := context.WithTimeout(ctx, migrationWait)
		defer cancel()
		err = db.WaitReady(patient)
	}
	if err != nil {
		if err := ctx.Err(); err != nil {
			return err
		}
		return fmt.Errorf("the database cannot be used: %w", db.Ready())
	}
	return nil
}

// appConfig is the configuration in a file, and that of the app in it; nil: there is none.
func appConfig(file, adapter string) (whole, app json.RawMessage, err error) {
	text, name, err := readConfig(file)
	if err != nil || text == nil {
		return nil, nil, err
	}
	base := strings.ToLower(filepath.Base(name))
	if adapter == "" && filepath.Ext(base) != ".json" && (strings.HasPrefix(base, "caddyfile") || strings.HasSuffix(base, ".caddyfile")) {
		adapter = "caddyfile"
	}
	if adapter != "" {
		adapt := caddyconfig.GetAdapter(adapter)
		if adapt == nil {
			return nil, nil, fmt.Errorf("there is no configuration adapter %q", adapter)
		}
		if text, _, err = adapt.Adapt(text, map[string]any{"filename": name}); err != nil {
			return nil, nil, fmt.Errorf("reading %s as %s: %w", name, adapter, err)
		}
	}
	var config struct {
		Apps struct {
			Tollgate json.RawMessage `json:"tollgate"`
		} `json:"apps"`
	}
	if err := json.Unmarshal(text, &config); err != nil {
		return nil, nil, fmt.Errorf("reading %s as JSON: %w; name its format with --adapter", name, err)
	}
	if bytes.Equal(config.Apps.Tollgate, []byte("null")) {
		return text, nil, nil
	}
	return text, config.Apps.Tollgate, nil
}

// readConfig reads the file, or the Caddyfile of the working directory; nil:
// there is neither.
func readConfig(file string) (text []byte, name string, err error) {
	name = file
	if name == "" {
		name = "Caddyfile"
	}
	f, err := os.Open(name)
	if file == "" && errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("reading the configuration: %w", err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	if text, err = io.ReadAll(io.LimitReader(f, maxConfig+1)); err != nil {
		return nil, "", fmt.Errorf("reading the configuration: %w", err)
	}
	if len(text) > maxConfig {
		return nil, "", fmt.Errorf("the configuration %s is larger than %d MB", name, maxConfig>>20)
	}
	return text, name, nil
}
