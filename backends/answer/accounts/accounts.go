// Package accounts manages the callers of the answer API: accounts with their quota, and the keys they use. Before any
// work is done, each question is counted against the rate limit of its key, and one answer is reserved from the quota
// of its account. The reservation is settled in the transaction that stores the answer, so that a crash neither loses
// an answer nor lets a caller exceed the quota.
//
// An account has keys and a quota. The quota is a number of answers per window; the window is the span over which
// answers are counted, such as a month. Each key has its own rate limit. To accept a question is to count it and to
// reserve an answer; to settle it is to store the outcome, and to count the answer as used if there is one.
//
// Choices where the specification is silent:
//   - A key may be restricted to reading the quota, for example for a dashboard. A question with such a key gets a 403.
//   - A question refused by the rate limit takes nothing from the quota, and a question refused by the quota is not
//     counted against the rate limit.
//   - Clients that share a key share its rate limit.
package accounts

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/internal/secret"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Services to which a key may give access.
const (
	ServiceAnswer = "answer" // questions, answers and documents
	ServiceQuota  = "quota"  // the quota of the account
)

// Services lists all services.
var Services = []string{ServiceAnswer, ServiceQuota}

// Unlimited is the limit of an account without a quota: the largest integer that every JSON reader represents
// exactly.
const Unlimited = 1<<53 - 1

// A key has the form ans_<lookup>_<secret>. The lookup is public and identifies the key.
const (
	keyPrefix  = "ans_"
	lookupSize = 16 // the number of characters of a lookup
)

// ErrUnknown is returned for a key that is unknown, revoked or expired, without a distinction between these.
var ErrUnknown = errors.New("the key is not valid")

// Options configure Accounts. The zero Options are usable.
type Options struct {
	// Rate is how many questions a key may ask in any RateWindow. Default: 5 in 60s.
	Rate       int
	RateWindow time.Duration
	// Limit is the quota of new accounts, in answers per Window. Default: 1000.
	Limit int64
	// Window is the period over which a quota is counted. Default: the calendar month in UTC.
	Window Window
	// Lease is how long a reservation lasts if it is not settled. Default: 175s, one minute more than an answer
	// may take.
	Lease time.Duration
}

// withDefaults returns o with defaults for the fields that are not set.
func (o Options) withDefaults() Options {
	if o.Rate == 0 {
		o.Rate = 5
	}
	if o.RateWindow == 0 {
		o.RateWindow = time.Minute
	}
	if o.Limit == 0 {
		o.Limit = 1000
	}
	if o.Lease == 0 {
		o.Lease = 175 * time.Second
	}
	return o
}

// Accounts reads and writes the accounts and keys of a database.
type Accounts struct {
	*kernel.Server
	options Options
}

// New returns the Accounts of the server k.
func New(k *kernel.Server, o Options) *Accounts { return &Accounts{k, o.withDefaults()} }

// Caller is the account that asks a question, together with the key that it uses.
type Caller struct {
	Key, Account int64    // the ids of the key and its account
	Limit        int64    // the quota of the account
	services     []string // to which the key gives access
}

// May reports whether the key gives access to a service.
func (c *Caller) May(service string) bool { return slices.Contains(c.services, service) }

// NewKey describes a key to be made.
type NewKey struct {
	// Account is the name of the account, which is made if it does not exist. Default: the label.
	Account, Label string
	// Limit is the quota of the account. It may be 0; -1 means no limit. A nil Limit keeps the limit of an
	// existing account and gives a new one the default.
	Limit *int64
	// Expires is when the key expires. The zero time means never.
	Expires time.Time
	// Services are the services to which the key gives access. Default: all.
	Services []string
}

// Key describes a key without its secret.
type Key struct {
	ID        int64
	Account   string
	Label     string
	Lookup    string // the public part of the key
	Services  []string
	Limit     int64 // the quota of the account
	CreatedAt time.Time
	ExpiresAt time.Time // zero: never
	RevokedAt time.Time // zero if the key is not revoked
}

// InvalidError is the reason why a NewKey is not valid.
type InvalidError string

// Error implements error.
func (p InvalidError) Error() string { return string(p) }

// Create makes a key and returns it with its description. The key cannot be read again, because only the digest of its
// secret is stored. Create returns an InvalidError if n is not valid.
func (a *Accounts) Create(ctx context.Context, n NewKey) (key string, created Key, err error) {
	n.Label, n.Account = strings.TrimSpace(n.Label), strings.TrimSpace(n.Account)
	if n.Account == "" {
		n.Account = n.Label
	}
	if len(n.Services) == 0 {
		n.Services = Services
	}
	switch {
	case n.Label == "" || len(n.Label) > 200 || len(n.Account) > 200:
		return "", created, InvalidError("the label is missing, or it or the account name is longer than 200 bytes")
	case n.Limit != nil && (*n.Limit < -1 || *n.Limit > Unlimited):
		return "", created, InvalidError("the limit must be from 0 to 2^53-1, or -1 for no limit")
	case !n.Expires.IsZero() && !n.Expires.After(a.Now()):
		return "", created, InvalidError("the expiry time of the key is in the past")
	case slices.ContainsFunc(n.Services, func(s string) bool { return !slices.Contains(Services, s) }):
		return "", created, InvalidError("a service of the key is not one of " + strings.Join(Services, ", "))
	}
	limit := a.options.Limit
	if n.Limit != nil {
		if limit = *n.Limit; limit == -1 {
			limit = Unlimited
		}
	}
	lookup := strings.NewReplacer("-", "x", "_", "y").Replace(secret.New()[:lookupSize]) // "_" ends the lookup
	secretPart := secret.New()
	created = Key{
		Account: n.Account, Label: n.Label, Lookup: lookup, Services: n.Services, CreatedAt: a.Now(),
		ExpiresAt: n.Expires,
	}
	err = a.Write(ctx, func(c kernel.Conn) error {
		_, err := c.Exec("INSERT INTO answer_accounts (name, total_limit, created_at) VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING", n.Account, limit, a.Micros())
		if err != nil {
			return err
		}
		// The statement above has changed nothing if the account was there already.
		if n.Limit != nil {
			if _, err := c.Exec("UPDATE answer_accounts SET total_limit = ? WHERE name = ?", limit, n.Account); err != nil {
				return err
			}
		}
		var account int64
		if err := c.Row("SELECT id, total_limit FROM answer_accounts WHERE name = ?",
			n.Account).Scan(&account, &created.Limit); err != nil {
			return err
		}
		return c.Row(`INSERT INTO answer_keys (account_id, label, lookup, digest, services, created_at, expires_at)
			VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id`,
			account, n.Label, lookup, digest(secretPart), strings.Join(n.Services, " "), a.Micros(),
			kernel.MicrosOf(n.Expires)).Scan(&created.ID)
	})
	return keyPrefix + lookup + "_" + secretPart, created, err
}

// digest returns the SHA-256 of the secret part of a key in hexadecimal.
func digest(secretPart string) string {
	sum := sha256.Sum256([]byte(secretPart))
	return hex.EncodeToString(sum[:])
}

// Caller returns the holder of a key. It returns ErrUnknown if the key is not valid; any other error is from the
// database.
func (a *Accounts) Caller(ctx context.Context, key string) (*Caller, error) {
	parts, hasPrefix := strings.CutPrefix(key, keyPrefix)
	lookup, secretPart, hasSecret := strings.Cut(parts, "_")
	if !hasPrefix || !hasSecret || len(lookup) != lookupSize || len(key) > 200 {
		return nil, ErrUnknown
	}
	var (
		c                     Caller
		stored, services      string
		expires, revoked, now = int64(0), int64(0), a.Micros()
	)
	err := a.Read(ctx, func(conn kernel.Conn) error {
		return conn.Row(`SELECT k.id, k.account_id, a.total_limit, k.digest, k.services, k.expires_at, k.revoked_at
			FROM answer_keys k JOIN answer_accounts a ON a.id = k.account_id WHERE k.lookup = ?`, lookup).
			Scan(&c.Key, &c.Account, &c.Limit, &stored, &services, &expires, &revoked)
	})
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	// A secret is compared even if there is no such key, so that an unknown key takes as long as a wrong secret.
	isSecret := subtle.ConstantTimeCompare([]byte(stored), []byte(digest(secretPart))) == 1
	isExpired := expires != 0 && expires <= now
	if err != nil || !isSecret || revoked != 0 || isExpired {
		return nil, ErrUnknown
	}
	c.services = strings.Fields(services)
	return &c, nil
}

// Keys lists the keys, newest first, at most 1000.
func (a *Accounts) Keys(ctx context.Context) (list []Key, err error) {
	err = a.Read(ctx, func(c kernel.Conn) error {
		return c.All(`SELECT k.id, a.name, k.label, k.lookup, k.services, a.total_limit, k.created_at, k.expires_at, k.revoked_at
			FROM answer_keys k JOIN answer_accounts a ON a.id = k.account_id ORDER BY k.id DESC LIMIT 1000`, nil, func(r store.Row) error {
			var (
				k                         Key
				services                  string
				created, expires, revoked int64
			)
			if err := r.Scan(&k.ID, &k.Account, &k.Label, &k.Lookup, &services, &k.Limit, &created, &expires,
				&revoked); err != nil {
				return err
			}
			k.Services, k.CreatedAt = strings.Fields(services), kernel.TimeOf(created)
			k.ExpiresAt, k.RevokedAt = kernel.TimeOf(expires), kernel.TimeOf(revoked)
			list = append(list, k)
			return nil
		})
	})
	return list, err
}

// Revoke revokes the key with the given id, or the key whose public part is lookup. done is false if there is no such
// key or if it was revoked before.
func (a *Accounts) Revoke(ctx context.Context, id int64, lookup string) (done bool, err error) {
	err = a.Write(ctx, func(c kernel.Conn) error {
		n, err := c.Exec("UPDATE answer_keys SET revoked_at = ? WHERE (id = ? OR lookup = ?) AND revoked_at = 0",
			a.Micros(), id, lookup)
		done = n > 0
		return err
	})
	return done, err
}

// secondsUntil returns the number of seconds from now to end, rounded up, at least 1. Both are in microseconds.
func secondsUntil(now, end int64) int64 {
	return max(1, int64(math.Ceil(float64(end-now)/1e6)))
}
