package counters

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestHold(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s Store, c *clock) {
		const ttl = time.Minute
		hold := func(holder string, want bool) {
			t.Helper()
			if held, err := s.Hold(t.Context(), "key", holder, 2, ttl); err != nil || held != want {
				t.Errorf("%s holds a place: %t, error %v", holder, held, err)
			}
		}
		release := func(holder string) {
			t.Helper()
			if err := s.Release(t.Context(), "key", holder); err != nil {
				t.Error(err)
			}
		}
		hold("a", true)
		c.advance(ttl / 2)
		hold("b", true)
		hold("c", false)
		release("c") // c holds no place
		hold("c", false)
		if held, err := s.Hold(t.Context(), "other key", "c", 1, ttl); err != nil || !held {
			t.Errorf("a place of another key: %t, error %v", held, err)
		}
		release("a")
		c.advance(ttl / 4)
		hold("c", true)
		hold("d", false)
		c.advance(3 * ttl / 4) // the place of b has expired, that of c has not
		hold("d", true)
		hold("e", false)
		c.advance(2 * ttl)
		hold("e", true)
		hold("f", true)
		for _, bad := range []struct {
			limit int64
			ttl   time.Duration
		}{{0, ttl}, {MaxUnits + 1, ttl}, {1, 0}, {1, maxHold + time.Hour}} {
			if _, err := s.Hold(t.Context(), "key", "x", bad.limit, bad.ttl); err == nil {
				t.Errorf("%+v passes", bad)
			}
		}
	})
}

// TestHoldAtOnce checks that concurrent callers hold no more places than there are.
func TestHoldAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s Store, _ *clock) {
		const limit, many = 5, 100
		var held atomic.Int64
		var all sync.WaitGroup
		for i := range many {
			all.Go(func() {
				ok, err := s.Hold(t.Context(), "key", fmt.Sprint(i), limit, time.Minute)
				if err != nil {
					t.Error(err)
				}
				if ok {
					held.Add(1)
				}
			})
		}
		all.Wait()
		if held.Load() != limit {
			t.Errorf("%d of %d hold one of %d places", held.Load(), many, limit)
		}
	})
}

// TestHoldsAreForgotten checks that a Memory keeps no keys of places that were given back.
func TestHoldsAreForgotten(t *testing.T) {
	t.Parallel()
	m := NewMemory(nil)
	for i := range 100 {
		key := fmt.Sprint("key", i)
		if _, err := m.Hold(t.Context(), key, "a", 1, time.Minute); err != nil {
			t.Fatal(err)
		}
		if err := m.Release(t.Context(), key, "a"); err != nil {
			t.Fatal(err)
		}
	}
	if len(m.holds.byKey) != 0 {
		t.Errorf("%d keys are kept", len(m.holds.byKey))
	}
}
