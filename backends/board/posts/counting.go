package posts

import (
	"maps"
	"slices"
	"sync"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// viewsToFlush is how many views are counted in memory before they are due to be written.
const viewsToFlush = 1000

// Views counts views of threads in memory. All boards on one database share one.
type Views struct {
	mu    sync.Mutex
	by    map[int64]int64
	total int
	ready chan struct{}
}

// NewViews returns a Views that has counted nothing.
func NewViews() *Views { return new(Views) }

func (v *Views) add(thread int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.by == nil {
		v.by = make(map[int64]int64)
	}
	v.by[thread]++
	if v.total++; v.total == viewsToFlush {
		select {
		case v.signal() <- struct{}{}:
		default:
		}
	}
}

// signal returns the channel of full. The caller holds mu.
func (v *Views) signal() chan struct{} {
	if v.ready == nil {
		v.ready = make(chan struct{}, 1)
	}
	return v.ready
}

// full returns a channel that receives a value when enough views are counted to be written.
func (v *Views) full() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.signal()
}

func (v *Views) take() map[int64]int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	by := v.by
	v.by, v.total = nil, 0
	return by
}

func (v *Views) giveBack(by map[int64]int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.by == nil {
		v.by = make(map[int64]int64)
	}
	for thread, n := range by {
		v.by[thread] += n
	}
}

// CountView counts that a thread was read.
func (s *Service) CountView(thread int64) { s.views.add(thread) }

// ViewsFull returns a channel that receives a value when enough views are counted to be written.
func (s *Service) ViewsFull() <-chan struct{} { return s.views.full() }

// TakeViews returns the views that are not written yet, by thread, and starts to count from 0 again.
func (s *Service) TakeViews() map[int64]int64 { return s.views.take() }

// ReturnViews adds back views from TakeViews that could not be written.
func (s *Service) ReturnViews(by map[int64]int64) { s.views.giveBack(by) }

// WriteViews adds views to their threads, in the order of the ids, so that two nodes do not deadlock.
func WriteViews(c store.Conn, by map[int64]int64) error {
	for _, thread := range slices.Sorted(maps.Keys(by)) {
		if _, err := c.Exec("UPDATE board_threads SET view_count = view_count + ? WHERE id = ?",
			by[thread], thread); err != nil {
			return err
		}
	}
	return nil
}
