// Package keychain is the model gateway's memory of its users: gateway keys,
// provider keys, models, preferences and the log of what was used.
package keychain

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/dgraph-io/ristretto/v2"
	"go.uber.org/zap"
	"golang.org/x/sync/singleflight"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema is the part of the database that the keychain owns.
func Schema() store.Schema { return store.Embedded("gateway", migrations) }

// CacheTTL is how long a node may act on what it read before. A change made through
// this Service is seen at once. One made on another node, or by the command line, is
// heard of within milliseconds on PostgreSQL, and else seen after at most this
// long.
const CacheTTL = 4 * time.Second

// Service holds the rules of the keychain. Its errors are *apierror.Error, or
// wrap store.ErrUnavailable while the database cannot be reached.
type Service struct {
	db      *store.DB
	ring    keyring.Keyring
	logger  *zap.Logger
	now     func() time.Time
	keys    *ristretto.Cache[string, *cachedKey]
	accts   *ristretto.Cache[string, *Account]
	ttl     time.Duration // of both: CacheTTL
	flight  singleflight.Group
	changes changes
	used    usedKeys
	late    usedKeys                 // those that were sent although they have expired
	log     atomic.Pointer[UsageLog] // nil: there is none yet
	origin  string                   // tells this Service from those of other nodes
	deaf    func()                   // ends listening to them

	spending spending

	// CheckHost is asked when a base URL is entered: an error tells that its host is
	// none that users' own models may be at. Set it before the first use; nil: any
	// will do. Whoever connects must decide again.
	CheckHost func(ctx context.Context, host string) error
}

// shared runs one read for all who wait for it, on a goroutine of its own: the
// stack that a query needs is not kept by a request that streams for minutes.
func (s *Service) shared(ctx context.Context, key string, read func() (any, error)) (any, error) {
	guarded := func() (found any, err error) {
		defer func() {
			if v := recover(); v != nil { // it would end the process, and all its streams
				s.logger.Error("a read of the keychain panicked", zap.Any("panic", v), zap.Stack("stack"))
				err = errors.New("reading from the keychain failed")
			}
		}()
		return read()
	}
	select {
	case found := <-s.flight.DoChan(key, guarded):
		return found.Val, found.Err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// New makes the service over a database with Schema registered.
func New(db *store.DB, ring keyring.Keyring, logger *zap.Logger, now func() time.Time) (*Service, error) {
	s := &Service{db: db, ring: ring, logger: logger, now: now, ttl: CacheTTL, origin: random(20), spending: spending{writer: random(20)}}
	var err error
	s.keys, err = ristretto.NewCache(&ristretto.Config[string, *cachedKey]{
		NumCounters: 1_000_000, MaxCost: 100_000, BufferItems: 64, IgnoreInternalCost: true, // 100,000 keys
	})
	if err != nil {
		return nil, fmt.Errorf("making the key cache: %w", err)
	}
	s.accts, err = ristretto.NewCache(&ristretto.Config[string, *Account]{
		NumCounters: 200_000, MaxCost: 20_000, BufferItems: 64, IgnoreInternalCost: true, // 20,000 users
	})
	if err != nil {
		return nil, fmt.Errorf("making the account cache: %w", err)
	}
	s.deaf = db.Listen(topic, s.heard)
	return s, nil
}

// Close gives the caches back.
func (s *Service) Close() {
	s.deaf()
	s.keys.Close()
	s.accts.Close()
}

// User is one who has keys. The id comes from the operator or the identity
// provider.
type User struct {
	ID        string    `json:"id"`
	CreatedAt time.Time `json:"created_at"`
}

// NewUsers says what becomes of someone who signs in for the first time.
type NewUsers struct {
	// Refuse makes SignIn refuse those who are not known yet.
	Refuse bool
	// Limits are imposed on those who are let in.
	Limits Limits
}

// Check returns an error where no user can have the limits.
func (n *NewUsers) Check() error {
	options := n.Limits.options()
	return options.check(time.Time{})
}

// SignIn is InitUser for a user who comes on their own. It refuses someone new with 403,
// or imposes limits on them, as policy says. A user who is known goes on as they are.
func (s *Service) SignIn(ctx context.Context, id string, policy NewUsers,
) (user User, key *NewKey, created bool, err error) {
	if policy.Refuse {
		user, err = s.user(ctx, id)
		if refusal, ok := apierror.From(err); ok && refusal.Status == http.StatusNotFound {
			err = apierror.New(http.StatusForbidden, "new_users_refused",
				"this gateway lets nobody in on their own: ask its operator to add the user %.200q", id)
		}
		return user, nil, false, err
	}
	return s.initUser(ctx, id, policy.Limits)
}

// InitUser makes the user and a primary gateway key if there is no such user
// yet. created tells whether it did; only then key holds a plaintext.
func (s *Service) InitUser(ctx context.Context, id string) (user User, key *NewKey, created bool, err error) {
	return s.initUser(ctx, id, Limits{})
}

// initUser is InitUser, and imposes limits on a user that it makes, unless there are
// limits for a user of that name already.
func (s *Service) initUser(ctx context.Context, id string, limits Limits,
) (user User, key *NewKey, created bool, err error) {
	if err := CheckUserID(id); err != nil {
		return User{}, nil, false, err
	}
	row, plain := s.newKey(id, true, primaryOptions)
	user = User{ID: id, CreatedAt: row.CreatedAt}
	var made *GatewayKey
	err = s.db.Write(ctx, func(c store.Conn) error {
		created, err = s.insertUser(c, user)
		if err != nil || !created {
			return err
		}
		there, err := s.imposedLimits(c, OnUser, id)
		if err != nil {
			return err
		}
		if there.none() {
			if err := s.impose(c, OnUser, id, &limits); err != nil {
				return err
			}
		}
		if row.limitedBy, err = s.limitedBy(c, id); err != nil {
			return err
		}
		made, err = s.storeKey(c, &row, hashKey(plain))
		return err
	})
	if err != nil {
		return User{}, nil, false, err
	}
	if !created {
		user, err = s.user(ctx, id)
		return user, nil, false, err
	}
	return user, &NewKey{GatewayKey: *made, Key: plain}, true, nil
}

// CheckUserID refuses what no user can be called: 1 to 200 characters, no control
// characters.
func CheckUserID(id string) error { return checkText("user_id", id, 1, 200) }

// User finds a user by id; 404 when there is none.
func (s *Service) User(ctx context.Context, id string) (User, error) {
	return s.user(ctx, id)
}

// Users lists users by id, at most limit of them behind after.
func (s *Service) Users(ctx context.Context, after string, limit int) ([]User, error) {
	return s.selectUsers(ctx, after, limit)
}

// maxID is more bytes than any id or name of an entry has.
const maxID = 1000

// storableID reports whether a row can have this id. What cannot is not found:
// PostgreSQL would answer some such texts by an error.
func storableID(id string) bool {
	return len(id) <= maxID && utf8.ValidString(id) && strings.IndexByte(id, 0) < 0
}

func notFound(what, id string) error {
	return apierror.New(http.StatusNotFound, "not_found", "there is no %s %.200q", what, id)
}

func invalid(param, format string, args ...any) error {
	return apierror.New(http.StatusBadRequest, "invalid_value", format, args...).With(param)
}

// checkText bounds a text from outside and refuses control characters.
func checkText(param, text string, least, most int) error {
	if n := utf8.RuneCountInString(text); n < least || n > most || !utf8.ValidString(text) {
		return invalid(param, "%s must have %d to %d characters", param, least, most)
	}
	for _, r := range text {
		if r < 0x20 || r == 0x7f {
			return invalid(param, "%s must not have control characters", param)
		}
	}
	return nil
}

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// random returns n base62 characters without bias.
func random(n int) string {
	out := make([]byte, 0, n)
	var buf [64]byte
	for len(out) < n {
		_, _ = rand.Read(buf[:]) // never fails since Go 1.24
		for _, b := range buf {
			if b < 248 && len(out) < n { // 248 = 4*62
				out = append(out, base62[b%62])
			}
		}
	}
	return string(out)
}

// mask shows the ends of a secret, never more than a quarter of it.
func mask(secret string) string {
	head, tail := 6, 4
	if len(secret) < 40 {
		head, tail = 2, 2
	}
	if len(secret) < 16 {
		return "…"
	}
	return secret[:head] + "…" + secret[len(secret)-tail:]
}

// tierText is the column of a tier.
func tierText(t catalog.Tier) string {
	if t == 0 {
		return ""
	}
	return t.String()
}
