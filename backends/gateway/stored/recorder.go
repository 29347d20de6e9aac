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

// Recorder writes an answer to its client. It sets the members about storage in the response object. It stores a stream
// before the client gets the final event, and any other answer before the client gets the first byte. A Recorder is an
// http.ResponseWriter for one goroutine at a time. Call Finish after the answer.
type Recorder struct {
	client  http.ResponseWriter
	turn    *Turn
	share   memory.Share
	streams bool
	status  int
	buffer  []byte // a whole answer, or an incomplete event
	out     []byte
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
	from := max(len(r.buffer)-1, 0) // no event ends before this
	r.buffer = append(r.buffer, p...)
	r.out = r.out[:0]
	rest := r.buffer
	for end := indexFrame(rest[from:]); end > 0; end = indexFrame(rest) {
		r.out = r.frame(r.out, rest[:from+end])
		rest, from = rest[from+end:], 0
	}
	if len(rest) < len(r.buffer) {
		r.buffer = append(r.buffer[:0], rest...)
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
	object := r.turn.settle(r.buffer, nil)
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
			t.record(name, data)
		}
		return dst
	}
	object := gjson.Result{}
	if lifecycle(name) {
		object = gjson.GetBytes(data, "response")
	}
	switch {
	case !object.IsObject():
		return append(dst, frame...)
	case isFinal(name):
		return appendFrame(dst, name, replaceAt(data, object, t.settle([]byte(object.Raw), nil)))
	}
	return appendFrame(dst, name, replaceAt(data, object, t.members([]byte(object.Raw), t.stores)))
}

// record adds an event to the log of a turn in the background. The final event stores the answer.
func (t *Turn) record(name string, data []byte) {
	if t.finished {
		return
	}
	if name == "error" { // the final event will report the failure
		t.failure = failure("server_error", gjson.GetBytes(data, "message").Str)
		return
	}
	object := gjson.Result{}
	if lifecycle(name) {
		object = gjson.GetBytes(data, "response")
	}
	switch {
	case !object.IsObject():
		t.log.add(name, data)
	case isFinal(name):
		t.settle([]byte(object.Raw), &lastEvent{name: name, data: data, object: object})
	default:
		t.log.add(name, replaceAt(data, object, t.members([]byte(object.Raw), true)))
	}
}

// lastEvent is the final event of an answer.
type lastEvent struct {
	name   string
	data   []byte
	object gjson.Result // the response object in data
}

// settle stores an answer, and returns the response object for the client with the member that states whether the
// answer is stored. last is the final event, which is added to the event log, or nil for none.
func (t *Turn) settle(object []byte, last *lastEvent) []byte {
	shown := t.members(object, t.stores)
	if !t.stores || t.finished {
		return shown
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	err := t.store(ctx, shown, last)
	if err == nil {
		return shown
	}
	refusal, forClients := apierror.From(err)
	switch {
	case errors.Is(err, errGone):
		t.finished = true
	case forClients:
		t.failure = failure("server_error", refusal.Message)
	default:
		t.service.logger.Warn("a response is not stored", zap.String("response", t.ID), zap.Error(err))
	}
	return t.members(object, false)
}

// store stores an answer together with the events that are not stored yet. If last is not nil it becomes the last of
// these, with the object of the answer.
func (t *Turn) store(ctx context.Context, object []byte, last *lastEvent) error {
	var events *eventBatch
	if t.log != nil {
		defer t.log.hold()()
		if last != nil {
			var err error
			if events, err = t.log.seal(
				ctx, t, t.log.numbered(last.name, replaceAt(last.data, last.object, object)),
			); err != nil {
				return err
			}
		}
	}
	err := t.finish(ctx, object, events)
	if t.finished = err == nil; t.finished && t.log != nil {
		t.log.end()
	}
	return err
}

// members returns a response object with the members about storage set. stores is the value of the member store.
func (t *Turn) members(object []byte, stores bool) []byte {
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
