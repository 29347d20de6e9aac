package stored

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	followEvery = 300 * time.Millisecond // how often the database is polled for events of another node
	followAlive = 10 * time.Second       // how often an idle client gets a keep-alive
	followRows  = 50                     // rows per read
)

// maxFollowers is the largest number of streams that an owner may follow at the same time through this process, since
// each of them reads the database.
const maxFollowers = 100

// addFollower counts a follower of an owner. It returns false if the owner has maxFollowers already. If it returns
// true, the caller must call removeFollower.
func (s *Service) addFollower(owner string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.followers[owner] >= maxFollowers {
		return false
	}
	s.followers[owner]++
	return true
}

// removeFollower undoes addFollower.
func (s *Service) removeFollower(owner string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.followers[owner]--; s.followers[owner] == 0 {
		delete(s.followers, owner)
	}
}

// Follow sends the existing and future events of a response with numbers greater than afterNumber, until the answer
// ends or the client leaves. It returns an error only before the first byte is sent: with status 404 for an unknown
// response, 400 for a response that was not created as a stream in the background, and 429 if the owner already follows
// maxFollowers streams.
func (s *Service) Follow(ctx context.Context, w http.ResponseWriter, owner, id string, afterNumber int64) error {
	r, err := s.find(ctx, owner, id)
	if err != nil {
		return err
	}
	if !r.events {
		return invalid("stream", "needs a response that was created with background and stream: %s was not", hub.Shown(id))
	}
	if !s.addFollower(owner) {
		return &apierror.Error{
			Status: http.StatusTooManyRequests, Code: "rate_limit_exceeded", RetryAfter: 10 * time.Second,
			Message: fmt.Sprintf("you already have %d open streams of responses: close one of them first", maxFollowers),
		}
	}
	defer s.removeFollower(owner)
	f := &follower{
		service:   s,
		w:         w,
		rc:        http.NewResponseController(w),
		owner:     owner,
		id:        id,
		after:     afterNumber,
		lastWrite: time.Now(),
	}
	header := w.Header()
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	for {
		changed := s.nextChange(id) // before the events are read, so that no change in between is missed
		done, err := f.sendNew(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			f.fail(err)
			return nil
		}
		if done {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed: // never, if another process generates the response
		case <-time.After(followEvery):
		}
	}
}

// nextChange returns a channel that is closed when this process has written more events of a response, or nil if
// another process generates the response.
func (s *Service) nextChange(id string) <-chan struct{} {
	s.mu.Lock()
	r := s.runs[id]
	s.mu.Unlock()
	if r == nil || r.turn.log == nil {
		return nil
	}
	return r.turn.log.nextChange()
}

// follower sends the events of a response to one client.
type follower struct {
	service   *Service
	w         http.ResponseWriter
	rc        *http.ResponseController
	owner, id string
	after     int64 // number of the last event that the client has received
	complete  bool  // whether that event was the final one
	lastWrite time.Time
}

// errLeft is returned when the client has gone.
var errLeft = errors.New("the client has left")

// sendNew sends the new events, and reports whether the stream is complete.
func (f *follower) sendNew(ctx context.Context) (done bool, err error) {
	var status string
	// The status is read before the events, because the last event is stored together with the final status.
	err = f.service.read(ctx, func(c store.Conn) error {
		return c.Row(`SELECT status FROM gateway_responses WHERE id = ? AND owner = ?`, f.id, f.owner).Scan(&status)
	})
	if err != nil {
		return false, err
	}
	for {
		rows, err := f.rows(ctx)
		if err != nil {
			return false, err
		}
		for i := range rows {
			if err := f.send(ctx, &rows[i]); err != nil {
				return false, err
			}
		}
		if len(rows) < followRows {
			break
		}
	}
	switch {
	case f.complete:
		return true, nil
	case final(status):
		return true, f.sendFinal(ctx)
	case time.Since(f.lastWrite) >= followAlive:
		return false, f.write([]byte(": keep-alive\n\n"))
	}
	return false, nil
}

// rows reads the next rows with events that the client has not received yet, at most followRows.
func (f *follower) rows(ctx context.Context) (rows []eventBatch, err error) {
	err = f.service.read(ctx, func(c store.Conn) error {
		rows, err = store.List(
			c,
			func(row store.Row) (b eventBatch, err error) { return b, row.Scan(&b.row, &b.last, &b.sealed) },
			`SELECT id, last, sealed FROM gateway_response_events WHERE response = ? AND last > ? ORDER BY last LIMIT ?`, f.id,
			f.after, followRows,
		)
		return err
	})
	return rows, err
}

// send sends the events of a row that the client has not received yet.
func (f *follower) send(ctx context.Context, b *eventBatch) error {
	text, err := f.service.open(ctx, tableEvents, b.row, b.sealed)
	if err != nil {
		return err
	}
	var out []byte
	for end := indexFrame(text); end > 0; end = indexFrame(text) {
		frame := text[:end]
		text = text[end:]
		name, data := parseFrame(frame)
		if number := gjson.GetBytes(data, "sequence_number").Int(); number > f.after {
			out = append(out, frame...)
			f.after = number
		}
		f.complete = f.complete || isFinal(name)
	}
	f.after = max(f.after, b.last)
	return f.write(out)
}

// sendFinal sends the final event of a response whose process did not store one, because the response was cancelled or
// the process was lost. If the final event was stored the client already has it, and sendFinal sends nothing.
func (f *follower) sendFinal(ctx context.Context) error {
	r, err := f.service.find(ctx, f.owner, f.id)
	if err != nil {
		return err
	}
	if gjson.GetBytes(r.document.Response, "status").Str == r.status { // the final event is stored, too
		return nil
	}
	data := append([]byte(`{"type":"response.failed","sequence_number":`), strconv.FormatInt(f.after+1, 10)...)
	data = append(append(data, `,"response":`...), r.object()...)
	return f.write(appendFrame(nil, "response.failed", append(data, '}')))
}

// fail ends the stream with an error event, because the header has already been sent.
func (f *follower) fail(err error) {
	if errors.Is(err, errLeft) {
		return
	}
	message := "the events cannot be read now: resume the stream with starting_after=" + strconv.FormatInt(f.after, 10)
	if errors.Is(err, sql.ErrNoRows) {
		message = "the response was deleted"
	}
	data := append([]byte(`{"type":"error","sequence_number":`), strconv.FormatInt(f.after+1, 10)...)
	data = append(append(append(data, `,"code":"server_error","message":"`...), message...), `","param":null}`...)
	_ = f.write(appendFrame(nil, "error", data)) // nothing can be done about an error
}

// write sends a text to the client at once. It returns errLeft if the client has gone.
func (f *follower) write(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	f.lastWrite = time.Now()
	if _, err := f.w.Write(text); err != nil {
		return errLeft
	}
	if err := f.rc.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return errLeft
	}
	return nil
}
