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

// databaseWait is how long a command waits for a database.
const databaseWait = 5 * time.Second

// migrationWait is how long a command waits for a database that is being migrated.
const migrationWait = 15 * time.Minute

// maxConfig is the limit for a configuration file, in bytes.
const maxConfig = 64 << 20

// OpenDatabase opens the database of a service with a schema, for a command. It returns an error if the database cannot
// be used within databaseWait, or within migrationWait if it is still being opened.
func (a *App) OpenDatabase(ctx context.Context, service string, schema store.Schema) (*store.DB, error) {
	db, err := a.ServiceDatabase(service, schema)
	if err == nil {
		err = registerAndWait(ctx, db, schema)
	}
	return db, err
}

// DeriveKeys returns, for a command, the keys that Keys returns for a server. It opens no database. It returns an error
// if the key file does not exist, because no server would have a newly created key.
func (a *App) DeriveKeys(ctx context.Context, label string) ([][]byte, error) {
	if file := a.missingKey(); file != "" {
		return nil, fmt.Errorf(
			"there is no key file at %s: run the command in the folder of the server or give --config; "+
				"the server creates the file when it starts", file)
	}
	ring, err := a.ring.Open(a.dir, a.logger)
	if err != nil {
		return nil, fmt.Errorf("keyring: %w", err)
	}
	return ring.Derive(ctx, label)
}

// AdoptKeyring makes the database of a service accept the keyring of the configuration, even if secrets in the database
// were encrypted with a key that this keyring lacks.
func (a *App) AdoptKeyring(ctx context.Context, service string) error {
	if err := CheckService(service); err != nil {
		return err
	}
	if err := a.Exists(service); err != nil {
		return err
	}
	db, err := a.open(a.Storage(service), sealed.Schema())
	if err == nil {
		err = registerAndWait(ctx, db, sealed.Schema())
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

// Exists returns an error if the file of a service's database does not exist. A command that cannot work on an empty
// database calls it; the command was probably started in the wrong folder.
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

// noDatabase returns the error for a database file that does not exist.
func noDatabase(file string) error {
	return fmt.Errorf("there is no database at %s: run the command in the folder of the server or give --config", file)
}

// Load makes the app from a configuration file without starting it, for a command, which runs in a different process
// than the server. It works whether or not the server runs, and opens nothing.
//
// An empty configFile means ./Caddyfile if it exists, otherwise the defaults of App. If adapter is empty, the file's
// name determines the adapter, as with Caddy's commands. The caller must call end to release everything.
func Load(configFile, adapter string) (a *App, end func(), err error) {
	config, raw, err := appConfig(configFile, adapter)
	if err != nil {
		return nil, nil, err
	}
	// The guest modules belong to an empty configuration that logs only warnings and errors.
	base, err := caddy.ProvisionContext(&caddy.Config{Logging: &caddy.Logging{
		Logs: map[string]*caddy.CustomLog{caddy.DefaultLoggerName: {BaseLog: caddy.BaseLog{Level: "WARN"}}},
	}})
	if err != nil {
		return nil, nil, fmt.Errorf("preparing the configuration: %w", err)
	}
	ctx, cancel := caddy.NewContext(base)
	ctx.Context = context.WithValue(ctx.Context, commandKey{}, true)
	a = &App{ctx: ctx, logger: caddy.Log().Named("tollgate"), config: config}
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
		err = a.provisionStores(ctx)
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	return a, end, nil
}

// commandKey marks the context of modules loaded by Load.
type commandKey struct{}

// ForCommand reports whether a module is loaded for a command. A command sends nothing to providers, so settings that
// only requests need may be missing.
func ForCommand(ctx caddy.Context) bool { return ctx.Value(commandKey{}) != nil }

// registerAndWait registers a schema and opens the database, for a command.
func registerAndWait(ctx context.Context, db *store.DB, schema store.Schema) error {
	if err := db.Register(schema); err != nil {
		return fmt.Errorf("database: %w", err)
	}
	return openAndWait(ctx, db)
}

// openAndWait opens a database, and waits until it is ready. All its schemas must have been registered.
func openAndWait(ctx context.Context, db *store.DB) error {
	shortCtx, cancel := context.WithTimeout(ctx, databaseWait)
	defer cancel()
	db.Start(shortCtx)
	err := db.WaitReady(shortCtx)
	if err != nil && ctx.Err() == nil && errors.Is(db.Ready(), store.ErrOpening) {
		// No attempt has failed yet: the database is being migrated, or the machine is slow.
		longCtx, cancel := context.WithTimeout(ctx, migrationWait)
		defer cancel()
		err = db.WaitReady(longCtx)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("the database cannot be used: %w", db.Ready()) // err only says that the time is over
}

// appConfig reads a configuration file with an adapter. It returns the configuration as JSON, and the part of it that
// configures this app. configuration is nil if there is no file, and app is nil if there is no such part.
func appConfig(file, adapter string) (configuration, app json.RawMessage, err error) {
	text, name, err := readConfig(file)
	if err != nil || text == nil {
		return nil, nil, err
	}
	base := strings.ToLower(filepath.Base(name))
	if adapter == "" && filepath.Ext(base) != ".json" &&
		(strings.HasPrefix(base, "caddyfile") || strings.HasSuffix(base, ".caddyfile")) {
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

// readConfig reads the file or, if file is empty, the Caddyfile in the working directory. It returns a nil text if
// there is no such Caddyfile.
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
