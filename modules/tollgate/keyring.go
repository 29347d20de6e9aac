package tollgate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/sealed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// keyMaker is a KeyringProvider that makes a key file where there is none.
type keyMaker interface {
	// Missing is the key file that Open would make; empty: it makes none.
	Missing(dir string) string
}

// missingKey is the key file that opening the keyring would make.
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
	key     any // of the database
	sample  sealed.Sample
	ring    *sealed.Ring // once the app has started
}

// SealedDatabase is ServiceDatabase for a service that keeps secrets there. sample
// reads some of them.
func (a *App) SealedDatabase(service string, schema store.Schema, sample sealed.Sample) (*store.DB, error) {
	db, err := a.ServiceDatabase(service, schema)
	if err != nil || slices.ContainsFunc(a.sealings, func(s *sealing) bool { return s.service == service }) {
		return db, err
	}
	a.opened = append(a.opened, opened{db, sealed.Schema()})
	a.sealings = append(a.sealings, &sealing{service: service, db: db, key: a.storage(service).Key(), sample: sample})
	return db, nil
}

// Keyring returns what asks for the keyring of a service that has SealedDatabase: a
// 503 before the app has started, and while the keyring is not that of the
// database.
func (a *App) Keyring(service string) func() (keyring.Keyring, error) {
	return func() (keyring.Keyring, error) {
		ring, err := a.sealedRing(service)
		if err == nil {
			err = ring.Ready()
		}
		if err != nil {
			return nil, err
		}
		return ring, nil
	}
}

func (a *App) sealedRing(service string) (*sealed.Ring, error) {
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

// keyringKey is what makes two configurations share a keyring.
type keyringKey struct {
	ring any
	dir  string
}

type sealedKey struct {
	keyringKey
	service  string
	database any
}

// takeKeyrings opens the keyring and holds it to the database of each service. What
// is in them is not looked at yet.
func (a *App) takeKeyrings() error {
	key := keyringKey{a.ring.Key(), a.dir}
	base, err := take(a, keyrings, key, func() (keyring.Keyring, error) { return a.openKeyring(a.ctx) }, func(keyring.Keyring) error { return nil })
	if err != nil {
		return fmt.Errorf("keyring: %w", err)
	}
	for _, s := range a.sealings {
		held, err := take(a, sealedRings, sealedKey{key, s.service, s.key}, func() (*watched, error) {
			return watch(sealed.New(s.db, s.service, base, s.sample, a.logger)), nil
		}, (*watched).close)
		if err != nil {
			return fmt.Errorf("keyring: %w", err)
		}
		s.ring = held.Ring
	}
	return nil
}

// watched is a Ring with what checks it in the background.
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

// checkKeyrings refuses a keyring that is not that of a database. One that cannot be
// asked now is asked later; until then secrets are neither sealed nor opened.
func (a *App) checkKeyrings(ctx context.Context) error {
	for _, s := range a.sealings {
		if err := s.ring.Check(ctx); errors.Is(err, sealed.ErrUnfit) {
			return err
		}
	}
	return nil
}

// missingKeyWait is how long a database that is being opened is waited for, to see
// whether a missing key has sealed what is in it.
const missingKeyWait = time.Minute

// openKeyring opens the keyring. It makes no key beside secrets that another one
// has sealed: the file of that was lost, or is looked for in another folder. Of
// a database that is down it does not know; see checkKeyrings.
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
		held, err := sealed.Held(ctx, s.db, s.service, s.sample)
		if err != nil && !errors.Is(err, store.ErrUnavailable) {
			return nil, err
		}
		if held {
			return nil, fmt.Errorf("the database has secrets, but the key file %s that opens them is gone: put it back from its copy; "+
				"if it is lost: tollgate keyring adopt --service %s, then store them again", file, s.service)
		}
	}
	return a.ring.Open(a.dir, a.logger)
}
