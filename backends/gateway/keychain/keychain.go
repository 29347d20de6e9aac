// Package keychain holds the users and teams of the model gateway, their gateway keys, provider keys, models and
// preferences, and the limits on all of them. A holder of limits is a key, a user, a team or the whole organisation.
// Limits that the operator or a team's administrators set for others are imposed limits; a raise replaces some of them
// for a time. A purse is a set of requests whose spending is summed because a budget applies to all of them.
//
// A user's model table has an entry, named provider/model, for each model of the catalog and for each custom model,
// which runs on a server that the user chose. A candidate is an entry with the provider keys that serve requests for
// it. The tiers low, medium and high are lists of candidates from which a request is served.
//
// Parts of the database, such as a user's Account, are cached for CacheTTL at most. Whoever changes such a part does so
// in changeKey, changeAccount or changeLimits, which make all nodes read it anew; see the type changes.
//
// Nodes are processes that share the database. They notify each other of changes, and then discard cached keys and
// accounts.
package keychain

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/dgraph-io/ristretto/v2"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// CacheTTL is the longest time for which a node may use cached data. A change made through this Service is effective at
// once. A change by another node or by the command line arrives within milliseconds on PostgreSQL, and otherwise takes
// up to CacheTTL.
const CacheTTL = 4 * time.Second

// Service implements the rules of the keychain. Its errors are *apierror.Error, or wrap store.ErrUnavailable while the
// database cannot be reached.
type Service struct {
	db          *store.DB
	ring        keyring.Keyring
	logger      *zap.Logger
	now         func() time.Time
	keys        *ristretto.Cache[string, *cachedKey]
	accounts    *ristretto.Cache[string, *Account]
	ttl         time.Duration // CacheTTL, for both caches
	reads       *store.JointReads
	changes     changes
	used        KeyUses
	ledger      Spending
	origin      string // identifies this Service in notices
	unsubscribe func() // stops listening to the other nodes

	// CheckHost is called with the host of a base URL that a user enters for a custom model. It returns an error if the
	// host is forbidden. A nil CheckHost allows every host. Set it before the first use. Code that connects to the host
	// must check the host again.
	CheckHost func(ctx context.Context, host string) error
}

// Spending looks up and records the amounts spent. It is implemented by *spending.Ledger.
type Spending interface {
	// Spent returns the sums spent from a purse that the key keyID draws on, including the amounts that this node has
	// recorded but not yet stored. The sum over all time is filled only if total is set.
	Spent(ctx context.Context, keyID string, p spending.Purse, total bool, now time.Time) (spending.WindowSums, error)
	// Stored returns the sums spent from a purse according to the database, without amounts that are not yet stored. As in
	// Spent, the sum over all time is filled only if total is set.
	Stored(ctx context.Context, p spending.Purse, total bool, now time.Time) (spending.WindowSums, error)
	// Add records a request that was refused.
	Add(r spending.Record)
}

// New returns a service over a database with schema.Gateway registered. Close frees its resources.
func New(
	db *store.DB, ring keyring.Keyring, spent Spending, logger *zap.Logger, now func() time.Time,
) (*Service, error) {
	s := &Service{
		db: db, ring: ring, ledger: spent, logger: logger, now: now, ttl: CacheTTL, origin: random(20),
		reads: store.NewJointReads(logger),
	}
	var err error
	s.keys, err = ristretto.NewCache(&ristretto.Config[string, *cachedKey]{
		NumCounters: 1_000_000, MaxCost: 100_000, BufferItems: 64, IgnoreInternalCost: true, // 100,000 keys
	})
	if err != nil {
		return nil, fmt.Errorf("creating the key cache: %w", err)
	}
	s.accounts, err = ristretto.NewCache(&ristretto.Config[string, *Account]{
		NumCounters: 200_000, MaxCost: 20_000, BufferItems: 64, IgnoreInternalCost: true, // 20,000 users
	})
	if err != nil {
		return nil, fmt.Errorf("creating the account cache: %w", err)
	}
	s.unsubscribe = db.Listen(topic, s.handleNotice)
	return s, nil
}

// DB returns the database. Other parts of the gateway also use its tables of schema.Gateway.
func (s *Service) DB() *store.DB { return s.db }

// Close stops listening to notices of other nodes and frees the caches.
func (s *Service) Close() {
	s.unsubscribe()
	s.keys.Close()
	s.accounts.Close()
}

// CheckUserID returns an error unless id can be the id of a user: 1 to 200 characters without control characters.
func CheckUserID(id string) error { return checkText("user_id", id, 1, 200) }

// notFound returns an error with status 404. kind is the kind of the missing object, such as "user".
func notFound(kind, id string) error {
	return apierror.New(http.StatusNotFound, "not_found", "there is no %s %.200q", kind, id)
}

// isNotFound reports whether err is an error with status 404. It reports false for a nil error.
func isNotFound(err error) bool {
	refusal, ok := apierror.From(err)
	return ok && refusal.Status == http.StatusNotFound
}

// tooMany returns an error with status 409, for example because a user already has the maximum number of keys.
func tooMany(format string, args ...any) error {
	return apierror.New(http.StatusConflict, "too_many", format, args...)
}

// invalid returns an error with status 400 for the parameter param of a request.
func invalid(param, format string, args ...any) error {
	return apierror.New(http.StatusBadRequest, "invalid_value", format, args...).With(param)
}

// checkText returns an error naming param if text has control characters or its length in characters is not within the
// given range.
func checkText(param, text string, minimum, maximum int) error {
	if n := utf8.RuneCountInString(text); n < minimum || n > maximum || !utf8.ValidString(text) {
		return invalid(param, "%s must have %d to %d characters", param, minimum, maximum)
	}
	for _, r := range text {
		if r < 0x20 || r == 0x7f {
			return invalid(param, "%s must not have control characters", param)
		}
	}
	return nil
}

// base62 are the characters of random ids and keys.
const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// random returns n random characters of base62, each with the same probability.
func random(n int) string {
	out := make([]byte, 0, n)
	var buf [64]byte
	for len(out) < n {
		_, _ = rand.Read(buf[:]) // never fails since Go 1.24
		for _, b := range buf {
			if b < 248 && len(out) < n { // 248 = 4*62; larger bytes would favour the first characters
				out = append(out, base62[b%62])
			}
		}
	}
	return string(out)
}

// mask returns the first and last characters of a secret with dots between them. It shows at most a quarter of the
// secret.
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
