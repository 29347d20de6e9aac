package stored

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	eventsEvery = 100 * time.Millisecond // how often events are written
	eventsKept  = 24 * time.Hour         // how long a stream can be resumed
	maxEvents   = 64 << 20               // total size of the events of an answer
)

// errEvents ends an answer whose events are too large.
var errEvents = errors.New("the events of the answer are larger than 64 MB")

// eventLog collects and numbers the events of an answer in the background. The first two events are added before the
// model is called.
type eventLog struct {
	writing sync.Mutex // held while events are written to the database; taken before mu

	mu      sync.Mutex    // guards the fields below; never held during I/O
	pending []byte        // the frames of events that are not in the database yet
	first   int64         // number of the first pending event
	next    int64         // number of the next event that is added
	size    int           // total size of all events that were added
	changed chan struct{} // closed when there are new events in the database
}

// newEventLog returns an empty log.
func newEventLog() *eventLog { return &eventLog{changed: make(chan struct{})} }

// add appends an event and gives it the next number.
func (l *eventLog) add(name string, data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	oldLen := len(l.pending)
	l.pending = l.appendNumbered(l.pending, name, data)
	l.next++
	l.size += len(l.pending) - oldLen
}

// appendNumbered appends the frame of an event with the next number to dst. The caller holds the mutex.
func (l *eventLog) appendNumbered(dst []byte, name string, data []byte) []byte {
	return appendFrame(dst, name, setMembers(data, []member{{"sequence_number", strconv.FormatInt(l.next, 10)}}))
}

// pendingWith returns the pending events followed by a new one, which gets the next number. The new event is not added
// to the log, because storing it may fail.
func (l *eventLog) pendingWith(name string, data []byte) *pendingEvents {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := append([]byte(nil), l.pending...)
	return &pendingEvents{l.appendNumbered(text, name, data), l.first, l.next}
}

// pendingEvents are consecutive events, with the numbers of the first and the last one.
type pendingEvents struct {
	text        []byte
	first, last int64
}

// unwritten returns the pending events, or nil if no event is pending. They stay pending until removeWritten is called.
func (l *eventLog) unwritten() *pendingEvents {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pending) == 0 {
		return nil
	}
	return &pendingEvents{slices.Clip(l.pending), l.first, l.next - 1} // add only appends behind this text
}

// full reports whether the size of all events exceeds maxEvents.
func (l *eventLog) full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size > maxEvents
}

// blockWrites waits until no events are being written, and prevents further writes until the returned function is
// called.
func (l *eventLog) blockWrites() (release func()) {
	l.writing.Lock()
	return l.writing.Unlock
}

// eventBatch is a row with several events.
type eventBatch struct {
	row, response, owner, sealed string
	last, expires                int64
	size                         int
}

// seal encrypts events and returns them as a row. The caller must have called blockWrites, unless no other goroutine
// uses the log yet.
func (*eventLog) seal(ctx context.Context, t *Turn, p *pendingEvents) (*eventBatch, error) {
	s := t.service
	b := &eventBatch{
		row: fmt.Sprintf("%s/%010d", t.ID, p.first), response: t.ID, owner: t.owner, last: p.last, size: len(p.text),
		expires: schema.Micros(s.now().Add(min(eventsKept, t.options.Retention))),
	}
	var err error
	b.sealed, err = s.seal(ctx, tableEvents, b.row, p.text)
	return b, err
}

// insert inserts the row. A nil batch inserts nothing.
func (b *eventBatch) insert(c store.Conn) error {
	if b == nil {
		return nil
	}
	_, err := c.Exec(
		`INSERT INTO gateway_response_events (id, response, last, sealed, expires_at, owner, size) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		b.row, b.response, b.last, b.sealed, b.expires, b.owner, b.size,
	)
	return err
}

// removeWritten removes the events p from the pending events. The events p are now in the database.
func (l *eventLog) removeWritten(p *pendingEvents) {
	l.mu.Lock()
	l.pending = append([]byte(nil), l.pending[len(p.text):]...)
	l.first = p.last + 1
	l.mu.Unlock()
	l.notify()
}

// clearPending removes the pending events after they were stored together with the answer.
func (l *eventLog) clearPending() {
	l.mu.Lock()
	l.pending = nil
	l.mu.Unlock()
	l.notify()
}

// notify wakes all goroutines that wait on the channel returned by nextChange.
func (l *eventLog) notify() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.changed)
	l.changed = make(chan struct{})
}

// nextChange returns a channel that is closed when new events are in the database.
func (l *eventLog) nextChange() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

// flush writes the pending events to the database. It returns errGone if the response was cancelled or deleted, or is
// already finished.
func (l *eventLog) flush(ctx context.Context, t *Turn) error {
	defer l.blockWrites()()
	p := l.unwritten()
	if p == nil {
		return nil
	}
	b, err := l.seal(ctx, t, p)
	if err != nil {
		return err
	}
	err = t.service.db.Write(ctx, func(c store.Conn) error {
		var found int
		if err := c.Row(`SELECT 1 FROM gateway_responses WHERE id = ? AND runner = ?`+c.Keep(), t.ID, t.service.node).Scan(
			&found,
		); err != nil {
			return err
		}
		return b.insert(c)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return errGone
	}
	if err == nil {
		l.removeWritten(p)
	}
	return err
}
