package script

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
)

// runner runs calls, one at a time.
type runner interface {
	// run sends a request of package wire and returns the payload of the Result, which is valid until the next call of
	// run. kind is the kind of the request, and appendPayload appends its payload to a buffer. After an error the runner
	// must not be used again.
	run(h *host, kind byte, appendPayload func([]byte) []byte) ([]byte, error)
	close()
}

const (
	// slowAfter is the duration after which a call counts as slow.
	slowAfter = time.Second
	// slowFor is how long a method counts as slow after such a call.
	slowFor = 10 * time.Second
	// idleFor is how long an unused runner is kept. One unused runner is always kept.
	idleFor = time.Minute
)

// pool manages the runners of an engine. It starts runners on demand, up to a limit. It also starts one in advance, and
// replaces runners whose process has ended.
//
// Two rules keep a method from blocking the others. The calls of one method may use at most half of the runners. The
// slow calls of all methods together may also use at most half of them; calls of a method count as slow until one call
// has been quick. The first call of a method may use another quarter of the runners.
type pool struct {
	limit int           // maximum number of runners
	wait  time.Duration // how long a call waits for a runner
	start func() (runner, error)

	mu       sync.Mutex
	idle     []idleRunner // most recently used last
	running  map[*runningCall]struct{}
	waiting  []*waiter   // in the order in which the calls arrived
	starting int         // number of runners that are being started
	trimmer  *time.Timer // calls trim; nil if there are no surplus idle runners
	closed   bool
}

// idleRunner is a runner that runs no call.
type idleRunner struct {
	runner runner
	since  time.Time
}

// methodStats holds the statistics of one method's calls, by which the pool limits them. The lock of the pool guards
// it.
type methodStats struct {
	running      int       // calls that have a runner
	hadQuickCall bool      // a call has ended within slowAfter
	slowUntil    time.Time // calls count as slow until then because of a slow call; zero if there was none
}

// isSlow reports whether the calls of the method count as slow at the time now. They count as slow until one call has
// ended within slowAfter. After each call that has not ended within slowAfter, they count as slow for the duration
// slowFor.
func (m *methodStats) isSlow(now time.Time) bool { return !m.hadQuickCall || now.Before(m.slowUntil) }

// runningCall is a call with the runner that it uses.
type runningCall struct {
	runner runner
	stats  *methodStats
	since  time.Time
}

// waiter is a call that waits for a runner.
type waiter struct {
	stats *methodStats
	// assigned receives the call with its runner. It has a buffer, because the sender holds the lock of the pool and the
	// waiter may have given up. It is closed if there will be no runner.
	assigned chan *runningCall
	err      error // the reason if assigned is closed
}

// newPool returns a pool without runners. limit is the maximum number of runners, and wait limits how long a call waits
// for a runner. start starts a runner.
func newPool(limit int, wait time.Duration, start func() (runner, error)) *pool {
	return &pool{limit: limit, wait: wait, start: start, running: make(map[*runningCall]struct{})}
}

// take waits for a runner for a call of the method with the given statistics. The caller must return the runner with
// release. If there is no runner after p.wait, take returns handler.Busy, except while a runner is being started. If
// ctx is done, take returns the cause of ctx.
func (p *pool) take(ctx context.Context, stats *methodStats) (*runningCall, error) {
	p.mu.Lock()
	if call := p.assign(stats); call != nil {
		p.startSpare()
		p.mu.Unlock()
		return call, nil
	}
	w := &waiter{stats: stats, assigned: make(chan *runningCall, 1)}
	p.waiting = append(p.waiting, w)
	p.startSpare()
	p.mu.Unlock()
	timer := time.NewTimer(p.wait)
	defer timer.Stop()
	for {
		var err error
		select {
		case call := <-w.assigned:
			if call == nil { // a runner could not be started, and there is no other
				return nil, w.err
			}
			return call, nil
		case <-timer.C:
			if p.isStarting() {
				timer.Reset(p.wait)
				continue
			}
			err = handler.Busy()
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		p.mu.Lock()
		p.waiting = slices.DeleteFunc(p.waiting, func(other *waiter) bool { return other == w })
		p.mu.Unlock()
		select { // a runner may have been assigned before the waiter was removed; none can be assigned now
		case call := <-w.assigned:
			if call != nil {
				p.unassign(call)
			}
		default:
		}
		return nil, err
	}
}

// isStarting reports whether a runner is being started and will be kept, because the pool has fewer runners than
// p.limit.
func (p *pool) isStarting() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starting > 0 && len(p.idle)+len(p.running) < p.limit
}

// assign assigns an idle runner to a call of the method with the given statistics. It returns nil if no runner is idle,
// or if the call must wait; see mayRun. The caller holds the lock.
func (p *pool) assign(stats *methodStats) *runningCall {
	for len(p.idle) > 0 && p.mayRun(stats) {
		r := p.idle[len(p.idle)-1].runner
		p.idle = p.idle[:len(p.idle)-1]
		if q, ok := r.(*process); ok && q.hasEnded() {
			continue
		}
		call := &runningCall{runner: r, stats: stats, since: time.Now()}
		p.running[call] = struct{}{}
		stats.running++
		return call
	}
	return nil
}

// mayRun reports whether a call of the method with the given statistics may get an idle runner. The method must have
// fewer than half of the runners already. If the method counts as slow, or has a call that has been running for longer
// than slowAfter, the slow calls of all methods together must have fewer than half of the runners, or fewer than three
// quarters if this is the method's first call. The caller holds the lock.
func (p *pool) mayRun(stats *methodStats) bool {
	half, quarter := (p.limit+1)/2, (p.limit+1)/4
	if stats.running >= half {
		return false
	}
	now := time.Now()
	slowCalls, slowMethod := 0, stats.isSlow(now) // the slow calls that are running, of all methods
	for call := range p.running {
		if call.stats.isSlow(now) || now.Sub(call.since) > slowAfter {
			slowCalls++
			slowMethod = slowMethod || call.stats == stats
		}
	}
	// The first call of a method shows whether the method is slow, so it need not wait for slow calls.
	first := !stats.hadQuickCall && stats.running == 0 && !stats.slowUntil.After(now)
	return !slowMethod || slowCalls < half || first && slowCalls < half+quarter
}

// unassign returns the runner of a call that will not run. The statistics must not show the call: it would count as a
// quick one.
func (p *pool) unassign(call *runningCall) {
	p.mu.Lock()
	p.forget(call)
	p.mu.Unlock()
	p.putBack(call.runner, true)
}

// forget removes a call from the running calls. The caller holds the lock.
func (p *pool) forget(call *runningCall) {
	delete(p.running, call)
	call.stats.running--
}

// release returns the runner of a call that has ended to the pool, and records whether the call was slow. If reusable
// is false, release closes the runner, and the call counts as slow.
func (p *pool) release(call *runningCall, reusable bool) {
	p.mu.Lock()
	p.forget(call)
	if now := time.Now(); !reusable || now.Sub(call.since) > slowAfter {
		call.stats.slowUntil = now.Add(slowFor)
	} else {
		call.stats.hadQuickCall = true
	}
	p.mu.Unlock()
	p.putBack(call.runner, reusable)
}

// borrow returns a runner for a task that must not wait for calls, such as loading. The caller must return the runner
// with putBack.
func (p *pool) borrow() (runner, error) {
	p.mu.Lock()
	for len(p.idle) > 0 {
		r := p.idle[len(p.idle)-1].runner
		p.idle = p.idle[:len(p.idle)-1]
		if q, ok := r.(*process); !ok || !q.hasEnded() {
			p.mu.Unlock()
			return r, nil
		}
	}
	p.mu.Unlock()
	return p.start()
}

// putBack adds a runner that runs no call to the idle runners. It closes the runner if the runner is not reusable or is
// not needed.
func (p *pool) putBack(r runner, reusable bool) {
	p.mu.Lock()
	needed := len(p.waiting) > 0 || !p.closed && len(p.idle)+len(p.running) < p.limit
	keep := reusable && needed
	if keep {
		p.idle = append(p.idle, idleRunner{r, time.Now()})
	} else if !reusable && !p.closed {
		p.grow() // replaces the runner
	}
	p.assignIdle()
	p.mu.Unlock()
	if !keep {
		r.close() // without the lock, because close waits for the end of the process
	}
}

// assignIdle assigns idle runners to waiting calls, in the order in which the calls arrived. The caller holds the lock.
func (p *pool) assignIdle() {
	p.waiting = slices.DeleteFunc(p.waiting, func(w *waiter) bool {
		call := p.assign(w.stats)
		if call != nil {
			w.assigned <- call
		}
		return call != nil
	})
	if len(p.idle) > 1 && p.trimmer == nil && !p.closed {
		p.trimmer = time.AfterFunc(idleFor/2, p.trim)
	}
}

// startSpare starts a runner in the background if no runner is idle or being started, so that the next call need not
// wait for the start. A closed pool only starts runners for waiting calls. The caller holds the lock.
func (p *pool) startSpare() {
	if len(p.idle) == 0 && p.starting == 0 && (!p.closed || len(p.waiting) > 0) {
		p.grow()
	}
}

// grow starts a runner in the background, unless the pool has reached its limit. The caller holds the lock.
func (p *pool) grow() {
	if len(p.idle)+len(p.running)+p.starting >= p.limit {
		return
	}
	p.starting++
	go func() {
		r, err := p.start()
		p.mu.Lock()
		p.starting--
		if err != nil && len(p.idle)+len(p.running)+p.starting == 0 { // no runner will come
			for _, w := range p.waiting {
				w.err = err
				close(w.assigned)
			}
			p.waiting = nil
		}
		p.mu.Unlock()
		if err != nil {
			return
		}
		p.putBack(r, true)
		p.mu.Lock()
		if len(p.waiting) > 0 { // startSpare starts one runner at a time, so start the next one for these calls
			p.startSpare()
		}
		p.mu.Unlock()
	}()
}

// drop removes a runner whose process has ended. If the runner was idle, drop starts another one.
func (p *pool) drop(r runner) {
	p.mu.Lock()
	previous := len(p.idle)
	p.idle = slices.DeleteFunc(p.idle, func(i idleRunner) bool { return i.runner == r })
	if len(p.idle) < previous && !p.closed { // otherwise putBack will be called for the runner
		p.grow()
	}
	p.mu.Unlock()
	r.close()
}

// trim closes runners that have been idle for longer than idleFor, except the last idle runner.
func (p *pool) trim() {
	p.mu.Lock()
	p.trimmer = nil
	now := time.Now()
	n := 0
	for n < len(p.idle)-1 && now.Sub(p.idle[n].since) > idleFor {
		n++
	}
	old := slices.Clone(p.idle[:n])
	p.idle = slices.Delete(p.idle, 0, n)
	p.assignIdle()
	p.mu.Unlock()
	for _, i := range old {
		i.runner.close()
	}
}

// close closes all idle runners. Other runners are closed at the end of their calls.
func (p *pool) close() {
	p.mu.Lock()
	idle := p.idle
	p.idle, p.closed = nil, true
	if p.trimmer != nil {
		p.trimmer.Stop()
		p.trimmer = nil
	}
	p.mu.Unlock()
	for _, i := range idle {
		i.runner.close()
	}
}
