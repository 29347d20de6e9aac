package script

import (
	"container/list"
	"sync"
	"time"
)

// maxCache is how much the cache of a site holds, names and values.
const maxCache = 64 << 20

// entryCost is what an entry takes beside its name and value.
const entryCost = 200

// cache holds values of JSON for a time, for all calls. What was used longest ago gives
// place.
type cache struct {
	most int
	now  func() time.Time

	mu      sync.Mutex
	size    int
	entries map[string]*list.Element
	order   list.List // of *cached, the newest in front
}

type cached struct {
	key, value string
	until      time.Time // zero: as long as there is place
}

func (c *cached) cost() int { return len(c.key) + len(c.value) + entryCost }

func newCache(most int, now func() time.Time) *cache {
	return &cache{most: most, now: now, entries: make(map[string]*list.Element)}
}

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

// set keeps a value; false: it is larger than all of the cache.
func (c *cache) set(key, value string, life time.Duration) bool {
	made := &cached{key: key, value: value}
	if life > 0 {
		made.until = c.now().Add(life)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[key]; ok {
		c.drop(e)
	}
	if made.cost() > c.most {
		return false
	}
	for c.size+made.cost() > c.most {
		c.drop(c.order.Back())
	}
	c.size += made.cost()
	c.entries[key] = c.order.PushFront(made)
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
	gone := c.order.Remove(e).(*cached)
	delete(c.entries, gone.key)
	c.size -= gone.cost()
}
