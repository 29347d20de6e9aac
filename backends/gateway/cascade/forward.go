package cascade

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// Forward is a request that is passed to its model's provider without translation. The cascade does not interpret the
// body and the answer; the functions in the fields do.
type Forward struct {
	// Surface names the endpoint in the usage log.
	Surface string
	Method  string
	// Model is the requested model. It is empty for a request without a model, for which the first model with Endpoint
	// is chosen.
	Model string
	// Endpoint is the endpoint's name in the catalog, where providers and models list the endpoints that they serve.
	Endpoint string
	// Pinned is the only candidate, for requests without a model. Nil means that Model selects the candidates.
	Pinned *keychain.Candidate
	// Path is appended to the address of Endpoint. A path that is not empty begins with a slash.
	Path string
	// ContentType is the media type of the body. It is empty if there is no body.
	ContentType string
	// Body opens the body after writing the given model id into it. A size below 0 means that the size is not known. A
	// nil Body means that the request has no body.
	Body func(model string) (body io.ReadCloser, size int64, err error)
	// Consumed reports whether the body has been consumed and cannot be read again.
	Consumed func() bool
	// Refused returns the fault that was found while the body opened by Body was read, or nil.
	Refused func() error
	// Answered receives the last maxTail bytes of a successful answer and returns the usage. The usage's Known is false
	// if the answer does not state it. If Held is set Answered is called before the client gets the first byte, else
	// after the last byte.
	Answered func(c *keychain.Candidate, key *keychain.Key, status int, tail []byte) (wire.Usage, error)
	// Held keeps the answer back until Answered has returned. Such an answer may be no longer than maxHeld.
	Held bool
	// Edit returns the body that the client gets in place of a held answer. A nil Edit changes nothing.
	Edit func(answer []byte) []byte

	// Broken is set if an answer ended early after the client got the beginning. The connection must then be cut, else
	// the client would take the beginning for the whole answer.
	Broken bool

	noUsage bool // the answer stated no usage
}

// maxTail limits the end of a forwarded answer that is kept for Answered.
const maxTail = 64 << 10

// passes reports whether the request is not translated and belongs to no conversation. This is the case for requests
// for vectors and for forwarded requests.
func (q *Request) passes() bool { return q.Embed != nil || q.Forward != nil }

// planForward returns the candidates of a forwarded request, in the order in which they are tried. If Pinned is set,
// it is the only candidate. Otherwise, if the requested model names an entry, this entry is the only candidate. If it
// names no entry, the candidates are the model of that name at each provider that serves the endpoint. A request
// without a model gets the first entry whose model serves the endpoint. Candidates that the sender may not use are
// left out. The errors are 400 no_provider_keys, 403 permission_denied and 404 model_not_found.
func (r *run) planForward() ([]*keychain.Candidate, error) {
	f := r.req.Forward
	if f.Pinned != nil {
		return []*keychain.Candidate{f.Pinned}, nil
	}
	cat := r.Catalog()
	routing := r.req.Account.RoutingFor(cat, r.req.TeamID)
	if !routing.Connected {
		return nil, noProviderKeys()
	}
	r.resolve(routing)
	plan, missingFrom := r.forwardCandidates(cat, routing), ""
	allowed := make([]*keychain.Candidate, 0, len(plan))
	for _, c := range plan {
		if missing := r.req.forbids(c); missing != "" {
			missingFrom = missing
			continue
		}
		allowed = append(allowed, c)
	}
	switch {
	case len(allowed) > 0:
		return allowed, nil
	case missingFrom != "":
		return nil, notAllowed(r.model, missingFrom)
	}
	message := "there is no model \"" + wire.Mask(r.model, 100) + "\" of a connected provider that serves " + f.Endpoint
	if r.model == "" {
		message = "the request names no model, and no model of a connected provider serves " + f.Endpoint
	}
	return nil, &apierror.Error{
		Status: http.StatusNotFound, Code: "model_not_found", Type: "not_found_error", Param: "model", NoRetry: true,
		Message: message + "; a model that is missing from the catalog must be requested as provider/model",
	}
}

// forwardCandidates returns the candidates for the requested model whose providers serve the request's endpoint,
// including those that the sender is not allowed to use. Without a requested model it returns the first entry whose
// model serves the endpoint. The result is empty if there is none.
func (r *run) forwardCandidates(cat *catalog.Catalog, routing *keychain.Routing) (plan []*keychain.Candidate) {
	endpoint := r.req.Forward.Endpoint
	if c, ok := routing.Entry(r.model); ok {
		if c.Custom || c.Provider.Serves(endpoint) {
			plan = append(plan, c)
		}
		return plan
	}
	if r.model == "" {
		for _, name := range routing.Entries() {
			if c, _ := routing.Entry(name); c.Model.Serves(endpoint) {
				return append(plan, c)
			}
		}
	}
	for _, c := range routing.Named(r.model) {
		if c.Provider.Serves(endpoint) {
			plan = append(plan, c)
		}
	}
	// A model that is missing from the catalog may still exist at the provider.
	code, id, _ := strings.Cut(r.model, "/")
	if _, known := cat.Model(code, id); len(plan) == 0 && !known && id != "" {
		if c := r.req.Account.CandidateFor(cat, r.req.TeamID, code, id); c != nil && c.Provider.Serves(endpoint) {
			plan = append(plan, c)
		}
	}
	return plan
}

// forward sends a forwarded request to candidate c once and passes the answer on to the client. If fresh is set it
// opens a new connection. timer is the timer that cancels the attempt after l.wait. forward returns nil if it has begun
// to pass the answer on, else the failure of the attempt.
func (r *run) forward(
	ctx context.Context, timer *time.Timer, c *keychain.Candidate, key *keychain.Key, fresh bool, l *limits,
) *failure {
	f := r.req.Forward
	address := c.Provider.BaseURL + "/" + f.Endpoint
	if !c.Custom {
		address, _ = c.Provider.EndpointURL(f.Endpoint)
	}
	target, err := url.Parse(address + f.Path)
	if err != nil {
		return &failure{class: skip, code: "invalid_base_url", message: err.Error()}
	}
	var media []string
	if f.ContentType != "" {
		media = []string{f.ContentType}
	}
	header, err := r.header(ctx, c, key, media, []string{"*/*"})
	if err != nil {
		return r.unsentFailure(ctx, err)
	}
	request := (&http.Request{
		Method: f.Method, URL: target, Host: target.Host, Header: header,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		GetBody: unprocessed, // otherwise net/http may send the request again
	}).WithContext(ctx)
	if f.Body != nil {
		if request.Body, request.ContentLength, err = f.Body(c.Model.ID); err != nil {
			return unwritableFailure(err)
		}
	}
	resp, err := r.transport(c, fresh).RoundTrip(request)
	if refusal := f.refused(); refusal != nil {
		if err == nil {
			_ = resp.Body.Close() // the answer is to an incomplete body
		}
		return unwritableFailure(refusal)
	}
	if err != nil {
		failed := r.brokenFailure(ctx, err)
		if failed.class == transient && !fresh && ctx.Err() == nil && r.link.died(err) && !f.consumed() {
			failed.class, failed.reason = lost, "" // a reused connection had died: the caller tries a new one
		}
		return failed
	}
	defer resp.Body.Close()
	encoding := unpack(resp)
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return r.refusedForwardFailure(ctx, resp)
	}
	if encoding != "" {
		return encodingFailure(resp, encoding)
	}
	r.cooldownInAdvance(c, key, resp.Header)
	return r.passOn(ctx, timer, c, key, resp, l)
}

// consumed calls Consumed. It returns false if f or Consumed is nil.
func (f *Forward) consumed() bool { return f != nil && f.Consumed != nil && f.Consumed() }

// refused calls Refused. It returns nil if Refused is nil.
func (f *Forward) refused() error {
	if f.Refused == nil {
		return nil
	}
	return f.Refused()
}

// refusedForwardFailure reads an answer to a forwarded request whose status is not 2xx and returns the failure that it
// describes. A mistake of the client, such as a model or an object that does not exist, gets the class client: the
// client is told the provider's message, and no cooldown starts.
func (r *run) refusedForwardFailure(ctx context.Context, resp *http.Response) *failure {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil && r.ctx.Err() != nil {
		return r.brokenFailure(ctx, err)
	}
	if resp.StatusCode < 400 {
		return redirectFailure(resp)
	}
	f := classify(resp.StatusCode, resp.Header, wire.ParseUpstreamError(resp.StatusCode, body), func(string) bool {
		return false
	}, r.Now())
	switch f.class { //nolint:exhaustive // the others say nothing of the request
	case badEntry, fixable, tooLong, policy, client:
		f.class, f.reason, f.fix = client, "", ""
	}
	return f
}

// clientError returns the error for a client whose forwarded request was refused. It has the status, code, parameter
// and message of the failure f. A status below 400 is replaced by 400.
func (f *failure) clientError() error {
	return &apierror.Error{
		Status: max(f.status, http.StatusBadRequest), Code: f.code, Type: "invalid_request_error", Param: f.param,
		Message: f.message, NoRetry: true,
	}
}

// passOn passes an answer on to the client. If Held is set, it does so after Answered has returned, and otherwise as
// the answer arrives. The client gets the answer's Content-Type, Content-Length and Content-Disposition and no other
// header fields. passOn returns a failure only before the commit point.
func (r *run) passOn(
	ctx context.Context, timer *time.Timer, c *keychain.Candidate, key *keychain.Key, resp *http.Response, l *limits,
) *failure {
	f := r.req.Forward
	media := resp.Header.Get("Content-Type")
	if kind := strings.ToLower(media); strings.HasPrefix(kind, "text/html") ||
		strings.HasPrefix(kind, "application/xhtml") {
		if f.Held || f.Method != http.MethodGet {
			return webPageFailure(resp)
		}
		media = "application/octet-stream" // a user's file, which a browser must not render
	}
	var held []byte
	var usage wire.Usage
	if f.Held {
		var failed *failure
		if held, usage, failed = r.hold(ctx, c, key, resp); failed != nil {
			return failed
		}
	}
	r.commit(c)
	header := r.w.Header()
	if media != "" {
		header.Set("Content-Type", media)
	}
	if name := resp.Header.Get("Content-Disposition"); name != "" {
		header.Set("Content-Disposition", headerText(name))
	}
	if f.Held {
		r.w.WriteHeader(resp.StatusCode)
		if r.write(held) != nil {
			r.result.Code = codeClientLeft
		}
	} else {
		// ContentLength is -1 if unpack decodes the body. The header then has the length of the encoded body.
		if length := resp.Header.Get("Content-Length"); length != "" && resp.ContentLength >= 0 {
			header.Set("Content-Length", length)
		}
		r.w.WriteHeader(resp.StatusCode)
		var tail tail
		if r.copy(timer, resp.Body, &tail, l) != nil {
			r.result.Code = codeClientLeft
			if f.Broken {
				r.result.Code = "broken_answer"
			}
		}
		if f.Answered != nil {
			usage, _ = f.Answered(c, key, resp.StatusCode, tail) // too late for an error: the client has the answer
		}
	}
	// Nothing of an untranslated request can be estimated, so a usage that is not stated counts as a known zero.
	f.noUsage, usage.Known = !usage.Known, true
	r.result.Usage = usage
	r.result.Status = resp.StatusCode
	return nil
}

// maxHeld limits an answer that is held until Answered has returned.
const maxHeld = 1 << 20

// hold reads a whole answer, calls Answered with it and returns the body for the client and the usage, or else the
// failure of the attempt.
func (r *run) hold(
	ctx context.Context, c *keychain.Candidate, key *keychain.Key, resp *http.Response,
) ([]byte, wire.Usage, *failure) {
	f := r.req.Forward
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxHeld+1))
	if err == nil && len(answer) > maxHeld {
		err = errTooLarge
	}
	if err != nil {
		return nil, wire.Usage{}, r.brokenFailure(ctx, err)
	}
	usage, err := f.Answered(c, key, resp.StatusCode, answer)
	if err != nil {
		return nil, usage, &failure{class: busy, message: "the gateway's list of files and batches", cause: err}
	}
	if f.Edit != nil {
		answer = f.Edit(answer)
	}
	return answer, usage, nil
}

// copy copies the body of an answer to the client, piece by piece, and keeps its end in tail. Each piece must arrive
// within l.idle. If body ends with an error, copy sets Broken of the request.
func (r *run) copy(timer *time.Timer, body io.Reader, tail *tail, l *limits) error {
	buffer := make([]byte, 32<<10)
	flusher := http.NewResponseController(r.w)
	for {
		timer.Reset(l.idle)
		n, err := body.Read(buffer)
		timer.Stop()
		if n > 0 {
			tail.add(buffer[:n])
			if err := r.write(buffer[:n]); err != nil {
				return err
			}
			if err := flusher.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			r.streamFailure, r.req.Forward.Broken = transient, true
			return err
		}
	}
}

// tail holds the last bytes of an answer.
type tail []byte

// add appends bytes. From time to time it drops all but the last maxTail bytes.
func (t *tail) add(part []byte) {
	*t = append(*t, part...)
	if len(*t) > 2*maxTail {
		*t = append((*t)[:0], (*t)[len(*t)-maxTail:]...)
	}
}
