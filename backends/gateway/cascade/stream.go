package cascade

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/memory"
)

// Time limits of a stream.
const (
	keepAliveEvery = 10 * time.Second
	maxComments    = 5 * time.Minute
)

// Limits for reading the rest of a body after [DONE].
const (
	drainTime  = 50 * time.Millisecond
	flushTime  = time.Millisecond
	drainBytes = 4 << 10
)

// maxUncommitted limits the bytes that are held back before the commit point.
const maxUncommitted = 1 << 20

// maxSilentBytes limits the bytes that are read without producing an event for the client, since a few bytes of gzip
// can expand to millions of comments. It leaves room for a single event of the largest size that the reader accepts.
const maxSilentBytes = wire.MaxEvent + 4<<20

var errNoContent = errors.New("the upstream sent too much data without any content")

// relay passes the stream in resp on to the client, event by event. contentTimer cancels the attempt if no content
// comes in time, and cancel cancels the attempt at once. relay returns the failure if the stream broke before
// the commit point, so that another candidate can answer. Otherwise it returns nil.
func (r *run) relay(
	ctx context.Context, cancel context.CancelCauseFunc, contentTimer *time.Timer, c *keychain.Candidate,
	resp *http.Response, x *exchange, l *limits,
) *failure {
	s := newRelay(ctx, r, c, cancel, resp, x, l)
	defer s.end()
	for {
		event, err := s.events.Next()
		if errors.Is(err, wire.ErrWait) { // before the next read, which may block
			if s.flush() != nil {
				return s.clientLeftEarly()
			}
			continue
		}
		pendingBefore := len(s.pending)
		progress, err := s.convert(event, err)
		if err != nil {
			return s.failed(ctx, resp, err)
		}
		if !s.committed {
			if !progress.Proof && !progress.Done { // no content yet: hold everything back
				if !s.thinks && (progress.Thinks || s.pass.Usage().Reasoning > 0) {
					contentTimer.Stop() // a thinking model has more time, see startThinking
					s.startThinking()
				}
				continue
			}
			contentTimer.Stop()
			s.commit()
		}
		if len(s.pending) > pendingBefore { // the event had something for the client
			s.silentBytes = 0
		}
		if progress.Done {
			return s.done()
		}
		if len(s.pending) >= maxPending {
			if err := s.write(); err != nil {
				return s.clientLeftEarly()
			}
		}
	}
}

// convert converts one event of the upstream: it appends the events for the client to s.pending. err is the error with
// which reading the stream ended, or nil. At io.EOF convert appends the events that end the client's stream, and any
// other err is returned. progress says what the event shows about the upstream's answer.
func (s *relay) convert(event wire.Event, err error) (progress wire.Progress, _ error) {
	if err == nil && event.Comment { // needs no buffer
		return progress, nil
	}
	if s.pending == nil { // write has recycled the last buffer
		s.pending = *buffers.Get().(*[]byte)
	}
	switch {
	case err != nil && errors.Is(err, io.EOF):
		s.pending, err = s.pass.End(s.pending)
		return wire.Progress{Done: true}, err
	case err != nil:
		return progress, err
	}
	s.pending, progress, err = s.pass.Event(s.pending, event.Name, event.Data)
	if err == nil && !s.committed && len(s.pending) > maxUncommitted && !progress.Proof && !progress.Done {
		err = errNoContent
	}
	return progress, err
}

// maxPending is the number of pending bytes at which events are written to the client even if the upstream has not
// paused.
const maxPending = 32 << 10

// relay carries one stream from an upstream to the client. It is also the reader of the upstream's body. If events are
// unsent after the commit point, Read returns wire.ErrWait before a read of the body that might block. The pending
// events are then written and flushed. So no event is delayed, and a burst of events costs one write.
type relay struct {
	run       *run
	pass      hub.Pass
	events    *wire.EventReader // reads from the relay itself
	candidate *keychain.Candidate
	body      io.Reader
	ctx       context.Context // of the attempt
	cancel    context.CancelCauseFunc
	limits    *limits
	rc        *http.ResponseController
	committed bool
	thinks    bool   // the model has begun to think before the commit point
	keepAlive []byte // the keep-alive message for the time after the commit point
	// pending holds events for the client. The goroutine of run.relay appends to it without the mutex. Once that goroutine
	// is in the method drain, the goroutine of a timer may write the events to the client.
	pending     []byte
	share       memory.Share // memory for unusually large events
	silentBytes int          // bytes read since the last event for the client

	mu           sync.Mutex // guards run.w and the fields below, since onSilence writes to the client too
	begun        bool       // the header was sent to the client
	unflushed    bool
	ended        bool
	lastByte     time.Time // when the last byte came from the upstream, see writeLocked
	lastContent  time.Time // when the last content came from the upstream
	lastWrite    time.Time // to the client
	silenceTimer *time.Timer
}

// newRelay returns a relay for the stream in resp, before its first event is read. The parameters are those of
// run.relay.
func newRelay(
	ctx context.Context, r *run, c *keychain.Candidate, cancel context.CancelCauseFunc, resp *http.Response,
	x *exchange, l *limits,
) *relay {
	s := new(relay) // filled field by field, not copied from a literal on the stack
	s.run, s.candidate, s.cancel, s.limits = r, c, cancel, l
	s.pass, s.body, s.share, s.ctx = x.pass, resp.Body, r.Budget.Share(r.req.User), ctx
	s.rc = http.NewResponseController(r.w)
	s.events = wire.NewEventReader(s)
	return s
}

// Read implements io.Reader.
func (s *relay) Read(p []byte) (int, error) {
	if s.committed && s.hasUnsent() {
		return 0, wire.ErrWait
	}
	if s.silentBytes > maxSilentBytes {
		return 0, errNoContent
	}
	n, err := s.body.Read(p)
	s.silentBytes += n
	if (s.committed || s.thinks) && n > 0 {
		s.mu.Lock()
		s.lastByte = time.Now()
		s.mu.Unlock()
	}
	return n, err
}

// Room implements wire.Roomer. Before a large event is read it takes size bytes of the user's share of the memory
// budget, and waits for them if necessary. A size of 0 returns the whole share.
func (s *relay) Room(size int) error {
	if size == 0 {
		s.share.Free()
		return nil
	}
	return s.share.Grow(s.ctx, int64(size))
}

// startThinking starts the silence timer for a model that thinks before its first content. Nothing is sent to the
// client meanwhile, so another candidate may still answer.
func (s *relay) startThinking() {
	s.thinks = true
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastByte = time.Now()
	s.silenceTimer = time.AfterFunc(s.thinkingTime(s.lastByte), s.onSilence)
}

// thinkingTime returns how long the model may continue to think without another sign of life.
func (s *relay) thinkingTime(now time.Time) time.Duration {
	return max(min(s.lastByte.Add(s.limits.idle).Sub(now), s.limits.contentBy.Sub(now)), time.Millisecond)
}

// commit sends the answer's header and starts the silence timer.
func (s *relay) commit() {
	s.committed = true
	s.keepAlive = s.pass.KeepAlive(nil)
	s.run.commit(s.candidate)
	s.run.clientFormat.Facts().SetStreamHeader(s.run.w.Header())
	s.run.w.WriteHeader(http.StatusOK)
	now := time.Now()
	s.mu.Lock()
	s.begun = true
	s.lastByte, s.lastContent, s.lastWrite = now, now, now
	if next := min(keepAliveEvery, s.limits.idle); s.silenceTimer == nil {
		s.silenceTimer = time.AfterFunc(next, s.onSilence)
	} else {
		s.silenceTimer.Reset(next)
	}
	s.mu.Unlock()
}

// write writes the pending events to the client's connection.
func (s *relay) write() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writeLocked()
}

// writeLocked writes the pending events to the client's connection. The caller holds the mutex.
func (s *relay) writeLocked() error {
	if len(s.pending) == 0 {
		return nil
	}
	s.unflushed = true
	err := s.run.write(s.pending)
	s.recycle()
	// This is the time of writing, not of the upstream's last byte: a client that reads slowly must not make the
	// upstream seem silent.
	s.lastByte = time.Now()
	s.lastContent = s.lastByte
	return err
}

// hasUnsent reports whether there are pending events or written events that were not flushed.
func (s *relay) hasUnsent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unflushed || len(s.pending) > 0
}

// flush writes the pending events and flushes the connection.
func (s *relay) flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended { // drain's timer fired late: the response may have ended
		return nil
	}
	err := s.writeLocked()
	if !s.unflushed || err != nil {
		return err
	}
	s.unflushed = false
	err = s.rc.Flush()
	s.lastWrite = time.Now()
	s.lastByte = s.lastWrite // see writeLocked
	return err
}

// recycle returns the buffer of pending events to the pool, since a silent stream needs no buffer.
func (s *relay) recycle() {
	recycle(new([]byte), s.pending)
	s.pending = nil
}

// onSilence cancels the upstream, or sends the client a keep-alive. The silence timer calls it at the earliest moment
// at which one of the two may be due. If neither is due, because bytes have come meanwhile, onSilence only sets the
// timer again.
func (s *relay) onSilence() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	now := time.Now()
	switch {
	case now.Sub(s.lastByte) >= s.limits.idle, s.begun && now.Sub(s.lastContent) >= maxComments:
		s.cancel(errIdle) // silence, or only comments for too long
		return
	case !s.begun && !now.Before(s.limits.contentBy):
		s.cancel(errThinking)
		return
	case !s.begun:
		s.silenceTimer.Reset(s.thinkingTime(now))
		return
	}
	if now.Sub(s.lastWrite) >= keepAliveEvery {
		s.lastWrite = now
		if _, err := s.run.w.Write(s.keepAlive); err == nil {
			_ = s.rc.Flush() // a client that left is noticed by the request's context
		}
	}
	next := min(s.lastWrite.Add(keepAliveEvery).Sub(now), s.lastByte.Add(s.limits.idle).Sub(now),
		s.lastContent.Add(maxComments).Sub(now))
	s.silenceTimer.Reset(max(next, time.Millisecond))
}

// end stops the timer, so that it does not write any more, and releases the stream's buffers and memory.
func (s *relay) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if s.silenceTimer != nil {
		s.silenceTimer.Stop()
	}
	s.events.Release()
	s.share.Free()
	if s.pending != nil {
		s.recycle()
	}
}

// storeUsage stores the usage in the result. If the answer is not complete the usage counts as unknown, since the
// upstream may have stated it before the rest of the text.
func (s *relay) storeUsage(complete bool) {
	result := &s.run.result
	result.Usage, result.textBytes = s.pass.Usage(), s.pass.TextBytes()
	result.Usage.Known = result.Usage.Known && complete
}

// done ends a complete stream: it stores the usage, writes the pending events and reads the rest of the upstream's
// body. It always returns nil, which ends the cascade.
func (s *relay) done() *failure {
	s.storeUsage(true)
	if s.write() != nil {
		return s.clientLeft()
	}
	s.drain()
	return nil
}

// drain reads to the end of the body, so that the connection can serve another request. It waits for at most drainTime,
// since the client's answer ends only afterwards. Usually it does not wait at all, and the last events and the end of
// the answer are sent together.
func (s *relay) drain() {
	flushTimer := time.AfterFunc(flushTime, func() { _ = s.flush() }) // the request's context notices a client that left
	defer flushTimer.Stop()
	timer := time.AfterFunc(drainTime, func() { s.cancel(context.Canceled) })
	defer timer.Stop()
	_, _ = io.CopyN(io.Discard, s.body, drainBytes) // an error at the end of the body does not matter any more
}

// clientLeftEarly ends an incomplete stream after the client has left: it stores the usage and calls clientLeft. It
// returns nil.
func (s *relay) clientLeftEarly() *failure {
	s.storeUsage(false)
	return s.clientLeft()
}

// clientLeft cancels the request to the upstream, since the client has left. It returns nil, which ends the cascade.
func (s *relay) clientLeft() *failure {
	s.run.result.Code = codeClientLeft
	s.cancel(context.Canceled)
	return nil
}

// failed ends a stream that broke with err. Before the commit point it returns the failure, so that the next candidate
// is tried. After it, the client gets an error event in the stream.
func (s *relay) failed(ctx context.Context, resp *http.Response, err error) *failure {
	f := s.run.brokenFailure(ctx, err)
	if e, ok := errors.AsType[*wire.UpstreamError](err); ok && f.class != clientGone {
		f = classify(http.StatusOK, resp.Header, e, func(string) bool { return false }, s.run.Now())
	}
	if !s.committed {
		f.status = resp.StatusCode
		s.run.addLost(s.candidate, s.pass, false)
		return f
	}
	s.storeUsage(false)
	if f.class == clientGone {
		return s.clientLeft()
	}
	if f.code == connectionError || f.class == timedOut {
		// The answer may be complete, with only the end of the stream missing.
		if s.pending, err = s.pass.End(s.pending); err == nil {
			return s.done()
		}
	}
	f.redact(s.run.key.Secret)
	s.run.streamFailure = f.class
	s.run.result.Code = "upstream_stream_error"
	message := "the upstream's stream broke: " + f.message
	if f.class == busy {
		message = apierror.Unavailable(f.message, nil).Message
	}
	s.pending = s.pass.Fail(s.pending, hub.Failure{
		Code: failureCode(f), Type: failureType(f), Message: message, RequestID: s.run.req.ID,
	})
	_ = s.flush() // nobody is left to report an error to
	return nil
}
