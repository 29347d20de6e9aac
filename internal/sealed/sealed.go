// Package sealed ensures that a keyring fits the secrets in a database. To seal a text means to encrypt it with a
// master key of the keyring, and to open it means to decrypt it. A node with another master key than the other nodes
// would seal texts that the other nodes cannot open, and could not open the texts of the other nodes. So the database
// has a check value, a sealed text whose content is known. A node that cannot open the check value does not seal or
// open any text.
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

// Schema returns the schema of the table of check values. The table has a row for each service that stores secrets in
// the database.
func Schema() store.Schema { return store.Embedded("keyring", migrations) }

// ErrUnfit is wrapped by every error which means that the keyring does not fit the database: the keyring lacks the
// master key with which the check value or the secrets are sealed.
var ErrUnfit = errors.New("the keyring does not open the stored secrets")

const (
	// topic is the topic of notices about a changed check value. The text of a notice is the name of the service.
	topic = "keyring"
	// checkEvery is the interval at which each node reads the check value, even without a notice. settleTime is the
	// time after which all nodes have read it.
	checkEvery = 4 * time.Second
	settleTime = checkEvery + time.Second
	// checkTime limits the time for reading a check value, so that a start does not hang on a database that does not
	// answer.
	checkTime = 5 * time.Second
	// checkText is the text that is sealed as a check value.
	checkText = "tollgate"
)

// Text is a sealed text with the associated data that it was sealed with.
type Text struct{ Sealed, Associated string }

// Sample reads some of a service's sealed texts, or returns nil if the service has none. It is called only for
// databases without a check value.
type Sample func(ctx context.Context, db *store.DB) ([]Text, error)

// Ring is a keyring for a service. Until [Ring.Check] has found that the keyring fits the database, sealing and opening
// fail with a 503. Ring seals with the key with which the check value is sealed. [Ring.Advance] changes that key for
// all nodes at once. Nodes can thus be given a new key one after another before any node uses it.
type Ring struct {
	db      *store.DB
	service string
	base    keyring.Keyring
	sample  Sample
	logger  *zap.Logger

	every, settle time.Duration // checkEvery and settleTime, except in tests

	checking sync.Mutex            // held during a check, so that an older result never replaces a newer one
	state    atomic.Pointer[state] // result of the last check
	wake     chan struct{}         // makes Run check at once
}

// state is the result of the last check.
type state struct {
	ring keyring.Keyring // the keyring with the sealing key; if it is nil, err is the reason
	err  error
}

var errUnchecked = errors.New("the keyring was not yet checked against the secrets in the database")

// New returns a Ring around base, a keyring that was not checked yet. Schema must be registered with the database.
func New(db *store.DB, service string, base keyring.Keyring, sample Sample, logger *zap.Logger) *Ring {
	r := &Ring{
		db: db, service: service, base: base, sample: sample, logger: logger, every: checkEvery, settle: settleTime,
		wake: make(chan struct{}, 1),
	}
	r.state.Store(&state{err: errUnchecked})
	return r
}

// Held reports whether a database has secrets of a service, or a check value for the service.
func Held(ctx context.Context, db *store.DB, service string, sample Sample) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	value, err := checkValue(ctx, db, service)
	if err != nil || value != "" {
		return value != "", err
	}
	texts, err := sample(ctx, db)
	return len(texts) > 0, err
}

// Ready returns nil while the keyring may be used, and otherwise a 503 error with the reason as its cause.
func (r *Ring) Ready() error {
	_, err := r.current()
	return err
}

// current returns the keyring to use, or the error of Ready.
func (r *Ring) current() (keyring.Keyring, error) {
	s := r.state.Load()
	if s.ring == nil {
		return nil, apierror.Unavailable("the keyring", s.err)
	}
	return s.ring, nil
}

// Check determines within a few seconds whether the keyring fits the database. If the database has no check value,
// Check writes one, provided that the keyring opens the stored texts. After an error that wraps ErrUnfit the keyring
// may no longer be used. After any other error the previous result stays valid; if there is none, Ready returns an
// error that wraps this one.
func (r *Ring) Check(ctx context.Context) error {
	r.checking.Lock()
	defer r.checking.Unlock()
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	value, err := checkValue(ctx, r.db, r.service)
	if err == nil && value == "" {
		value, err = r.writeFirst(ctx)
	}
	if err == nil {
		err = r.selectKey(ctx, value)
	}
	if errors.Is(err, ErrUnfit) || err != nil && r.state.Load().ring == nil {
		r.state.Store(&state{err: err})
	}
	return err
}

// selectKey selects the keyring's key with which a check value is sealed.
func (r *Ring) selectKey(ctx context.Context, value string) error {
	if _, err := r.base.Open(ctx, value, r.associated()); err != nil {
		return r.explainUnfit(err)
	}
	ring, err := r.base.As(value)
	if err != nil {
		return err
	}
	r.state.Store(&state{ring: ring})
	return nil
}

// explainUnfit replaces ErrOpen by an error that tells the operator what to do. It returns other errors unchanged.
func (r *Ring) explainUnfit(err error) error {
	if !errors.Is(err, keyring.ErrOpen) {
		return err
	}
	// ErrOpen is not wrapped, because callers would take it for the error of a single text and skip only that text.
	return fmt.Errorf("%w of %s: configure the master key that encrypted them, which the other nodes have; "+
		"if it is lost, run tollgate keyring adopt --service %s and store the secrets again", ErrUnfit, r.service, r.service)
}

// writeFirst writes the check value and returns the stored value, which another node may have written first. It
// suffices that one text of the sample opens, because a single text may be damaged.
func (r *Ring) writeFirst(ctx context.Context) (value string, err error) {
	texts, err := r.sample(ctx, r.db)
	if err != nil {
		return "", err
	}
	var openErr error // of the last text; nil once a text opens
	for _, t := range texts {
		if _, openErr = r.base.Open(ctx, t.Sealed, []byte(t.Associated)); openErr == nil {
			break
		}
	}
	if openErr != nil {
		return "", r.explainUnfit(openErr)
	}
	return r.write(ctx, r.base,
		`INSERT INTO keyring_checks (service, sealed) VALUES (?, ?) ON CONFLICT (service) DO NOTHING`)
}

// write seals a new check value with ring, passes it to an SQL statement, and returns the value that is stored then. It
// notifies the other nodes.
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

// checkValue returns the check value of a service, or "" if the database has none.
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

// associated returns the associated data with which the check value is sealed.
func (r *Ring) associated() []byte { return []byte("keyring_checks/" + r.service) }

// Advance seals the check value with the newest key. When it returns, all nodes seal with that key: it waits some
// seconds for nodes that receive no notice. Nodes without the key can no longer use their keyring.
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

// advance seals the check value with the newest key, unless it already is. It reports whether it changed the value.
func (r *Ring) advance(ctx context.Context) (changed bool, err error) {
	r.checking.Lock()
	defer r.checking.Unlock()
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	value, err := checkValue(ctx, r.db, r.service)
	if changed = err == nil && !r.base.Current(value); changed {
		value, err = r.write(ctx, r.base, replaceValue)
	}
	if err != nil {
		return false, err
	}
	return changed, r.selectKey(ctx, value)
}

// Adopt makes the database use this keyring instead of any other keyring. Secrets are lost if they are sealed with
// keys that this keyring does not have.
func (r *Ring) Adopt(ctx context.Context) error {
	r.checking.Lock()
	defer r.checking.Unlock()
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	value, err := r.write(ctx, r.base, replaceValue)
	if err != nil {
		return err
	}
	return r.selectKey(ctx, value)
}

// Run calls Check until ctx ends: when the database becomes ready, when another node has changed the check value, and
// at intervals.
func (r *Ring) Run(ctx context.Context) {
	defer r.db.Listen(topic, r.notice)()
	logged := false
	for ctx.Err() == nil && r.db.WaitReady(ctx) == nil {
		err := r.Check(ctx)
		switch {
		case errors.Is(err, store.ErrUnavailable) || err != nil && ctx.Err() != nil:
			// Neither error is logged here: the store logs that the database is down, and the end of ctx is no failure.
		case err != nil && r.Ready() != nil && !logged:
			logged = true
			r.logger.Error("secrets are neither encrypted nor decrypted", zap.String("service", r.service), zap.Error(err))
		case err == nil && logged:
			logged = false
			r.logger.Info("the keyring opens the stored secrets again", zap.String("service", r.service))
		}
		select {
		case <-ctx.Done():
		case <-r.wake:
		case <-time.After(r.every):
		}
	}
}

// notice handles a notice that the check value of a service has changed. An empty service means that notices may have
// been lost.
func (r *Ring) notice(service string) {
	if service != r.service && service != "" {
		return
	}
	select {
	case r.wake <- struct{}{}:
	default: // a check is due already
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

// Derive implements keyring.Keyring. It works without the database.
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
