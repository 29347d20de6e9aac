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
	// run sends a request of package wire, whose payload question appends, and returns the Result. After an error the
	// runner must not be used again.
	run(h *host, kind byte, question func([]byte) []byte) ([]byte, error)
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
	limit int
	wait  time.Duration
	start func() (runner, error)

	mu       sync.Mutex
	idle     []idler // most recently used last
	running  map[*turn]struct{}
	waiting  []*waiter
	starting int
	trimmer  *time.Timer
	closed   bool
}

// idler is a runner that runs no call.
type idler struct {
	runner runner
	since  time.Time
}

// lane holds the statistics of one method's calls, by which the pool limits them. The lock of the pool guards it.
type lane struct {
	running int       // calls that have a runner
	quick   bool      // a call has finished that was not slow
	slow    time.Time // its calls count as slow until then
}

// isSlow reports whether calls of the method count as slow at the time now.
func (l *lane) isSlow(now time.Time) bool { return !l.quick || l.slow.After(now) }

// turn is a running call with the runner that it uses.
type turn struct {
	runner runner
	lane   *lane
	since  time.Time
}

// waiter is a call that waits for a runner.
type waiter struct {
	lane *lane
	turn chan *turn
	err  error // the reason if turn is closed
}

func newPool(limit int, wait time.Duration, start func() (runner, error)) *pool {
	return &pool{limit: limit, wait: wait, start: start, running: make(map[*turn]struct{})}
}

// take waits for a runner for a call of the method with the lane l. The caller must return the runner with give. take
// returns handler.Busy after p.wait, except while a runner is being started, and the cause of ctx when ctx is done.
func (p *pool) take(ctx context.Context, l *lane) (*turn, error) {
	p.mu.Lock()
	if t := p.next(l); t != nil {
		p.startSpare()
		p.mu.Unlock()
		return t, nil
	}
	w := &waiter{lane: l, turn: make(chan *turn, 1)}
	p.waiting = append(p.waiting, w)
	p.startSpare()
	p.mu.Unlock()
	timer := time.NewTimer(p.wait)
	defer timer.Stop()
	for {
		var err error
		select {
		case t := <-w.turn:
			if t == nil {
				return nil, w.err
			}
			return t, nil
		case <-timer.C:
			if p.begins() {
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
		select { // a runner may have been assigned in the meantime
		case t := <-w.turn:
			if t != nil {
				p.give(t, true)
			}
		default:
		}
		return nil, err
	}
}

// begins reports whether a runner is being started that the pool has room for.
func (p *pool) begins() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starting > 0 && len(p.idle)+len(p.running) < p.limit
}

// next assigns an idle runner to a call of l. It returns nil if no runner is idle, or if the call must wait; see
// mayRun. The caller holds the lock.
func (p *pool) next(l *lane) *turn {
	for len(p.idle) > 0 && p.mayRun(l) {
		r := p.idle[len(p.idle)-1].runner
		p.idle = p.idle[:len(p.idle)-1]
		if q, ok := r.(*process); ok && q.dead() {
			continue
		}
		t := &turn{runner: r, lane: l, since: time.Now()}
		p.running[t] = struct{}{}
		l.running++
		return t
	}
	return nil
}

// mayRun reports whether a call of the method l may get an idle runner. The method must have fewer than half of the
// runners already. If the method counts as slow, or has a call that has been running for longer than slowAfter, the
// slow calls of all methods together must have fewer than half of the runners, or fewer than three quarters if this is
// the method's first call. The caller holds the lock.
func (p *pool) mayRun(l *lane) bool {
	half, quarter := (p.limit+1)/2, (p.limit+1)/4
	if l.running >= half {
		return false
	}
	now := time.Now()
	slow, slowMethod := 0, l.isSlow(now)
	for t := range p.running {
		if t.lane.isSlow(now) || now.Sub(t.since) > slowAfter {
			slow++
			slowMethod = slowMethod || t.lane == l
		}
	}
	// The first call of a method shows whether the method is slow, so it need not wait for slow calls.
	first := !l.quick && l.running == 0 && !l.slow.After(now)
	return !slowMethod || slow < half || first && slow < half+quarter
}

// give returns the runner of a call that has ended. If reusable is false, the runner is closed.
func (p *pool) give(t *turn, reusable bool) {
	p.mu.Lock()
	delete(p.running, t)
	t.lane.running--
	if now := time.Now(); !reusable || now.Sub(t.since) > slowAfter {
		t.lane.slow = now.Add(slowFor)
	} else {
		t.lane.quick = true
	}
	p.mu.Unlock()
	p.back(t.runner, reusable)
}

// borrow returns a runner for a task that must not wait for calls, such as loading. The caller must return the runner
// with back.
func (p *pool) borrow() (runner, error) {
	p.mu.Lock()
	for len(p.idle) > 0 {
		r := p.idle[len(p.idle)-1].runner
		p.idle = p.idle[:len(p.idle)-1]
		if q, ok := r.(*process); !ok || !q.dead() {
			p.mu.Unlock()
			return r, nil
		}
	}
	p.mu.Unlock()
	return p.start()
}

// back adds a runner to the idle runners. It closes the runner if the runner is not reusable or is
// not needed.
func (p *pool) back(r runner, reusable bool) {
	p.mu.Lock()
	if keep := reusable && (len(p.waiting) > 0 || !p.closed && len(p.idle)+len(p.running) < p.limit); keep {
		p.idle = append(p.idle, idler{r, time.Now()})
		r = nil
	} else if !reusable && !p.closed {
		p.grow()
	}
	p.deal()
	p.mu.Unlock()
	if r != nil {
		r.close()
	}
}

// deal assigns idle runners to waiting calls, in the order in which the calls arrived. The caller holds the lock.
func (p *pool) deal() {
	p.waiting = slices.DeleteFunc(p.waiting, func(w *waiter) bool {
		t := p.next(w.lane)
		if t != nil {
			w.turn <- t
		}
		return t != nil
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
				close(w.turn)
			}
			p.waiting = nil
		}
		p.mu.Unlock()
		if err != nil {
			return
		}
		p.back(r, true)
		p.mu.Lock()
		if len(p.waiting) > 0 {
			p.startSpare()
		}
		p.mu.Unlock()
	}()
}

// drop removes a runner whose process has ended. If the runner was idle, drop starts another one.
func (p *pool) drop(r runner) {
	p.mu.Lock()
	previous := len(p.idle)
	p.idle = slices.DeleteFunc(p.idle, func(i idler) bool { return i.runner == r })
	if len(p.idle) < previous && !p.closed { // else back is called for it
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
	p.deal()
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
