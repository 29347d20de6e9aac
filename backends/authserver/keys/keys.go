// Package keys manages the keys that sign tokens: their storage, their rotation, and the JWK set of the public keys
// (RFC 7517).
package keys

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
)

// The algorithms (RFC 7518).
const (
	ES256 = "ES256"
	RS256 = "RS256"
)

// Stored is a key in a Store.
type Stored struct {
	// Name identifies the key in its store. Keys opens a key only once and caches it under this name, so the store must
	// never reuse a name.
	Name string
	// Algorithm is ES256 or RS256. It may be empty if the algorithm is only known once the key has been opened.
	Algorithm string
	CreatedAt time.Time
	// Open reads the private key in PKCS #8 form.
	Open func(ctx context.Context) ([]byte, error)
	// Sign signs a SHA-256 digest. It is set instead of Open if only the store can use the private key.
	Sign func(ctx context.Context, digest []byte) ([]byte, error)
	// Public is the public key if Sign is set.
	Public any
}

// Store stores private keys. The first key of an algorithm is created when it is needed.
type Store interface {
	// Load returns all keys.
	Load(ctx context.Context) ([]Stored, error)
	// Make creates a key of an algorithm with a creation time. If first is set and the store already has a key of the
	// algorithm, Make does nothing.
	Make(ctx context.Context, algorithm string, created time.Time, first bool) error
	// Remove deletes a key that no longer signs or verifies.
	Remove(ctx context.Context, kid string) error
}

// Options are the settings of Keys.
type Options struct {
	Store Store
	// Algorithm is the algorithm of new tokens: ES256 or RS256.
	Algorithm string
	// Retain is how long a rotated key still verifies: the longest life of a token plus ten minutes.
	Retain time.Duration
}

// Info is the public information about a key.
type Info struct {
	ID        string
	Algorithm string
	CreatedAt time.Time
	// RotatedAt is when the next key of the same algorithm was created. It is zero if the key is still active.
	RotatedAt time.Time
	// Until is when a rotated key stops verifying. It is zero for an active key, and if the store decides when to
	// remove the key.
	Until time.Time
	// Signs is set for the key that signs new tokens.
	Signs bool
}

// Keys signs and verifies tokens.
type Keys struct {
	*kernel.Server
	options Options
	set     atomic.Pointer[set] // nil until the keys have been read; replaced as a whole

	// mu protects the following fields. It is held while the keys are read or a key is created, so that only one goroutine
	// does so and the others find its result.
	mu         sync.Mutex
	parsed     map[string]*key // by the names in the store
	rereadAt   time.Time       // when the keys were last read because of an unknown kid
	firstErr   error           // the error of the first attempt to read the keys, or nil
	firstErrAt time.Time       // when that failed
}

// set is the immutable set of keys that are valid at a moment.
type set struct {
	all      []*key          // newest first
	signer   *key            // signs new tokens
	byHeader map[string]*key // by the first segment of a token
	jwks     []byte
	until    time.Time // when the first of them stops verifying; zero if none does
}

// ErrToken means that this server did not sign a token.
var ErrToken = errors.New("this server did not sign the token")

const topic = "keys"

// unlimited is the least value of Options.Retain with which rotated keys verify until the store removes them.
const unlimited = 50 * 365 * 24 * time.Hour

// New returns Keys. At their first use, they read the store. If the store has no key of the algorithm yet, they
// create the first one.
func New(s *kernel.Server, o Options) *Keys {
	ks := &Keys{Server: s, options: o}
	s.Watch(topic, func(string) {
		if ks.set.Load() != nil { // otherwise the keys are read when they are needed
			go func() { _ = ks.Reload(context.Background()) }()
		}
	})
	return ks
}

// Reload reads the keys again, since another node may have rotated them. If the store has no key of the algorithm,
// Reload creates the first.
func (ks *Keys) Reload(ctx context.Context) error {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	return ks.reload(ctx)
}

// reload implements Reload. The caller must hold ks.mu.
func (ks *Keys) reload(ctx context.Context) error {
	next, err := ks.load(ctx)
	if err == nil && next.signer == nil {
		if err = ks.create(ctx, true); err == nil {
			next, err = ks.load(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("reading the signing keys: %w", unavailable(err))
	}
	if next.signer == nil {
		return fmt.Errorf("there is no signing key for the algorithm %s", ks.options.Algorithm)
	}
	ks.set.Store(next)
	return nil
}

// load reads the keys of the store and returns them as a new set, whose signer is nil if the store has no key of the
// algorithm. The caller must hold ks.mu.
func (ks *Keys) load(ctx context.Context) (*set, error) {
	stored, err := ks.options.Store.Load(ctx)
	if err != nil {
		return nil, err
	}
	parsed := make(map[string]*key, len(stored))
	for _, s := range stored {
		k := ks.parsed[s.Name]
		if k == nil {
			if k, err = parse(ctx, s); err != nil {
				return nil, err
			}
		}
		parsed[s.Name] = k
	}
	ks.parsed = parsed
	return newSet(copies(maps.Values(ks.parsed)), ks.options.Algorithm, ks.Now(), ks.options.Retain), nil
}

// copies returns copies of keys for newSet, which modifies them. Other goroutines may be reading the originals.
func copies(keys iter.Seq[*key]) (list []*key) {
	for k := range keys {
		list = append(list, new(*k))
	}
	return list
}

// newSet returns the set of those keys that still sign or verify. The newest key of the algorithm signs. A rotated
// key still verifies until retention has passed since its rotation. newSet sorts its argument keys, and sets the
// fields of Info that depend on other keys.
func newSet(keys []*key, algorithm string, now time.Time, retention time.Duration) *set {
	slices.SortFunc(keys, func(a, b *key) int {
		if order := b.CreatedAt.Compare(a.CreatedAt); order != 0 {
			return order
		}
		return strings.Compare(a.ID, b.ID)
	})
	s := &set{byHeader: make(map[string]*key)}
	newerOf := make(map[string]*key) // by algorithm, the previous key, which is newer
	for _, k := range keys {
		if newer := newerOf[k.Info.Algorithm]; newer != nil {
			k.RotatedAt = newer.CreatedAt
			retiredAt := k.RotatedAt.Add(retention)
			if retention < unlimited {
				k.Until = retiredAt
			}
			if !now.Before(retiredAt) {
				continue
			}
			if s.until.IsZero() || retiredAt.Before(s.until) {
				s.until = retiredAt
			}
		} else if k.Info.Algorithm == algorithm {
			s.signer = k
			k.Signs = true
		}
		newerOf[k.Info.Algorithm] = k
		s.all = append(s.all, k)
		for _, header := range k.headers {
			s.byHeader[header] = k
		}
	}
	s.jwks = append(s.jwks, `{"keys":[`...)
	for i, k := range s.all {
		if i > 0 {
			s.jwks = append(s.jwks, ',')
		}
		s.jwks = append(s.jwks, k.jwk...)
	}
	s.jwks = append(s.jwks, `]}`...)
	return s
}

// current returns the set of valid keys. It drops keys that have become too old, without reading the store.
func (ks *Keys) current(ctx context.Context) (*set, error) {
	s := ks.set.Load()
	if s == nil {
		var err error
		if s, err = ks.loadFirst(ctx); err != nil {
			return nil, err
		}
	}
	if s.until.IsZero() || ks.Now().Before(s.until) {
		return s, nil
	}
	next := newSet(copies(slices.Values(s.all)), ks.options.Algorithm, ks.Now(), ks.options.Retain)
	ks.set.CompareAndSwap(s, next) // does nothing if the keys have been read meanwhile, since that set is newer
	return next, nil
}

// loadFirst reads the keys for the first time. For a second after a failure it returns the same error without another
// attempt.
func (ks *Keys) loadFirst(ctx context.Context) (*set, error) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	if s := ks.set.Load(); s != nil { // another goroutine has read them while this one waited for the lock
		return s, nil
	}
	if ks.firstErr != nil && ks.recent(ks.firstErrAt) {
		return nil, ks.firstErr
	}
	err := ks.reload(ctx)
	if err != nil && ctx.Err() == nil {
		ks.firstErr, ks.firstErrAt = err, ks.Now()
	}
	return ks.set.Load(), err
}

// recent reports whether the time t is less than a second ago. A future time is not recent: the clock was set back.
func (ks *Keys) recent(t time.Time) bool {
	now := ks.Now()
	return !t.IsZero() && now.Sub(t) < time.Second && !now.Before(t)
}

// Rotate creates a new key, which signs from now on. Other nodes that share the store use it within five seconds. The
// previous key still verifies. The audit event names the actor.
func (ks *Keys) Rotate(ctx context.Context, actor string) (Info, error) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	if err := ks.reload(ctx); err != nil { // another node may have created a newer key
		return Info{}, err
	}
	if err := ks.create(ctx, false); err != nil {
		return Info{}, fmt.Errorf("rotating the signing key: %w", unavailable(err))
	}
	rotated := Info{Algorithm: ks.options.Algorithm}
	err := ks.reload(context.WithoutCancel(ctx)) // the key is in use even if the caller has gone
	if err == nil {
		rotated = ks.set.Load().signer.Info
	}
	ks.Audit(ctx, kernel.Event{
		Action: "key.rotated", Actor: actor, Detail: []string{"kid", rotated.ID, "alg", rotated.Algorithm},
	})
	return rotated, err
}

// create creates a key that is newer than the current signer. If first is set and the store already has a key of the
// algorithm, create does nothing.
func (ks *Keys) create(ctx context.Context, first bool) error {
	now := ks.Now().Truncate(time.Microsecond)
	if s := ks.set.Load(); s != nil && s.signer != nil && !now.After(s.signer.CreatedAt) {
		now = s.signer.CreatedAt.Add(time.Microsecond) // the newest key signs, even if the clock was set back
	}
	return ks.options.Store.Make(ctx, ks.options.Algorithm, now, first)
}

// Refresh does what Reload does, for frequent calls. It reloads the keys of a key management server only from time to
// time, or after a failure of that server.
func (ks *Keys) Refresh(ctx context.Context) error {
	if remote, ok := ks.options.Store.(*Transit); ok && !remote.due() {
		return nil
	}
	return ks.Reload(ctx)
}

// Health returns an error if a key management server currently fails to sign. It returns nil for other stores.
func (ks *Keys) Health() error {
	if remote, ok := ks.options.Store.(*Transit); ok {
		return remote.health()
	}
	return nil
}

// Sweep removes from the store all keys that stopped verifying at least a day ago. It returns their number.
func (ks *Keys) Sweep(ctx context.Context) (n int, err error) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	if _, err := ks.load(ctx); err != nil {
		return 0, err
	}
	all := copies(maps.Values(ks.parsed))
	retained := newSet(all, ks.options.Algorithm, ks.Now(), ks.options.Retain+24*time.Hour)
	for _, k := range all {
		if slices.Contains(retained.all, k) {
			continue
		}
		if err := ks.options.Store.Remove(ctx, k.ID); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// List returns all keys, newest first.
func (ks *Keys) List(ctx context.Context) ([]Info, error) {
	s, err := ks.current(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Info, len(s.all))
	for i, k := range s.all {
		list[i] = k.Info
	}
	return list, nil
}

// JWKS returns the JWK set of the public keys. The caller must not modify it.
func (ks *Keys) JWKS(ctx context.Context) ([]byte, error) {
	s, err := ks.current(ctx)
	if err != nil {
		return nil, err
	}
	return s.jwks, nil
}

// Sign returns a JSON Web Signature (RFC 7515) in compact form with the given header typ.
func (ks *Keys) Sign(ctx context.Context, typ Type, claims []byte) (string, error) {
	s, err := ks.current(ctx)
	if err != nil {
		return "", err
	}
	text, err := s.signer.sign(ctx, typ, claims)
	return text, unavailable(err)
}

// Verify checks that Sign has signed a token with the given typ, and returns the token's payload. For an unknown key id
// it reads the keys again, at most once a second. For an invalid token the error is ErrToken.
func (ks *Keys) Verify(ctx context.Context, typ Type, text string) (claims []byte, err error) {
	header, rest, ok := strings.Cut(text, ".")
	if !ok {
		return nil, ErrToken
	}
	s, err := ks.current(ctx)
	if err != nil {
		return nil, err
	}
	k := s.byHeader[header]
	if k == nil && isHeader(header, typ) { // perhaps another node has just created the key
		if s, err = ks.reread(ctx); err != nil {
			return nil, err
		}
		k = s.byHeader[header]
	}
	if k == nil || k.headers[typ] != header { // no key, or a token of another type
		return nil, ErrToken
	}
	payload, signature, ok := strings.Cut(rest, ".")
	if !ok {
		return nil, ErrToken
	}
	decoded, err := base64.RawURLEncoding.Strict().DecodeString(signature)
	if err != nil || base64.RawURLEncoding.EncodedLen(len(decoded)) != len(signature) { // the decoder skips line breaks
		return nil, ErrToken
	}
	sum := sha256.Sum256([]byte(text[:len(header)+1+len(payload)]))
	if !k.verify(sum[:], decoded) {
		return nil, ErrToken
	}
	claims, err = base64.RawURLEncoding.Strict().DecodeString(payload)
	if err != nil {
		return nil, ErrToken
	}
	return claims, nil
}

// reread reads the keys of the store again, at most once a second, and returns the current set.
func (ks *Keys) reread(ctx context.Context) (*set, error) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	if !ks.recent(ks.rereadAt) {
		err := ks.reload(ctx)
		ks.rereadAt = ks.Now() // set after reloading, since others have waited for it
		if err != nil {
			return nil, err
		}
	}
	return ks.set.Load(), nil
}
