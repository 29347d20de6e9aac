package keychain

import (
	"context"
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

// Identity is who a gateway key stands for.
type Identity struct {
	UserID string
	KeyID  string
	Label  string
	// RateLimitPerMinute; nil: unlimited.
	RateLimitPerMinute *int64
	EffortMode         EffortMode
	// AllowedModels are patterns as a GatewayKey has them; see Allows.
	AllowedModels []string
	// Budgets are what Admit holds the key to.
	Budgets Budgets

	expires int64 // Unix microseconds; 0: never
}

// Allows reports whether the key may be used for an entry (provider/model).
func (id *Identity) Allows(entry string) bool {
	for _, p := range id.AllowedModels {
		if prefix, ok := strings.CutSuffix(p, "*"); ok && strings.HasPrefix(entry, prefix) || p == entry {
			return true
		}
	}
	return len(id.AllowedModels) == 0
}

func (id *Identity) expired(now time.Time) bool {
	return id.expires != 0 && micros(now) >= id.expires
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
// is about to give: nobody joins it any more, since reads are named by changes too.
func (s *Service) forgetKey(hash string) {
	s.changes.mu.Lock()
	defer s.changes.mu.Unlock()
	s.changes.n++
	s.keys.Wait()
	s.keys.Del(hash)
}

// topic is what the nodes on a database tell each other of: who says it, "key" and
// the hash of a gateway key, which is what the database has of it, or "account" and
// the id of a user.
const topic = "gateway"

func (s *Service) notify(c store.Conn, what, which string) error {
	return c.Notify(topic, s.origin+" "+what+" "+which)
}

// changeKey is write for a change of a gateway key, whose hash fn returns: every
// node looks at the key anew, this one before the call returns.
func (s *Service) changeKey(ctx context.Context, fn func(c store.Conn) (hash string, err error)) error {
	var hash string
	err := s.db.Write(ctx, func(c store.Conn) (err error) {
		if hash, err = fn(c); err != nil {
			return err
		}
		return s.notify(c, "key", hash)
	})
	if err == nil {
		s.forgetKey(hash)
	}
	return err
}

// changeAccount is changeKey for what an Account has of the user.
func (s *Service) changeAccount(ctx context.Context, userID string, fn func(c store.Conn) error) error {
	err := s.db.Write(ctx, func(c store.Conn) error {
		if err := fn(c); err != nil {
			return err
		}
		return s.notify(c, "account", userID)
	})
	if err == nil {
		s.forgetAccount(userID)
	}
	return err
}

// heard forgets what another node has changed.
func (s *Service) heard(notice string) {
	origin, change, _ := strings.Cut(notice, " ")
	what, which, _ := strings.Cut(change, " ")
	switch {
	case origin == s.origin: // it has forgotten it already
	case what == "key":
		s.forgetKey(which)
	case what == "account":
		s.forgetAccount(which)
	default:
		s.forgetAll()
	}
}

// forgetAll is forgetKey for all keys and accounts, when it is not known which of
// them were changed.
func (s *Service) forgetAll() {
	s.changes.mu.Lock()
	defer s.changes.mu.Unlock()
	s.changes.n++
	s.keys.Wait()
	s.keys.Clear()
	s.accts.Wait()
	s.accts.Clear()
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
// does not tell an unknown key from one that has ended.
func refused() error {
	return apierror.New(http.StatusUnauthorized, "invalid_api_key",
		"the gateway key is not valid: it is unknown, expired or revoked")
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
		return s.accept(cached.id)
	}
	before := s.changes.current()
	found, err := s.shared(ctx, fmt.Sprint("key/", before, "/", hash), func() (any, error) {
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
			s.keys.SetWithTTL(hash, cached, 1, s.ttl)
		}
		s.changes.mu.Unlock()
		return cached, nil
	})
	if err != nil {
		return nil, err
	}
	return s.accept(found.(*cachedKey).id)
}

// accept looks at the clock each time: a key may end while it is in the cache.
func (s *Service) accept(id *Identity) (*Identity, error) {
	now := s.now()
	if id == nil || id.expired(now) {
		return nil, refused()
	}
	s.used.mark(id.KeyID, now)
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
