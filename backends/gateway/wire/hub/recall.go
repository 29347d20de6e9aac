package hub

import (
	"container/list"
	"sync"
	"time"
)

// The limits of a Recall.
const (
	recallEntries = 10_000
	recallBytes   = 32 << 20
	recallEntry   = 64 << 10
	recallTime    = time.Hour
)

// RecallItem is the number of bytes that are counted for a piece of reasoning in addition to its text, since many small
// pieces take memory too.
const RecallItem = 128

// Recall stores the reasoning before a tool call for clients of chat completions, whose messages cannot carry
// reasoning. When a client sends the call's result, the model continues from the stored reasoning. The least recently
// used entry is dropped first.
type Recall struct {
	now func() time.Time

	mu    sync.Mutex // protects the fields below; requests of many goroutines share the Recall
	order list.List  // elements are *recalled, most recently used first
	known map[recallKey]*list.Element
	bytes int // sum of recalled.bytes
}

// recallKey identifies a call of a user. Call ids come from upstreams and are not unique among users.
type recallKey struct{ user, call string }

// recalled is the stored reasoning before one call.
type recalled struct {
	key       recallKey
	reasoning []Reasoning
	bytes     int
	until     time.Time // the entry has no meaning after this time
}

// NewRecall returns an empty Recall. now is its clock.
func NewRecall(now func() time.Time) *Recall {
	return &Recall{now: now, known: make(map[recallKey]*list.Element)}
}

// Keep stores the reasoning that came before the tool call with the id callID, for the given user. Reasoning that is
// too large is not stored.
func (m *Recall) Keep(user, callID string, reasoning []Reasoning) {
	size := len(user) + len(callID) + len(reasoning)*RecallItem
	for i := range reasoning {
		size += len(reasoning[i].Text)
		if s := reasoning[i].State; s != nil {
			size += len(s.Data)
		}
	}
	if user == "" || size > recallEntry {
		return
	}
	r := &recalled{key: recallKey{user, callID}, reasoning: reasoning, bytes: size, until: m.now().Add(recallTime)}
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.known[r.key]; ok { // the request was repeated, or the id was used again: the newer reasoning counts
		m.forget(known)
	}
	m.known[r.key] = m.order.PushFront(r)
	m.bytes += size
	for m.order.Len() > recallEntries || m.bytes > recallBytes {
		m.forget(m.order.Back())
	}
}

// Find returns the reasoning that Keep stored for a user and the tool call with the id callID, or nil. The caller
// must not change the slice.
func (m *Recall) Find(user, callID string) []Reasoning {
	now := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	// The least recently used entries are usually the oldest. An expired entry before them is removed when it is looked
	// up.
	for last := m.order.Back(); last != nil && now.After(last.Value.(*recalled).until); last = m.order.Back() {
		m.forget(last)
	}
	known, ok := m.known[recallKey{user, callID}]
	if !ok {
		return nil
	}
	r := known.Value.(*recalled)
	if now.After(r.until) {
		m.forget(known)
		return nil
	}
	m.order.MoveToFront(known)
	return r.reasoning
}

// forget removes an entry. The caller holds the mutex.
func (m *Recall) forget(e *list.Element) {
	r := m.order.Remove(e).(*recalled)
	delete(m.known, r.key)
	m.bytes -= r.bytes
}
