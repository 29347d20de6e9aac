package counters

import (
	"context"
	"fmt"
	"hash/maphash"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	memoryShards = 64 // a power of two
	// shrinkAbove is how many keys a shard must have had before its map is reallocated when most of them have expired,
	// because Go's maps never shrink.
	shrinkAbove = 1024
	// MaxMemoryKeys limits the keys of a Memory, and thereby its memory to about 200 MB.
	MaxMemoryKeys = 1 << 20
	// evictAmong is how many keys are candidates for an eviction.
	evictAmong = 8
)

// Memory is a Store in the memory of one process. A key takes about 150 bytes plus its text until two windows after its
// last use. There is no background work: each call checks one or two other keys of its shard and drops them if they
// have expired, so that expired keys never outnumber the others.
//
// It holds at most MaxMemoryKeys keys. Beyond that each new key evicts one of 8 candidates: the candidate that would
// expire first and, among equals, the candidate with the least spending. A mark is evicted only if all candidates are
// marks. So a flood of addresses that each spend a little in a window of a minute does not erase a month's count or a
// spent budget.
type Memory struct {
	now    func() time.Time
	seed   maphash.Seed
	closed atomic.Bool
	shards [memoryShards]shard
	holds  holds
}

// NewMemory returns an empty Memory. A nil now means time.Now.
func NewMemory(now func() time.Time) *Memory {
	if now == nil {
		now = time.Now
	}
	m := &Memory{now: now, seed: maphash.MakeSeed(), holds: holds{byKey: make(map[string]map[string]int64)}}
	for i := range m.shards {
		m.shards[i].entries = make(map[entryKey]*entry)
		m.shards[i].limit = MaxMemoryKeys / memoryShards
	}
	return m
}

// Take implements Store. It never blocks and allocates only for a new key.
func (m *Memory) Take(_ context.Context, key string, cost, limit int64, window time.Duration) (Result, error) {
	if err := checkTake(cost, limit, window); err != nil {
		return Result{}, fmt.Errorf("taking from the counters: %w", err)
	}
	if m.closed.Load() {
		return Result{}, errClosed
	}
	s, allowed := m.spend(key, cost, limit, window, false)
	return s.result(allowed, cost, limit), nil
}

// spend spends cost if the cost fits the limit or if forced is true. It returns the resulting state of the window,
// and reports whether the cost was spent. A cost of 0 only reads the state.
func (m *Memory) spend(key string, cost, limit int64, window time.Duration, forced bool) (s state, allowed bool) {
	now, width := m.now().UnixMicro(), window.Microseconds()
	bucket, rest := bucketAt(now, width)
	s = state{rest: rest, window: width}
	id := entryKey{key, width}
	sh := m.shard(key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	e := sh.entries[id]
	if e != nil {
		s.current, s.previous = e.current, e.previous
		bucket = s.roll(e.bucket, bucket)
	}
	allowed = cost == 0 || forced || s.fits(cost, limit)
	if allowed && cost > 0 {
		if e == nil {
			e = sh.add(id, now)
		}
		s.spend(cost)
		e.set(&s, bucket)
	}
	sh.sweep(now, 1)
	return s, allowed
}

// Charge implements Store.
func (m *Memory) Charge(_ context.Context, key string, cost int64, window time.Duration) error {
	if err := checkCharge(cost, window); err != nil {
		return fmt.Errorf("charging the counters: %w", err)
	}
	if m.closed.Load() {
		return errClosed
	}
	m.spend(key, cost, 0, window, true)
	return nil
}

// SetNX implements Store.
func (m *Memory) SetNX(_ context.Context, key string, ttl time.Duration) (bool, error) {
	if err := checkMark(ttl); err != nil {
		return false, fmt.Errorf("marking in the counters: %w", err)
	}
	if m.closed.Load() {
		return false, errClosed
	}
	now := m.now().UnixMicro()
	id := entryKey{key, markWindow}
	sh := m.shard(key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	e := sh.entries[id]
	if e != nil && e.expires > now {
		return false, nil
	}
	if e == nil {
		e = sh.add(id, now)
	}
	e.expires = now + min(ttl.Microseconds(), math.MaxInt64-max(now, 0))
	return true, nil
}

// Ready implements Store.
func (m *Memory) Ready(context.Context) error {
	if m.closed.Load() {
		return errClosed
	}
	return nil
}

// Close implements Store. It removes every key.
func (m *Memory) Close() error {
	if m.closed.Swap(true) {
		return nil
	}
	for i := range m.shards {
		sh := &m.shards[i]
		sh.mu.Lock()
		sh.entries, sh.ring, sh.hand, sh.peak = make(map[entryKey]*entry), nil, 0, 0
		sh.mu.Unlock()
	}
	return nil
}

// shard returns the shard of a key.
func (m *Memory) shard(key string) *shard {
	return &m.shards[maphash.String(m.seed, key)%memoryShards]
}

// markWindow stands for the window in the entryKey of a mark; no real window is that short.
const markWindow = 0

// entryKey identifies a counter by key and window: the same key with another window is another counter.
type entryKey struct {
	name   string
	window int64 // in microseconds
}

// entry is a counter or a mark. A mark uses only the fields key and expires.
type entry struct {
	key      entryKey
	bucket   int64 // number of the bucket of current
	current  int64 // units spent in that bucket
	previous int64 // units spent in the bucket before
	expires  int64 // in microseconds since 1970
}

// set stores a state whose current bucket is bucket.
func (e *entry) set(s *state, bucket int64) {
	e.bucket, e.current, e.previous = bucket, s.current, s.previous
	e.expires = (bucket + 2) * s.window
}

// leavesBefore reports whether e should be evicted before rival.
func (e *entry) leavesBefore(rival *entry) bool {
	if e.isMark() != rival.isMark() {
		return rival.isMark()
	}
	if e.expires != rival.expires {
		return e.expires < rival.expires
	}
	return e.current+e.previous < rival.current+rival.previous
}

// isMark reports whether e is a mark.
func (e *entry) isMark() bool { return e.key.window == markWindow }

// shard is a part of the keys with its lock.
type shard struct {
	mu      sync.Mutex
	entries map[entryKey]*entry
	ring    []*entry // the entries in a fixed order, so that sweep can visit a few at a time
	hand    int      // index in ring at which sweep continues
	peak    int      // largest number of entries since the map was made
	limit   int      // maximum number of entries
	_       [64]byte // keeps the locks of two shards out of one cache line
}

// add makes the entry for a new key, which the caller fills. It checks two other entries, so that expired keys are
// removed at least as fast as keys are added. The caller holds the lock, as for all methods of shard.
func (sh *shard) add(id entryKey, now int64) *entry {
	sh.sweep(now, 2)
	if len(sh.ring) >= sh.limit {
		sh.evict()
	}
	// A clone is stored because the caller's string may be part of a much larger one.
	id.name = strings.Clone(id.name)
	e := &entry{key: id, expires: math.MaxInt64}
	sh.entries[id] = e
	sh.ring = append(sh.ring, e)
	sh.peak = max(sh.peak, len(sh.ring))
	return e
}

// sweep moves sh.hand, a position in the ring, over n entries and drops the expired ones. now is in microseconds
// since 1970.
func (sh *shard) sweep(now int64, n int) {
	for ; n > 0 && len(sh.ring) > 0; n-- {
		if sh.hand >= len(sh.ring) {
			sh.hand = 0
		}
		if sh.ring[sh.hand].expires > now {
			sh.hand++
			continue
		}
		sh.drop(sh.hand)
	}
	if sh.peak > shrinkAbove && len(sh.ring) < sh.peak/8 {
		sh.shrink()
	}
}

// evict removes one entry. It considers entries from all over the ring, because neighbours were added at the same time
// and may all be worth keeping.
func (sh *shard) evict() {
	n := len(sh.ring)
	victim := sh.hand % n
	for i := range evictAmong {
		candidate := (sh.hand + i*n/evictAmong) % n
		if sh.ring[candidate].leavesBefore(sh.ring[victim]) {
			victim = candidate
		}
	}
	sh.drop(victim)
	sh.hand++ // the next eviction has other candidates
}

// drop removes the entry at an index of the ring, and moves the last entry there.
func (sh *shard) drop(index int) {
	last := len(sh.ring) - 1
	delete(sh.entries, sh.ring[index].key)
	sh.ring[index], sh.ring[last] = sh.ring[last], nil
	sh.ring = sh.ring[:last]
}

// shrink copies the remaining entries to a new, smaller map.
func (sh *shard) shrink() {
	entries := make(map[entryKey]*entry, len(sh.ring))
	for _, e := range sh.ring {
		entries[e.key] = e
	}
	sh.entries = entries
	sh.ring = append([]*entry(nil), sh.ring...)
	sh.peak = len(sh.ring)
}

var errClosed = fmt.Errorf("%w: closed", ErrUnavailable)

var _ Store = (*Memory)(nil)
