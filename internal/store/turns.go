package store

import (
	"container/list"
	"context"
	"sync"
	"time"
)

const (
	// turnsLeast is how many writes with a turn run at once at least.
	turnsLeast = 3
	// turnBrief is how long a turn takes room from others.
	turnBrief = 100 * time.Millisecond
)

// turns has those who come run a few at a time and in the order in which they came,
// but no two of the same name at once: who would only wait for another lets those
// behind pass, or is taken along by that one. Who takes long, as one who waits for
// somebody else's lock, goes on beside the few.
type turns struct {
	mu      sync.Mutex
	free    int            // how many more may run
	running map[any]*taken // by name
	waiting list.List      // of *wish, who came first in front
}

// wish is one who waits for a turn.
type wish struct {
	name  any
	kind  any // of those who may share a turn; nil: none may
	admit chan admission
}

// admission is a turn, or the turn of another one who takes the caller along.
type admission struct {
	own  *taken
	with *follower
}

// taken is a turn.
type taken struct {
	of    *turns
	name  any
	brief *time.Timer
	long  bool // it takes no room any more
}

func newTurns(most int) *turns { return &turns{free: most, running: make(map[any]*taken)} }

// take returns when it is the caller's turn, who ends it, or when another one of the
// name and kind takes the caller along, or when ctx ends.
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
	case a := <-w.admit: // meanwhile
		if a.own != nil {
			a.own.end()
		} else {
			a.with.result <- ctx.Err()
		}
	default:
	}
	return admission{}, ctx.Err()
}

// along takes the first of those along who wait for the turn's name, if it is of the kind:
// as what follow returns, which is called before that one goes on. nil: nobody is.
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

// admit begins the turns of those for whom there is room.
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

// end ends a turn; nothing if it has ended.
func (m *taken) end() {
	m.brief.Stop()
	m.of.mu.Lock()
	defer m.of.mu.Unlock()
	if m.of.running[m.name] == m {
		delete(m.of.running, m.name)
		m.yield()
	}
}

// makeRoom is called in a turn that takes long.
func (m *taken) makeRoom() {
	m.of.mu.Lock()
	defer m.of.mu.Unlock()
	if m.of.running[m.name] == m {
		m.yield()
	}
}

// yield gives the room of a turn to others.
func (m *taken) yield() {
	if !m.long {
		m.long = true
		m.of.free++
	}
	m.of.admit()
}
