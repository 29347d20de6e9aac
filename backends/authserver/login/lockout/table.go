package lockout

import "time"

// hash stands for what is tracked.
type hash [16]byte

// table is what is known of all that is tracked of one kind. Its zero value is to be
// cleared before its first use.
type table struct {
	places  map[hash]uint32 // in entries
	entries []entry         // the first two are the ends of the lists
	free    uint32          // the first of the entries that are not used, by next; 0: none
}

// entry is what is known of one. The entries of each list are in the order in which they
// end, since all of a list last equally long.
type entry struct {
	of         hash
	ends       time.Duration // of the window, or of the lock; since the lockout began
	window     time.Duration // of an identity: the end of the window of its address in which it counts there; 0: none
	prev, next uint32
	failures   uint32
	locked     bool
}

// The lists, by the entry that is before its first and behind its last.
const (
	counted uint32 = iota
	locked
	lists
)

// clear gives the memory back, too.
func (t *table) clear() {
	t.places = make(map[hash]uint32)
	t.entries = []entry{counted: {prev: counted, next: counted}, locked: {prev: locked, next: locked}}
	t.free = 0
}

// locked is how long one is locked yet; 0: it is not.
func (t *table) locked(h hash, now time.Duration) time.Duration {
	if at, ok := t.places[h]; ok && t.entries[at].locked {
		return max(0, t.entries[at].ends-now)
	}
	return 0
}

// sweep forgets what has ended, and returns how many it was.
func (t *table) sweep(now time.Duration) (ended int) {
	for list := range lists {
		for t.expire(list, now) {
			ended++
		}
	}
	if len(t.places) == 0 {
		t.clear()
	}
	return ended
}

// expire drops the first of a list if it has ended.
func (t *table) expire(list uint32, now time.Duration) bool {
	first := t.entries[list].next
	if first == list || t.entries[first].ends > now {
		return false
	}
	t.drop(first)
	return true
}

// add makes an entry whose window ends at a time.
func (t *table) add(h hash, ends time.Duration) (at uint32) {
	if at = t.free; at != 0 {
		t.free = t.entries[at].next
	} else {
		at = uint32(len(t.entries)) //nolint:gosec // bounded
		t.entries = append(t.entries, entry{})
	}
	t.entries[at] = entry{of: h, ends: ends}
	t.link(at, counted)
	t.places[h] = at
	return at
}

// drop forgets an entry.
func (t *table) drop(at uint32) {
	t.unlink(at)
	delete(t.places, t.entries[at].of)
	t.entries[at] = entry{next: t.free}
	t.free = at
}

// link puts an entry behind the last of a list.
func (t *table) link(at, list uint32) {
	last := t.entries[list].prev
	t.entries[at].prev, t.entries[at].next = last, list
	t.entries[last].next, t.entries[list].prev = at, at
}

func (t *table) unlink(at uint32) {
	prev, next := t.entries[at].prev, t.entries[at].next
	t.entries[prev].next, t.entries[next].prev = next, prev
}
