// Package keychain holds who may do what at the model gateway: users and teams, their gateway keys, provider keys,
// models and preferences, and the limits of each.
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

// CacheTTL is how long a node may act on what it read before. A change made through this Service is effective at once.
// One made by another node or by the command line arrives within milliseconds on PostgreSQL, and otherwise takes effect
// after at most this long.
const CacheTTL = 4 * time.Second

// Service implements the rules of the keychain. Its errors are *apierror.Error, or wrap store.ErrUnavailable while the
// database cannot be reached.
type Service struct {
	db      *store.DB
	ring    keyring.Keyring
	logger  *zap.Logger
	now     func() time.Time
	keys    *ristretto.Cache[string, *cachedKey]
	accts   *ristretto.Cache[string, *Account]
	ttl     time.Duration // of both caches: CacheTTL
	reads   *store.JointReads
	changes changes
	used    KeyUses
	spent   Spending
	origin  string // tells this Service from those of other nodes in notices
	deaf    func() // stops listening to the other nodes

	// CheckHost is called when a base URL is entered. It returns an error if users' own models may not be at its host.
	// Set it before the first use. A nil CheckHost allows every host. Whoever connects to the host must check it again.
	CheckHost func(ctx context.Context, host string) error
}

// Spending is what the keychain needs to know about spent money. It is implemented by *spending.Ledger.
type Spending interface {
	// Spent returns what was spent from a purse that a key draws on, including what this node has recorded up to now.
	// The sum over all time is filled only if total is set.
	Spent(ctx context.Context, keyID string, from spending.Purse, total bool, now time.Time) (spending.WindowSums, error)
	// Stored is like Spent, but returns only what the database holds.
	Stored(ctx context.Context, from spending.Purse, total bool, now time.Time) (spending.WindowSums, error)
	// Add records a request that was refused.
	Add(r spending.Record)
}

// New returns a service over a database with schema.Gateway registered. A call of Close must follow.
func New(
	db *store.DB, ring keyring.Keyring, spent Spending, logger *zap.Logger, now func() time.Time,
) (*Service, error) {
	s := &Service{
		db: db, ring: ring, spent: spent, logger: logger, now: now, ttl: CacheTTL, origin: random(20),
		reads: store.NewJointReads(logger),
	}
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

// DB returns the database. Other parts of the gateway use its tables of Schema, too.
func (s *Service) DB() *store.DB { return s.db }

// Close stops listening to other nodes and frees the caches.
func (s *Service) Close() {
	s.deaf()
	s.keys.Close()
	s.accts.Close()
}

// CheckUserID returns an error for a text that cannot be the id of a user: it must have 1 to 200 characters and no
// control characters.
func CheckUserID(id string) error { return checkText("user_id", id, 1, 200) }

func notFound(what, id string) error {
	return apierror.New(http.StatusNotFound, "not_found", "there is no %s %.200q", what, id)
}

// tooMany returns the error for something of which there may be no more.
func tooMany(format string, args ...any) error {
	return apierror.New(http.StatusConflict, "too_many", format, args...)
}

func invalid(param, format string, args ...any) error {
	return apierror.New(http.StatusBadRequest, "invalid_value", format, args...).With(param)
}

// checkText checks the length of a text from outside, in characters, and refuses control characters.
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

// mask returns the ends of a secret, which are never more than a quarter of it.
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
