package store

import (
	"container/list"
	"context"
	"sync"
	"time"
)

const (
	// turnsLeast is the minimum for the number of turns that run at once.
	turnsLeast = 3
	// turnBrief is how long a turn counts against that number.
	turnBrief = 100 * time.Millisecond
)

// turns runs a limited number of writes at a time, in the order in which they came, but never two of the same name at
// once: a write that would only wait for another of its name lets those behind it pass, or joins that other one. A
// write that takes long, such as one that waits for a lock, stops counting against the limit.
type turns struct {
	mu      sync.Mutex
	free    int            // how many more may run
	running map[any]*taken // by name
	waiting list.List      // of *wish, oldest first
}

// wish is a write that waits for a turn.
type wish struct {
	name  any
	kind  any // writes of equal kind may share a turn; nil means none may
	admit chan admission
}

// admission is a turn of the caller's own, or the follower with which it joins another's transaction.
type admission struct {
	own  *taken
	with *follower
}

// taken is a turn that is running.
type taken struct {
	of    *turns
	name  any
	brief *time.Timer
	long  bool // it no longer counts against the limit
}

func newTurns(limit int) *turns { return &turns{free: limit, running: make(map[any]*taken)} }

// take waits until it is the caller's turn, until a running write of the same name and kind takes the caller along, or
// until ctx ends. The caller ends a turn of its own.
func (t *turns) take(ctx context.Context, name, kind any) (admission, error) {
	w := &wish{name, kind, make(chan admission, 1)}
	t.mu.Lock()
	at := t.waiting.PushBack(w)
	t.admit()
	t.mu.Unlock()
	select {
	case a := <-w.admit:
		return a, nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	t.waiting.Remove(at)
	t.mu.Unlock()
	select {
	case a := <-w.admit: // admitted meanwhile
		if a.own != nil {
			a.own.end()
		} else {
			a.with.result <- ctx.Err()
		}
	default:
	}
	return admission{}, ctx.Err()
}

// along removes the first write from the queue that has the turn's name, and admits it with the follower that follow
// returns. It returns nil if there is none, or if the first one is of another kind. follow is called before the write
// goes on.
func (m *taken) along(kind any, follow func() *follower) *follower {
	m.of.mu.Lock()
	defer m.of.mu.Unlock()
	for at := m.of.waiting.Front(); at != nil; at = at.Next() {
		w := at.Value.(*wish)
		if w.name != m.name {
			continue
		}
		if w.kind != kind {
			break // it came first
		}
		m.of.waiting.Remove(at)
		f := follow()
		w.admit <- admission{with: f}
		return f
	}
	return nil
}

// admit begins the turns of waiting writes while there is room.
func (t *turns) admit() {
	for at := t.waiting.Front(); at != nil && t.free > 0; {
		w, next := at.Value.(*wish), at.Next()
		if t.running[w.name] == nil {
			t.waiting.Remove(at)
			t.free--
			mine := &taken{of: t, name: w.name}
			mine.brief = time.AfterFunc(turnBrief, mine.makeRoom)
			t.running[w.name] = mine
			w.admit <- admission{own: mine}
		}
		at = next
	}
}

// end ends a turn. It does nothing if the turn has ended.
func (m *taken) end() {
	m.brief.Stop()
	m.of.mu.Lock()
	defer m.of.mu.Unlock()
	if m.of.running[m.name] == m {
		delete(m.of.running, m.name)
		m.yield()
	}
}

// makeRoom yields a turn that takes long. The timer calls it.
func (m *taken) makeRoom() {
	m.of.mu.Lock()
	defer m.of.mu.Unlock()
	if m.of.running[m.name] == m {
		m.yield()
	}
}

// yield stops counting a turn against the limit and admits others. The caller holds the lock.
func (m *taken) yield() {
	if !m.long {
		m.long = true
		m.of.free++
	}
	m.of.admit()
}
