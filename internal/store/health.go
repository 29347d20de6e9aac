package store

import (
	"strings"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"
)

// health knows whether the database can be used, and logs when that changes.
type health struct {
	logger *zap.Logger
	state  atomic.Pointer[state]

	mu     sync.Mutex // held by those who change the state
	logged string     // the step that failed as logged last, empty after "database is back"
}

// state is one answer; it is replaced, never changed.
type state struct {
	err    error         // nil: usable
	change chan struct{} // closed when another state has replaced this one
}

func newHealth(logger *zap.Logger) *health {
	h := &health{logger: logger}
	h.state.Store(&state{err: ErrOpening, change: make(chan struct{})})
	return h
}

func (h *health) ready() error { return h.state.Load().err }

func (h *health) replace(err error) {
	old := h.state.Swap(&state{err: err, change: make(chan struct{})})
	close(old.change)
}

// up marks the database usable.
func (h *health) up() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ready() == nil {
		return
	}
	h.replace(nil)
	if h.logged != "" {
		h.logged = ""
		h.logger.Info("database is back")
	}
}

// down marks the database unusable. It logs once, and again only when another
// step fails than before (the server is back, but a migration is broken), not
// at every attempt. The step is what stands before the first colon; the rest
// may hold an address that changes.
func (h *health) down(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if step, _, _ := strings.Cut(err.Error(), ":"); step != h.logged {
		h.logged = step
		h.logger.Error("database unavailable", zap.Error(err))
	}
	h.replace(unavailable(err))
}

// close marks the database closed for good.
func (h *health) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.replace(errClosed)
}
