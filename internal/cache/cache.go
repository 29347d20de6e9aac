// Package cache caches rows of a database for a short time.
package cache

import (
	"context"
	"sync"
	"time"
)

// Age is how long rows that another node may change are cached. With it, a revocation on another node takes effect here
// after at most five seconds.
const Age = 4 * time.Second

// Cache caches rows by their key for a short time. The zero Cache cannot be used; see New.
type Cache[V any] struct {
	load  func(ctx context.Context, key string) (V, error)
	now   func() time.Time
	limit int

	mu      sync.RWMutex
	entries map[string]cached[V]
	drops   uint64 // counts calls of Drop; the results of loads that began before the last call are not cached
}

// cached is a value with the time until which it may be used.
type cached[V any] struct {
	value V
	until time.Time
}

// New returns a cache that keeps at most limit values, each of them for Age. load loads the value of a key; its
// errors are not cached.
func New[V any](limit int, now func() time.Time, load func(ctx context.Context, key string) (V, error)) *Cache[V] {
	return &Cache[V]{load: load, now: now, limit: limit, entries: make(map[string]cached[V])}
}

// Get returns the value of a key, which may be up to Age old, or the error of loading it.
func (c *Cache[V]) Get(ctx context.Context, key string) (V, error) {
	now := c.now()
	c.mu.RLock()
	entry, ok := c.entries[key]
	drops := c.drops
	c.mu.RUnlock()
	clockSetBack := entry.until.Sub(now) > Age
	if ok && now.Before(entry.until) && !clockSetBack {
		return entry.value, nil
	}
	value, err := c.load(ctx, key) // without the lock, so that other keys do not wait
	if err != nil {
		return value, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.drops == drops { // a value that was dropped while it was loaded may be outdated, so it is not kept
		if _, exists := c.entries[key]; !exists && len(c.entries) >= c.limit {
			c.evict(now)
		}
		c.entries[key] = cached[V]{value, now.Add(Age)}
	}
	return value, nil
}

// evict makes room for a key. It checks 8 entries, in random order, and removes the expired ones, or an arbitrary entry
// if none of them has expired. It removes all entries if there are fewer than 8 and none has expired.
func (c *Cache[V]) evict(now time.Time) {
	checked, removed := 0, false
	for key, e := range c.entries {
		if checked++; !now.Before(e.until) {
			delete(c.entries, key)
			removed = true
		}
		if checked < 8 {
			continue
		}
		if !removed {
			delete(c.entries, key)
		}
		return
	}
	if !removed {
		clear(c.entries)
	}
}

// Drop removes a key, or all keys if key is empty. The results of loads under way are not cached.
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
