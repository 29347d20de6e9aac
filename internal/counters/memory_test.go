package counters

import (
	"context"
	"fmt"
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
		// Live keys plus as many dead ones at most.
		if n := m.size(); n > 2*perRound+memoryShards {
			t.Fatalf("round %d: %d keys are kept", round, n)
		}
		c.advance(2 * time.Minute)
	}
	// Traffic on known keys, enough for every shard, clears the rest.
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

func TestMemoryKeepsWhatCounts(t *testing.T) {
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
