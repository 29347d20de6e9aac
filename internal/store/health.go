package store

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// health records whether the database can be used, and logs when that changes.
type health struct {
	logger *zap.Logger
	state  atomic.Pointer[state]

	failing atomic.Pointer[error] // error since which writes fail; nil while writes work

	mu            sync.Mutex // guards the fields below; held while the state changes and the change is logged
	logged        string     // the failed step that was logged last; empty once "database is back" was logged
	failureLogged time.Time  // when a failing write was logged last
	announced     bool       // a write failure was logged, but not its end
}

// failureLogInterval is the minimum interval between two log lines about failing writes. On a nearly full disk, small
// writes succeed in between.
const failureLogInterval = time.Minute

// state is an immutable snapshot; it is replaced as a whole.
type state struct {
	err    error         // nil if the database can be used
	change chan struct{} // closed when another state has replaced this one
}

// newHealth returns the health of a database that is not open yet.
func newHealth(logger *zap.Logger) *health {
	h := &health{logger: logger}
	h.state.Store(&state{err: ErrOpening, change: make(chan struct{})})
	return h
}

// ready returns nil if the database can be used, and otherwise the reason why it cannot.
func (h *health) ready() error { return h.state.Load().err }

// replace sets a new state and wakes everyone waiting for a change. The caller holds the lock.
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

// down marks the database unusable. It logs the first failure, and a later one only if a different step fails, such as
// a migration after the server is back. The step is the text of the error before the first colon; the rest may contain
// an address that changes.
func (h *health) down(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.replace(unavailable(err)) // before the log line, so that its readers find the health changed
	if step, _, _ := strings.Cut(err.Error(), ":"); step != h.logged {
		h.logged = step
		h.logger.Error("database unavailable", zap.Error(err))
	}
}

// writeError returns nil while writes work, and otherwise the error of a failed write.
func (h *health) writeError() error {
	if err := h.failing.Load(); err != nil {
		return *err
	}
	return nil
}

// unwritable records that writes fail with err, until the next call of written. It logs at most one failure per minute.
func (h *health) unwritable(err error) {
	failure := unavailable(err)
	if h.failing.Swap(&failure) != nil {
		return // writes failed before
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if now := time.Now(); now.Sub(h.failureLogged) >= failureLogInterval {
		h.failureLogged, h.announced = now, true
		h.logger.Error("database cannot be written", zap.Error(err))
	}
}

// written records that a write succeeded.
func (h *health) written() {
	if h.failing.Load() == nil || h.failing.Swap(nil) == nil { // Load is cheap, and nearly always nil
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.announced {
		h.announced = false
		h.logger.Info("database can be written again")
	}
}

// close marks the database closed for good.
func (h *health) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.replace(errClosed)
}
