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

	mu      sync.Mutex
	size    int
	entries map[string]*list.Element
	order   list.List // of *cached, most recently used first
}

type cached struct {
	key, value string
	until      time.Time // zero if it does not expire
}

func (c *cached) cost() int { return len(c.key) + len(c.value) + entryCost }

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
	if !found.until.IsZero() && !c.now().Before(found.until) {
		c.drop(e)
		return "", false
	}
	c.order.MoveToFront(e)
	return found.value, true
}

// set stores a value for the duration life, or without expiry if life is 0. It returns false if the value is larger
// than the whole cache.
func (c *cache) set(key, value string, life time.Duration) bool {
	entry := &cached{key: key, value: value}
	if life > 0 {
		entry.until = c.now().Add(life)
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

func (c *cache) delete(key string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if ok {
		c.drop(e)
	}
	return ok
}

func (c *cache) drop(e *list.Element) {
	removed := c.order.Remove(e).(*cached)
	delete(c.entries, removed.key)
	c.size -= removed.cost()
}
