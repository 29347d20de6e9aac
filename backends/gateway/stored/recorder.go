package stored

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
	"github.com/tollgate-gateway/tollgate/internal/memory"
)

// storeTime limits the time for storing an answer, since the client waits for it.
const storeTime = 10 * time.Second

// Recorder writes an answer to its client and stores it. It sets the members about storage in the response object. It
// stores a stream before the client gets the final event, and any other answer before the client gets the first byte. A
// Recorder is an http.ResponseWriter for one goroutine at a time. Call Finish after the answer.
type Recorder struct {
	client  http.ResponseWriter
	turn    *Turn
	share   memory.Share // the memory of buffer, unless the answer is streamed
	streams bool         // whether the answer is a stream of events
	status  int          // 0 before WriteHeader
	buffer  []byte       // a whole answer, or the incomplete event at the end of a stream
	out     []byte       // the complete events of a Write for the client
}

// Record returns a recorder that stores the turn's answer and writes it to client. An answer that is not streamed is
// held in memory, which is counted in share.
func (t *Turn) Record(client http.ResponseWriter, share memory.Share) *Recorder {
	return &Recorder{client: client, turn: t, share: share}
}

// Unwrap returns the client's writer, for http.ResponseController.
func (r *Recorder) Unwrap() http.ResponseWriter { return r.client }

// Header implements http.ResponseWriter.
func (r *Recorder) Header() http.Header { return r.client.Header() }

// WriteHeader implements http.ResponseWriter. The header of an answer that is not streamed is sent by Finish.
func (r *Recorder) WriteHeader(status int) {
	r.status = status
	if r.streams = strings.HasPrefix(r.Header().Get("Content-Type"), "text/event-stream"); r.streams {
		r.client.WriteHeader(status)
	}
}

// Write implements http.ResponseWriter.
func (r *Recorder) Write(p []byte) (int, error) {
	if !r.streams {
		if err := r.share.Grow(context.Background(), int64(len(r.buffer)+len(p))); err != nil {
			return 0, err
		}
		r.buffer = append(r.buffer, p...)
		return len(p), nil
	}
	searchFrom := max(len(r.buffer)-1, 0) // the buffer has no whole event yet, but may end with the first \n of frameEnd
	r.buffer = append(r.buffer, p...)
	r.out = r.out[:0]
	unread := r.buffer
	for length := indexFrame(unread[searchFrom:]); length > 0; length = indexFrame(unread) {
		end := searchFrom + length
		r.out = r.frame(r.out, unread[:end])
		unread, searchFrom = unread[end:], 0
	}
	if len(unread) < len(r.buffer) {
		r.buffer = append(r.buffer[:0], unread...)
	}
	if len(r.out) == 0 {
		return len(p), nil
	}
	if _, err := r.client.Write(r.out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Finish stores and sends an answer that is not streamed. The recorder must not be used afterwards.
func (r *Recorder) Finish() error {
	defer r.share.Free()
	if r.streams || r.status == 0 {
		return nil
	}
	object := r.turn.storeAnswer(r.buffer, nil)
	r.Header().Set("Content-Length", strconv.Itoa(len(object)))
	r.client.WriteHeader(r.status)
	_, err := r.client.Write(object)
	return err
}

// frame appends an event to dst in the form for the client. If the client reads the events from the log, frame adds the
// event to the log instead.
func (r *Recorder) frame(dst, frame []byte) []byte {
	name, data := parseFrame(frame)
	t := r.turn
	if t.log != nil { // the client reads from the log
		if data != nil && name != "response.created" { // that event is already in the log
			t.logEvent(name, data)
		}
		return dst
	}
	object := responseIn(name, data)
	switch {
	case !object.IsObject():
		return append(dst, frame...)
	case isFinal(name):
		return appendFrame(dst, name, replaceAt(data, object, t.storeAnswer([]byte(object.Raw), nil)))
	}
	return appendFrame(dst, name, replaceAt(data, object, t.withStorageMembers([]byte(object.Raw), t.stores)))
}

// logEvent adds an event to the log of a turn in the background. The final event stores the answer.
func (t *Turn) logEvent(name string, data []byte) {
	if t.finished {
		return
	}
	if name == "error" { // the final event will report the failure
		t.failure = errorMember("server_error", gjson.GetBytes(data, "message").Str)
		return
	}
	object := responseIn(name, data)
	switch {
	case !object.IsObject():
		t.log.add(name, data)
	case isFinal(name):
		t.storeAnswer([]byte(object.Raw), &lastEvent{name: name, data: data, object: object})
	default:
		t.log.add(name, replaceAt(data, object, t.withStorageMembers([]byte(object.Raw), true)))
	}
}

// lastEvent is the final event of an answer.
type lastEvent struct {
	name   string
	data   []byte
	object gjson.Result // the response object in data
}

// storeAnswer stores an answer, and returns the response object for the client. The object has members that state
// whether and how the answer is stored. last is the final event, which is added to the event log, or nil for none.
// storeAnswer sets t.finished if nothing remains to be stored. It sets t.failure if the answer cannot be stored as it
// is; a run then stores that failure.
func (t *Turn) storeAnswer(object []byte, last *lastEvent) []byte {
	clientObject := t.withStorageMembers(object, t.stores)
	if !t.stores || t.finished {
		return clientObject
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	err := t.storeWithEvents(ctx, clientObject, last)
	if err == nil {
		return clientObject
	}
	refusal, isAPIError := apierror.From(err)
	switch {
	case errors.Is(err, errGone):
		t.finished = true
	case isAPIError:
		t.failure = errorMember("server_error", refusal.Message)
	default:
		t.service.logger.Warn("a response is not stored", zap.String("response", t.ID), zap.Error(err))
	}
	return t.withStorageMembers(object, false)
}

// storeWithEvents stores an answer together with the events that are not stored yet. If last is not nil, it becomes
// the last of these events, with the given object as its response object.
func (t *Turn) storeWithEvents(ctx context.Context, object []byte, last *lastEvent) error {
	var events *eventBatch
	if t.log != nil {
		defer t.log.blockWrites()()
		if last != nil {
			pending := t.log.pendingWith(last.name, replaceAt(last.data, last.object, object))
			var err error
			if events, err = t.log.seal(ctx, t, pending); err != nil {
				return err
			}
		}
	}
	err := t.writeAnswer(ctx, object, events)
	t.finished = err == nil
	if t.finished && t.log != nil {
		t.log.clearPending()
	}
	return err
}

// withStorageMembers returns a response object with the members about storage set. stores is the value of the member
// store.
func (t *Turn) withStorageMembers(object []byte, stores bool) []byte {
	quoted := func(text string) string {
		if text == "" {
			return "null"
		}
		return string(jsontext.AppendQuoted(nil, text))
	}
	conversation := "null"
	if t.conversation != "" {
		conversation = `{"id":` + quoted(t.conversation) + `}`
	}
	return setMembers(object, []member{
		{"id", quoted(t.ID)},
		{"background", strconv.FormatBool(t.Background)},
		{"store", strconv.FormatBool(stores)},
		{"previous_response_id", quoted(t.previous)},
		{"conversation", conversation},
	})
}
