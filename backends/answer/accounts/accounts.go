// Package accounts is who asks the answer API: accounts with their quota, and the keys
// they ask with. Each question takes a place of the key's rate and a reservation of the
// account's quota before any work is done, and settles it with the answer it is stored
// with, so that no crash loses one and no caller gets one more.
//
// Choices where the specification is silent: a key may be for the quota alone (a
// dashboard's), which is the 403 at a question; what the rate refuses takes nothing of the
// quota, and what the quota refuses takes nothing of the rate; a key that is used by many
// is one.
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

// Services that a key may be for.
const (
	ServiceAnswer = "answer"
	ServiceQuota  = "quota"
)

// Services are all of them.
var Services = []string{ServiceAnswer, ServiceQuota}

// Unlimited is the limit of an account without one: the largest number that every JSON
// reader knows exactly.
const Unlimited = 1<<53 - 1

const (
	keyPrefix  = "ans_"
	lookupSize = 16
)

// ErrUnknown is what a key that is unknown, revoked or expired is answered with: callers
// cannot tell which.
var ErrUnknown = errors.New("the key is not valid")

// Options are how accounts work. The zero Options are good.
type Options struct {
	// Rate is how many questions of a key are accepted in any RateWindow. Default: 5 in 60s.
	Rate       int
	RateWindow time.Duration
	// Limit is the quota of new accounts, in answers a Window. Default: 1000.
	Limit int64
	// Window is what a quota is counted over. Default: the calendar month, UTC.
	Window Window
	// Lease is how long a reservation holds without being settled. Default: 175s, the
	// longest that an answer takes and a minute.
	Lease time.Duration
}

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

// Accounts are those of a database.
type Accounts struct {
	*kernel.Server
	options Options
}

// New makes the room.
func New(k *kernel.Server, o Options) *Accounts { return &Accounts{k, o.withDefaults()} }

// Caller is who has sent a key.
type Caller struct {
	Key, Account int64
	Limit        int64 // of the account
	services     []string
}

// May reports whether the key is for a service.
func (c *Caller) May(service string) bool { return slices.Contains(c.services, service) }

// NewKey is a key that is to be made.
type NewKey struct {
	// Account is the name of one, which is made where there is none. Default: the label.
	Account, Label string
	// Limit is the quota of the account, which may be 0; -1 is none. A nil Limit keeps what the
	// account has, or gives it the default.
	Limit *int64
	// Expires is when the key ends; zero: never.
	Expires time.Time
	// Services it is for. Default: all.
	Services []string
}

// Key is one as it is listed.
type Key struct {
	ID        int64
	Account   string
	Label     string
	Lookup    string // its public part
	Services  []string
	Limit     int64
	CreatedAt time.Time
	ExpiresAt time.Time // zero: never
	RevokedAt time.Time // zero: it is not
}

// InvalidError is a NewKey that cannot be made.
type InvalidError string

func (p InvalidError) Error() string { return string(p) }

// Create makes a key and returns it, this once: ans_<lookup>_<secret>.
func (a *Accounts) Create(ctx context.Context, n NewKey) (key string, made Key, err error) {
	n.Label, n.Account = strings.TrimSpace(n.Label), strings.TrimSpace(n.Account)
	if n.Account == "" {
		n.Account = n.Label
	}
	if len(n.Services) == 0 {
		n.Services = Services
	}
	switch {
	case n.Label == "" || len(n.Label) > 200 || len(n.Account) > 200:
		return "", made, InvalidError("a key needs a label, and it and the account's name have at most 200 bytes")
	case n.Limit != nil && (*n.Limit < -1 || *n.Limit > Unlimited):
		return "", made, InvalidError("the limit must be from 0 to 2^53-1, or -1 for none")
	case !n.Expires.IsZero() && !n.Expires.After(a.Now()):
		return "", made, InvalidError("the key would have ended already")
	case slices.ContainsFunc(n.Services, func(s string) bool { return !slices.Contains(Services, s) }):
		return "", made, InvalidError("the services of a key are " + strings.Join(Services, " and "))
	}
	limit := a.options.Limit
	if n.Limit != nil {
		if limit = *n.Limit; limit == -1 {
			limit = Unlimited
		}
	}
	lookup, hidden := strings.NewReplacer("-", "x", "_", "y").Replace(secret.New()[:lookupSize]), secret.New()
	made = Key{Account: n.Account, Label: n.Label, Lookup: lookup, Services: n.Services, CreatedAt: a.Now(), ExpiresAt: n.Expires}
	err = a.Write(ctx, func(c kernel.Conn) error {
		_, err := c.Exec("INSERT INTO answer_accounts (name, total_limit, created_at) VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING", n.Account, limit, a.Micros())
		if err != nil {
			return err
		}
		if n.Limit != nil {
			if _, err := c.Exec("UPDATE answer_accounts SET total_limit = ? WHERE name = ?", limit, n.Account); err != nil {
				return err
			}
		}
		var account int64
		if err := c.Row("SELECT id, total_limit FROM answer_accounts WHERE name = ?", n.Account).Scan(&account, &made.Limit); err != nil {
			return err
		}
		return c.Row(`INSERT INTO answer_keys (account_id, label, lookup, digest, services, created_at, expires_at)
			VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id`,
			account, n.Label, lookup, digest(hidden), strings.Join(n.Services, " "), a.Micros(), micros(n.Expires)).Scan(&made.ID)
	})
	return keyPrefix + lookup + "_" + hidden, made, err
}

func digest(hidden string) string {
	sum := sha256.Sum256([]byte(hidden))
	return hex.EncodeToString(sum[:])
}

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func instant(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

// Caller is who has a key. Its error is ErrUnknown, or the database's.
func (a *Accounts) Caller(ctx context.Context, key string) (*Caller, error) {
	rest, ours := strings.CutPrefix(key, keyPrefix)
	lookup, hidden, whole := strings.Cut(rest, "_")
	if !ours || !whole || len(lookup) != lookupSize || len(key) > 200 {
		return nil, ErrUnknown
	}
	var (
		c                         Caller
		stored, services          string
		expires, revoked, nowTime = int64(0), int64(0), a.Micros()
	)
	err := a.Read(ctx, func(conn kernel.Conn) error {
		return conn.Row(`SELECT k.id, k.account_id, a.total_limit, k.digest, k.services, k.expires_at, k.revoked_at
			FROM answer_keys k JOIN answer_accounts a ON a.id = k.account_id WHERE k.lookup = ?`, lookup).
			Scan(&c.Key, &c.Account, &c.Limit, &stored, &services, &expires, &revoked)
	})
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	same := subtle.ConstantTimeCompare([]byte(stored), []byte(digest(hidden))) == 1
	if err != nil || !same || revoked != 0 || expires != 0 && expires <= nowTime {
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
			if err := r.Scan(&k.ID, &k.Account, &k.Label, &k.Lookup, &services, &k.Limit, &created, &expires, &revoked); err != nil {
				return err
			}
			k.Services, k.CreatedAt, k.ExpiresAt, k.RevokedAt = strings.Fields(services), instant(created), instant(expires), instant(revoked)
			list = append(list, k)
			return nil
		})
	})
	return list, err
}

// Revoke ends a key, which is named by its id or its public part; false: there is none
// that has not ended.
func (a *Accounts) Revoke(ctx context.Context, id int64, lookup string) (done bool, err error) {
	err = a.Write(ctx, func(c kernel.Conn) error {
		n, err := c.Exec("UPDATE answer_keys SET revoked_at = ? WHERE (id = ? OR lookup = ?) AND revoked_at = 0", a.Micros(), id, lookup)
		done = n > 0
		return err
	})
	return done, err
}

// left is how many whole seconds are left until a time, at least 1.
func left(now, until int64) int64 {
	return max(1, int64(math.Ceil(float64(until-now)/1e6)))
}
