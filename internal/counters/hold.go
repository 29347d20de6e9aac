package counters

import (
	"context"
	_ "embed"
	"fmt"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
)

// maxHold is the longest time for which a place may be held.
const maxHold = 24 * time.Hour

// checkHold returns an error for arguments outside the limits of Store.Hold.
func checkHold(limit int64, ttl time.Duration) error {
	if limit < 1 || limit > MaxUnits {
		return fmt.Errorf("the number of places %d is not within 1..2^53-1", limit)
	}
	if ttl < time.Millisecond || ttl > maxHold {
		return fmt.Errorf("the time %s of a place is not within 1ms..%s", ttl, maxHold)
	}
	return nil
}

// holds are the places taken in the memory of one process.
type holds struct {
	mu    sync.Mutex
	byKey map[string]map[string]int64 // when a place becomes free, in microseconds since 1970, by key and holder
}

// Hold implements Store.
func (m *Memory) Hold(_ context.Context, key, holder string, limit int64, ttl time.Duration) (bool, error) {
	if err := checkHold(limit, ttl); err != nil {
		return false, fmt.Errorf("holding in the counters: %w", err)
	}
	if m.closed.Load() {
		return false, errClosed
	}
	now := m.now().UnixMicro()
	m.holds.mu.Lock()
	defer m.holds.mu.Unlock()
	places := m.holds.byKey[key]
	if int64(len(places)) >= limit { // remove places that have expired
		for holder, expiry := range places {
			if expiry <= now {
				delete(places, holder)
			}
		}
	}
	if int64(len(places)) >= limit {
		return false, nil
	}
	if places == nil {
		places = make(map[string]int64)
		m.holds.byKey[key] = places
	}
	places[holder] = now + ttl.Microseconds()
	return true, nil
}

// Release implements Store.
func (m *Memory) Release(_ context.Context, key, holder string) error {
	m.holds.mu.Lock()
	defer m.holds.mu.Unlock()
	places := m.holds.byKey[key]
	if delete(places, holder); len(places) == 0 {
		delete(m.holds.byKey, key)
	}
	return nil
}

//go:embed hold.lua
var holdLua string

var holdScript = redis.NewScript(1, holdLua)

// Hold implements Store.
func (r *Redis) Hold(ctx context.Context, key, holder string, limit int64, ttl time.Duration) (held bool, err error) {
	if err := checkHold(limit, ttl); err != nil {
		return false, fmt.Errorf("holding in the counters: %w", err)
	}
	now := int64(0)
	if r.clock != nil {
		now = r.clock() / 1000
	}
	err = r.do(ctx, func(ctx context.Context, c redis.Conn) error {
		held, err = redis.Bool(holdScript.DoContext(ctx, c, r.places+key, now, ttl.Milliseconds(), limit, holder))
		return err
	})
	if err != nil {
		return false, fmt.Errorf("holding in the counters: %w", err)
	}
	return held, nil
}

// Release implements Store.
func (r *Redis) Release(ctx context.Context, key, holder string) error {
	err := r.do(ctx, func(ctx context.Context, c redis.Conn) error {
		_, err := redis.DoContext(c, ctx, "ZREM", r.places+key, holder)
		return err
	})
	if err != nil {
		return fmt.Errorf("releasing in the counters: %w", err)
	}
	return nil
}
