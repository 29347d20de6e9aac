package posts

import (
	"maps"
	"slices"
	"sync"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// viewsToFlush is the number of counted views from which the counts should be written to the database.
const viewsToFlush = 1000

// Views counts views of threads in memory. All boards on one database share one Views.
type Views struct {
	// Full receives a value when enough views are counted to be written.
	Full chan struct{}

	mu     sync.Mutex      // guards counts and total
	counts map[int64]int64 // by thread
	total  int             // the number of calls of add since the last call of Take; views given back do not count
}

// NewViews returns an empty Views.
func NewViews() *Views { return &Views{Full: make(chan struct{}, 1), counts: make(map[int64]int64)} }

// add counts a view of a thread. When it reaches viewsToFlush, it sends a value to Full without blocking.
func (v *Views) add(thread int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.counts[thread]++
	if v.total++; v.total == viewsToFlush {
		select {
		case v.Full <- struct{}{}:
		default: // Full has a value that nobody has received yet
		}
	}
}

// Take returns the unwritten views by thread, and resets the counts to 0.
func (v *Views) Take() map[int64]int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	counts := v.counts
	v.counts, v.total = make(map[int64]int64), 0
	return counts
}

// GiveBack adds views that Take returned but that could not be written. They do not count towards viewsToFlush, so
// that a database that does not answer is not tried again at once: the next flush comes after the usual interval, or
// after viewsToFlush new views.
func (v *Views) GiveBack(counts map[int64]int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for thread, n := range counts {
		v.counts[thread] += n
	}
}

// CountView counts a view of a thread.
func (s *Service) CountView(thread int64) { s.views.add(thread) }

// WriteViews adds views to the rows of their threads, in the order of the ids, so that two nodes do not deadlock.
func WriteViews(c store.Conn, counts map[int64]int64) error {
	for _, thread := range slices.Sorted(maps.Keys(counts)) {
		if _, err := c.Exec("UPDATE board_threads SET view_count = view_count + ? WHERE id = ?",
			counts[thread], thread); err != nil {
			return err
		}
	}
	return nil
}
