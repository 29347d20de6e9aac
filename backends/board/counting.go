package board

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// viewsToFlush is how many views are counted in memory before they are written.
const viewsToFlush = 1000

// viewCounter counts views of threads.
type viewCounter struct {
	mu    sync.Mutex
	by    map[int64]int64
	total int
	ready chan struct{}
}

func (v *viewCounter) add(thread int64) {
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

func (v *viewCounter) signal() chan struct{} {
	if v.ready == nil {
		v.ready = make(chan struct{}, 1)
	}
	return v.ready
}

// full tells when there is much to write.
func (v *viewCounter) full() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.signal()
}

func (v *viewCounter) take() map[int64]int64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	by := v.by
	v.by, v.total = nil, 0
	return by
}

func (v *viewCounter) giveBack(by map[int64]int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.by == nil {
		v.by = make(map[int64]int64)
	}
	for thread, n := range by {
		v.by[thread] += n
	}
}

// Flush writes the views and the uses of tokens that were counted in memory.
func (s *Service) Flush(ctx context.Context) error {
	views, uses, looks := s.views.take(), s.tokens.taken(), s.looks.Take()
	if len(views)+len(uses)+len(looks) == 0 {
		return nil
	}
	err := s.Write(ctx, func(c store.Conn) error {
		// In order, so that two nodes do not lock each other out.
		for _, thread := range slices.Sorted(maps.Keys(views)) {
			if _, err := c.Exec("UPDATE board_threads SET view_count = view_count + ? WHERE id = ?", views[thread], thread); err != nil {
				return err
			}
		}
		for _, token := range slices.Sorted(maps.Keys(uses)) {
			if _, err := c.Exec("UPDATE board_api_tokens SET last_used_at = ? WHERE id = ?", uses[token], token); err != nil {
				return err
			}
		}
		return rights.WriteLooks(c, looks)
	})
	if err != nil {
		s.views.giveBack(views)
		s.looks.GiveBack(looks)
	}
	return err
}
