// Package memory is a budget of bytes. What grows with what others send, bodies
// of requests and answers of upstreams, takes from it before it grows, so that
// many of them at a time cannot take more than there is.
package memory

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ErrFull is the error of one who has waited in vain.
var ErrFull = errors.New("the memory for bodies and answers is full")

// Patience is how long a share waits for memory, all its waits together. One
// that waits may hold some that another one waits for, so it is short.
const Patience = 2 * time.Second

// small is up to which size a share counts for nobody: nearly all are, and cost no lock.
const small = 64 << 10

// Budget is so many bytes, for any number of goroutines. A nil one has no bound.
type Budget struct {
	size, taken atomic.Int64
	refused     atomic.Int64
	waiting     atomic.Int32 // len(waiters), to be asked without the lock

	mu      sync.Mutex
	waiters []*waiter // in the order in which they came

	owning sync.Mutex
	owned  map[string]int64 // what the large shares of each owner are together
}

// growth is a share that is to be larger.
type growth struct {
	owner    string // empty: nobody
	from, to int64
}

// waiter waits until it has grown, which closes granted.
type waiter struct {
	growth
	granted chan struct{}
}

// New makes a budget of so many bytes.
func New(size int64) *Budget {
	b := &Budget{owned: make(map[string]int64)}
	b.size.Store(size)
	return b
}

// Size is how many bytes there are.
func (b *Budget) Size() int64 { return b.size.Load() }

// Taken is how many of them are in use.
func (b *Budget) Taken() int64 { return b.taken.Load() }

// Refused is how often one had to do without.
func (b *Budget) Refused() int64 { return b.refused.Load() }

// Resize sets how many bytes there are. More than that may be in use for a time.
func (b *Budget) Resize(size int64) {
	b.size.Store(size)
	b.grant()
}

// part is what the large shares of one owner may be together: who waits, on purpose or not,
// for slow servers with large requests, leaves as much to the others.
func (b *Budget) part() int64 { return max(b.size.Load()/2, Least) }

// try lets a share grow if the bytes for it are free.
func (b *Budget) try(g growth) bool {
	if !b.own(g) {
		return false
	}
	for n := g.to - g.from; ; {
		taken := b.taken.Load()
		if taken+n > b.size.Load() {
			b.own(growth{g.owner, g.to, g.from})
			return false
		}
		if b.taken.CompareAndSwap(taken, taken+n) {
			return true
		}
	}
}

// own counts a share for its owner, if it does not become more than their part.
func (b *Budget) own(g growth) bool {
	if g.owner == "" || max(g.from, g.to) <= small {
		return true
	}
	n := large(g.to) - large(g.from)
	b.owning.Lock()
	defer b.owning.Unlock()
	owned := b.owned[g.owner] + n
	switch {
	case n > 0 && owned > b.part():
		return false
	case owned == 0:
		delete(b.owned, g.owner)
	default:
		b.owned[g.owner] = owned
	}
	return true
}

// large is what of a size counts for its owner.
func large(size int64) int64 {
	if size <= small {
		return 0
	}
	return size
}

// give gives n bytes of an owner's share back.
func (b *Budget) give(owner string, n int64) {
	b.own(growth{owner, n, 0})
	b.taken.Add(-n)
	if b.waiting.Load() > 0 { // who comes after this looks by himself
		b.grant()
	}
}

// grant gives what is free to those that wait, in their order; what is too little
// for one may do for the next.
func (b *Budget) grant() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.grantLocked()
}

func (b *Budget) grantLocked() {
	b.waiters = slices.DeleteFunc(b.waiters, func(w *waiter) bool {
		if !b.try(w.growth) {
			return false
		}
		close(w.granted)
		b.waiting.Add(-1)
		return true
	})
}

// wait lets a share grow within a time.
func (b *Budget) wait(ctx context.Context, g growth, patience time.Duration) error {
	if patience <= 0 || g.to-g.from > b.size.Load() || g.owner != "" && g.to > b.part() { // it would wait in vain
		b.refused.Add(1)
		return ErrFull
	}
	w := &waiter{g, make(chan struct{})}
	b.mu.Lock()
	b.waiters = append(b.waiters, w)
	b.waiting.Add(1)
	b.grantLocked()
	b.mu.Unlock()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	err := ErrFull
	select {
	case <-w.granted:
		return nil
	case <-timer.C:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	at := slices.Index(b.waiters, w)
	if at < 0 { // granted in the meantime
		return nil
	}
	b.waiters = slices.Delete(b.waiters, at, at+1)
	b.waiting.Add(-1)
	if errors.Is(err, ErrFull) {
		b.refused.Add(1)
	}
	return err
}
