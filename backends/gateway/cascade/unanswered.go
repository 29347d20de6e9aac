package cascade

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/gateway/credentials"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/formats"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/hub"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/memory"
	"github.com/tollgate-gateway/tollgate/internal/outbound"
)

// unansweredFailure returns the failure of an exchange that ended with err before an answer began. fresh is set if
// the exchange used a new connection. If a reused connection died, the failure has the class "lost", and the request
// is therefore sent once more.
func (r *run) unansweredFailure(
	ctx context.Context, err error, c *keychain.Candidate, x *exchange, fresh bool,
) *failure {
	f := r.brokenFailure(ctx, err)
	switch {
	case f.class == clientGone && r.link.sent.Load():
		r.addLost(c, x.answerPass(), false)
	case f.class == transient && !fresh && ctx.Err() == nil && r.link.died(err):
		f.class, f.reason = lost, ""
	}
	return f
}

// unsentFailure returns the failure for a request that could not be built because of err, for example because the
// address is not valid or the credential could not be obtained.
func (r *run) unsentFailure(ctx context.Context, err error) *failure {
	token, ok := errors.AsType[*credentials.Error](err)
	switch {
	case ctx.Err() != nil:
		return r.brokenFailure(ctx, err)
	case !ok:
		return &failure{class: skip, code: "invalid_base_url", message: err.Error()}
	case token.Refused:
		return &failure{class: badKey, code: "token_refused", message: token.Message, certain: true}
	}
	return &failure{class: transient, code: "token_unavailable", message: token.Message, reason: ReasonErrors}
}

// brokenFailure returns the failure of an exchange that ended with err before the answer was complete. The class is
// clientGone if the client has left. If a time limit has cancelled ctx, the class depends on the cause of ctx, and
// otherwise on err.
func (r *run) brokenFailure(ctx context.Context, err error) *failure {
	if r.ctx.Err() != nil {
		return &failure{class: clientGone, code: codeClientLeft, message: "the client left before the answer was complete"}
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errFirstContent):
		return timeoutFailure("the upstream sent no content in time")
	case errors.Is(cause, errThinking):
		return timeoutFailure("the model was still thinking at the time limit for the whole answer")
	case errors.Is(cause, errAnswer):
		return timeoutFailure("the upstream did not send its whole answer in time")
	case errors.Is(cause, errIdle):
		return timeoutFailure("the upstream's stream fell silent")
	case errors.Is(cause, errConnect):
		return &failure{
			class: transient, code: "connect_timeout", message: "no connection to the upstream could be opened in time",
			reason: ReasonErrors, unreachable: true,
		}
	}
	return errorFailure(err)
}

// timeoutFailure returns the failure of an upstream that was too slow.
func timeoutFailure(message string) *failure {
	return &failure{class: timedOut, code: "timeout", message: message, reason: ReasonErrors}
}

// errorFailure returns the failure of an exchange that ended with err although neither the client nor a time limit
// has ended it. If the gateway itself is the cause, the failure has the class "busy". The message of such a failure
// names what is missing, for apierror.Unavailable.
func errorFailure(err error) *failure {
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

// unreachable reports whether an exchange could not get a connection at all. A connection that broke does not count,
// since a request may have caused that.
func unreachable(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok &&
		slices.Contains([]string{"dial", "proxyconnect", "remote error"}, op.Op) {
		return true // "remote error" is a TLS alert
	}
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	return untrusted || noTLS
}

// refusedFailure reads an answer whose status is not 200 and returns the failure that it describes. x is the exchange
// that was sent to candidate c.
func (r *run) refusedFailure(ctx context.Context, resp *http.Response, x *exchange, c *keychain.Candidate) *failure {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil && r.ctx.Err() != nil { // otherwise the part that was read is used
		return r.brokenFailure(ctx, err)
	}
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		return redirectFailure(resp)
	}
	e := wire.ParseUpstreamError(resp.StatusCode, body)
	f := classify(resp.StatusCode, resp.Header, e, x.sends, r.Now())
	if f.fix == fixToolsClash && x.format != formats.Chat() {
		f.fix = "reasoning_effort" // there is no other format to try
	}
	// A provider that does not know the address of this format may know that of chat completions.
	missing := f.status == http.StatusNotFound || f.status == http.StatusMethodNotAllowed
	if missing && x.format != formats.Chat() && !c.Provider.NoChat && !aboutModel(e, c.Model.ID) {
		f.class, f.fix, f.unknown = fixable, fixFormat, true
	}
	return f
}

// redirectFailure returns the failure of an answer that redirects the gateway.
func redirectFailure(resp *http.Response) *failure {
	return &failure{
		class: transient, status: resp.StatusCode, code: "redirect", reason: ReasonErrors,
		message: "the upstream answered with a redirect, which is not followed; correct its base URL",
	}
}

// encodingFailure returns the failure of an answer whose Content-Encoding the gateway cannot read.
func encodingFailure(resp *http.Response, encoding string) *failure {
	return &failure{
		class: transient, status: resp.StatusCode, code: "unsupported_encoding", reason: ReasonErrors,
		message: "the upstream answered with the Content-Encoding " + encoding + ", which it was not asked for",
	}
}

// webPageFailure returns the failure of an answer in HTML.
func webPageFailure(resp *http.Response) *failure {
	return &failure{
		class: transient, status: resp.StatusCode, code: "html_answer", reason: ReasonErrors,
		message: "the upstream answered with a web page",
	}
}

// unwritableFailure returns the failure for a request that cannot be written for a candidate because of err. The
// failure has the class "client" if err is an *apierror.Error with status 400, and otherwise the class "unable".
func unwritableFailure(err error) *failure {
	f := &failure{class: unable, code: "cannot_carry", message: err.Error()}
	if e, ok := apierror.From(err); ok {
		f.message, f.param = e.Message, e.Param
		if e.Code != "" {
			f.code = e.Code
		}
		if e.Status == http.StatusBadRequest { // the next candidate may report the same mistake
			f.class = client
		}
	}
	return f
}

// cooldownInAdvance stops the use of a model through a key if the headers of this answer say that the rate limit is
// used up.
func (r *run) cooldownInAdvance(c *keychain.Candidate, key *keychain.Key, h http.Header) {
	wait, daily, ok := exhausted(h, r.Now())
	if !ok {
		return
	}
	longest := maxReset
	if daily {
		longest = maxDaily
	}
	r.Memory.Health.limitModel(ProviderScope(c), key.ID, c.Model.ID, ReasonRateLimited, clamp(wait, longest))
}
