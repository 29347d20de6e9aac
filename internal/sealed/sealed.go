// Package sealed holds a keyring to what a database holds. A node with another
// master key than the others would seal what they cannot open, and open nothing of
// theirs; it finds out by a check value in the database before it does either.
package sealed

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema is the table of check values, one for each service that keeps secrets in
// the database.
func Schema() store.Schema { return store.Embedded("keyring", migrations) }

// ErrUnfit is in the chain of every error that means the keyring is another one than
// that of the database.
var ErrUnfit = errors.New("the keyring does not open the stored secrets")

const (
	// topic is what nodes tell each other of: the service whose check value changed.
	topic = "keyring"
	// checkEvery is how often each node looks at the check value, whether it hears of a
	// change or not, and settleTime after what time all of them have.
	checkEvery = 4 * time.Second
	settleTime = checkEvery + time.Second
	// askTime is how long the database may take to tell a check value. What waits for a
	// check, a start above all, must not hang on a database that does not answer.
	askTime = 5 * time.Second
	// checkText is what is sealed.
	checkText = "tollgate"
)

// Text is a sealed text with the associated data that it was sealed with.
type Text struct{ Sealed, Associated string }

// Sample reads some of a service's sealed texts; none where there are none. It is
// asked only of databases that have no check value yet.
type Sample func(ctx context.Context, db *store.DB) ([]Text, error)

// Ring is a keyring as a service may use it: until [Ring.Check] has found that it is
// that of the database, sealing and opening is a 503. It seals with the key
// that the check value is under, which [Ring.Advance] changes for all nodes at once;
// so nodes can be given a new key one after the other.
type Ring struct {
	db      *store.DB
	service string
	base    keyring.Keyring
	sample  Sample
	logger  *zap.Logger

	every, settle time.Duration // checkEvery and settleTime

	checking sync.Mutex
	state    atomic.Pointer[state]
	wake     chan struct{}
}

// state is what the last check found.
type state struct {
	ring keyring.Keyring // with the key that seals; nil: err is why
	err  error
}

var errUnchecked = errors.New("the database could not yet be asked whether the keyring is its own")

// New returns a Ring that was not checked yet. The database has Schema registered.
func New(db *store.DB, service string, base keyring.Keyring, sample Sample, logger *zap.Logger) *Ring {
	r := &Ring{db: db, service: service, base: base, sample: sample, logger: logger, every: checkEvery, settle: settleTime, wake: make(chan struct{}, 1)}
	r.state.Store(&state{err: errUnchecked})
	return r
}

// Held reports whether a database has secrets of a service, or the check value
// of a keyring that was to seal them.
func Held(ctx context.Context, db *store.DB, service string, sample Sample) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	value, err := checkValue(ctx, db, service)
	if err != nil || value != "" {
		return value != "", err
	}
	texts, err := sample(ctx, db)
	return len(texts) > 0, err
}

// Ready returns nil while the keyring may be used, else a 503 with the reason as
// its cause.
func (r *Ring) Ready() error {
	_, err := r.current()
	return err
}

func (r *Ring) current() (keyring.Keyring, error) {
	s := r.state.Load()
	if s.ring == nil {
		return nil, apierror.Unavailable("the keyring", s.err)
	}
	return s.ring, nil
}

// Check finds out whether the keyring is that of the database, within a few seconds.
// The first node writes the check value, once it opens what is stored already. An
// error that wraps ErrUnfit ends the use of the keyring; after others what was known
// before counts, and where nothing was, they are why the keyring is not Ready.
func (r *Ring) Check(ctx context.Context) error {
	r.checking.Lock()
	defer r.checking.Unlock()
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	value, err := checkValue(ctx, r.db, r.service)
	if err == nil && value == "" {
		value, err = r.first(ctx)
	}
	if err == nil {
		err = r.fit(ctx, value)
	}
	if errors.Is(err, ErrUnfit) || err != nil && r.state.Load().ring == nil {
		r.state.Store(&state{err: err})
	}
	return err
}

// fit takes the key that a check value is under.
func (r *Ring) fit(ctx context.Context, value string) error {
	if _, err := r.base.Open(ctx, value, r.associated()); err != nil {
		return r.unfit(err)
	}
	ring, err := r.base.As(value)
	if err != nil {
		return err
	}
	r.state.Store(&state{ring: ring})
	return nil
}

// unfit says what to do where a text does not open; other errors stay.
func (r *Ring) unfit(err error) error {
	if !errors.Is(err, keyring.ErrOpen) {
		return err
	}
	// Not in the chain: it is for single texts, which others leave out.
	return fmt.Errorf("%w of %s: give it the master key that sealed them, which the other nodes have; "+
		"if that is lost: tollgate keyring adopt --service %s, then store them again", ErrUnfit, r.service, r.service)
}

// first makes the check value, and returns the one that counts: another node may be
// faster. One text that opens is enough, as a single one may be damaged.
func (r *Ring) first(ctx context.Context) (value string, err error) {
	texts, err := r.sample(ctx, r.db)
	if err != nil {
		return "", err
	}
	var failed error
	for _, t := range texts {
		if _, failed = r.base.Open(ctx, t.Sealed, []byte(t.Associated)); failed == nil {
			break
		}
	}
	if failed != nil {
		return "", r.unfit(failed)
	}
	return r.write(ctx, r.base, `INSERT INTO keyring_checks (service, sealed) VALUES (?, ?) ON CONFLICT (service) DO NOTHING`)
}

// write changes the check value by a statement and returns what it is then.
func (r *Ring) write(ctx context.Context, ring keyring.Keyring, statement string) (value string, err error) {
	sealed, err := ring.Seal(ctx, []byte(checkText), r.associated())
	if err != nil {
		return "", err
	}
	err = r.db.Write(ctx, func(c store.Conn) error {
		if _, err := c.Exec(statement, r.service, sealed); err != nil {
			return err
		}
		if err := c.Notify(topic, r.service); err != nil {
			return err
		}
		return c.Row(selectValue, r.service).Scan(&value)
	})
	return value, err
}

const (
	selectValue  = `SELECT sealed FROM keyring_checks WHERE service = ?`
	replaceValue = `INSERT INTO keyring_checks (service, sealed) VALUES (?, ?) ON CONFLICT (service) DO UPDATE SET sealed = excluded.sealed`
)

func checkValue(ctx context.Context, db *store.DB, service string) (value string, err error) {
	err = db.Read(ctx, func(c store.Conn) error {
		err := c.Row(selectValue, service).Scan(&value)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	return value, err
}

func (r *Ring) associated() []byte { return []byte("keyring_checks/" + r.service) }

// Advance puts the check value under the newest key, so that all nodes seal with it
// once it returns, also those that hear no notice: it waits some seconds for them.
// Those without that key do nothing more.
func (r *Ring) Advance(ctx context.Context) error {
	if err := r.Check(ctx); err != nil {
		return err
	}
	changed, err := r.advance(ctx)
	if err != nil || !changed {
		return err
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(r.settle):
		return nil
	}
}

func (r *Ring) advance(ctx context.Context) (changed bool, err error) {
	r.checking.Lock()
	defer r.checking.Unlock()
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	value, err := checkValue(ctx, r.db, r.service)
	if changed = err == nil && !r.base.Current(value); changed {
		value, err = r.write(ctx, r.base, replaceValue)
	}
	if err != nil {
		return false, err
	}
	return changed, r.fit(ctx, value)
}

// Adopt makes the keyring that of the database, whichever was. What is sealed with
// keys that it lacks is lost.
func (r *Ring) Adopt(ctx context.Context) error {
	r.checking.Lock()
	defer r.checking.Unlock()
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	value, err := r.write(ctx, r.base, replaceValue)
	if err != nil {
		return err
	}
	return r.fit(ctx, value)
}

// Run checks until ctx ends: when the database can be asked, when another node has
// changed the check value, and now and then.
func (r *Ring) Run(ctx context.Context) {
	defer r.db.Listen(topic, r.heard)()
	said := false
	for ctx.Err() == nil && r.db.WaitReady(ctx) == nil {
		err := r.Check(ctx)
		switch {
		// A database that is away is told of by the store.
		case err != nil && r.Ready() != nil && !errors.Is(err, store.ErrUnavailable) && ctx.Err() == nil && !said:
			said = true
			r.logger.Error("secrets are neither sealed nor opened", zap.String("service", r.service), zap.Error(err))
		case err == nil && said:
			said = false
			r.logger.Info("the keyring opens the stored secrets again", zap.String("service", r.service))
		}
		select {
		case <-ctx.Done():
		case <-r.wake:
		case <-time.After(r.every):
		}
	}
}

func (r *Ring) heard(service string) {
	if service != r.service && service != "" {
		return
	}
	select {
	case r.wake <- struct{}{}:
	default: // it is about to look
	}
}

// Seal implements keyring.Keyring.
func (r *Ring) Seal(ctx context.Context, plaintext, associated []byte) (string, error) {
	ring, err := r.current()
	if err != nil {
		return "", err
	}
	return ring.Seal(ctx, plaintext, associated)
}

// Open implements keyring.Keyring.
func (r *Ring) Open(ctx context.Context, sealed string, associated []byte) ([]byte, error) {
	ring, err := r.current()
	if err != nil {
		return nil, err
	}
	return ring.Open(ctx, sealed, associated)
}

// Derive implements keyring.Keyring. It needs no database.
func (r *Ring) Derive(ctx context.Context, label string) ([][]byte, error) {
	return r.base.Derive(ctx, label)
}

// Current implements keyring.Keyring.
func (r *Ring) Current(sealed string) bool {
	ring, err := r.current()
	return err == nil && ring.Current(sealed)
}

// As implements keyring.Keyring.
func (r *Ring) As(sealed string) (keyring.Keyring, error) { return r.base.As(sealed) }

var _ keyring.Keyring = (*Ring)(nil)
