// Package cache remembers rows of a database for a short time.
package cache

import (
	"context"
	"sync"
	"time"
)

// Age is how long rows that others may change are remembered: what another node
// revokes holds here after five seconds at the latest.
const Age = 4 * time.Second

// Cache remembers rows by their key for a short time. The zero Cache is not good, see
// New.
type Cache[V any] struct {
	load func(ctx context.Context, key string) (V, error)
	now  func() time.Time
	most int

	mu      sync.RWMutex
	entries map[string]cached[V]
	drops   uint64 // what was read before the last of them is not remembered
}

type cached[V any] struct {
	value V
	until time.Time
}

// New makes a cache of at most so many values of what load finds, for Age.
// Errors are not remembered.
func New[V any](most int, now func() time.Time, load func(ctx context.Context, key string) (V, error)) *Cache[V] {
	return &Cache[V]{load: load, now: now, most: most, entries: make(map[string]cached[V])}
}

// Get is the value of a key, as it was at most Age ago.
func (c *Cache[V]) Get(ctx context.Context, key string) (V, error) {
	now := c.now()
	c.mu.RLock()
	found, ok := c.entries[key]
	drops := c.drops
	c.mu.RUnlock()
	if ok && now.Before(found.until) && found.until.Sub(now) <= Age { // else the clock was set back
		return found.value, nil
	}
	value, err := c.load(ctx, key)
	if err != nil {
		return value, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.drops == drops {
		if _, again := c.entries[key]; !again && len(c.entries) >= c.most {
			c.evict(now)
		}
		c.entries[key] = cached[V]{value, now.Add(Age)}
	}
	return value, nil
}

// evict makes a place: of a few entries, in no order, those that are over, or one.
func (c *Cache[V]) evict(now time.Time) {
	looked, gone := 0, false
	for key, e := range c.entries {
		if looked++; !now.Before(e.until) {
			delete(c.entries, key)
			gone = true
		}
		if looked < 8 {
			continue
		}
		if !gone {
			delete(c.entries, key)
		}
		return
	}
	if !gone {
		clear(c.entries)
	}
}

// Drop forgets a key, and what is being read of any now; empty: all.
func (c *Cache[V]) Drop(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drops++
	if key == "" {
		clear(c.entries)
		return
	}
	delete(c.entries, key)
}
