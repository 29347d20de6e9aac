package counters

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// maxHold is the longest time for which a place may be held.
const maxHold = 24 * time.Hour

func checkHold(limit int64, ttl time.Duration) error {
	if limit < 1 || limit > MaxUnits {
		return errors.New("the number of places is out of range")
	}
	if ttl < time.Millisecond || ttl > maxHold {
		return fmt.Errorf("a place is held for 1ms to %s", maxHold)
	}
	return nil
}

// holds are the places taken in the memory of one process. The value is the time at which a place becomes free, by key
// and holder.
type holds struct {
	mu    sync.Mutex
	byKey map[string]map[string]int64 // in microseconds since 1970
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
	if int64(len(places)) >= limit {
		for holder, until := range places {
			if until <= now {
				delete(places, holder)
			}
		}
	}
	if int64(len(places)) >= limit {
		return false, nil
	}
	if places == nil {
		places = make(map[string]int64)
		if m.holds.byKey == nil {
			m.holds.byKey = make(map[string]map[string]int64)
		}
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

var holdScript = rueidis.NewLuaScript(holdLua)

// Hold implements Store.
func (r *Redis) Hold(ctx context.Context, key, holder string, limit int64, ttl time.Duration) (held bool, err error) {
	if err := checkHold(limit, ttl); err != nil {
		return false, fmt.Errorf("holding in the counters: %w", err)
	}
	now := "0"
	if r.clock != nil {
		now = strconv.FormatInt(r.clock()/1000, 10)
	}
	args := []string{now, strconv.FormatInt(ttl.Milliseconds(), 10), strconv.FormatInt(limit, 10), holder}
	err = r.do(ctx, func(ctx context.Context) error {
		answer, err := holdScript.Exec(ctx, r.client, []string{r.places + key}, args).AsInt64()
		held = answer == 1
		return err
	})
	if err != nil {
		return false, fmt.Errorf("holding in the counters: %w", err)
	}
	return held, nil
}

// Release implements Store.
func (r *Redis) Release(ctx context.Context, key, holder string) error {
	err := r.do(ctx, func(ctx context.Context) error {
		return r.client.Do(ctx, r.client.B().Zrem().Key(r.places+key).Member(holder).Build()).Error()
	})
	if err != nil {
		return fmt.Errorf("releasing in the counters: %w", err)
	}
	return nil
}
