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

// Budget is so many bytes, for any number of goroutines. A nil one has no bound.
type Budget struct {
	size, taken atomic.Int64
	refused     atomic.Int64
	waiting     atomic.Int32 // len(waiters), to be asked without the lock

	mu      sync.Mutex
	waiters []*waiter // in the order in which they came
}

// waiter waits until n bytes are its own, which closes granted.
type waiter struct {
	n       int64
	granted chan struct{}
}

// New makes a budget of so many bytes.
func New(size int64) *Budget {
	b := new(Budget)
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

// try takes n bytes if they are free.
func (b *Budget) try(n int64) bool {
	for {
		taken := b.taken.Load()
		if taken+n > b.size.Load() {
			return false
		}
		if b.taken.CompareAndSwap(taken, taken+n) {
			return true
		}
	}
}

// give gives n bytes back.
func (b *Budget) give(n int64) {
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
		if !b.try(w.n) {
			return false
		}
		close(w.granted)
		b.waiting.Add(-1)
		return true
	})
}

// wait takes n bytes within a time.
func (b *Budget) wait(ctx context.Context, n int64, patience time.Duration) error {
	if patience <= 0 || n > b.size.Load() { // it would wait in vain
		b.refused.Add(1)
		return ErrFull
	}
	w := &waiter{n, make(chan struct{})}
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
