package store

import (
	"container/list"
	"context"
	"sync"
	"time"
)

const (
	// minTurns is the lowest limit for the number of named writes that run at once.
	minTurns = 3
	// countedTime is how long a running write counts against the limit.
	countedTime = 100 * time.Millisecond
)

// turns lets a limited number of named writes run at a time, in the order of their calls, but never two writes of the
// same name (see InTurn). A write that waits for another of its name lets later writes of other names pass. A write
// that takes long, such as one that waits for a lock, stops counting against the limit.
type turns struct {
	mu      sync.Mutex
	free    int                 // number of further writes that may run
	running map[any]*activeTurn // by name
	waiting list.List           // of *waiter, oldest first
}

// waiter is a write that waits for a turn.
type waiter struct {
	name  any
	admit chan *activeTurn // buffers one, so that turns.admit, which holds the lock, never waits for the caller
}

// activeTurn is the turn of a running write. The write calls the method end when it has finished.
type activeTurn struct {
	turns *turns
	name  any
	timer *time.Timer // calls makeRoom after countedTime
	long  bool        // it no longer counts against the limit
}

// newTurns returns turns that let limit writes run at a time.
func newTurns(limit int) *turns { return &turns{free: limit, running: make(map[any]*activeTurn)} }

// take waits until a write with the given name may run, and returns its turn, which the caller ends. If ctx ends first
// it returns the error of ctx.
func (t *turns) take(ctx context.Context, name any) (*activeTurn, error) {
	w := &waiter{name, make(chan *activeTurn, 1)}
	t.mu.Lock()
	element := t.waiting.PushBack(w)
	t.admit()
	t.mu.Unlock()
	select {
	case turn := <-w.admit:
		return turn, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	t.waiting.Remove(element)
	t.mu.Unlock()
	select {
	case turn := <-w.admit: // admitted between the end of ctx and the removal from the list
		turn.end()
	default:
	}
	return nil, ctx.Err()
}

// admit begins the turns of waiting writes while the limit allows. It skips writes whose name is running; they keep
// their place. The caller holds the lock.
func (t *turns) admit() {
	for element := t.waiting.Front(); element != nil && t.free > 0; {
		w, next := element.Value.(*waiter), element.Next()
		if t.running[w.name] == nil {
			t.waiting.Remove(element)
			t.free--
			turn := &activeTurn{turns: t, name: w.name}
			turn.timer = time.AfterFunc(countedTime, turn.makeRoom)
			t.running[w.name] = turn
			w.admit <- turn
		}
		element = next
	}
}

// end ends a turn. It does nothing if the turn has ended.
func (a *activeTurn) end() {
	a.timer.Stop()
	a.turns.mu.Lock()
	defer a.turns.mu.Unlock()
	if a.turns.running[a.name] == a {
		delete(a.turns.running, a.name)
		a.yield()
	}
}

// makeRoom calls yield for a turn that takes long. The turn's timer calls it.
func (a *activeTurn) makeRoom() {
	a.turns.mu.Lock()
	defer a.turns.mu.Unlock()
	if a.turns.running[a.name] == a {
		a.yield()
	}
}

// yield stops counting a turn against the limit and admits others. The caller holds the lock.
func (a *activeTurn) yield() {
	if !a.long {
		a.long = true
		a.turns.free++
	}
	a.turns.admit()
}
