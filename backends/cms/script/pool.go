package script

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
)

// runner runs one call at a time.
type runner interface {
	// run sends a request of package wire and returns the Result. After an error the runner must not be used again.
	run(h *host, kind byte, question func([]byte) []byte) ([]byte, error)
	close()
}

const (
	// slowAfter is the duration after which a call counts as slow.
	slowAfter = time.Second
	// slowFor is how long a method counts as slow after such a call.
	slowFor = 10 * time.Second
	// idleFor is how long an unused runner is kept. One is always kept.
	idleFor = time.Minute
)

// pool manages the runners of an engine. It starts runners as they are needed, up to a limit, and one in advance;
// it also replaces runners that were lost. So that no method blocks the others, a method gets at most half of the
// runners, and so do together all methods whose calls are slow or not yet known to be quick. First calls of methods
// get another quarter.
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

// idler is a runner without a call, and the time since when.
type idler struct {
	runner runner
	since  time.Time
}

// lane is what the pool knows about the calls of one method. The lock of the pool guards it.
type lane struct {
	running int       // calls that have a runner
	quick   bool      // a call has finished that was not slow
	slow    time.Time // its calls count as slow until then
}

// isSlow reports whether calls of the method count as slow.
func (l *lane) isSlow(now time.Time) bool { return !l.quick || l.slow.After(now) }

// turn is a call that has a runner.
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

// take waits for a runner for a call of l. It returns handler.Busy after p.wait, unless a runner is just being
// started, and the cause of ctx when that ends. The caller must return the runner with give.
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

// begins reports whether a runner is being started for which the limit leaves room.
func (p *pool) begins() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starting > 0 && len(p.idle)+len(p.running) < p.limit
}

// next assigns an idle runner to a call, or returns nil if there is none or if the call must wait. The caller holds
// the lock.
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

// mayRun reports whether a call of the method l may get one of the idle runners. The method must have fewer than half
// of the runners already. If it counts as slow, or has a call that has been running for longer than slowAfter, slow
// calls of all methods together must have fewer than half, or fewer than three quarters if it is the first call of the
// method. The caller holds the lock.
func (p *pool) mayRun(l *lane) bool {
	half, quarter := (p.limit+1)/2, (p.limit+1)/4
	if l.running >= half {
		return false
	}
	now := time.Now()
	slow, own := 0, l.isSlow(now)
	for t := range p.running {
		if t.lane.isSlow(now) || now.Sub(t.since) > slowAfter {
			slow++
			own = own || t.lane == l
		}
	}
	// The first call of a method shows whether it is slow, so it does not wait for the slow ones.
	first := !l.quick && l.running == 0 && !l.slow.After(now)
	return !own || slow < half || first && slow < half+quarter
}

// give returns the runner of a call, or discards it if it is not good any more.
func (p *pool) give(t *turn, good bool) {
	p.mu.Lock()
	delete(p.running, t)
	t.lane.running--
	if now := time.Now(); !good || now.Sub(t.since) > slowAfter {
		t.lane.slow = now.Add(slowFor)
	} else {
		t.lane.quick = true
	}
	p.mu.Unlock()
	p.back(t.runner, good)
}

// borrow returns a runner for something that no call should delay, such as loading. The caller returns it with
// back.
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

// back adds a runner to the idle ones. It closes a runner that is not good any more or not needed.
func (p *pool) back(r runner, good bool) {
	p.mu.Lock()
	if keep := good && (len(p.waiting) > 0 || !p.closed && len(p.idle)+len(p.running) < p.limit); keep {
		p.idle = append(p.idle, idler{r, time.Now()})
		r = nil
	} else if !good && !p.closed {
		p.grow()
	}
	p.deal()
	p.mu.Unlock()
	if r != nil {
		r.close()
	}
}

// deal assigns idle runners to waiting calls in their order. The caller holds the lock.
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

// startSpare starts a runner in the background if none is idle or being started, so that the next call need not wait
// for it. A closed pool starts one only for calls that wait already. The caller holds the lock.
func (p *pool) startSpare() {
	if len(p.idle) == 0 && p.starting == 0 && (!p.closed || len(p.waiting) > 0) {
		p.grow()
	}
}

// grow starts a runner in the background, unless the limit is reached. The caller holds the lock.
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

// drop removes a runner that has ended, and starts another one if it was idle.
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

// trim closes idle runners that have not been used for long.
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

// close closes all idle runners. The others are closed when their calls are over.
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
