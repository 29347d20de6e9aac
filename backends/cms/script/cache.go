package script

import (
	"container/list"
	"sync"
	"time"
)

// maxCache limits the size of a site's cache: the total length of the names and values, in bytes.
const maxCache = 64 << 20

// entryCost is the size of an entry in addition to its name and value, in bytes.
const entryCost = 200

// cache holds JSON values with an expiry time for all calls of a site. When it is full, it removes the least recently
// used entries.
type cache struct {
	limit int
	now   func() time.Time

	mu      sync.Mutex // guards the following members
	size    int        // of all entries, in bytes; see cached.cost
	entries map[string]*list.Element
	order   list.List // of *cached, most recently used first
}

// cached is an entry of a cache.
type cached struct {
	key, value string
	expires    time.Time // zero if it does not expire
}

// cost returns the number of bytes that the entry adds to the size of the cache.
func (c *cached) cost() int { return len(c.key) + len(c.value) + entryCost }

// newCache returns an empty cache whose entries take at most limit bytes. now is the clock for the expiry times.
func newCache(limit int, now func() time.Time) *cache {
	return &cache{limit: limit, now: now, entries: make(map[string]*list.Element)}
}

// get returns the value of a key and marks the entry as recently used. It removes the entry if that has expired.
func (c *cache) get(key string) (value string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if !ok {
		return "", false
	}
	found := e.Value.(*cached)
	if !found.expires.IsZero() && !c.now().Before(found.expires) {
		c.drop(e)
		return "", false
	}
	c.order.MoveToFront(e)
	return found.value, true
}

// set stores a value for the given lifetime, or without expiry if lifetime is 0, and removes the previous value of the
// key. It returns false, without storing the value, if the value alone exceeds the limit of the cache.
func (c *cache) set(key, value string, lifetime time.Duration) bool {
	entry := &cached{key: key, value: value}
	if lifetime > 0 {
		entry.expires = c.now().Add(lifetime)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[key]; ok {
		c.drop(e)
	}
	if entry.cost() > c.limit {
		return false
	}
	for c.size+entry.cost() > c.limit {
		c.drop(c.order.Back())
	}
	c.size += entry.cost()
	c.entries[key] = c.order.PushFront(entry)
	return true
}

// delete removes an entry, and reports whether it existed.
func (c *cache) delete(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if ok {
		c.drop(e)
	}
	return ok
}

// drop removes an entry. The caller holds the lock.
func (c *cache) drop(e *list.Element) {
	removed := c.order.Remove(e).(*cached)
	delete(c.entries, removed.key)
	c.size -= removed.cost()
}
