package stored

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// acceptedFactor is the number of answers that are accepted, divided by the number that may be generated at the same
// time.
const acceptedFactor = 4

var (
	errStopped = errors.New("the gateway was stopped before the answer was complete: ask again")
	errTime    = errors.New("the answer took longer than the time limit for answers in the background")
	errBroken  = errors.New("the answer broke off")
)

// run is an answer that is generated in the background.
type run struct {
	turn   *Turn
	ctx    context.Context // the work outlives the request
	cancel context.CancelCauseFunc
	object []byte        // the response object before the answer
	ready  chan struct{} // closed when the run may start

	inserted atomic.Bool // whether the response's row exists; before that, renewLeases must not take the run for lost
}

// Start starts to generate an answer in the background, and returns the response object without the answer. echo
// holds the members of the request that are repeated in the object. answer calls the model and writes to w. done is
// called once afterwards, whether or not answer was called. If Start returns an error, neither answer nor done is
// called. The error has status 429 if too many answers wait, and 413 if the request is too large to be stored. Other
// errors are those of the database. The background work keeps the values of ctx but not its cancellation.
func (s *Service) Start(ctx context.Context, t *Turn, model string, echo []hub.Param,
	answer func(ctx context.Context, w http.ResponseWriter) error, done func(),
) ([]byte, error) {
	s.Watch()
	r := &run{turn: t, ready: make(chan struct{}), object: t.withStorageMembers(skeleton(model, t.created, echo), true)}
	if t.Stream {
		t.log = newEventLog()
	}
	r.ctx, r.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	if err := s.enter(r); err != nil {
		r.cancel(err)
		return nil, err
	}
	if err := r.insert(ctx); err != nil {
		s.leave(r)
		return nil, err
	}
	r.inserted.Store(true)
	go s.work(r, answer, done)
	return r.object, nil
}

// enter accepts a run, and lets it start at once if fewer runs than the limit generate their answers. The error has
// status 429 if too many runs have been accepted.
func (s *Service) enter(r *run) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	limit := r.turn.options.Parallel
	if s.closed || len(s.runs) >= acceptedFactor*limit {
		return &apierror.Error{
			Status: http.StatusTooManyRequests, Code: "rate_limit_exceeded", RetryAfter: 10 * time.Second,
			Message: "too many answers are waiting to be generated in the background: try again in a while",
		}
	}
	s.runs[r.turn.ID] = r
	s.running.Add(1)
	if s.working < limit {
		s.working++
		close(r.ready)
	} else {
		s.queue = append(s.queue, r)
	}
	return nil
}

// leave removes a run and lets waiting runs start. It must be called once for each run that enter has accepted.
func (s *Service) leave(r *run) {
	defer s.running.Done()
	r.cancel(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.runs, r.turn.ID)
	if index := slices.Index(s.queue, r); index >= 0 { // it ended before its turn, and is not in s.working
		s.queue = slices.Delete(s.queue, index, index+1)
		return
	}
	s.working--
	for len(s.queue) > 0 && s.working < s.queue[0].turn.options.Parallel {
		next := s.queue[0]
		s.queue = s.queue[1:]
		s.working++
		close(next.ready)
	}
}

// cancelRun stops the run of the response with the id, because the answer is no longer wanted. It does nothing if
// this process does not have the run.
func (s *Service) cancelRun(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runs[id]; r != nil {
		r.cancel(errGone)
	}
}

// insert inserts the row of the response and, if it is streamed, its first two events.
func (r *run) insert(ctx context.Context) error {
	t := r.turn
	s := t.service
	text, err := (&document{Response: r.object, Input: t.input}).encode()
	if err != nil {
		return err
	}
	if int64(len(text)) > t.options.Size {
		return tooLarge("the request", t.options.Size)
	}
	sealed, err := s.seal(ctx, tableResponses, t.ID, text)
	if err != nil {
		return err
	}
	var events *eventBatch
	var pending *pendingEvents
	if t.log != nil {
		for _, name := range [...]string{"response.created", "response.queued"} {
			t.log.add(name, eventOf(name, r.object))
		}
		pending = t.log.unwritten()
		if events, err = t.log.seal(ctx, t, pending); err != nil {
			return err
		}
	}
	err = s.db.Write(ctx, func(c store.Conn) error {
		if err := t.insert(c, statusQueued, sealed, len(text), s.expires(t.options), s.node, s.leasedUntil()); err != nil {
			return err
		}
		return events.insert(c) // inserts nothing if events is nil
	})
	if err == nil && pending != nil {
		t.log.removeWritten(pending)
	}
	return err
}

// eventOf returns the JSON data of an event that contains the response object. Its sequence number is 0, which the
// event log replaces.
func eventOf(name string, object []byte) []byte {
	return slices.Concat([]byte(`{"type":"`+name+`","sequence_number":0,"response":`), object, []byte("}"))
}

// work waits until the run may start, and then generates the answer until it is stored or given up.
func (s *Service) work(r *run, answer func(ctx context.Context, w http.ResponseWriter) error, done func()) {
	// These run in the opposite order: the failure is stored while the run still has its lease.
	defer s.leave(r)
	defer done()
	defer r.storeFailure()
	t := r.turn
	select {
	case <-r.ready:
	case <-r.ctx.Done():
		return
	}
	if err := r.begin(); err != nil {
		t.finished = errors.Is(err, errGone) // after any other error, storeFailure stores the failure
		return
	}
	ctx, cancel := context.WithTimeoutCause(r.ctx, t.options.Time, errTime)
	defer cancel()
	defer r.startFlushing()() // starts now; stops before storeFailure
	err := r.generate(ctx, answer)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err != nil && t.failure == "" {
		t.failure = errorMemberOf(err)
	}
}

// generate calls answer and stores what it writes. A panic in answer is logged and becomes an error.
func (r *run) generate(ctx context.Context, answer func(ctx context.Context, w http.ResponseWriter) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			r.turn.service.logger.Error(
				"an answer in the background panicked", zap.Any("panic", v), zap.ByteString("stack", debug.Stack()),
			)
			err = errBroken
		}
	}()
	recorder := r.turn.Record(&discardWriter{header: make(http.Header)}, r.turn.Share)
	defer recorder.share.Free() // needed if Finish is not called
	if err := answer(ctx, recorder); err != nil {
		return err
	}
	if ctx.Err() != nil { // the answer is incomplete
		return context.Cause(ctx)
	}
	return recorder.Finish()
}

// errorMemberOf returns the value of a response's member "error", as JSON, for an answer that failed with err.
func errorMemberOf(err error) string {
	for _, known := range [...]error{errStopped, errTime, errEvents} {
		if errors.Is(err, known) {
			return errorMember("server_error", known.Error())
		}
	}
	refusal, ok := apierror.From(err)
	if !ok {
		return errorMember("server_error", errBroken.Error())
	}
	code := refusal.Code
	if code == "" || refusal.Status >= http.StatusInternalServerError {
		code = "server_error"
	}
	return errorMember(code, refusal.Message)
}

// startFlushing writes events to the database regularly, until the returned function is called. That function waits
// until the last write has ended.
func (r *run) startFlushing() (stop func()) {
	t := r.turn
	if t.log == nil {
		return func() {}
	}
	stopping, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(eventsEvery)
		defer ticker.Stop()
		for {
			select {
			case <-stopping:
				return
			case <-ticker.C:
			}
			ctx, cancel := context.WithTimeout(context.Background(), storeTime)
			err := t.log.flush(ctx, t)
			cancel()
			switch {
			case errors.Is(err, errGone): // cancelled or deleted, or the answer is stored already with all of its events
				r.cancel(errGone)
				return
			case t.log.full():
				r.cancel(errEvents)
			case err != nil:
				t.service.logger.Warn("events of an answer wait for the database", zap.String("response", t.ID), zap.Error(err))
			}
		}
	}()
	return func() {
		close(stopping)
		<-stopped
	}
}

// storeFailure stores the failure of a run that ended without an answer.
func (r *run) storeFailure() {
	t := r.turn
	if t.finished || errors.Is(context.Cause(r.ctx), errGone) {
		return
	}
	if t.failure == "" {
		err := errBroken
		if cause := context.Cause(r.ctx); cause != nil {
			err = cause
		}
		t.failure = errorMemberOf(err)
	}
	failed := setMembers(r.object, []member{{"status", `"` + statusFailed + `"`}, {"error", t.failure}})
	if t.log == nil {
		t.storeAnswer(failed, nil)
		return
	}
	t.logEvent("response.failed", eventOf("response.failed", failed))
}

// skeleton returns a response object without an answer.
func skeleton(model string, created int64, echo []hub.Param) []byte {
	object := append([]byte(`{"id":"","object":"response","created_at":`), strconv.FormatInt(created, 10)...)
	object = append(
		object,
		`,"status":"queued","background":true,"completed_at":null,"error":null,"incomplete_details":null,"model":`...)
	object = jsontext.AppendQuoted(object, model)
	for _, p := range echo {
		object = append(append(append(object, `,"`...), p.Name...), `":`...)
		object = append(object, p.Value...)
	}
	return append(object, `,"output":[],"usage":null}`...)
}

// discardWriter is the ResponseWriter for answers in the background. It discards all data and never blocks.
type discardWriter struct{ header http.Header }

func (w *discardWriter) Header() http.Header            { return w.header }
func (w *discardWriter) WriteHeader(int)                {}
func (w *discardWriter) Write(text []byte) (int, error) { return len(text), nil }

// FlushError and SetWriteDeadline implement the optional methods that http.ResponseController uses.
func (w *discardWriter) FlushError() error                { return nil }
func (w *discardWriter) SetWriteDeadline(time.Time) error { return nil }
