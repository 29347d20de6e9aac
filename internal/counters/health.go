package counters

import (
	"sync/atomic"
	"time"

	"go.uber.org/zap"
)

// probeEvery is the pause between attempts while the server is down.
const probeEvery = 200 * time.Millisecond

// health keeps callers from queueing up for a server that does not answer, and logs when the server is lost and back.
type health struct {
	logger *zap.Logger
	down   atomic.Bool
	next   atomic.Int64 // Unix nanoseconds of the next attempt while the server is down
}

// admit reports whether an operation may call the server: always while the server is up, and once every probeEvery
// while it is down.
func (h *health) admit(now time.Time) bool {
	if !h.down.Load() {
		return true
	}
	next, t := h.next.Load(), now.UnixNano()
	// A clock that was set back must not block attempts until it has caught up.
	if t < next && next-t <= int64(probeEvery) {
		return false
	}
	return h.next.CompareAndSwap(next, t+int64(probeEvery))
}

// up records that the server served an operation.
func (h *health) up() {
	if h.down.Load() && h.down.CompareAndSwap(true, false) {
		h.logger.Info("counters are reachable again")
	}
}

// failed records that an operation failed. A single failure, such as a connection broken by a restart, causes no pause:
// the next operation is tried at once.
func (h *health) failed(err error, now time.Time) {
	isReply := isReply(err)
	if isReply && !isStateReply(err) {
		return // the server works
	}
	if h.down.CompareAndSwap(false, true) {
		h.next.Store(now.UnixNano())
		h.logger.Warn("counters are unreachable", zap.Error(err))
		return
	}
	if !isReply { // the failed attempt may have taken longer than the pause, so the pause begins only now
		h.next.Store(now.UnixNano() + int64(probeEvery))
	}
}
