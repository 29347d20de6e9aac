package keychain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// KeyPrefix begins every gateway key.
const KeyPrefix = "ak-"

// keyBytes is the number of random characters behind the prefix: 238 bits.
const keyBytes = 40

// EffortMode says how output_config.effort of the messages surface and the
// model name together choose the tier (specification 2.5).
type EffortMode string

// The effort modes.
const (
	EffortOverride  EffortMode = "override"
	EffortModelWins EffortMode = "model_wins"
	EffortMax       EffortMode = "max_of_both"
)

// GatewayKey is a key that clients send. Its text is shown once, when it is
// made; the database has its SHA-256.
type GatewayKey struct {
	ID        string `json:"id"`
	UserID    string `json:"user_id"`
	Label     string `json:"label"`
	Masked    string `json:"masked"`
	IsPrimary bool   `json:"is_primary"`
	// RateLimitPerMinute is at least 1; nil: unlimited.
	RateLimitPerMinute *int64     `json:"rate_limit_per_minute"`
	EffortMode         EffortMode `json:"effort_mode"`
	Revoked            bool       `json:"revoked"`
	CreatedAt          time.Time  `json:"created_at"`
	LastUsedAt         *time.Time `json:"last_used_at"`
}

// NewKey is a key just made, with its text.
type NewKey struct {
	GatewayKey
	Key string `json:"key"`
}

// KeyChange is an update of a key; nil fields stay.
type KeyChange struct {
	Label              *string
	RateLimitPerMinute *int64
	// ClearRateLimit makes the key unlimited.
	ClearRateLimit bool
	EffortMode     *EffortMode
}

func hashKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

func (s *Service) newKey(userID, label string, primary bool, limit *int64) (GatewayKey, string) {
	plain := KeyPrefix + random(keyBytes)
	return GatewayKey{
		ID: "gk_" + random(20), UserID: userID, Label: label, Masked: mask(plain), IsPrimary: primary,
		RateLimitPerMinute: limit, EffortMode: EffortOverride, CreatedAt: s.now().UTC().Truncate(time.Microsecond),
	}, plain
}

func checkLimit(limit *int64) error {
	if limit != nil && (*limit < 1 || *limit > 1_000_000_000) {
		return invalid("rate_limit_per_minute", "rate_limit_per_minute must be from 1 to 1,000,000,000; leave it out for no limit")
	}
	return nil
}

// CreateKey makes a key for a user; limit nil: unlimited.
func (s *Service) CreateKey(ctx context.Context, userID, label string, limit *int64) (*NewKey, error) {
	if err := checkText("label", label, 0, 100); err != nil {
		return nil, err
	}
	if err := checkLimit(limit); err != nil {
		return nil, err
	}
	row, plain := s.newKey(userID, label, false, limit)
	err := s.write(ctx, func(ctx context.Context, tx querier) error {
		if err := s.requireUser(ctx, tx, userID); err != nil {
			return err
		}
		return s.insertKey(ctx, tx, row, hashKey(plain))
	})
	if err != nil {
		return nil, err
	}
	s.forgetKey(hashKey(plain)) // it may have been asked for before it was made
	return &NewKey{GatewayKey: row, Key: plain}, nil
}

// Keys lists a user's keys, oldest first, revoked ones included.
func (s *Service) Keys(ctx context.Context, userID string) ([]GatewayKey, error) {
	return s.selectKeys(ctx, userID)
}

// UpdateKey changes a key and returns it. A user other than userID is told
// that there is no such key.
func (s *Service) UpdateKey(ctx context.Context, userID, keyID string, change KeyChange) (*GatewayKey, error) {
	if change.Label != nil {
		if err := checkText("label", *change.Label, 0, 100); err != nil {
			return nil, err
		}
	}
	if err := checkLimit(change.RateLimitPerMinute); err != nil {
		return nil, err
	}
	if change.RateLimitPerMinute != nil && change.ClearRateLimit {
		return nil, invalid("clear_rate_limit", "clear_rate_limit and rate_limit_per_minute exclude each other")
	}
	if change.EffortMode != nil {
		switch *change.EffortMode {
		case EffortOverride, EffortModelWins, EffortMax:
		default:
			return nil, invalid("effort_mode", "effort_mode must be one of override, model_wins, max_of_both")
		}
	}
	var key *GatewayKey
	var hash string
	err := s.write(ctx, func(ctx context.Context, tx querier) (err error) {
		key, hash, err = s.lockKey(ctx, tx, userID, keyID)
		if err != nil {
			return err
		}
		if key.Revoked {
			return apierror.New(http.StatusConflict, "revoked", "the gateway key %q is revoked for good, create another", keyID)
		}
		if change.Label != nil {
			key.Label = *change.Label
		}
		if change.RateLimitPerMinute != nil {
			key.RateLimitPerMinute = change.RateLimitPerMinute
		}
		if change.ClearRateLimit {
			key.RateLimitPerMinute = nil
		}
		if change.EffortMode != nil {
			key.EffortMode = *change.EffortMode
		}
		return s.updateKey(ctx, tx, key)
	})
	if err != nil {
		return nil, err
	}
	s.forgetKey(hash)
	return key, nil
}

// RevokeKey ends a key for good; revoking it again changes nothing.
func (s *Service) RevokeKey(ctx context.Context, userID, keyID string) error {
	var hash string
	err := s.write(ctx, func(ctx context.Context, tx querier) (err error) {
		_, hash, err = s.lockKey(ctx, tx, userID, keyID)
		if err != nil {
			return err
		}
		return s.markRevoked(ctx, tx, keyID)
	})
	if err != nil {
		return err
	}
	s.forgetKey(hash)
	return nil
}

// RegenerateKey replaces the user's primary key: the old one is revoked in the
// same step and its label and limit go over to the new one.
func (s *Service) RegenerateKey(ctx context.Context, userID string) (*NewKey, error) {
	row, plain := s.newKey(userID, "primary", true, nil)
	var oldHash string
	err := s.write(ctx, func(ctx context.Context, tx querier) error {
		if err := s.requireUser(ctx, tx, userID); err != nil {
			return err
		}
		old, hash, err := s.primaryKey(ctx, tx, userID)
		if err != nil {
			return err
		}
		if old != nil {
			oldHash = hash
			row.Label, row.RateLimitPerMinute, row.EffortMode = old.Label, old.RateLimitPerMinute, old.EffortMode
			if err := s.markRevoked(ctx, tx, old.ID); err != nil {
				return err
			}
		}
		return s.insertKey(ctx, tx, row, hashKey(plain))
	})
	if err != nil {
		return nil, err
	}
	s.forgetKey(oldHash)
	return &NewKey{GatewayKey: row, Key: plain}, nil
}

// Identity is who a gateway key stands for.
type Identity struct {
	UserID string
	KeyID  string
	Label  string
	// RateLimitPerMinute; nil: unlimited.
	RateLimitPerMinute *int64
	EffortMode         EffortMode
}

// cachedKey is the answer to a key: who it is, or (id nil) that it is nobody.
type cachedKey struct{ id *Identity }

// changes numbers the changes made through this Service, so that a read that
// began before a change does not put its stale answer into a cache after it.
type changes struct {
	mu sync.Mutex
	n  uint64
}

func (c *changes) current() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// forgetKey makes every answer about a key that was read before now unusable:
// the one in the cache, the one on its way into it (which could show up after
// the deletion, were it not waited for), and the one that a read still under way
// is about to give to those who join it.
func (s *Service) forgetKey(hash string) {
	s.changes.mu.Lock()
	defer s.changes.mu.Unlock()
	s.changes.n++
	s.flight.Forget("key/" + hash)
	s.keys.Wait()
	s.keys.Del(hash)
}

// readTimeout bounds a read that requests wait for.
const readTimeout = 5 * time.Second

// tooSlow adds store.ErrUnavailable to the error of a read that took longer
// than readTimeout: a database that hangs is as good as gone.
func tooSlow(err error) error {
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, store.ErrUnavailable) {
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return err
}

// refused is the one answer to every key that is not good, so that an answer
// does not tell an unknown key from a revoked one.
func refused() error {
	return apierror.New(http.StatusUnauthorized, "invalid_api_key",
		"the gateway key is not valid: it is unknown or revoked")
}

// Authenticate tells whom a gateway key stands for. It hashes and looks up
// every text alike, so its time does not tell a near miss from a wild guess.
// Errors: 401 invalid_api_key; or one that wraps store.ErrUnavailable.
func (s *Service) Authenticate(ctx context.Context, key string) (*Identity, error) {
	key = strings.TrimSpace(key)
	if len(key) > 256 {
		key = key[:256] // longer than any key: it will not be found
	}
	hash := hashKey(key)
	if cached, ok := s.keys.Get(hash); ok {
		if cached.id == nil {
			return nil, refused()
		}
		s.used.mark(cached.id.KeyID, s.now())
		return cached.id, nil
	}
	found, err, _ := s.flight.Do("key/"+hash, func() (any, error) {
		before := s.changes.current()
		// The read serves every waiting request: one of them leaving must not end it.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
		defer cancel()
		id, err := s.selectIdentity(ctx, hash)
		if err != nil {
			return nil, tooSlow(err)
		}
		cached := &cachedKey{id}
		s.changes.mu.Lock()
		if s.changes.n == before {
			s.keys.SetWithTTL(hash, cached, 1, CacheTTL)
		}
		s.changes.mu.Unlock()
		return cached, nil
	})
	if err != nil {
		return nil, err
	}
	id := found.(*cachedKey).id
	if id == nil {
		return nil, refused()
	}
	s.used.mark(id.KeyID, s.now())
	return id, nil
}

// usedKeys remembers when keys were last used until the usage log writes it
// down; to the minute, so that a busy key costs one map write and one row
// update a minute.
type usedKeys struct {
	mu   sync.RWMutex
	at   map[string]int64 // key id -> Unix minute
	news map[string]int64 // the part of at that was not handed over yet
}

func (u *usedKeys) mark(keyID string, now time.Time) {
	minute := now.Unix() / 60
	u.mu.RLock()
	known := u.at[keyID] >= minute
	u.mu.RUnlock()
	if known {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.at == nil {
		u.at = make(map[string]int64)
	}
	if u.news == nil {
		u.news = make(map[string]int64)
	}
	u.at[keyID], u.news[keyID] = minute, minute
}

// take hands over the keys used since the last call.
func (u *usedKeys) take(now time.Time) map[string]int64 {
	minute := now.Unix() / 60
	u.mu.Lock()
	defer u.mu.Unlock()
	news := u.news
	u.news = nil
	maps.DeleteFunc(u.at, func(_ string, at int64) bool { return at < minute })
	return news
}

// giveBack returns what take handed over and could not be written down.
func (u *usedKeys) giveBack(used map[string]int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.news == nil {
		u.news = make(map[string]int64, len(used))
	}
	for id, minute := range used {
		u.news[id] = max(u.news[id], minute)
	}
}
