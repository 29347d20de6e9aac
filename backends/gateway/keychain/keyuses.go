package keychain

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// KeyUses holds the times at which keys were last used until they are stored with the usage log. It is meant for a
// spending.Log.
type KeyUses struct {
	accepted usedKeys
	expired  usedKeys // keys that were sent although they have expired
}

// KeyUses returns the times at which keys were last used, for the usage log.
func (s *Service) KeyUses() *KeyUses { return &s.used }

// Take returns the keys used since the last call. It also forgets which expired keys were sent in earlier minutes,
// since those are in the log already.
func (u *KeyUses) Take(now time.Time) map[string]int64 {
	u.expired.take(now)
	return u.accepted.take(now)
}

// GiveBack takes back what Take returned if it could not be stored.
func (u *KeyUses) GiveBack(used map[string]int64) { u.accepted.giveBack(used) }

// Write stores what Take returned, in the transaction c.
func (u *KeyUses) Write(c store.Conn, used map[string]int64) error {
	for _, id := range slices.Sorted(maps.Keys(used)) { // in order, so that two nodes do not deadlock
		at := used[id] * 60 * 1_000_000
		if _, err := c.Exec(`UPDATE gateway_keys SET last_used_at = ?
			WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ?)`, at, id, at); err != nil {
			return err
		}
	}
	return nil
}

// usedKeys remembers when keys were last used until the usage log stores it. The time is kept to the minute, so that a
// busy key costs one map write and one row update per minute.
type usedKeys struct {
	mu   sync.RWMutex
	at   map[string]int64 // Unix minute by key id
	news map[string]int64 // the part of at that was not taken yet
}

// mark records that a key was used. It reports whether that is the first use in this minute.
func (u *usedKeys) mark(keyID string, now time.Time) (first bool) {
	minute := now.Unix() / 60
	u.mu.RLock()
	known := u.at[keyID] >= minute
	u.mu.RUnlock()
	if known {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	first = u.at[keyID] < minute
	if u.at == nil {
		u.at = make(map[string]int64)
	}
	if u.news == nil {
		u.news = make(map[string]int64)
	}
	u.at[keyID], u.news[keyID] = minute, minute
	return first
}

// take returns the keys used since the last call.
func (u *usedKeys) take(now time.Time) map[string]int64 {
	minute := now.Unix() / 60
	u.mu.Lock()
	defer u.mu.Unlock()
	news := u.news
	u.news = nil
	maps.DeleteFunc(u.at, func(_ string, at int64) bool { return at < minute })
	return news
}

// giveBack takes back what take returned if it could not be stored.
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
