// Package memory provides a budget of bytes for buffers that grow with received data, such as request bodies and
// answers of upstreams. A buffer takes from the budget before it grows. All buffers together therefore cannot take more
// memory than there is.
package memory

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ErrFull means that a share has waited for memory in vain.
var ErrFull = errors.New("the memory for bodies and answers is full")

// Patience is how long a share waits for memory, summed over all its waits. It is short, because a waiting share may
// hold memory for which another share waits.
const Patience = 2 * time.Second

// small is the size up to which a share does not count against its owner. Nearly all shares are that small, and need no
// lock.
const small = 64 << 10

// Budget is a number of bytes that any number of goroutines share. A nil Budget has no limit.
type Budget struct {
	size, taken atomic.Int64
	refused     atomic.Int64
	waiting     atomic.Int32 // len(waiters), readable without the lock

	mu      sync.Mutex
	waiters []*waiter // in the order in which they came

	ownedMu sync.Mutex
	owned   map[string]int64 // total size of the large shares of each owner
}

// growth is a change of a share's size, in bytes.
type growth struct {
	owner    string // empty for no owner
	from, to int64
}

// waiter waits for a growth. granted is closed when the share has grown.
type waiter struct {
	growth
	granted chan struct{}
}

// New makes a budget of size bytes.
func New(size int64) *Budget {
	b := &Budget{owned: make(map[string]int64)}
	b.size.Store(size)
	return b
}

// Size returns the size of the budget in bytes.
func (b *Budget) Size() int64 { return b.size.Load() }

// Taken returns how many bytes are in use.
func (b *Budget) Taken() int64 { return b.taken.Load() }

// Refused returns how often a share was refused.
func (b *Budget) Refused() int64 { return b.refused.Load() }

// Resize changes the size. If more bytes are in use, they stay in use.
func (b *Budget) Resize(size int64) {
	b.size.Store(size)
	b.grant()
}

// ownerLimit returns how many bytes the large shares of one owner may take together: half of the budget, but at least
// MinBudget. An owner whose large requests wait for slow servers, on purpose or not, thus leaves the rest to the
// others.
func (b *Budget) ownerLimit() int64 { return max(b.size.Load()/2, MinBudget) }

// tryGrow grows a share and returns true if the bytes for it are free and its owner may have them.
func (b *Budget) tryGrow(g growth) bool {
	if !b.charge(g) {
		return false
	}
	for n := g.to - g.from; ; {
		current := b.taken.Load()
		if current+n > b.size.Load() {
			b.charge(growth{g.owner, g.to, g.from}) // undo
			return false
		}
		if b.taken.CompareAndSwap(current, current+n) {
			return true
		}
	}
}

// charge counts a growth, or a shrinking, for the share's owner. It counts nothing and returns false if the growth
// would exceed ownerLimit.
func (b *Budget) charge(g growth) bool {
	if g.owner == "" || max(g.from, g.to) <= small {
		return true
	}
	n := large(g.to) - large(g.from)
	b.ownedMu.Lock()
	defer b.ownedMu.Unlock()
	owned := b.owned[g.owner] + n
	switch {
	case n > 0 && owned > b.ownerLimit():
		return false
	case owned == 0:
		delete(b.owned, g.owner)
	default:
		b.owned[g.owner] = owned
	}
	return true
}

// large returns how much of a size counts for its owner.
func large(size int64) int64 {
	if size <= small {
		return 0
	}
	return size
}

// release gives n bytes back to the budget, which are a part of the owner's share.
func (b *Budget) release(owner string, n int64) {
	b.charge(growth{owner, n, 0})
	b.taken.Add(-n)
	if b.waiting.Load() > 0 { // a waiter that registers after this check looks for itself
		b.grant()
	}
}

// grant gives free bytes to waiters in their order. Bytes that are not enough for one waiter may be enough for a
// later one.
func (b *Budget) grant() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.grantLocked()
}

// grantLocked works like grant. The caller holds b.mu.
func (b *Budget) grantLocked() {
	b.waiters = slices.DeleteFunc(b.waiters, func(w *waiter) bool {
		if !b.tryGrow(w.growth) {
			return false
		}
		close(w.granted)
		b.waiting.Add(-1)
		return true
	})
}

// wait grows a share when the bytes for it become free, and waits for at most patience. It returns ErrFull if they did
// not become free in time or never can, or the cause of ctx.
func (b *Budget) wait(ctx context.Context, g growth, patience time.Duration) error {
	if patience <= 0 || g.to-g.from > b.size.Load() || g.owner != "" && g.to > b.ownerLimit() { // waiting is pointless
		b.refused.Add(1)
		return ErrFull
	}
	w := &waiter{g, make(chan struct{})}
	b.mu.Lock()
	b.waiters = append(b.waiters, w)
	b.waiting.Add(1)
	b.grantLocked() // a release before the line above may have seen no waiter
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
	index := slices.Index(b.waiters, w)
	if index < 0 { // granted in the meantime
		return nil
	}
	b.waiters = slices.Delete(b.waiters, index, index+1)
	b.waiting.Add(-1)
	if errors.Is(err, ErrFull) {
		b.refused.Add(1)
	}
	return err
}
