package tollgate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/sealed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// KeyringProvider is a guest module of the namespace tollgate.keyring.
type KeyringProvider interface {
	// Open opens the keyring. dir is the folder for files that it makes.
	Open(dir string, logger *zap.Logger) (keyring.Keyring, error)
	Key() any
}

// keyService is the service in whose folder the key file is, unless the configuration names another place.
const keyService = "gateway"

// provisionKeyring loads the keyring module; takeKeyrings opens the keyring.
func (a *App) provisionKeyring(ctx caddy.Context) (err error) {
	a.dir = cmp.Or(a.ServiceFolder(keyService), "data")
	if a.ring, err = guest[KeyringProvider](
		ctx, a, "KeyringRaw", a.KeyringRaw, "tollgate.keyring.aes", nil,
	); err != nil {
		return fmt.Errorf("keyring: %w", err)
	}
	return nil
}

// KeyringModule returns the guest module that opens the keyring.
func (a *App) KeyringModule() KeyringProvider { return a.ring }

// KeyringFolder returns the folder for files of the keyring.
func (a *App) KeyringFolder() string { return a.dir }

// keyMaker is a KeyringProvider that makes a key file if there is none.
type keyMaker interface {
	// Missing returns the key file that Open would make, or "" if it would make none.
	Missing(dir string) string
	// KeyFile returns the file that holds the key, or "" if no file does.
	KeyFile(dir string) string
}

// missingKey returns the key file that opening the keyring would make, or "".
func (a *App) missingKey() string {
	if maker, ok := a.ring.(keyMaker); ok {
		return maker.Missing(a.dir)
	}
	return ""
}

// sealing is a service that keeps secrets in its database.
type sealing struct {
	service string
	db      *store.DB
	key     any // the key of the database's Storage
	sample  sealed.Sample
	ring    *sealed.Ring // set once the app has started
}

// SealedDatabase works like ServiceDatabase for a service that keeps secrets there. sample reads some of them, to check
// the keyring.
func (a *App) SealedDatabase(service string, schema store.Schema, sample sealed.Sample) (*store.DB, error) {
	db, err := a.ServiceDatabase(service, schema)
	if err != nil || slices.ContainsFunc(a.sealings, func(s *sealing) bool { return s.service == service }) {
		return db, err
	}
	a.opened = append(a.opened, opened{db, sealed.Schema()})
	a.sealings = append(a.sealings, &sealing{service: service, db: db, key: a.Storage(service).Key(), sample: sample})
	return db, nil
}

// Keyring returns a function that returns the keyring of a service which has called SealedDatabase. The function fails
// with a 503 before the app has started, and while the keyring does not fit the database.
func (a *App) Keyring(service string) func() (keyring.Keyring, error) {
	return func() (keyring.Keyring, error) {
		ring, err := a.Ring(service)
		if err == nil {
			err = ring.Ready()
		}
		if err != nil {
			return nil, err
		}
		return ring, nil
	}
}

// Ring returns the keyring of a service which has called SealedDatabase, even if it may not be used yet. Before the app
// has started it returns a 503.
func (a *App) Ring(service string) (*sealed.Ring, error) {
	if a.started.Load() {
		for _, s := range a.sealings {
			if s.service == service {
				return s.ring, nil
			}
		}
	}
	return nil, apierror.Unavailable("the keyring", errNotStarted)
}

var errNotStarted = errors.New("the app tollgate has not started yet")

// keyrings and sealedRings survive reloads.
var keyrings, sealedRings = caddy.NewUsagePool(), caddy.NewUsagePool()

// keyringKey identifies a keyring: configurations with equal keys share it.
type keyringKey struct {
	ring any
	dir  string
}

type sealedKey struct {
	keyringKey
	service  string
	database any
}

// Keys returns a function that returns the keys which the keyring derives for a label. The first key signs; the others
// still verify. The function fails with a 503 before the app has started, and while the keyring does not fit a
// database. A module calls Keys while it is provisioned.
func (a *App) Keys(label string) func() ([][]byte, error) {
	a.keyed = true
	var known atomic.Pointer[[][]byte]
	return func() ([][]byte, error) {
		if !a.started.Load() {
			return nil, apierror.Unavailable("the keyring", errNotStarted)
		}
		for _, s := range a.sealings {
			if err := s.ring.Ready(); err != nil {
				return nil, err
			}
		}
		if keys := known.Load(); keys != nil {
			return *keys, nil
		}
		keys, err := a.base.Derive(a.ctx, label)
		if err != nil {
			return nil, apierror.Unavailable("the keyring", err)
		}
		known.Store(&keys)
		return keys, nil
	}
}

// takeKeyrings opens the keyring if it is needed, and makes the sealed ring of each service. It does not look at the
// content of the databases yet.
func (a *App) takeKeyrings() error {
	if len(a.sealings) == 0 && !a.keyed {
		return nil
	}
	key := keyringKey{a.ring.Key(), a.dir}
	base, err := Share(a, keyrings, key,
		func() (keyring.Keyring, error) { return a.openKeyring(a.ctx) },
		func(keyring.Keyring) error { return nil })
	if err != nil {
		return fmt.Errorf("keyring: %w", err)
	}
	a.base = base
	for _, s := range a.sealings {
		ring, err := Share(a, sealedRings, sealedKey{key, s.service, s.key}, func() (*watched, error) {
			return watch(sealed.New(s.db, s.service, base, s.sample, a.logger)), nil
		}, (*watched).close)
		if err != nil {
			return fmt.Errorf("keyring: %w", err)
		}
		s.ring = ring.Ring
	}
	return nil
}

// watched is a Ring with the goroutine that checks it in the background.
type watched struct {
	*sealed.Ring
	cancel  context.CancelFunc
	running sync.WaitGroup
}

func watch(ring *sealed.Ring) *watched {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watched{Ring: ring, cancel: cancel}
	w.running.Go(func() { ring.Run(ctx) })
	return w
}

func (w *watched) close() error {
	w.cancel()
	w.running.Wait()
	return nil
}

// checkKeyrings returns an error if the keyring does not fit a database. A database that cannot be read now is checked
// later; until then secrets are neither sealed nor opened.
func (a *App) checkKeyrings(ctx context.Context) error {
	for _, s := range a.sealings {
		if err := s.ring.Check(ctx); errors.Is(err, sealed.ErrUnfit) {
			return err
		}
	}
	return nil
}

// missingKeyWait is how long openKeyring waits for a database that is being opened, to see whether a missing key has
// sealed its content.
const missingKeyWait = time.Minute

// openKeyring opens the keyring, and creates its key file if there is none. It returns an error instead if the file
// is missing and a database has secrets that another key has sealed: the file is lost, or the configured folder is
// wrong. Databases that are unavailable are skipped here; checkKeyrings checks them later.
func (a *App) openKeyring(ctx context.Context) (keyring.Keyring, error) {
	file := a.missingKey()
	if file == "" {
		return a.ring.Open(a.dir, a.logger)
	}
	if err := a.register(); err != nil {
		return nil, err
	}
	for _, s := range a.sealings {
		s.db.Start(ctx)
		if errors.Is(s.db.Ready(), store.ErrOpening) { // it may be migrating
			patient, cancel := context.WithTimeout(ctx, missingKeyWait)
			_ = s.db.WaitReady(patient)
			cancel()
		}
		hasSecrets, err := sealed.Held(ctx, s.db, s.service, s.sample)
		if err != nil && !errors.Is(err, store.ErrUnavailable) {
			return nil, err
		}
		if hasSecrets {
			return nil, fmt.Errorf(
				"the database has secrets, but the key file %s that opens them is gone: put it back from its copy; "+
					"if it is lost: tollgate keyring adopt --service %s, then store them again", file, s.service)
		}
	}
	return a.ring.Open(a.dir, a.logger)
}
