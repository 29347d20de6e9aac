package cascade

import (
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway"
	"github.com/tollgate-gateway/tollgate/backends/gateway/cascade"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire/formats"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/modules/body"
)

// answer answers a request with the models of its sender. place is the result of parsing the request's path; it is zero
// for embeddings. The steps before the answer are separate functions, so that their stack frames are gone while the
// answer streams: the stack is most of the memory of an open stream.
func (h *Handler) answer(w http.ResponseWriter, r *http.Request, place formats.Place) error {
	defer h.app.Acquire()()
	started := time.Now()
	gw, identity, err := h.client(r)
	if err != nil {
		return err
	}
	request := newRequest(r, gw, identity)
	release := request.Release
	defer func() { release() }() // calls the function that release is at the end
	k := h.keeper(gw, identity, place.Format)
	if k != nil { // a nil *keeper in the interface would not be nil
		request.Stored = k
	}
	if err = h.read(w, r, request, &place, gw, identity); err != nil {
		return err
	}
	admission, err := h.admit(r, gw, identity)
	if err != nil {
		return err
	}
	if k.inBackground() {
		release = func() {} // the background work releases the request
		return h.background(w, r, request, k, gw, admission, started)
	}
	span := traceOf(r)
	var usedTokens int64
	defer func() { h.done(r, admission, usedTokens) }() // also where the client breaks off
	w, finish := h.recordAnswer(w, request, k)
	defer finish()
	result, err := h.engine(gw, span).Answer(r.Context(), w, request)
	usedTokens = reportResult(r, request, gw, result, span, started)
	return statusError(err)
}

// admit checks the limits of the key and reserves the request's share of them.
func (h *Handler) admit(
	r *http.Request, gw *gateway.Gateway, identity *keychain.Identity,
) (*keychain.Admission, error) {
	admission, err := gw.Keychain.Admit(r.Context(), h.app.Counters(), identity)
	return admission, statusError(gateway.Unavailable(err))
}

// done releases the request's reservation and reports the number of tokens that it used.
func (h *Handler) done(r *http.Request, admission *keychain.Admission, tokens int64) {
	if err := admission.Done(r.Context(), tokens); err != nil {
		h.logger.Warn("the end of a request could not be recorded in the counters", zap.Error(err))
	}
}

// reportResult reports the result of a request to the usage log, the metrics, the trace and the placeholders. It
// returns the number of tokens that the request used.
func reportResult(
	r *http.Request, request *cascade.Request, gw *gateway.Gateway, result *cascade.Result, t *traced, started time.Time,
) (tokens int64) {
	record := request.Record(result, started)
	gw.Usage.Add(record)
	observeRequest(&record, result)
	t.request(&record)
	setPlaceholders(r, &record)
	return record.InputTokens + record.OutputTokens
}

// engine returns a cascade that counts its attempts in the metrics and adds them to the trace t, unless t is nil.
func (h *Handler) engine(gw *gateway.Gateway, t *traced) *cascade.Engine {
	engine := h.app.Engine(gw, h.options, h.logger)
	engine.Observe = observeAttempt
	if t != nil {
		engine.Observe = t.attempt
	}
	return engine
}

// count answers a request to count tokens.
func (h *Handler) count(w http.ResponseWriter, r *http.Request, format formats.Counter, place *formats.Place) error {
	defer h.app.Acquire()()
	gw, identity, err := h.client(r)
	if err != nil {
		return err
	}
	text, lease, err := body.Read(w, r, h.app.MemoryBudget(), identity.UserID)
	if err != nil {
		return err
	}
	request := newRequest(r, gw, identity)
	request.Header = headers(r, format)
	if k := h.keeper(gw, identity, format); k != nil {
		request.Stored = k
	}
	if text, lease, err = h.expand(r, request, format, text, lease); err != nil {
		lease.Give()
		return statusError(err)
	}
	defer lease.Give() // not earlier, because expand may return another lease
	if err = request.ReadCount(format, text, place.Options(r.Header)); err != nil {
		return statusError(err)
	}
	if request.Account, err = gw.Keychain.Account(r.Context(), identity.UserID); err != nil {
		return statusError(gateway.Unavailable(err))
	}
	tokens, err := h.engine(gw, nil).CountTokens(r.Context(), request)
	if err != nil {
		return statusError(err)
	}
	return body.WriteCount(w, format, tokens)
}

// statusError wraps an error so that Caddy has its HTTP status.
func statusError(err error) error {
	if e, ok := apierror.From(err); ok {
		return caddyhttp.Error(e.Status, err)
	}
	return err
}
