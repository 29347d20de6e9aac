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
	// Open opens the keyring. dir is the folder for files that the module creates.
	Open(dir string, logger *zap.Logger) (keyring.Keyring, error)
	// Key returns a comparable value that identifies the keyring and its settings.
	Key() any
}

// keyService is the name of a service. The folder of this service's database contains the key file, unless the
// configuration names another place.
const keyService = "gateway"

// provisionKeyring loads the keyring module; takeKeyrings opens the keyring.
func (a *App) provisionKeyring(ctx caddy.Context) (err error) {
	a.dir = cmp.Or(a.ServiceFolder(keyService), "data")
	if a.ring, err = loadGuest[KeyringProvider](
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

// keyMaker is a KeyringProvider whose Open creates the key file if it does not exist.
type keyMaker interface {
	// KeyFile returns the file that contains the key, or "" if the key is not in a file.
	KeyFile(dir string) string
}

// missingKey returns the key file that opening the keyring would create, or "".
func (a *App) missingKey() string {
	if maker, ok := a.ring.(keyMaker); ok && keyring.KeyFileMissing(maker.KeyFile(a.dir)) {
		return maker.KeyFile(a.dir)
	}
	return ""
}

// sealedService is a service that stores secrets in its database.
type sealedService struct {
	service string
	db      *store.DB
	key     any           // the result of Storage.Key for the database
	sample  sealed.Sample // reads some of the service's secrets
	ring    *sealed.Ring  // set once the app has started
}

// SealedDatabase works like ServiceDatabase for a service that stores secrets in the database. sample reads some
// secrets, so that the keyring can be checked against them.
func (a *App) SealedDatabase(service string, schema store.Schema, sample sealed.Sample) (*store.DB, error) {
	db, err := a.ServiceDatabase(service, schema)
	if err != nil || slices.ContainsFunc(a.sealedServices, func(s *sealedService) bool { return s.service == service }) {
		return db, err
	}
	a.pending = append(a.pending, pendingDatabase{db, sealed.Schema()})
	s := &sealedService{service: service, db: db, key: a.Storage(service).Key(), sample: sample}
	a.sealedServices = append(a.sealedServices, s)
	return db, nil
}

// Keyring returns a function that returns the keyring of a service. The service must have called SealedDatabase. The
// function returns an error with status 503 before the app has started, and while the keyring does not fit the
// database: it lacks the master key with which the secrets in the database are encrypted.
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

// Ring returns the keyring of a service that has called SealedDatabase, even if the keyring does not fit the database.
// It returns an error with status 503 before the app has started.
func (a *App) Ring(service string) (*sealed.Ring, error) {
	if a.started.Load() {
		for _, s := range a.sealedServices {
			if s.service == service {
				return s.ring, nil
			}
		}
	}
	return nil, apierror.Unavailable("the keyring", errNotStarted)
}

var errNotStarted = errors.New("the app tollgate has not started yet")

// keyrings and sealedRings keep keyrings across reloads.
var keyrings, sealedRings = caddy.NewUsagePool(), caddy.NewUsagePool()

// keyringKey identifies a keyring. Configurations with equal keys share the keyring.
type keyringKey struct {
	ring any
	dir  string
}

// sealedKey identifies the sealed ring of a service in sealedRings.
type sealedKey struct {
	keyringKey
	service  string
	database any
}

// Keys returns a function that returns the keys derived from the keyring for a label. The first key signs; all keys
// verify. The function returns an error with status 503 before the app has started, and while the keyring does not fit
// a database. A module calls Keys while it is provisioned.
func (a *App) Keys(label string) func() ([][]byte, error) {
	a.needsKeys = true // makes takeKeyrings open the keyring even if no service stores secrets
	var cached atomic.Pointer[[][]byte]
	return func() ([][]byte, error) {
		if !a.started.Load() {
			return nil, apierror.Unavailable("the keyring", errNotStarted)
		}
		for _, s := range a.sealedServices {
			if err := s.ring.Ready(); err != nil {
				return nil, err
			}
		}
		if keys := cached.Load(); keys != nil {
			return *keys, nil
		}
		keys, err := a.base.Derive(a.ctx, label)
		if err != nil {
			return nil, apierror.Unavailable("the keyring", err)
		}
		cached.Store(&keys)
		return keys, nil
	}
}

// SigningKey works like Keys, but its function returns only the key that signs. It returns nil before the app has
// started, when no requests are answered.
func (a *App) SigningKey(label string) func() []byte {
	keys := a.Keys(label)
	return func() []byte {
		all, err := keys()
		if err != nil || len(all) == 0 {
			return nil
		}
		return all[0]
	}
}

// takeKeyrings opens the keyring if any module needs it, and creates the sealed ring of each service. It does not read
// the databases yet.
func (a *App) takeKeyrings() error {
	if len(a.sealedServices) == 0 && !a.needsKeys {
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
	for _, s := range a.sealedServices {
		ring, err := Share(a, sealedRings, sealedKey{key, s.service, s.key}, func() (*watchedRing, error) {
			return watch(sealed.New(s.db, s.service, base, s.sample, a.logger)), nil
		}, (*watchedRing).close)
		if err != nil {
			return fmt.Errorf("keyring: %w", err)
		}
		s.ring = ring.Ring
	}
	return nil
}

// watchedRing is a sealed ring with the goroutine that checks it in the background.
type watchedRing struct {
	*sealed.Ring
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// watch starts the goroutine for a ring; close ends it.
func watch(ring *sealed.Ring) *watchedRing {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watchedRing{Ring: ring, cancel: cancel}
	w.running.Go(func() { ring.Run(ctx) })
	return w
}

// close ends the goroutine and waits for it.
func (w *watchedRing) close() error {
	w.cancel()
	w.running.Wait()
	return nil
}

// checkKeyrings returns an error if the keyring does not fit a database. A database that cannot be read now is checked
// later; until then its secrets are neither encrypted nor decrypted.
func (a *App) checkKeyrings(ctx context.Context) error {
	for _, s := range a.sealedServices {
		if err := s.ring.Check(ctx); errors.Is(err, sealed.ErrUnfit) {
			return err
		}
	}
	return nil
}

// missingKeyWait is how long openKeyring waits for a database that is being opened, to find out whether it has secrets
// encrypted with a missing key.
const missingKeyWait = time.Minute

// openKeyring opens the keyring, and creates its key file if there is none. It returns an error if the file is missing
// and a database has secrets that another key has encrypted: then the file is lost, or the configured folder is wrong.
// Databases that are unavailable are skipped here; checkKeyrings checks them later.
func (a *App) openKeyring(ctx context.Context) (keyring.Keyring, error) {
	file := a.missingKey()
	if file == "" {
		return a.ring.Open(a.dir, a.logger)
	}
	if err := a.register(); err != nil {
		return nil, err
	}
	for _, s := range a.sealedServices {
		s.db.Start(ctx)
		if errors.Is(s.db.Ready(), store.ErrOpening) { // it may be migrating
			waitCtx, cancel := context.WithTimeout(ctx, missingKeyWait)
			_ = s.db.WaitReady(waitCtx)
			cancel()
		}
		hasSecrets, err := sealed.Held(ctx, s.db, s.service, s.sample)
		if err != nil && !errors.Is(err, store.ErrUnavailable) {
			return nil, err
		}
		if hasSecrets {
			return nil, fmt.Errorf(
				"the database has secrets, but the key file %s that decrypts them is missing: restore it from your copy; "+
					"if it is lost, run tollgate keyring adopt --service %s and store the secrets again", file, s.service)
		}
	}
	return a.ring.Open(a.dir, a.logger)
}
