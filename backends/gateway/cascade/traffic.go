package cascade

import (
	"sync"
	"time"
)

// Traffic counts the attempts through every key on this node: in the last minute, with a resolution of 5 seconds, and
// in the last day, with a resolution of an hour.
type Traffic struct {
	mu   sync.RWMutex // guards the map; the rings have their own locks, so that keys do not wait for each other
	keys map[scope]*rings
	now  func() time.Time
}

// maxCounted bounds the number of keys that are counted. A key takes about 650 bytes.
const maxCounted = 50_000

// rings are the counts of one key.
type rings struct {
	mu     sync.Mutex
	minute [12]bucket
	day    [24]bucket
}

// bucket counts the attempts in one time slot. Slots that differ by a multiple of the ring's length share a bucket,
// which holds only the count of the latest slot.
type bucket struct{ slot, n int64 }

// newTraffic returns a Traffic without counts. now is its clock.
func newTraffic(now func() time.Time) *Traffic {
	return &Traffic{keys: make(map[scope]*rings), now: now}
}

// add counts an attempt through a key.
func (t *Traffic) add(provider, key string) {
	s := scope{provider: provider, key: key}
	t.mu.RLock()
	r := t.keys[s]
	t.mu.RUnlock()
	if r == nil {
		r = t.countsOf(s)
	}
	now := t.now().Unix()
	r.mu.Lock()
	defer r.mu.Unlock()
	count(r.minute[:], now/5)
	count(r.day[:], now/3600)
}

// countsOf returns the counts of a key, which it creates if necessary.
func (t *Traffic) countsOf(s scope) *rings {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.keys[s]; r != nil {
		return r
	}
	if len(t.keys) >= maxCounted {
		for other := range t.keys { // an arbitrary key: its next attempt starts a new count
			delete(t.keys, other)
			if len(t.keys) < maxCounted*9/10 {
				break
			}
		}
	}
	r := new(rings)
	t.keys[s] = r
	return r
}

// Lookup returns the number of attempts through a key in the last minute and in the last day.
func (t *Traffic) Lookup(provider, key string) (lastMinute, lastDay int64) {
	t.mu.RLock()
	r := t.keys[scope{provider: provider, key: key}]
	t.mu.RUnlock()
	if r == nil {
		return 0, 0
	}
	now := t.now().Unix()
	r.mu.Lock()
	defer r.mu.Unlock()
	return sum(r.minute[:], now/5), sum(r.day[:], now/3600)
}

// count adds one to the bucket of a time slot. If the bucket holds an earlier slot, count starts from zero.
func count(ring []bucket, slot int64) {
	b := &ring[slot%int64(len(ring))]
	if b.slot != slot {
		*b = bucket{slot: slot}
	}
	b.n++
}

// sum returns the sum of the counts of the last len(ring) slots up to slot.
func sum(ring []bucket, slot int64) (n int64) {
	for _, b := range ring {
		if b.slot > slot-int64(len(ring)) {
			n += b.n
		}
	}
	return n
}
