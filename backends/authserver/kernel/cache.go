package kernel

import (
	"context"
	"sync"
	"time"
)

// CacheAge is how long rows that others may change are remembered: what another node
// revokes holds here after five seconds at the latest.
const CacheAge = 4 * time.Second

// Cache remembers rows by their key for a short time. The zero Cache is not good, see
// NewCache.
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

// NewCache makes a cache of at most so many values of what load finds, for CacheAge.
// Errors are not remembered.
func NewCache[V any](most int, now func() time.Time, load func(ctx context.Context, key string) (V, error)) *Cache[V] {
	return &Cache[V]{load: load, now: now, most: most, entries: make(map[string]cached[V])}
}

// Get is the value of a key, as it was at most CacheAge ago.
func (c *Cache[V]) Get(ctx context.Context, key string) (V, error) {
	now := c.now()
	c.mu.RLock()
	found, ok := c.entries[key]
	drops := c.drops
	c.mu.RUnlock()
	if ok && now.Before(found.until) && found.until.Sub(now) <= CacheAge { // else the clock was set back
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
		c.entries[key] = cached[V]{value, now.Add(CacheAge)}
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

// Watch has heard told of what a Change of a topic names, by this node and by others;
// empty: anything may have changed. It ends with Close.
func (s *Server) Watch(topic string, heard func(key string)) {
	stop := s.DB.Listen("authserver_"+topic, heard)
	s.watching.Lock()
	defer s.watching.Unlock()
	if s.watches == nil {
		s.watches = make(map[string][]func(string))
	}
	s.watches[topic] = append(s.watches[topic], heard)
	s.stops = append(s.stops, stop)
}

// Change is a Write of what others remember under a key of a topic, who are told.
func (s *Server) Change(ctx context.Context, topic, key string, fn func(c Conn) error) error {
	err := s.DB.Write(ctx, func(c Conn) error {
		if err := fn(c); err != nil {
			return err
		}
		return c.Notify("authserver_"+topic, key)
	})
	s.Tell(topic, key) // also after an error: the outcome of a commit may be unknown
	return err
}

// Tell tells those of this node who Watch a topic.
func (s *Server) Tell(topic, key string) {
	s.watching.Lock()
	heard := s.watches[topic]
	s.watching.Unlock()
	for _, told := range heard {
		told(key)
	}
}

// Close ends what Watch began.
func (s *Server) Close() {
	s.watching.Lock()
	stops := s.stops
	s.stops, s.watches = nil, nil
	s.watching.Unlock()
	for _, stop := range stops {
		stop()
	}
}
