package cascade

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/chat/native"
)

// Limits on the bytes read from an upstream.
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

// attempt sends the request to one candidate. If the connection dies without an answer, it sends the request once more
// on a new connection. If the candidate refuses a cached access token, it sends the request once more with a new token.
// fixed names the parameters that the candidate has just refused; they are left out or replaced (see fixes). attempt
// returns nil if the client received the candidate's answer, or left after the commit point.
func (r *run) attempt(c *keychain.Candidate, key *keychain.Key, fixed ...string) *failure {
	f := r.attemptOnce(c, key, fixed, false)
	switch {
	case f == nil || r.attemptsExhausted():
	case f.class == lost:
		f = r.attemptOnce(c, key, fixed, true)
	case r.Memory.Tokens.Forget(c.Provider, key.Secret, f.status):
		// The first attempt has blocked the key because its token was refused. The key itself was not at fault.
		if f = r.attemptOnce(c, key, fixed, false); f == nil {
			r.Memory.Health.reopen(ProviderScope(c), key.ID, c.Model.ID)
		}
	}
	return f
}

// attemptOnce makes one attempt at candidate c with key, and records the outcome. fixed names the parameters that c has
// just refused. If fresh is set the attempt uses a new connection. attemptOnce returns nil if the attempt reached the
// commit point, else the failure.
func (r *run) attemptOnce(c *keychain.Candidate, key *keychain.Key, fixed []string, fresh bool) *failure {
	r.result.Attempts++
	r.streamFailure, r.key = 0, key
	r.Memory.Traffic.add(ProviderScope(c), key.Mine)
	started := r.Now()
	ctx, cancel := context.WithCancelCause(r.ctx)
	defer cancel(nil)
	l := r.limits(c)
	timer := time.AfterFunc(l.wait, func() { cancel(l.timeout) })
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
	r.recordOutcome(c, key, f, started)
	return f
}

// limits are the time limits of one attempt.
type limits struct {
	connect time.Duration // for connecting; 0 means no separate limit
	// wait limits the time to the first content of a stream, or to the end of an answer that is not streamed. timeout is
	// the error with which a slower attempt is cancelled.
	wait    time.Duration
	timeout error
	idle    time.Duration // longest time between two pieces of a stream
	// contentBy is the time by which the first content of a stream must arrive if the model thinks before it.
	contentBy time.Time
}

// limits returns the time limits for an attempt at a candidate that starts now.
func (r *run) limits(c *keychain.Candidate) limits {
	t := c.Provider.Timeouts.Or(r.Options.timeouts())
	perTier := func(limit catalog.PerTier) time.Duration {
		if d := limit.For(c.Tier); d != 0 {
			return d
		}
		return limit.High // an entry outside the tiers
	}
	l := limits{connect: t.Connect, wait: perTier(t.FirstContent), timeout: errFirstContent, idle: t.Idle}
	if answer := perTier(t.Answer); r.stream {
		l.contentBy = time.Now().Add(answer)
	} else {
		l.wait, l.timeout = answer, errAnswer
	}
	return l
}

// recordOutcome records the outcome of an attempt that began at started: in the health table, in the error that the
// client gets if no candidate answers, and by a call of Observe. f is the failure, or nil if the attempt reached the
// commit point.
func (r *run) recordOutcome(c *keychain.Candidate, key *keychain.Key, f *failure, started time.Time) {
	took := r.Now().Sub(started)
	observed := Attempt{
		Provider: c.Provider.Code, Model: c.ModelName(), Tier: c.Tier, Started: started, Took: took, Outcome: "ok",
		FirstToken: r.result.FirstToken,
	}
	switch {
	case f != nil:
		observed.Outcome, observed.FirstToken = f.class.String(), 0
		f.redact(key.Secret)
		observed.Cooldown, observed.Everyone = r.recordFailure(c, key, f, took)
	case r.streamFailure == busy:
		observed.Outcome = busy.String()
	case r.streamFailure != 0:
		observed.Outcome = r.streamFailure.String()
		r.Memory.Health.failed(r.incident(c, &failure{reason: ReasonErrors}))
	default:
		r.recordLatency(c, started)
		r.Memory.Health.success(ProviderScope(c), r.req.User, key.ID)
	}
	if r.Observe != nil {
		r.Observe(observed)
	}
}

// shape returns the changes that a candidate needs in the request. They include those for the parameters in fixed,
// which the candidate has just refused.
func (r *run) shape(c *keychain.Candidate, fixed ...string) *shape {
	s := &c.Provider.Shape
	shape := &shape{Shape: native.Shape{
		Model: c.Model.ID, Drop: s.Drop, Rename: s.Rename, MaxTokensField: s.MaxTokensField,
		ToolChoiceRequired: s.ToolChoiceRequired, StreamUsage: s.StreamUsage, Developer: s.DeveloperRole,
	}, callIDMax: s.ToolCallIDMax}
	if c.Model.Reasoning && len(s.DropForReasoning) > 0 {
		shape.Drop = append(append(make([]string, 0, len(s.Drop)+len(s.DropForReasoning)), s.Drop...), s.DropForReasoning...)
	}
	r.Memory.Learned.apply(ProviderScope(c), r.req.User, c.Model.ID, shape)
	var f fixes
	for _, fix := range fixed {
		f.add(fix)
	}
	f.apply(shape)
	if shape.toolsClash && r.toolsWithEffort(shape) && r.toolsWire(c, shape) == nil {
		shape.Drop = slices.Concat(shape.Drop, []string{"reasoning_effort"})
	}
	return shape
}

// send sends the request to candidate c once and passes the answer on to the client. cancel cancels ctx; timer does so
// after l.wait. fixed names the parameters that c has just refused. If fresh is set a new connection is
// opened. send returns nil if it has begun to pass the answer on, else the failure of the attempt.
func (r *run) send(
	ctx context.Context, cancel context.CancelCauseFunc, timer *time.Timer, c *keychain.Candidate, key *keychain.Key,
	fixed []string, fresh bool, l *limits,
) *failure {
	x, err := r.exchange(c, r.shape(c, fixed...))
	if err != nil {
		return unwritableFailure(err)
	}
	request, err := r.request(ctx, c, key, x)
	if err != nil {
		return r.unsentFailure(ctx, err)
	}
	resp, err := r.transport(c, fresh).RoundTrip(request)
	if err != nil {
		return r.unansweredFailure(ctx, err, c, x, fresh)
	}
	defer resp.Body.Close()
	unknownEncoding := unpack(resp)
	if resp.StatusCode != http.StatusOK {
		return r.refusedFailure(ctx, resp, x, c)
	}
	if unknownEncoding != "" {
		return encodingFailure(resp, unknownEncoding)
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
		return webPageFailure(resp)
	case r.stream && media != "application/json":
		return r.relay(ctx, cancel, timer, c, resp, x, l)
	default:
		return r.whole(ctx, c, resp, x)
	}
}

// transport returns the transport for a candidate: Custom for a user's own server, Providers for any other. If fresh is
// set the transport opens a new connection.
func (r *run) transport(c *keychain.Candidate, fresh bool) http.RoundTripper {
	transport := r.Providers
	if c.Custom {
		transport = r.Custom
	}
	if fresh {
		transport = withNewConnection(transport)
	}
	return transport
}

// request returns the HTTP request that sends the exchange x to candidate c, signed if the key is an access key of AWS.
// None of the client's header fields are copied, since they are meant for the gateway. The error says that the address
// is not valid, the body cannot be written, the credential cannot be obtained or the request cannot be signed.
func (r *run) request(
	ctx context.Context, c *keychain.Candidate, key *keychain.Key, x *exchange,
) (*http.Request, error) {
	if err := x.applyPaths(c, r.stream); err != nil {
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
		if talk, ok := r.conversation(); ok {
			header.Set(name, hex.EncodeToString(talk[:]))
		}
	}
	request := (&http.Request{
		Method: http.MethodPost, URL: target, Host: target.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: x.open(), ContentLength: x.size(), GetBody: unprocessed,
	}).WithContext(ctx)
	return request, r.Memory.Tokens.Sign(request, c.Provider, key.Secret, r.transport(c, false), x.open)
}

// header returns the header of a request to a candidate, with the credential made from key. media is the value of
// Content-Type, and nil for a request without a body. accepts is the value of Accept. An error means that the
// credential could not be obtained.
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
	if viaField := r.Mark.via(r.req.Via, c.Custom); viaField != "" {
		header["Via"] = []string{viaField}
	}
	if key.Secret == "" {
		return header, nil
	}
	return header, r.Memory.Tokens.Authorize(ctx, header, c.Provider, key.Secret, r.transport(c, false))
}

var (
	contentType  = []string{"application/json"} // of requests to providers
	accept       = []string{"application/json"}
	acceptStream = []string{"text/event-stream"}
	userAgent    = []string{"Tollgate"}
)

// Error codes that other files compare.
const (
	connectionError = "connection_error"      // the connection failed
	codeClientLeft  = "client_closed_request" // as in the usage log
)
