package cascade

import (
	"context"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/credentials"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat/native"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/formats"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/inbound"
	"github.com/tollgate-gateway/tollgate/internal/memory"
	"github.com/tollgate-gateway/tollgate/internal/outbound"
)

// Bounds of what is read from an upstream.
const (
	maxErrorBody = 64 << 10
	maxReply     = 32 << 20
)

// The causes with which an attempt is cancelled.
var (
	errFirstContent = errors.New("no content in time")
	errAnswer       = errors.New("no whole answer in time")
	errConnect      = errors.New("no connection in time")
	errIdle         = errors.New("the stream fell silent")
	errThinking     = errors.New("no content in time, only thinking")
)

// attempt sends the request to one candidate. It sends it once more on a new connection if the first one dies without
// an answer, or with a new token if the candidate refuses a cached one. fixed names the parameters that the candidate
// has just refused, which are left out or replaced (see fixes). attempt returns nil if the client has got the
// candidate's answer, or has left after the commit point.
func (r *run) attempt(c *keychain.Candidate, key *keychain.Key, fixed ...string) *failure {
	f := r.once(c, key, fixed, false)
	switch {
	case f == nil || r.spentAttempts():
	case f.class == lost:
		f = r.once(c, key, fixed, true)
	case r.Memory.Tokens.Forget(c.Provider, key.Secret, f.status):
		if f = r.once(c, key, fixed, false); f == nil {
			r.Memory.Health.reopen(providerScope(c), key.ID, c.Model.ID)
		}
	}
	return f
}

// once makes one attempt. If fresh is set it uses a new connection.
func (r *run) once(c *keychain.Candidate, key *keychain.Key, fixed []string, fresh bool) *failure {
	r.result.Attempts++
	r.late, r.key = 0, key
	r.Memory.Traffic.add(providerScope(c), key.Mine)
	started := r.Now()
	ctx, cancel := context.WithCancelCause(r.ctx)
	defer cancel(nil)
	l := r.limits(c)
	timer := time.AfterFunc(l.wait, func() { cancel(l.late) })
	defer timer.Stop()
	var connecting *time.Timer
	if l.connect > 0 {
		connecting = time.AfterFunc(l.connect, func() { cancel(errConnect) })
		defer connecting.Stop()
	}
	r.link.begin(connecting)
	var f *failure
	if r.req.Forward != nil {
		f = r.forward(ctx, timer, c, key, fresh, &l)
	} else {
		f = r.send(ctx, cancel, timer, c, key, fixed, fresh, &l)
	}
	r.learn(c, key, f, started)
	return f
}

// limits are how long a candidate may take.
type limits struct {
	connect time.Duration // to get a connection; 0 if it has no bound of its own
	// wait is the time to what the client waits for: the first content of a stream, or else the whole answer. late is
	// the cause with which a slower candidate is cancelled.
	wait time.Duration
	late error
	idle time.Duration // between two pieces of a stream
	// thought is the time by which a stream whose model thinks must have begun with its content.
	thought time.Time
}

// limits returns how long a candidate may take from now on.
func (r *run) limits(c *keychain.Candidate) limits {
	t := c.Provider.Timeouts.Or(r.Options.timeouts())
	perTier := func(limit catalog.PerTier) time.Duration {
		if d := limit.For(c.Tier); d != 0 {
			return d
		}
		return limit.High // an entry of no tier
	}
	l := limits{connect: t.Connect, wait: perTier(t.FirstContent), late: errFirstContent, idle: t.Idle}
	if answer := perTier(t.Answer); r.stream {
		l.thought = time.Now().Add(answer)
	} else {
		l.wait, l.late = answer, errAnswer
	}
	return l
}

// learn records how an attempt went: in the health table, for the client's error and for Observe.
func (r *run) learn(c *keychain.Candidate, key *keychain.Key, f *failure, started time.Time) {
	took := r.Now().Sub(started)
	seen := Attempt{
		Provider: c.Provider.Code, Model: c.ModelName(), Tier: c.Tier, Started: started, Took: took, Outcome: "ok",
		FirstToken: r.result.FirstToken,
	}
	switch {
	case f != nil:
		seen.Outcome, seen.FirstToken = f.class.String(), 0
		f.redact(key.Secret)
		seen.Cooldown, seen.Everyone = r.note(c, key, f, took)
	case r.late == busy:
		seen.Outcome = busy.String()
	case r.late != 0:
		seen.Outcome = r.late.String()
		r.Memory.Health.failed(r.incident(c, &failure{reason: ReasonErrors}))
	default:
		r.measure(c, started)
		r.Memory.Health.success(providerScope(c), r.req.User, key.ID)
	}
	if r.Observe != nil {
		r.Observe(seen)
	}
}

// shape returns the changes of the request that a candidate needs (specification 14.3), including those for the
// parameters in fixed, which the candidate has just refused.
func (r *run) shape(c *keychain.Candidate, fixed ...string) *shape {
	s := &c.Provider.Shape
	shape := &shape{Shape: native.Shape{
		Model: c.Model.ID, Drop: s.Drop, Rename: s.Rename, MaxTokensField: s.MaxTokensField,
		ToolChoiceRequired: s.ToolChoiceRequired, StreamUsage: s.StreamUsage, Developer: s.DeveloperRole,
	}, callIDMax: s.ToolCallIDMax}
	if c.Model.Reasoning && len(s.DropForReasoning) > 0 {
		shape.Drop = append(append(make([]string, 0, len(s.Drop)+len(s.DropForReasoning)), s.Drop...), s.DropForReasoning...)
	}
	r.Memory.Learned.apply(providerScope(c), r.req.User, c.Model.ID, shape)
	var f fixes
	for _, fix := range fixed {
		f.with(fix)
	}
	f.apply(shape)
	if shape.toolsClash && r.toolsWithEffort(shape) && r.toolsWire(c, shape) == nil {
		shape.Drop = slices.Concat(shape.Drop, []string{"reasoning_effort"})
	}
	return shape
}

// send makes one HTTP exchange with a candidate. It returns nil if the answer was passed on.
func (r *run) send(
	ctx context.Context, cancel context.CancelCauseFunc, timer *time.Timer, c *keychain.Candidate, key *keychain.Key,
	fixed []string, fresh bool, l *limits,
) *failure {
	x, err := r.exchange(c, r.shape(c, fixed...))
	if err != nil {
		return unfit(err)
	}
	request, err := r.request(ctx, c, key, x)
	if err != nil {
		return r.unsent(ctx, err)
	}
	resp, err := r.transport(c, fresh).RoundTrip(request)
	if err != nil {
		return r.unanswered(ctx, err, c, x, fresh)
	}
	defer resp.Body.Close()
	encoding := unpack(resp)
	if resp.StatusCode != http.StatusOK {
		return r.refused(ctx, resp, x, c)
	}
	if encoding != "" {
		return &failure{
			class: transient, status: resp.StatusCode, code: "unsupported_encoding", reason: ReasonErrors,
			message: "the upstream answered with the Content-Encoding " + encoding + ", which it was not asked for",
		}
	}
	r.cooldownInAdvance(c, key, resp.Header)
	media, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	media = strings.ToLower(strings.TrimSpace(media))
	if media == wire.EventStreamType {
		frames := r.frames(ctx, resp.Body)
		defer func() { _ = frames.Close() }() // the answer has been read
		resp.Body = frames
	}
	switch {
	case media == "text/html":
		return &failure{
			class: transient, status: resp.StatusCode, code: "html_answer", message: "the upstream answered with a web page",
			reason: ReasonErrors,
		}
	case r.stream && media != "application/json":
		return r.relay(ctx, cancel, timer, c, resp, x, l)
	default:
		return r.whole(ctx, c, resp, x)
	}
}

// transport returns the transport for a candidate. If fresh is set it opens a new connection.
func (r *run) transport(c *keychain.Candidate, fresh bool) http.RoundTripper {
	transport := r.Providers
	if c.Custom {
		transport = r.Custom
	}
	if fresh {
		transport = anew(transport)
	}
	return transport
}

// unanswered classifies an exchange to which no answer came.
func (r *run) unanswered(ctx context.Context, err error, c *keychain.Candidate, x *exchange, fresh bool) *failure {
	f := r.broken(ctx, err)
	switch {
	case f.class == gone && r.link.sent.Load():
		r.lose(c, x.passed(), false)
	case f.class == transient && !fresh && ctx.Err() == nil && r.link.died(err):
		f.class, f.reason = lost, ""
	}
	return f
}

// request builds the upstream request. None of the client's headers are copied, since they are meant for the gateway.
func (r *run) request(
	ctx context.Context, c *keychain.Candidate, key *keychain.Key, x *exchange,
) (*http.Request, error) {
	if err := x.place(c, r.stream); err != nil {
		return nil, err
	}
	target, err := url.Parse(x.url)
	if err != nil {
		return nil, fmt.Errorf("base URL: %w", err)
	}
	r.dropped = x.dropped
	accepts := accept
	if r.stream {
		accepts = acceptStream
	}
	header, err := r.header(ctx, c, key, contentType, accepts)
	if err != nil {
		return nil, err
	}
	for name, value := range x.header {
		if !c.Provider.PinnedHeaders || header.Get(name) == "" {
			header.Set(name, value)
		}
	}
	if name := c.Provider.AffinityHeader; name != "" {
		if talk, ok := r.talk(); ok {
			header.Set(name, hex.EncodeToString(talk[:]))
		}
	}
	request := (&http.Request{
		Method: http.MethodPost, URL: target, Host: target.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: x.open(), ContentLength: x.size(), GetBody: unprocessed,
	}).WithContext(ctx)
	return request, r.Memory.Tokens.Sign(request, c.Provider, key.Secret, r.transport(c, false), x.open)
}

// header returns the header of a request to a candidate. Its errors are those of credentials.
func (r *run) header(
	ctx context.Context, c *keychain.Candidate, key *keychain.Key, media, accepts []string,
) (http.Header, error) {
	header := make(http.Header, 8)
	if media != nil {
		header["Content-Type"] = media
	}
	header["Accept"] = accepts
	header["User-Agent"] = userAgent
	for name, value := range c.Provider.Headers {
		header.Set(name, value)
	}
	if via := r.Mark.via(r.req.Via, c.Custom); via != "" {
		header["Via"] = []string{via}
	}
	if key.Secret == "" {
		return header, nil
	}
	return header, r.Memory.Tokens.Authorize(ctx, header, c.Provider, key.Secret, r.transport(c, false))
}

// unsent classifies a request that could not be built.
func (r *run) unsent(ctx context.Context, err error) *failure {
	token, ok := errors.AsType[*credentials.Error](err)
	switch {
	case ctx.Err() != nil:
		return r.broken(ctx, err)
	case !ok:
		return &failure{class: skip, code: "invalid_base_url", message: err.Error()}
	case token.Refused:
		return &failure{class: badKey, code: "token_refused", message: token.Message, certain: true}
	}
	return &failure{class: transient, code: "token_unavailable", message: token.Message, reason: ReasonErrors}
}

var (
	contentType  = []string{"application/json"}
	accept       = []string{"application/json"}
	acceptStream = []string{"text/event-stream"}
	userAgent    = []string{"Tollgate"}
)

// Codes that are compared elsewhere.
const (
	connectionError = "connection_error"      // the connection failed
	codeClientLeft  = "client_closed_request" // as in the usage log
)

// broken classifies an exchange that ended without a whole answer.
func (r *run) broken(ctx context.Context, err error) *failure {
	if r.ctx.Err() != nil {
		return &failure{class: gone, code: codeClientLeft, message: "the client did not wait for the answer"}
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errFirstContent):
		return &failure{
			class: timedOut, code: "timeout", message: "the upstream sent no content in time", reason: ReasonErrors,
		}
	case errors.Is(cause, errThinking):
		return &failure{
			class: timedOut, code: "timeout", message: "the upstream thought for longer than an answer may take",
			reason: ReasonErrors,
		}
	case errors.Is(cause, errAnswer):
		return &failure{
			class: timedOut, code: "timeout", message: "the upstream did not send its whole answer in time",
			reason: ReasonErrors,
		}
	case errors.Is(cause, errConnect):
		return &failure{
			class: transient, code: "connect_timeout", message: "the upstream could not be connected in time",
			reason: ReasonErrors, unreachable: true,
		}
	case errors.Is(cause, errIdle):
		return &failure{class: timedOut, code: "timeout", message: "the upstream's stream fell silent", reason: ReasonErrors}
	}
	f := &failure{
		class: transient, code: connectionError, message: "the connection to the upstream failed", reason: ReasonErrors,
		unreachable: unreachable(err),
	}
	switch {
	case errors.Is(err, memory.ErrFull):
		f.class, f.code, f.message, f.reason, f.cause = busy, "no_memory", "memory for the answer", "", err
	case outbound.OutOfFiles(err):
		f.class, f.code, f.message, f.reason, f.cause = busy, "no_file_descriptor", "a connection to the provider", "", err
	case errors.Is(err, outbound.ErrShutdown):
		f.class, f.message, f.reason, f.unreachable, f.cause = busy, "this gateway, which is shutting down,", "", false, err
	case errors.Is(err, outbound.ErrNotAllowed):
		f.class, f.code, f.message = skip, "address_not_allowed",
			"the base URL leads to an address that is not allowed for custom models"
	case errors.Is(err, errNoContent):
		f.code, f.message = "broken_answer", errNoContent.Error()
	case errors.Is(err, wire.ErrNoFinish):
		f.code, f.message = "incomplete_answer", wire.ErrNoFinish.Error()
	case errors.Is(err, wire.ErrNoChoices):
		f.code, f.message = "empty_answer", wire.ErrNoChoices.Error()
	case errors.Is(err, hub.ErrArguments):
		f.class, f.code, f.message = skip, "invalid_tool_arguments", hub.ErrArguments.Error()
	case errors.Is(err, hub.ErrSchema):
		f.class, f.code, f.message = skip, "schema_mismatch", hub.ErrSchema.Error() // of this request's schema
	case errors.Is(err, wire.ErrBroken), errors.Is(err, wire.ErrEventTooLarge):
		f.code, f.message = "broken_answer", wire.ErrBroken.Error()
	default:
		f.cause = err
	}
	return f
}

// unreachable reports whether an exchange got no connection at all. A connection that broke does not count, since a
// request may bring that about.
func unreachable(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok &&
		slices.Contains([]string{"dial", "proxyconnect", "remote error"}, op.Op) {
		return true // "remote error" is a TLS alert
	}
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	return untrusted || noTLS
}

// refused classifies an answer whose status is not 200.
func (r *run) refused(ctx context.Context, resp *http.Response, x *exchange, c *keychain.Candidate) *failure {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil && r.ctx.Err() != nil {
		return r.broken(ctx, err)
	}
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		return &failure{
			class: transient, status: resp.StatusCode, code: "redirect", reason: ReasonErrors,
			message: "the upstream answered with a redirect, which is not followed; correct its base URL",
		}
	}
	e := wire.ParseUpstreamError(resp.StatusCode, body)
	f := classify(resp.StatusCode, resp.Header, e, x.sends, r.Now())
	if f.fix == fixToolsClash && x.format != formats.Chat() {
		f.fix = "reasoning_effort" // there is no other format to try
	}
	missing := f.status == http.StatusNotFound || f.status == http.StatusMethodNotAllowed
	if missing && x.format != formats.Chat() && !c.Provider.NoChat && !aboutModel(e, c.Model.ID) {
		f.class, f.fix, f.unknown = fixable, fixFormat, true
	}
	return f
}

// unfit returns the failure of a candidate for which the request cannot be written.
func unfit(err error) *failure {
	f := &failure{class: unable, code: "cannot_carry", message: err.Error()}
	if e, ok := apierror.From(err); ok {
		f.message, f.param = e.Message, e.Param
		if e.Code != "" {
			f.code = e.Code
		}
		if e.Status == http.StatusBadRequest { // the next one may say the same
			f.class = client
		}
	}
	return f
}

// cooldownInAdvance stops the use of a model through a key whose limit is used up with this answer, as its headers say
// (specification 13.5).
func (r *run) cooldownInAdvance(c *keychain.Candidate, key *keychain.Key, h http.Header) {
	wait, daily, ok := exhausted(h, r.Now())
	if !ok {
		return
	}
	longest := maxReset
	if daily {
		longest = maxDaily
	}
	r.Memory.Health.limit(providerScope(c), key.ID, c.Model.ID, ReasonRateLimited, clamp(wait, longest))
}

// whole passes on an answer that is not streamed. The client of a stream gets it as a stream.
func (r *run) whole(ctx context.Context, c *keychain.Candidate, resp *http.Response, x *exchange) *failure {
	pass := x.passed()
	var unstreamed error
	if r.stream {
		if streamed, err := r.streamed(c, x); err == nil {
			pass = streamed
		} else {
			unstreamed = err // pass stays as it is, to learn the usage
		}
	}
	in, out := buffers.Get().(*[]byte), buffers.Get().(*[]byte)
	share := r.Budget.Share(r.req.User)
	defer share.Free()
	body, err := readAll(ctx, &share, *in, resp)
	var answer []byte
	if err == nil {
		answer, err = pass.Whole((*out)[:0], wire.ValidUTF8(body))
	}
	if err != nil {
		if e, ok := errors.AsType[*wire.UpstreamError](err); ok {
			return classify(resp.StatusCode, resp.Header, e, x.sends, r.Now())
		}
		f := r.broken(ctx, err)
		f.status = resp.StatusCode
		r.lose(c, pass, errors.Is(err, hub.ErrArguments) || errors.Is(err, hub.ErrSchema))
		return f
	}
	if unstreamed != nil {
		r.lose(c, pass, true)
		return &failure{
			class: transient, status: resp.StatusCode, code: "not_a_stream", reason: ReasonErrors,
			message: "the upstream answered a streaming request without a stream, and it cannot be made one: " +
				unstreamed.Error(),
		}
	}
	r.result.Usage, r.result.textBytes = pass.Usage(), pass.TextBytes()
	r.commit(c)
	if header := r.w.Header(); r.stream {
		streamHeader(header, r.from.Facts())
	} else {
		header["Content-Type"] = contentType
		header["Content-Length"] = []string{strconv.Itoa(len(answer))}
	}
	r.w.WriteHeader(http.StatusOK)
	if r.write(answer) != nil {
		r.result.Code = codeClientLeft
	}
	// Only now, and not after an error: it may show parts of the answer.
	recycle(in, body)
	recycle(out, answer)
	return nil
}

// write writes text to the client. Large texts, which take memory of the budget, are not kept for a client that does
// not read them.
func (r *run) write(text []byte) error {
	if len(text) > maxRecycled {
		return inbound.Default.Write(r.ctx, r.w, text)
	}
	_, err := r.w.Write(text)
	return err
}

// buffers pools the memory of answers on their way.
var buffers = sync.Pool{New: func() any { return new(make([]byte, 0, 2<<10)) }}

// maxRecycled is the capacity above which a buffer is left to the garbage collector.
const maxRecycled = 64 << 10

// recycle returns a buffer to the pool, with the memory of used, which may have grown.
func recycle(buffer *[]byte, used []byte) {
	if cap(used) <= maxRecycled {
		*buffer = used[:0]
		buffers.Put(buffer)
	}
}

var errTooLarge = fmt.Errorf("%w: larger than 32 MiB", wire.ErrBroken)

// readAll reads a body of at most maxReply bytes, into buffer if it fits.
func readAll(ctx context.Context, share *memory.Share, buffer []byte, resp *http.Response) ([]byte, error) {
	body, err := share.ReadAll(ctx, resp.Body, buffer, resp.ContentLength, maxReply)
	switch {
	case errors.Is(err, memory.ErrTooLarge):
		err = errTooLarge
	case err == nil && cap(body) > maxRecycled:
		err = room(ctx, share, body)
	}
	return body, err
}

// room reserves memory for what is made of a body: valid UTF-8 text, if the body is not that already, and an answer
// that is about as long.
func room(ctx context.Context, share *memory.Share, body []byte) error {
	size := wire.ValidUTF8Len(body)
	if size > maxReply {
		return errTooLarge
	}
	need := cap(body) + size
	if size != len(body) {
		need += size
	}
	return share.Grow(ctx, int64(need))
}

// commit marks the point of no return: from here on this candidate's answer goes to the client. It sets the headers of
// the answer.
func (r *run) commit(c *keychain.Candidate) {
	r.result.Candidate, r.result.Key = c, r.key.PublicID()
	r.result.Status = http.StatusOK
	r.result.FirstToken = r.Now().Sub(r.start)
	r.letGo()
	r.gatewayHeaders()
	r.deprecation(c.Model)
	if len(r.dropped) > 0 {
		names := strings.Join(r.dropped[:min(len(r.dropped), maxDropped)], ", ")
		// A single name may be a part of the body, hence the copy.
		r.w.Header()["X-Gateway-Dropped-Params"] = []string{headerText(strings.Clone(names))}
		r.dropped = nil
	}
}

// deprecation sets the Deprecation and Sunset headers for a model that its provider will retire (RFC 9745, RFC 8594).
func (r *run) deprecation(m *catalog.Model) {
	if m.Retires.IsZero() && m.Deprecated.IsZero() || !m.DeprecatedBy(r.start) {
		return
	}
	header := r.w.Header()
	if !m.Deprecated.IsZero() {
		header.Set("Deprecation", "@"+strconv.FormatInt(m.Deprecated.Unix(), 10))
	}
	if !m.Retires.IsZero() {
		header.Set("Sunset", m.Retires.UTC().Format(http.TimeFormat))
	}
}

// letGo gives the memory of the body back, because no other candidate will need it and the answer may take long. Small
// bodies are kept: releasing them is not worth the work.
func (r *run) letGo() {
	if r.req.Chat != nil {
		r.req.Chat.Release()
	}
	if h := r.req.Hub; h == nil || len(h.Body) < minLetGo || !h.LetGo() {
		return
	}
	if !r.aliased {
		r.model = r.req.Hub.Model // it was a part of the body
	}
	r.held.Give()
	r.held = nil
	r.req.Release()
}

// minLetGo is the size from which on a body is released early.
const minLetGo = 64 << 10

// maxDropped bounds the header that lists the parameters left out (specification 1.3).
const maxDropped = 20

// gatewayHeaders sets the headers that name who served the client (specification 1.7).
func (r *run) gatewayHeaders() {
	header := r.w.Header()
	values := make([]string, 0, 4) // backs all values
	set := func(name, value string) {
		values = append(values, value)
		header[name] = values[len(values)-1 : len(values) : len(values)]
	}
	set("X-Gateway-Attempts", strconv.Itoa(r.result.Attempts))
	tier := r.result.Tier
	if c := r.result.Candidate; c != nil {
		set("X-Gateway-Provider", c.Provider.Code)
		set("X-Gateway-Model", headerText(c.Model.ID))
		tier = c.Tier
	}
	if tier != 0 {
		set("X-Gateway-Tier", tier.String())
	}
}

// headerText replaces the characters of a user's model name that a header value must not have.
func headerText(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
}
