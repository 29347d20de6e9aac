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
	// run asks a question of package wire and returns the Result. The runner is good for nothing after an error.
	run(h *host, kind byte, question func([]byte) []byte) ([]byte, error)
	close()
}

const (
	// slowAfter is how long a call takes that counts as slow.
	slowAfter = time.Second
	// slowFor is how long a method counts as slow after such a call.
	slowFor = 10 * time.Second
	// idleFor is how long a runner is kept that nobody needs. One is always kept.
	idleFor = time.Minute
)

// pool has the runners of an engine. It starts them as they are needed, up to a limit, and one ahead of need, also for
// one that was lost. So that no method keeps the others from their answers, one has at most half of them, and so have
// all together whose calls are slow, or are not known to be quick; of these, first calls have a quarter beside it.
type pool struct {
	limit int
	wait  time.Duration
	start func() (runner, error)

	mu       sync.Mutex
	idle     []idler // who was used last is the last
	running  map[*turn]struct{}
	waiting  []*waiter
	starting int
	trimmer  *time.Timer
	closed   bool
}

type idler struct {
	runner runner
	since  time.Time
}

// lane is the calls of a method. The lock of the pool guards it.
type lane struct {
	running int
	quick   bool      // there was a call that was not slow
	slow    time.Time // until when its calls count as slow
}

// isSlow tells whether calls of the method count as slow.
func (l *lane) isSlow(now time.Time) bool { return !l.quick || l.slow.After(now) }

// turn is a call that has a runner.
type turn struct {
	runner runner
	lane   *lane
	since  time.Time
}

// waiter is a call that has none yet.
type waiter struct {
	lane *lane
	turn chan *turn
	err  error // why there is none, once turn is closed
}

func newPool(limit int, wait time.Duration, start func() (runner, error)) *pool {
	return &pool{limit: limit, wait: wait, start: start, running: make(map[*turn]struct{})}
}

// take waits for a runner. The call that it is for ends with ctx.
func (p *pool) take(ctx context.Context, l *lane) (*turn, error) {
	p.mu.Lock()
	if t := p.next(l); t != nil {
		p.ahead()
		p.mu.Unlock()
		return t, nil
	}
	w := &waiter{lane: l, turn: make(chan *turn, 1)}
	p.waiting = append(p.waiting, w)
	p.ahead()
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
		select { // it was given one meanwhile
		case t := <-w.turn:
			if t != nil {
				p.give(t, true)
			}
		default:
		}
		return nil, err
	}
}

// begins tells whether a runner is being started, while there are not as many as there may be.
func (p *pool) begins() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starting > 0 && len(p.idle)+len(p.running) < p.limit
}

// next gives an idle runner to a call, if there is one and the call may have it. The caller holds the lock.
func (p *pool) next(l *lane) *turn {
	for len(p.idle) > 0 && p.may(l) {
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

// may tells whether a call may have one more runner. The caller holds the lock.
func (p *pool) may(l *lane) bool {
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
	// The first call of a method shows what it is: it need not wait for those that are slow.
	first := !l.quick && l.running == 0 && !l.slow.After(now)
	return !own || slow < half || first && slow < half+quarter
}

// give takes a runner back, or lets it go where it is not good any more.
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

// borrow gives a runner for something that no call should keep waiting. Back takes it again.
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

// back puts a runner among the idle ones, and lets go one that is not good any more or not needed.
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

// deal gives idle runners to those who wait, in their order. The caller holds the lock.
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

// ahead starts a runner where none is idle. The caller holds the lock.
func (p *pool) ahead() {
	if len(p.idle) == 0 && p.starting == 0 && (!p.closed || len(p.waiting) > 0) {
		p.grow()
	}
}

// grow starts a runner if there may be one more. The caller holds the lock.
func (p *pool) grow() {
	if len(p.idle)+len(p.running)+p.starting >= p.limit {
		return
	}
	p.starting++
	go func() {
		r, err := p.start()
		p.mu.Lock()
		p.starting--
		if err != nil && len(p.idle)+len(p.running)+p.starting == 0 { // nobody will come
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
			p.ahead()
		}
		p.mu.Unlock()
	}()
}

// drop takes out a runner that has ended. One takes its place.
func (p *pool) drop(r runner) {
	p.mu.Lock()
	before := len(p.idle)
	p.idle = slices.DeleteFunc(p.idle, func(i idler) bool { return i.runner == r })
	if len(p.idle) < before && !p.closed { // else back is told of it
		p.grow()
	}
	p.mu.Unlock()
	r.close()
}

// trim lets runners go that were not used for long.
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

// close lets all idle runners go, and the others when their calls are over.
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
