package keychain

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// KeyUses collects the times at which keys were last used, until a spending.Log stores them with its records.
type KeyUses struct {
	accepted usedKeys
	expired  usedKeys // keys that were sent although they have expired
}

// KeyUses returns the collected times at which keys were last used.
func (s *Service) KeyUses() *KeyUses { return &s.used }

// Take removes and returns the keys used since the last call, as a map from key id to Unix minute. It also forgets
// uses of expired keys in earlier minutes, since recordExpired has already logged these uses.
func (u *KeyUses) Take(now time.Time) map[string]int64 {
	u.expired.take(now)
	return u.accepted.take(now)
}

// GiveBack puts the result of Take back into u if it could not be stored.
func (u *KeyUses) GiveBack(lastUses map[string]int64) { u.accepted.giveBack(lastUses) }

// Write stores the result of Take in the transaction c.
func (u *KeyUses) Write(c store.Conn, lastUses map[string]int64) error {
	for _, id := range slices.Sorted(maps.Keys(lastUses)) { // in order, so that two nodes do not deadlock
		lastUse := lastUses[id] * 60 * 1_000_000
		if _, err := c.Exec(`UPDATE gateway_keys SET last_used_at = ?
			WHERE id = ? AND (last_used_at IS NULL OR last_used_at < ?)`, lastUse, id, lastUse); err != nil {
			return err
		}
	}
	return nil
}

// usedKeys collects when keys were last used. The times are rounded down to minutes, so that a busy key costs one map
// write and one row update per minute.
type usedKeys struct {
	mu      sync.RWMutex
	minutes map[string]int64 // Unix minute by key id; take drops earlier minutes
	untaken map[string]int64 // the uses since the last call of take, which returns them
}

// mark records a use of a key. It reports whether this is the first use in this minute.
func (u *usedKeys) mark(keyID string, now time.Time) (first bool) {
	minute := now.Unix() / 60
	u.mu.RLock()
	known := u.minutes[keyID] >= minute
	u.mu.RUnlock()
	if known {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	first = u.minutes[keyID] < minute // another goroutine may have marked the key since the first look
	if u.minutes == nil {
		u.minutes = make(map[string]int64)
	}
	if u.untaken == nil {
		u.untaken = make(map[string]int64)
	}
	u.minutes[keyID], u.untaken[keyID] = minute, minute
	return first
}

// take removes and returns the keys used since the last call, as a map from key id to Unix minute.
func (u *usedKeys) take(now time.Time) map[string]int64 {
	minute := now.Unix() / 60
	u.mu.Lock()
	defer u.mu.Unlock()
	used := u.untaken
	u.untaken = nil
	maps.DeleteFunc(u.minutes, func(_ string, usedAt int64) bool { return usedAt < minute })
	return used
}

// giveBack puts the result of take back into u if it could not be stored.
func (u *usedKeys) giveBack(lastUses map[string]int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.untaken == nil {
		u.untaken = make(map[string]int64, len(lastUses))
	}
	for id, minute := range lastUses {
		u.untaken[id] = max(u.untaken[id], minute)
	}
}
