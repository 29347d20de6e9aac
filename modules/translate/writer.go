package translate

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/inbound"
	"github.com/tollgate-gateway/tollgate/internal/memory"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/modules/apierrors"
)

// Limits for an answer that is not streamed, in bytes.
const (
	maxReply = 32 << 20
	maxError = 64 << 10
)

// These constants bound the keep-alives of a stream. After maxKeepAlives in a row no more are sent, so that the
// client's timeout can end the stream of a silent server.
const (
	keepAliveEvery = 10 * time.Second
	maxKeepAlives  = 30 // in a row
)

// The modes of a writer, which determine the handling of an answer. WriteHeader chooses the mode; later only the
// methods fail and buffer change it, to refused.
const (
	undecided = iota
	untouched // passed on unchanged: the handler took the offer or never read the body
	buffered  // translated when it is complete
	streamed  // translated event by event
	refused   // replaced by an error response: the server's error, or the error in writer.err
)

// writer receives the server's answer and writes the answer in the client's format. One goroutine, that of the next
// handler, calls its methods, except onSilence, which a timer calls.
type writer struct {
	*caddyhttp.ResponseWriterWrapper
	t      *translation
	mode   int
	status int
	err    error // sent in place of a refused answer
	pass   hub.Pass
	answer []byte       // the answer so far, in the modes buffered and refused
	share  memory.Share // memory for the field answer and its translation, or for unusually large events

	events *wire.EventReader
	unread []byte // bytes of the stream that events has not read yet

	mu           sync.Mutex // guards the stream to the client, including pass: onSilence writes too
	out          []byte     // events to be sent to the client
	started      bool       // whether something was written to the client
	done         bool       // whether the stream is complete, or has failed and the client was informed
	flush        *http.ResponseController
	silenceTimer *time.Timer // runs onSilence once the stream is silent; nil before it begins
	keepAlives   int         // number of keep-alives since the last event of the server
}

// WriteHeader chooses the mode from the status and the header.
func (w *writer) WriteHeader(status int) {
	isFinal := status >= 200 || status == http.StatusSwitchingProtocols
	if w.mode != undecided || !isFinal {
		if w.mode == undecided || w.mode == untouched { // an informational status, or a second call, which net/http logs
			w.ResponseWriter.WriteHeader(status)
		}
		return
	}
	w.status = status
	if w.t.Taken() || !w.t.fromServer(status) {
		w.mode = untouched
		w.ResponseWriter.WriteHeader(status)
		return
	}
	if status >= 300 {
		w.mode, w.err = refused, w.t.failure() // an unreadable request body matters more than the server's answer to it
		return
	}
	result := w.t.convert() // the server may answer before it has the whole request
	if result.err != nil {
		w.mode, w.err = refused, result.err
		return
	}
	w.mode = buffered
	media, _, _ := strings.Cut(w.Header().Get("Content-Type"), ";")
	if result.request.Stream && strings.EqualFold(strings.TrimSpace(media), "text/event-stream") {
		w.mode = streamed
	}
	w.pass = w.t.pass(result.request, w.mode == buffered)
	for _, name := range []string{"Content-Length", "Content-Encoding", "Etag", "Last-Modified"} {
		w.Header().Del(name)
	}
	if len(result.dropped) > 0 {
		w.Header().Set("X-Gateway-Dropped-Params", strings.Join(result.dropped[:min(len(result.dropped), 20)], ", "))
	}
	if w.mode == streamed {
		w.events = wire.NewEventReader((*feed)(w))
		w.flush = http.NewResponseController(w.ResponseWriter)
	}
}

// feed is the io.Reader from which writer.events reads the stream. It returns only the bytes that have arrived so far.
type feed writer

// Read implements io.Reader. It returns wire.ErrWait if all bytes were read.
func (f *feed) Read(p []byte) (int, error) {
	if len(f.unread) == 0 {
		return 0, wire.ErrWait
	}
	n := copy(p, f.unread)
	f.unread = f.unread[n:]
	return n, nil
}

// Room implements wire.Roomer.
func (f *feed) Room(size int) error {
	if size == 0 {
		f.share.Free()
		return nil
	}
	return f.share.Grow(f.t.Request.Context(), int64(size))
}

// Write receives a part of the server's answer.
func (w *writer) Write(p []byte) (int, error) {
	if w.mode == undecided {
		w.WriteHeader(http.StatusOK)
	}
	switch w.mode {
	case untouched:
		return w.ResponseWriter.Write(p)
	case refused:
		w.answer = append(w.answer, p[:min(len(p), maxError-len(w.answer))]...)
		return len(p), nil
	case buffered:
		return len(p), w.buffer(p)
	}
	return len(p), w.stream(p)
}

var errTooLarge = errors.New("the answer is larger than 32 MiB")

// buffer appends a part of an answer to the buffer. The buffered answer is translated when it is complete.
func (w *writer) buffer(p []byte) error {
	size := len(w.answer) + len(p)
	if size > maxReply {
		return errTooLarge
	}
	if size > cap(w.answer) {
		grown := min(max(2*cap(w.answer), size), maxReply)
		if err := w.share.Grow(w.t.Request.Context(), 2*int64(grown)); err != nil { // the translation needs as much again
			w.mode, w.err, w.answer = refused, noMemory(err), nil
			w.share.Free()
			return nil
		}
		w.answer = append(make([]byte, 0, grown), w.answer...)
	}
	w.answer = append(w.answer, p...)
	return nil
}

// repairUTF8 replaces invalid UTF-8 in the buffered answer. It takes memory from the budget if that makes the answer
// larger.
func (w *writer) repairUTF8() error {
	size := wire.ValidUTF8Len(w.answer)
	if size > maxReply {
		return upstreamError(errTooLarge)
	}
	if size > len(w.answer) {
		if err := w.share.Grow(w.t.Request.Context(), int64(cap(w.answer)+2*size)); err != nil {
			return noMemory(err)
		}
	}
	w.answer = wire.ValidUTF8(w.answer)
	return nil
}

// stream translates the events that p completes.
func (w *writer) stream(p []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unread, w.keepAlives = p, 0 // w.events reads from w.unread
	w.out = w.out[:0]
	for !w.done {
		event, err := w.events.Next()
		if errors.Is(err, wire.ErrWait) {
			break
		}
		if err == nil && event.Comment {
			if w.started || len(w.out) > 0 { // until the first event, an error can still have a status
				w.out = w.pass.KeepAlive(w.out)
			}
			continue
		}
		var progress wire.Progress
		if err == nil {
			w.out, progress, err = w.pass.Event(w.out, event.Name, event.Data)
		}
		if err != nil {
			return w.fail(err)
		}
		w.done = progress.Done
	}
	return w.send()
}

// send writes and flushes the translated events. The first call also writes the header. The caller holds w.mu.
func (w *writer) send() error {
	if len(w.out) == 0 {
		return nil
	}
	if !w.started {
		w.started = true
		w.streamHeader()
		w.ResponseWriter.WriteHeader(http.StatusOK)
	}
	if _, err := w.ResponseWriter.Write(w.out); err != nil {
		return err
	}
	err := w.flush.Flush()
	switch {
	case w.done:
	case w.silenceTimer == nil: // not before the header is written, because the mutex does not guard the header's fields
		w.silenceTimer = time.AfterFunc(keepAliveEvery, w.onSilence)
	default:
		w.silenceTimer.Reset(keepAliveEvery)
	}
	return err
}

// streamHeader sets the header fields of a stream.
func (w *writer) streamHeader() {
	rest.NoSniff(w.Header())
	w.t.Format.Facts().SetStreamHeader(w.Header())
}

// onSilence sends a keep-alive to the client.
func (w *writer) onSilence() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done || w.keepAlives >= maxKeepAlives {
		return
	}
	w.keepAlives++
	w.out = w.pass.KeepAlive(w.out[:0])
	_ = w.send() // an error is ignored; the next event or the request's context shows a client that has left
}

// fail ends a stream that broke off. If nothing was sent yet, it only sets w.mode and w.err, and finish returns the
// error with its status. Otherwise it sends the error event of the client's format. The caller holds w.mu.
func (w *writer) fail(err error) error {
	w.done = true
	if !w.started && len(w.out) == 0 {
		w.mode, w.err = refused, upstreamError(err)
		return nil
	}
	code, kind := failureKind(err)
	failure := hub.Failure{
		Code: code, Type: kind, Message: "the upstream's stream broke: " + reason(err),
		RequestID: apierrors.RequestID(w.t.Request.Context()),
	}
	if errors.Is(err, memory.ErrFull) {
		failure.Code, failure.Type, failure.Message = "overloaded", "overloaded_error", noMemory(err).Message
	}
	w.out = w.pass.Fail(w.out, failure)
	return w.send()
}

// FlushError implements flushing for http.ResponseController. Translated streams are flushed after each event, and a
// buffered answer has nothing to flush.
func (w *writer) FlushError() error {
	if w.mode == untouched {
		return http.NewResponseController(w.ResponseWriter).Flush()
	}
	return nil
}

// ReadFrom makes io.Copy use Write, so that the answer is translated.
func (w *writer) ReadFrom(r io.Reader) (int64, error) {
	if w.mode == untouched {
		return w.ResponseWriterWrapper.ReadFrom(r)
	}
	return io.Copy(struct{ io.Writer }{w}, r)
}

// serve runs the next handler. reverse_proxy panics with ErrAbortHandler when the server breaks off, in order to cut
// off the client too. If the answer is being translated, serve recovers from this panic, and finish sends an error in
// the client's format instead.
func (w *writer) serve(next caddyhttp.Handler, r *http.Request) (err error) {
	defer func() {
		if p := recover(); p != nil && (p != http.ErrAbortHandler || w.pass == nil) { //nolint:errorlint // panics are compared as they are
			panic(p)
		}
	}()
	return next.ServeHTTP(w, r)
}

// finish completes the answer. err is the error of the next handler.
func (w *writer) finish(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mode == undecided && !w.t.Taken() {
		w.err = w.t.failure() // the conversion failed, so the next handler's own error does not matter
	}
	switch {
	case w.t.Taken() || w.mode == untouched:
		return err
	case w.err != nil:
		return statusError(w.err)
	case w.mode == refused: // the server has answered with an error
		e := wire.ParseUpstreamError(w.status, w.answer)
		status := w.status
		if status < 400 { // a redirect would lead the client past the translation
			status = http.StatusBadGateway
		}
		return statusError(&apierror.Error{Status: status, Code: e.Code, Type: e.Type, Param: e.Param, Message: e.Message})
	case err != nil && !w.started:
		return err
	case w.mode == streamed && !w.done: // the server has ended the stream without its last event
		w.done = true
		out, broken := w.pass.End(w.out[:0])
		w.out = out
		if broken == nil {
			return w.send()
		}
		if err := w.fail(broken); err != nil || w.started {
			return err
		}
		return statusError(w.err) // set by fail, since nothing was sent yet
	case w.mode == buffered:
		if err := w.repairUTF8(); err != nil {
			return statusError(err)
		}
		answer, broken := w.pass.Whole(nil, w.answer)
		if broken != nil {
			return statusError(upstreamError(broken))
		}
		if result := w.t.convert(); result.request.Stream { // w.pass has made the answer a stream
			w.streamHeader()
		} else {
			rest.NoSniff(w.Header())
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
		}
		w.ResponseWriter.WriteHeader(http.StatusOK)
		err = inbound.Default.Write(w.t.Request.Context(), w.ResponseWriter, answer)
	}
	return err
}

// release stops all writing. The response writer must not be used after the handler has returned.
func (w *writer) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = true
	if w.silenceTimer != nil {
		w.silenceTimer.Stop()
	}
	if w.events != nil {
		w.events.Release()
	}
	w.share.Free()
}

// noMemory returns the error with status 503 if there is no memory for an answer.
func noMemory(err error) *apierror.Error { return apierror.Unavailable("memory for this answer", err) }

// upstreamError returns the error with status 502 for a server's answer that is an error or cannot be read.
func upstreamError(err error) error {
	if errors.Is(err, memory.ErrFull) {
		return noMemory(err)
	}
	return &apierror.Error{
		Status: http.StatusBadGateway, Code: "upstream_error", Type: "api_error", Message: "the upstream failed: " +
			reason(err), Cause: err,
	}
}

// failureKind returns the code and the type for a stream that broke off. Overload, rate limits and timeouts have types
// of their own, because clients then wait and try again.
func failureKind(err error) (code, kind string) {
	code, kind = "upstream_stream_error", "api_error"
	e, ok := errors.AsType[*wire.UpstreamError](err)
	if !ok {
		return code, kind
	}
	contains := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool {
			return strings.Contains(e.Code, word) || strings.Contains(e.Type, word)
		})
	}
	switch {
	case contains("rate_limit", "RESOURCE_EXHAUSTED") || e.Code == "429":
		return "rate_limit_exceeded", "rate_limit_error"
	case contains("overloaded", "UNAVAILABLE") || e.Code == "503" || e.Code == "529":
		return code, "overloaded_error"
	case contains("timeout", "DEADLINE_EXCEEDED") || e.Code == "504":
		return code, "timeout_error"
	}
	return code, kind
}

// reason returns the part of an error that the client may see.
func reason(err error) string {
	if e, ok := errors.AsType[*wire.UpstreamError](err); ok {
		return e.Message
	}
	for _, known := range []error{wire.ErrNoFinish, wire.ErrNoChoices, hub.ErrArguments, wire.ErrEventTooLarge} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return wire.ErrBroken.Error()
}

// Interface guards
var (
	_ http.ResponseWriter = (*writer)(nil)
	_ io.ReaderFrom       = (*writer)(nil)
	_ io.Reader           = (*feed)(nil)
	_ wire.Roomer         = (*feed)(nil)
)
