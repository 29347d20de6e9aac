// Package keychain knows who may do what at the model gateway: users and teams, their gateway
// keys, provider keys, models and preferences, and the limits of each.
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
	reads   *store.JointReads
	changes changes
	used    KeyUses
	spent   Spending
	origin  string // tells this Service from those of other nodes
	deaf    func() // ends listening to them

	// CheckHost is asked when a base URL is entered: an error tells that its host is
	// none that users' own models may be at. Set it before the first use; nil: any
	// will do. Whoever connects must decide again.
	CheckHost func(ctx context.Context, host string) error
}

// Spending is what the keychain needs to know of what was spent. A *spending.Ledger is one.
type Spending interface {
	// Spent returns what was spent from a purse that a key draws on, in total only where that is
	// asked for, with what this node has recorded up to now.
	Spent(ctx context.Context, keyID string, from spending.Purse, total bool, now time.Time) (spending.WindowSums, error)
	// Stored is Spent as the database has it.
	Stored(ctx context.Context, from spending.Purse, total bool, now time.Time) (spending.WindowSums, error)
	// Add notes a request that was refused.
	Add(r spending.Record)
}

// New makes the service over a database with schema.Gateway registered.
func New(db *store.DB, ring keyring.Keyring, spent Spending, logger *zap.Logger, now func() time.Time) (*Service, error) {
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

// DB returns the database, whose tables of Schema others of the gateway work on, too.
func (s *Service) DB() *store.DB { return s.db }

// Close gives the caches back.
func (s *Service) Close() {
	s.deaf()
	s.keys.Close()
	s.accts.Close()
}

// CheckUserID refuses what no user can be called: 1 to 200 characters, no control
// characters.
func CheckUserID(id string) error { return checkText("user_id", id, 1, 200) }

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
