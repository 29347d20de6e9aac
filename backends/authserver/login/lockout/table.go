package lockout

import "time"

// hash identifies an identity at an address, or an address.
type hash [16]byte

// table holds the entries of identities, or those of addresses. Before its first use, clear must be called.
type table struct {
	indexes map[hash]uint32 // indexes of entries
	entries []entry         // the first two are the list heads
	free    uint32          // the first entry of the list of unused entries, linked by next; 0 if there is none
}

// entry is a tracked identity or address. Each entry is in one list. All entries of a list last equally long, so that a
// list is ordered by the end of its entries.
type entry struct {
	key  hash
	ends time.Duration // of the window or of the lock, since the lockout began
	// window is set if this identity was counted among the identities that failed from its address. It is the end that the
	// window of the address had at that time. Otherwise it is 0.
	window     time.Duration
	prev, next uint32 // the neighbours in the list
	failures   uint32 // for an address: the number of different identities that failed
	locked     bool
}

// The lists. A list is denoted by the index of its head, which is an empty entry between the last entry and the first.
const (
	counted uint32 = iota
	locked
	lists
)

// clear empties the table and releases its memory.
func (t *table) clear() {
	t.indexes = make(map[hash]uint32)
	t.entries = []entry{counted: {prev: counted, next: counted}, locked: {prev: locked, next: locked}}
	t.free = 0
}

// locked returns the time for which the entry of a hash is still locked, or zero.
func (t *table) locked(h hash, now time.Duration) time.Duration {
	if index, ok := t.indexes[h]; ok && t.entries[index].locked {
		return max(0, t.entries[index].ends-now)
	}
	return 0
}

// sweep removes the entries that have ended and returns their number.
func (t *table) sweep(now time.Duration) (ended int) {
	for list := range lists {
		for t.expire(list, now) {
			ended++
		}
	}
	if len(t.indexes) == 0 {
		t.clear()
	}
	return ended
}

// expire removes the first entry of a list if the window or lock of that entry has ended. It reports whether it has
// removed the entry.
func (t *table) expire(list uint32, now time.Duration) bool {
	first := t.entries[list].next
	if first == list || t.entries[first].ends > now {
		return false
	}
	t.drop(first)
	return true
}

// add adds an entry whose window ends at the given time, and returns its index.
func (t *table) add(h hash, ends time.Duration) (index uint32) {
	if index = t.free; index != 0 {
		t.free = t.entries[index].next
	} else {
		index = uint32(len(t.entries)) //nolint:gosec // bounded
		t.entries = append(t.entries, entry{})
	}
	t.entries[index] = entry{key: h, ends: ends}
	t.link(index, counted)
	t.indexes[h] = index
	return index
}

// drop removes an entry.
func (t *table) drop(index uint32) {
	t.unlink(index)
	delete(t.indexes, t.entries[index].key)
	t.entries[index] = entry{next: t.free}
	t.free = index
}

// link appends an entry to the end of a list.
func (t *table) link(index, list uint32) {
	last := t.entries[list].prev
	t.entries[index].prev, t.entries[index].next = last, list
	t.entries[last].next, t.entries[list].prev = index, index
}

// unlink removes an entry from its list.
func (t *table) unlink(index uint32) {
	prev, next := t.entries[index].prev, t.entries[index].next
	t.entries[prev].next, t.entries[next].prev = next, prev
}
