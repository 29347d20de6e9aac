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
	free    int            // number of further writes that may run
	running map[any]*taken // by name
	waiting list.List      // of *waiter, oldest first
}

// waiter is a write that waits for a turn.
type waiter struct {
	name  any
	admit chan *taken // buffers one
}

// taken is the turn of a running write, which calls end when it has finished.
type taken struct {
	turns *turns
	name  any
	timer *time.Timer // calls makeRoom after countedTime
	long  bool        // it no longer counts against the limit
}

// newTurns returns turns that let limit writes run at a time.
func newTurns(limit int) *turns { return &turns{free: limit, running: make(map[any]*taken)} }

// take waits until a write with the given name may run, and returns its turn, which the caller ends. If ctx ends first
// it returns the error of ctx.
func (t *turns) take(ctx context.Context, name any) (*taken, error) {
	w := &waiter{name, make(chan *taken, 1)}
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
	case turn := <-w.admit: // admitted meanwhile
		turn.end()
	default:
	}
	return nil, ctx.Err()
}

// admit begins the turns of waiting writes while the limit allows. The caller holds the lock.
func (t *turns) admit() {
	for element := t.waiting.Front(); element != nil && t.free > 0; {
		w, next := element.Value.(*waiter), element.Next()
		if t.running[w.name] == nil {
			t.waiting.Remove(element)
			t.free--
			turn := &taken{turns: t, name: w.name}
			turn.timer = time.AfterFunc(countedTime, turn.makeRoom)
			t.running[w.name] = turn
			w.admit <- turn
		}
		element = next
	}
}

// end ends a turn. It does nothing if the turn has ended.
func (m *taken) end() {
	m.timer.Stop()
	m.turns.mu.Lock()
	defer m.turns.mu.Unlock()
	if m.turns.running[m.name] == m {
		delete(m.turns.running, m.name)
		m.yield()
	}
}

// makeRoom calls yield for a turn that takes long. The turn's timer calls it.
func (m *taken) makeRoom() {
	m.turns.mu.Lock()
	defer m.turns.mu.Unlock()
	if m.turns.running[m.name] == m {
		m.yield()
	}
}

// yield stops counting a turn against the limit and admits others. The caller holds the lock.
func (m *taken) yield() {
	if !m.long {
		m.long = true
		m.turns.free++
	}
	m.turns.admit()
}
