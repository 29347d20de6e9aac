package kernel

import (
	"context"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/cache"
)

// CacheAge is how long a row that another node may change is cached: a revocation on another node takes effect here
// within five seconds.
const CacheAge = cache.Age

// Cache caches rows by key for a short time.
type Cache[V any] = cache.Cache[V]

// NewCache returns a cache of at most limit values. It calls load for a key that is not cached, and keeps each value
// for CacheAge.
func NewCache[V any](limit int, now func() time.Time, load func(ctx context.Context, key string) (V, error)) *Cache[V] {
	return cache.New(limit, now, load)
}

// Watch calls onChange with the key of every Change of a topic, on this node or another, until Close. An empty key
// means that any row of the topic may have changed.
func (s *Server) Watch(topic string, onChange func(key string)) {
	stop := s.DB.Listen("authserver_"+topic, onChange)
	s.watching.Lock()
	defer s.watching.Unlock()
	if s.watches == nil {
		s.watches = make(map[string][]func(string))
	}
	s.watches[topic] = append(s.watches[topic], onChange)
	s.stops = append(s.stops, stop)
}

// Change runs fn in a transaction like Write, and notifies the watchers of the topic on all nodes that the row with
// this key has changed. See Watch.
func (s *Server) Change(ctx context.Context, topic, key string, fn func(c Conn) error) error {
	err := s.Write(ctx, func(c Conn) error {
		if err := fn(c); err != nil {
			return err
		}
		return c.Notify("authserver_"+topic, key)
	})
	s.Tell(topic, key) // also after an error: the outcome of a commit may be unknown
	return err
}

// Tell calls the watchers of a topic on this node with a key.
func (s *Server) Tell(topic, key string) {
	s.watching.Lock()
	callbacks := s.watches[topic]
	s.watching.Unlock()
	for _, f := range callbacks {
		f(key)
	}
}

// Closing registers a function for Close to call.
func (s *Server) Closing(onClose func()) {
	s.watching.Lock()
	defer s.watching.Unlock()
	s.stops = append(s.stops, onClose)
}

// Close stops all watches and calls the functions registered with Closing.
func (s *Server) Close() {
	s.watching.Lock()
	stops := s.stops
	s.stops, s.watches = nil, nil
	s.watching.Unlock()
	for _, stop := range stops {
		stop()
	}
}
