// Package keys has the keys that tokens are signed with: where they are kept, how one
// takes the place of another, and the set of the public ones (RFC 7517).
package keys

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
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

// Stored is a key as a Store keeps it.
type Stored struct {
	// Name is that of the key in its store: what was read under a name is not read again.
	Name string
	// Algorithm is ES256 or RS256; empty: it shows when the key is read.
	Algorithm string
	CreatedAt time.Time
	// Open reads the private key, in PKCS #8.
	Open func(ctx context.Context) ([]byte, error)
	// Sign stands in for Open where the key does not leave its store: it signs a SHA-256
	// digest. Public is its public key then.
	Sign   func(ctx context.Context, digest []byte) ([]byte, error)
	Public any
}

// Store keeps private keys. One that has never had a key of an algorithm is given the
// first.
type Store interface {
	// Load returns all keys.
	Load(ctx context.Context) ([]Stored, error)
	// Make adds a key of an algorithm, made at a time, unless first is set and there is one.
	Make(ctx context.Context, algorithm string, at time.Time, first bool) error
	// Remove takes one away that is no longer of use.
	Remove(ctx context.Context, kid string) error
}

// Options of the room.
type Options struct {
	Store Store
	// Algorithm of new tokens: ES256 or RS256.
	Algorithm string
	// Retain is how long a key that was rotated still verifies: the longest life of a
	// token and ten minutes.
	Retain time.Duration
}

// Info is what may be told of a key.
type Info struct {
	ID        string
	Algorithm string
	CreatedAt time.Time
	// RotatedAt is when the next one of its algorithm was made; zero: it is active.
	RotatedAt time.Time
}

// Keys signs and verifies.
type Keys struct {
	*kernel.Server
	options Options
	set     atomic.Pointer[set]

	mu     sync.Mutex      // held while the keys are read or one is made
	read   map[string]*key // by their names in the store
	looked time.Time       // for a kid that nobody knew
	failed error           // of the first reading; nil: it did not fail
	tried  time.Time       // when it failed
}

// set is the keys of one moment. It does not change.
type set struct {
	all      []*key // the youngest first
	signer   *key
	byHeader map[string]*key // by the first segment of a token
	jwks     []byte
	until    time.Time // from then on one of them is too old; zero: never
}

// ErrToken is the error of a token that is not signed by this server.
var ErrToken = errors.New("the token is not of this server")

const topic = "keys"

// New makes the room. The keys are read, and the first one is made, when they are needed.
func New(s *kernel.Server, o Options) *Keys {
	ks := &Keys{Server: s, options: o}
	s.Watch(topic, func(string) {
		if ks.set.Load() != nil { // others read them when they need them
			go func() { _ = ks.Reload(context.Background()) }()
		}
	})
	return ks
}

// Reload reads the keys anew: another node may have rotated them. It makes the first
// one where there is none of the algorithm.
func (ks *Keys) Reload(ctx context.Context) error {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	return ks.reload(ctx)
}

func (ks *Keys) reload(ctx context.Context) error {
	next, err := ks.load(ctx)
	if err == nil && next.signer == nil {
		if err = ks.make(ctx, true); err == nil {
			next, err = ks.load(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("reading the signing keys: %w", unavailable(err))
	}
	if next.signer == nil {
		return errors.New("there is no signing key")
	}
	ks.set.Store(next)
	return nil
}

func (ks *Keys) load(ctx context.Context) (*set, error) {
	stored, err := ks.options.Store.Load(ctx)
	if err != nil {
		return nil, err
	}
	read := make(map[string]*key, len(stored))
	for _, s := range stored {
		k := ks.read[s.Name]
		if k == nil {
			if k, err = parse(ctx, s); err != nil {
				return nil, err
			}
		}
		read[s.Name] = k
	}
	ks.read = read
	return newSet(ks.copies(), ks.options.Algorithm, ks.Now(), ks.options.Retain), nil
}

// copies are the keys that were read, for a set of their own.
func (ks *Keys) copies() []*key {
	all := make([]*key, 0, len(ks.read))
	for _, k := range ks.read {
		all = append(all, new(*k))
	}
	return all
}

// newSet leaves out the keys that are too old.
func newSet(all []*key, algorithm string, now time.Time, retain time.Duration) *set {
	slices.SortFunc(all, func(a, b *key) int {
		if order := b.CreatedAt.Compare(a.CreatedAt); order != 0 {
			return order
		}
		return strings.Compare(a.ID, b.ID)
	})
	s := &set{byHeader: make(map[string]*key)}
	younger := make(map[string]*key)
	for _, k := range all {
		if next := younger[k.Info.Algorithm]; next != nil {
			k.RotatedAt = next.CreatedAt
			over := k.RotatedAt.Add(retain)
			if !now.Before(over) {
				continue
			}
			if s.until.IsZero() || over.Before(s.until) {
				s.until = over
			}
		} else if k.Info.Algorithm == algorithm {
			s.signer = k
		}
		younger[k.Info.Algorithm] = k
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

// now are the keys that are good. One that got too old goes without being read.
func (ks *Keys) now(ctx context.Context) (*set, error) {
	s := ks.set.Load()
	if s == nil {
		var err error
		if s, err = ks.first(ctx); err != nil {
			return nil, err
		}
	}
	if s.until.IsZero() || ks.Now().Before(s.until) {
		return s, nil
	}
	all := make([]*key, len(s.all))
	for i, k := range s.all {
		all[i] = new(*k)
	}
	next := newSet(all, ks.options.Algorithm, ks.Now(), ks.options.Retain)
	ks.set.CompareAndSwap(s, next)
	return next, nil
}

// first reads the keys that nobody has read yet; what fails is not tried again for a second.
func (ks *Keys) first(ctx context.Context) (*set, error) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	if s := ks.set.Load(); s != nil {
		return s, nil
	}
	if ks.failed != nil && ks.within(ks.tried) {
		return nil, ks.failed
	}
	err := ks.reload(ctx)
	if err != nil && ctx.Err() == nil {
		ks.failed, ks.tried = err, ks.Now()
	}
	return ks.set.Load(), err
}

// within reports whether a time was less than a second ago.
func (ks *Keys) within(at time.Time) bool {
	now := ks.Now()
	return !at.IsZero() && now.Sub(at) < time.Second && !now.Before(at)
}

// Rotate makes a key that signs from now on, on this node; on others that share the
// store, within five seconds. The one before verifies on. by is who does it.
func (ks *Keys) Rotate(ctx context.Context, by string) (Info, error) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	if err := ks.reload(ctx); err != nil { // another node may have made a younger one
		return Info{}, err
	}
	if err := ks.make(ctx, false); err != nil {
		return Info{}, fmt.Errorf("rotating the signing key: %w", unavailable(err))
	}
	made := Info{Algorithm: ks.options.Algorithm}
	err := ks.reload(context.WithoutCancel(ctx)) // the key signs, whether or not who asked for it is still there
	if err == nil {
		made = ks.set.Load().signer.Info
	}
	ks.Audit(ctx, kernel.Event{Action: "key.rotated", Actor: by, Detail: []string{"kid", made.ID, "alg", made.Algorithm}})
	return made, err
}

func (ks *Keys) make(ctx context.Context, first bool) error {
	now := ks.Now().Truncate(time.Microsecond)
	if s := ks.set.Load(); s != nil && s.signer != nil && !now.After(s.signer.CreatedAt) {
		now = s.signer.CreatedAt.Add(time.Microsecond) // the youngest signs, also where the clock was set back
	}
	return ks.options.Store.Make(ctx, ks.options.Algorithm, now, first)
}

// Refresh is Reload for who asks often: of a store that is far away it is done now and
// then, and as soon as it answers again.
func (ks *Keys) Refresh(ctx context.Context) error {
	if far, ok := ks.options.Store.(*Transit); ok && !far.due() {
		return nil
	}
	return ks.Reload(ctx)
}

// Health is the error of a store that does not sign now; those of this machine and of the
// database have none of their own.
func (ks *Keys) Health() error {
	if far, ok := ks.options.Store.(*Transit); ok {
		return far.health()
	}
	return nil
}

// Sweep removes keys from the store that have not verified anything for a day.
func (ks *Keys) Sweep(ctx context.Context) (n int, err error) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	if _, err := ks.load(ctx); err != nil {
		return 0, err
	}
	all := ks.copies()
	keep := newSet(all, ks.options.Algorithm, ks.Now(), ks.options.Retain+24*time.Hour)
	for _, k := range all {
		if slices.Contains(keep.all, k) {
			continue
		}
		if err := ks.options.Store.Remove(ctx, k.ID); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// List tells of all keys, the youngest first.
func (ks *Keys) List(ctx context.Context) ([]Info, error) {
	s, err := ks.now(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Info, len(s.all))
	for i, k := range s.all {
		list[i] = k.Info
	}
	return list, nil
}

// JWKS is the JWK set of the public keys. It is not to be changed.
func (ks *Keys) JWKS(ctx context.Context) ([]byte, error) {
	s, err := ks.now(ctx)
	if err != nil {
		return nil, err
	}
	return s.jwks, nil
}

// Sign makes a JSON Web Signature (RFC 7515) in compact form, with a typ that is one of
// Types.
func (ks *Keys) Sign(ctx context.Context, typ Type, claims []byte) (string, error) {
	s, err := ks.now(ctx)
	if err != nil {
		return "", err
	}
	text, err := s.signer.sign(ctx, typ, claims)
	return text, unavailable(err)
}

// Verify checks that a token is one that Sign has made with a typ, and returns what was
// signed. A key that is not known here yet is looked for once a second.
func (ks *Keys) Verify(ctx context.Context, typ Type, text string) (claims []byte, err error) {
	header, rest, ok := strings.Cut(text, ".")
	if !ok {
		return nil, ErrToken
	}
	s, err := ks.now(ctx)
	if err != nil {
		return nil, err
	}
	k := s.byHeader[header]
	if k == nil && isHeader(header, typ) {
		if s, err = ks.look(ctx); err != nil {
			return nil, err
		}
		k = s.byHeader[header]
	}
	if k == nil || k.headers[typ] != header {
		return nil, ErrToken
	}
	payload, signature, ok := strings.Cut(rest, ".")
	if !ok {
		return nil, ErrToken
	}
	mac, err := base64.RawURLEncoding.Strict().DecodeString(signature)
	if err != nil || base64.RawURLEncoding.EncodedLen(len(mac)) != len(signature) { // line breaks are skipped
		return nil, ErrToken
	}
	sum := sha256.Sum256([]byte(text[:len(header)+1+len(payload)]))
	if !k.verify(sum[:], mac) {
		return nil, ErrToken
	}
	claims, err = base64.RawURLEncoding.Strict().DecodeString(payload)
	if err != nil {
		return nil, ErrToken
	}
	return claims, nil
}

// look reads the keys anew, at most once a second.
func (ks *Keys) look(ctx context.Context) (*set, error) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	if !ks.within(ks.looked) {
		err := ks.reload(ctx)
		ks.looked = ks.Now() // behind it, as others have waited meanwhile
		if err != nil {
			return nil, err
		}
	}
	return ks.set.Load(), nil
}
