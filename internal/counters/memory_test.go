package counters

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func (m *Memory) size() (n int) {
	for i := range m.shards {
		sh := &m.shards[i]
		sh.mu.Lock()
		if len(sh.entries) != len(sh.ring) {
			panic("map and ring differ")
		}
		n += len(sh.ring)
		sh.mu.Unlock()
	}
	return n
}

func TestMemoryForgets(t *testing.T) {
	t.Parallel()
	c := newClock()
	m := NewMemory(c.now)
	const perRound, rounds = 20_000, 6
	for round := range rounds {
		for i := range perRound {
			if _, err := m.Take(context.Background(), fmt.Sprint(round, ":", i), 1, 10, time.Minute); err != nil {
				t.Fatal(err)
			}
		}
		// At most the live keys plus as many dead keys.
		if n := m.size(); n > 2*perRound+memoryShards {
			t.Fatalf("round %d: %d keys are kept", round, n)
		}
		c.advance(2 * time.Minute)
	}
	// Traffic on known keys, enough for every shard, removes the other keys.
	const known = 1000
	for range 100 {
		for k := range known {
			_, _ = m.Take(context.Background(), fmt.Sprint("known", k), 1, 1<<40, time.Hour)
		}
	}
	if n := m.size(); n != known {
		t.Errorf("%d keys are left, want %d", n, known)
	}
	for i := range m.shards {
		if sh := &m.shards[i]; sh.peak > shrinkAbove {
			t.Errorf("shard %d keeps a table for %d keys", i, sh.peak)
		}
	}
}

func TestMemoryEvictsLeastSpent(t *testing.T) {
	t.Parallel()
	c := newClock()
	m := NewMemory(c.now)
	c.toBucket(time.Minute)
	for i := range 1000 {
		_, _ = m.Take(context.Background(), fmt.Sprint(i), 10, 10, time.Minute)
	}
	c.advance(2*time.Minute - 6*time.Second - time.Microsecond)
	for i := range 1000 {
		if res, _ := m.Take(context.Background(), fmt.Sprint(i), 10, 10, time.Minute); res.Allowed {
			t.Fatalf("key %d was forgotten early", i)
		}
	}
}

// withMost returns a Memory that holds at most perShard keys in each shard.
func withMost(now func() time.Time, perShard int) *Memory {
	m := NewMemory(now)
	for i := range m.shards {
		m.shards[i].limit = perShard
	}
	return m
}

// TestMemoryBound checks that a flood of keys takes bounded memory. The Memory forgets only keys of the flood: it keeps
// the costs in longer windows, budgets that are used up, and marks.
func TestMemoryBound(t *testing.T) {
	t.Parallel()
	c := newClock()
	const perShard = 64
	m := withMost(c.now, perShard)
	ctx := context.Background()
	const count = 200 // a few in each shard
	for i := range count {
		_, _ = m.Take(ctx, fmt.Sprint("month", i), 1, 1, 31*24*time.Hour)
		_, _ = m.Take(ctx, fmt.Sprint("spent", i), 10, 10, time.Minute)
		_, _ = m.SetNX(ctx, fmt.Sprint("mark", i), time.Second)
	}
	for i := range 100_000 {
		if res, err := m.Take(ctx, fmt.Sprint("flood", i), 1, 10, time.Minute); err != nil || !res.Allowed || res.Remaining != 9 {
			t.Fatalf("key %d: %+v, %v", i, res, err)
		}
		_ = m.Charge(ctx, fmt.Sprint("charged", i), 1, time.Minute)
	}
	if n := m.size(); n != perShard*memoryShards {
		t.Errorf("%d keys are kept, want %d", n, perShard*memoryShards)
	}
	for i := range count {
		if res, _ := m.Take(ctx, fmt.Sprint("month", i), 1, 1, 31*24*time.Hour); res.Allowed {
			t.Errorf("month %d is forgotten", i)
		}
		if res, _ := m.Take(ctx, fmt.Sprint("spent", i), 10, 10, time.Minute); res.Allowed {
			t.Errorf("spent %d is forgotten", i)
		}
		if fresh, _ := m.SetNX(ctx, fmt.Sprint("mark", i), time.Second); fresh {
			t.Errorf("mark %d is forgotten", i)
		}
	}
	for i := range 10_000 { // only marks, so that the oldest ones make room
		if fresh, err := m.SetNX(ctx, fmt.Sprint("marks", i), time.Minute); !fresh || err != nil {
			t.Fatal(i, fresh, err)
		}
	}
	if n := m.size(); n != perShard*memoryShards {
		t.Errorf("%d keys are kept, want %d", n, perShard*memoryShards)
	}
}

// TestMemoryBoundConcurrent checks that a key that stays admits exactly its limit while others come and go.
func TestMemoryBoundConcurrent(t *testing.T) {
	t.Parallel()
	m := withMost(newClock().now, 16)
	const limit = 1000
	var (
		admitted atomic.Int64
		wg       sync.WaitGroup
	)
	for worker := range 8 {
		wg.Go(func() {
			for i := range 4 * limit / 8 {
				if res, _ := m.Take(context.Background(), "live", 1, limit, time.Hour); res.Allowed {
					admitted.Add(1)
				}
				for j := range 10 {
					_, _ = m.Take(context.Background(), fmt.Sprint(worker, i, j), 1, limit, time.Minute)
				}
			}
		})
	}
	wg.Wait()
	if n := admitted.Load(); n != limit {
		t.Errorf("%d were admitted, want %d", n, limit)
	}
}

func TestMemoryDoesNotAllocate(t *testing.T) {
	m := NewMemory(nil)
	ctx := context.Background()
	take := func() { _, _ = m.Take(ctx, "key", 1, 1<<40, time.Minute) }
	take()
	if n := testing.AllocsPerRun(1000, take); n != 0 {
		t.Errorf("%v allocations in a take of a known key", n)
	}
}

func BenchmarkMemoryTake(b *testing.B) {
	ctx := context.Background()
	keys := make([]string, 10_000)
	for i := range keys {
		keys[i] = fmt.Sprintf("budget:default:1m0s:user-%d", i)
	}
	fill := func() *Memory {
		m := NewMemory(nil)
		for _, k := range keys {
			_, _ = m.Take(ctx, k, 1, 1<<40, time.Hour)
		}
		return m
	}
	b.Run("serial", func(b *testing.B) {
		m := fill()
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			_, _ = m.Take(ctx, keys[i%len(keys)], 1, 1<<40, time.Hour)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		m := fill()
		var start atomic.Int64
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for i := int(start.Add(7919)); pb.Next(); i++ {
				_, _ = m.Take(ctx, keys[i%len(keys)], 1, 1<<40, time.Hour)
			}
		})
	})
	b.Run("one key", func(b *testing.B) {
		m := fill()
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				_, _ = m.Take(ctx, keys[0], 1, 1<<40, time.Hour)
			}
		})
	})
	b.Run("new keys", func(b *testing.B) {
		m := fill()
		name := make([]byte, 0, 32)
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			name = fmt.Appendf(name[:0], "key%d", i)
			_, _ = m.Take(ctx, string(name), 1, 10, time.Second)
		}
	})
}
