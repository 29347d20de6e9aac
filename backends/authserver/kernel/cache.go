package kernel

import (
	"context"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/cache"
)

// CacheAge is how long rows that others may change are remembered: what another node
// revokes holds here after five seconds at the latest.
const CacheAge = cache.Age

// Cache remembers rows by their key for a short time.
type Cache[V any] = cache.Cache[V]

// NewCache makes a cache of at most so many values of what load finds, for CacheAge.
func NewCache[V any](most int, now func() time.Time, load func(ctx context.Context, key string) (V, error)) *Cache[V] {
	return cache.New(most, now, load)
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
	err := s.Write(ctx, func(c Conn) error {
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

// Closing has end called by Close.
func (s *Server) Closing(end func()) {
	s.watching.Lock()
	defer s.watching.Unlock()
	s.stops = append(s.stops, end)
}

// Close ends what Watch began, and calls what Closing was given.
func (s *Server) Close() {
	s.watching.Lock()
	stops := s.stops
	s.stops, s.watches = nil, nil
	s.watching.Unlock()
	for _, stop := range stops {
		stop()
	}
}
