package api

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/answer/accounts"
	"github.com/tollgate-gateway/tollgate/backends/answer/pipeline"
	"github.com/tollgate-gateway/tollgate/internal/idempotency"
	"github.com/tollgate-gateway/tollgate/internal/inbound"
	"github.com/tollgate-gateway/tollgate/internal/jsontext"
)

// Bounds of a request.
const (
	maxBody    = 16 << 10 // bytes
	maxDepth   = 8        // nested objects and arrays
	maxQuery   = 2000     // characters
	maxIgnored = 16       // unknown members that are listed in the response
)

const (
	// storeTimeout is how long storing an answer may take after its request has ended. The reservation lasts longer.
	storeTimeout = 30 * time.Second
	// pollInterval is the interval at which a waiting request looks for the answer.
	pollInterval = 100 * time.Millisecond
)

// question is the body of a request.
type question struct {
	query    string
	force    bool     // the member forceAnswer
	previous string   // the id of an earlier answer of the caller, which receive replaces by the question of that answer
	ignored  []string // the names of unknown members
}

// errInvalid is returned for a request that gets the reason InvalidRequest.
var errInvalid = errors.New("the request is not a valid question")

// readQuestion parses the body of a request: a JSON object in UTF-8, nested at most maxDepth deep, with a query of 1
// to maxQuery characters after trimming. In the result, the field named ignored holds at most maxIgnored names. For
// any other body readQuestion returns errInvalid.
func readQuestion(body []byte) (q question, err error) {
	if !utf8.Valid(body) {
		return q, errInvalid
	}
	s := jsontext.NewScanner(body)
	s.Limit(maxDepth)
	if s.Kind() != jsontext.Object {
		return q, errInvalid
	}
	var sawQuery, sawForce, sawPrevious bool
	err = s.Object(func(key []byte) error {
		switch string(key) {
		case "query":
			if sawQuery || s.Kind() != jsontext.String {
				return errInvalid
			}
			sawQuery = true
			text, err := s.Unquoted()
			q.query = strings.TrimSpace(text)
			return err
		case "forceAnswer":
			if sawForce || s.Kind() != jsontext.Bool {
				return errInvalid
			}
			sawForce = true
			q.force, err = s.Bool()
			return err
		case "previous":
			if sawPrevious || s.Kind() != jsontext.String {
				return errInvalid
			}
			sawPrevious = true
			q.previous, err = s.Unquoted()
			return err
		}
		if name := printable(key); len(q.ignored) < maxIgnored && name != "" {
			q.ignored = append(q.ignored, name)
		}
		return s.Skip()
	})
	if err == nil {
		err = s.End()
	}
	if n := utf8.RuneCountInString(q.query); err != nil || n == 0 || n > maxQuery {
		return q, errInvalid
	}
	return q, nil
}

// printable returns the name of a member, or the empty string if the name cannot be an item of a list in a header.
func printable(key []byte) string {
	if len(key) > 64 || strings.ContainsFunc(string(key), func(r rune) bool { return r <= ' ' || r > '~' || r == ',' }) {
		return ""
	}
	return string(key)
}

// result is the form of an answer in the envelope.
type result struct {
	ID         string               `json:"id"`
	Status     string               `json:"status,omitempty"`
	Query      string               `json:"query"`
	Answer     string               `json:"answer"`
	References []pipeline.Reference `json:"references"`
	Subqueries []pipeline.Subquery  `json:"subqueries"`
}

// record is the stored form of an answer: the result that the client gets, and the Asked and Claims of the Outcome.
type record struct {
	result
	Asked  string  `json:"asked,omitempty"`
	Claims []Claim `json:"claims,omitempty"`
}

// previousQuestion returns the question of the caller's answer with the given id. It returns errInvalid if there is
// no such answer, or if it is pending or failed without a result.
func (a *API) previousQuestion(ctx context.Context, caller *accounts.Caller, id string) (string, error) {
	_, earlier, err := a.open(ctx, caller.Account, id)
	switch {
	case errors.Is(err, accounts.ErrNoAnswer):
		return "", errInvalid
	case err != nil:
		return "", err
	case earlier.Query == "": // pending, or ended in a fault
		return "", errInvalid
	}
	return cmp.Or(earlier.Asked, earlier.Query), nil
}

// receive reads the question of a request and its Idempotency-Key. If ok is false, an error response has been written.
func (a *API) receive(
	w http.ResponseWriter, r *http.Request, caller *accounts.Caller,
) (q question, once idempotency.Once, ok bool) {
	body, refused := a.body(w, r)
	if refused {
		return q, once, false
	}
	q, err := readQuestion(body)
	if err == nil {
		once, err = idempotency.Of(r, "/v1/answer", body)
	}
	if len(q.ignored) > 0 {
		w.Header().Set("X-Ignored-Fields", strings.Join(q.ignored, ", "))
	}
	if err == nil && q.previous != "" {
		q.previous, err = a.previousQuestion(r.Context(), caller, q.previous)
	}
	if errors.Is(err, errInvalid) || errors.Is(err, idempotency.ErrMalformed) {
		a.refuse(w, http.StatusBadRequest, "InvalidRequest")
		return q, once, false
	}
	return q, once, !a.failed(w, err)
}

// ask serves POST /v1/answer. With an Idempotency-Key or "Prefer: respond-async" the work continues when the client
// disconnects; otherwise it is canceled then.
func (a *API) ask(w http.ResponseWriter, r *http.Request, caller *accounts.Caller, _ string) {
	q, once, ok := a.receive(w, r, caller)
	if !ok || !a.enter(w, a.admitted) { // the work below frees the place
		return
	}
	id := newID(a.options.Kernel.Now())
	rate, earlier, err := a.options.Accounts.Accept(r.Context(), caller, id, accounts.Once(once))
	if err != nil || earlier != "" {
		<-a.admitted
		a.respondUnaccepted(w, r, caller, earlier, err)
		return
	}
	rateHeaders(w.Header(), rate)
	detached := once.Key != "" || prefersAsync(r.Header) // the work does not end with its request
	done := make(chan accounts.Answer, 1)                // buffered, so that the work ends even if nobody waits
	var stages *events                                   // nil if the client does not want events
	progress := func(string) {}
	if acceptsEvents(r.Header) && !prefersAsync(r.Header) {
		stages = newEvents()
		progress = stages.stage
	}
	a.work.Go(func() {
		defer func() { <-a.admitted }()
		ctx := r.Context()
		if detached {
			ctx = a.ctx
		}
		done <- a.answerTo(ctx, id, q, progress)
	})
	if prefersAsync(r.Header) {
		a.answerLater(w, id)
		return
	}
	if stages != nil {
		a.stream(w, r, stages, done)
		return
	}
	select {
	case ans := <-done:
		a.respond(w, ans)
	case <-r.Context().Done(): // the client has left; work that is not detached has the same context and ends too
	}
}

// enter takes a place in a semaphore if one is free. If none is, it answers 503 and returns false. The caller frees the
// place by receiving from the channel.
func (a *API) enter(w http.ResponseWriter, places chan<- struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	default:
		w.Header().Set("Retry-After", "1")
		a.refuse(w, http.StatusServiceUnavailable, pipeline.ServiceUnavailable)
		return false
	}
}

// body reads the body of a question. If refused is true, an error response has been written.
func (a *API) body(w http.ResponseWriter, r *http.Request) (body []byte, refused bool) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err != nil || media != "application/json" && !strings.HasSuffix(media, "+json"):
		a.refuse(w, http.StatusUnsupportedMediaType, "UnsupportedMediaType")
		return nil, true
	case r.ContentLength > maxBody:
		a.refuse(w, http.StatusRequestEntityTooLarge, "PayloadTooLarge")
		return nil, true
	}
	paced := inbound.Default.Body(w, r)
	defer paced.Done()
	body, err = io.ReadAll(io.LimitReader(paced, maxBody+1))
	switch {
	case len(body) > maxBody:
		a.refuse(w, http.StatusRequestEntityTooLarge, "PayloadTooLarge")
	case err != nil:
		a.refuse(w, http.StatusBadRequest, "InvalidRequest")
	default:
		return body, false
	}
	return nil, true
}

// prefersAsync reports whether the client asks for a response 202 before the answer is known.
func prefersAsync(h http.Header) bool {
	return lists(h.Values("Prefer"), "respond-async") // RFC 7240
}

// lists reports whether a header contains a name. Each line of the header is a list of names, which may have
// parameters.
func lists(lines []string, name string) bool {
	for _, line := range lines {
		for item := range strings.SplitSeq(line, ",") {
			found, _, _ := strings.Cut(item, ";")
			if strings.EqualFold(strings.TrimSpace(found), name) {
				return true
			}
		}
	}
	return false
}

// respondUnaccepted answers a request for which Accounts.Accept has returned the id of an earlier answer or an error.
// It waits for the earlier answer, or it writes the refusal.
func (a *API) respondUnaccepted(
	w http.ResponseWriter, r *http.Request, caller *accounts.Caller, earlier string, err error,
) {
	refused, isRefused := errors.AsType[*accounts.RefusedError](err)
	switch {
	case isRefused:
		rateHeaders(w.Header(), refused.Rate)
		w.Header().Set("Retry-After", strconv.FormatInt(refused.RetryAfter, 10))
		a.refuse(w, http.StatusTooManyRequests, refused.Reason)
	case errors.Is(err, accounts.ErrMismatch):
		a.refuse(w, http.StatusBadRequest, "InvalidRequest")
	case r.Context().Err() != nil: // the client has left
	case err != nil:
		a.unavailable(w, err)
	default:
		a.wait(w, r, caller, earlier)
	}
}

// answerLater answers 202 with the location of the answer.
func (a *API) answerLater(w http.ResponseWriter, id string) {
	w.Header().Set("Preference-Applied", "respond-async")
	w.Header().Set("Location", a.options.BaseURL+"/v1/answers/"+id)
	a.write(w, http.StatusAccepted, "", map[string]string{"id": id, "status": accounts.Pending})
}

// wait answers with the outcome of an earlier request, once it is known. With "Prefer: respond-async" it does not wait
// for a pending answer. A client that accepts events gets the answer as an event, but not the stages, which were sent
// to the first request.
func (a *API) wait(w http.ResponseWriter, r *http.Request, caller *accounts.Caller, id string) {
	if !a.enter(w, a.waiters) { // waiting requests are not counted by the rate limit
		return
	}
	defer func() { <-a.waiters }()
	ctx, cancel := context.WithTimeout(r.Context(), a.options.Deadline+storeTimeout)
	defer cancel()
	ans, err := a.stored(ctx, caller.Account, id)
	switch {
	case r.Context().Err() != nil:
		return
	case err != nil:
		a.unavailable(w, err)
		return
	case prefersAsync(r.Header) && ans.Status == accounts.Pending:
		a.answerLater(w, id)
		return
	case acceptsEvents(r.Header) && !prefersAsync(r.Header): // stream sends something from time to time meanwhile
		done := make(chan accounts.Answer, 1)
		go func() {
			ans, err := a.awaitAnswer(ctx, caller, id, ans)
			if err != nil {
				ans = accounts.Answer{Code: http.StatusServiceUnavailable, Reason: pipeline.ServiceUnavailable}
			}
			done <- ans
		}()
		a.stream(w, r, newEvents(), done)
		return
	}
	ans, err = a.awaitAnswer(ctx, caller, id, ans)
	switch {
	case r.Context().Err() != nil: // the client has left
	case err != nil:
		a.unavailable(w, err)
	default:
		a.respond(w, ans)
	}
}

// awaitAnswer polls until the answer ans is no longer pending and returns it. When the context ends it returns an
// answer with the reason Timeout.
func (a *API) awaitAnswer(
	ctx context.Context, caller *accounts.Caller, id string, ans accounts.Answer,
) (_ accounts.Answer, err error) {
	for ans.Status == accounts.Pending {
		select {
		case <-ctx.Done():
			return accounts.Answer{Code: http.StatusGatewayTimeout, Reason: pipeline.Timeout}, nil
		case <-time.After(pollInterval):
		}
		if ans, err = a.stored(ctx, caller.Account, id); err != nil && ctx.Err() == nil {
			return ans, err
		}
		if err != nil { // the context has ended meanwhile
			ans.Status = accounts.Pending
		}
	}
	return ans, nil
}

// answerTo waits until fewer than Options.Running questions are worked on, answers an accepted question before the
// deadline, and stores, observes and logs its outcome. The result is the answer as the client gets it.
func (a *API) answerTo(ctx context.Context, id string, q question, progress func(stage string)) accounts.Answer {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, a.options.Deadline)
	defer cancel()
	defer context.AfterFunc(a.ctx, cancel)() // Close cancels the question, whatever context it has
	outcome := Outcome{Reason: pipeline.Timeout}
	select {
	case a.running <- struct{}{}:
		outcome = a.askSafely(ctx, id, q, progress)
		<-a.running
	case <-ctx.Done():
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			outcome.Reason = pipeline.Canceled
		}
	}
	ans, err := a.store(ctx, id, q, outcome)
	if err != nil {
		a.log().Error("an answer could not be stored; it is not charged", zap.String("id", id), zap.Error(err))
		ans = accounts.Answer{ID: id, Code: http.StatusServiceUnavailable, Reason: pipeline.ServiceUnavailable}
		outcome.Reason = pipeline.ServiceUnavailable
	}
	took, reason := time.Since(began), outcome.Reason
	if reason == "" {
		reason = Answered
	}
	a.options.Observe(reason, took)
	fields := []zap.Field{
		zap.String("id", id), zap.String("outcome", reason), zap.Duration("took", took),
		zap.Any("trace", outcome.Trace),
	}
	if a.options.LogQueries {
		fields = append(fields, zap.String("query", q.query))
	}
	a.log().Info("question", fields...)
	return ans
}

// askSafely calls the Asker. It turns a panic into pipeline.InternalError, so that one question cannot end the process.
func (a *API) askSafely(ctx context.Context, id string, q question, progress func(stage string)) (o Outcome) {
	defer func() {
		if fault := recover(); fault != nil {
			a.log().Error("answering a question caused a panic", zap.String("id", id), zap.Any("fault", fault),
				zap.Stack("stack"))
			o = Outcome{Reason: pipeline.InternalError}
		}
	}()
	return a.options.Asker.Ask(ctx, pipeline.Request{Text: q.query, Force: q.force, Previous: q.previous}, progress)
}

// store stores the outcome of a question, sealed if there is a keyring, and settles its reservation, even if ctx has
// ended. It returns the answer as the client gets it. If that is a fault (5xx), the Idempotency-Key may be used again.
func (a *API) store(ctx context.Context, id string, q question, o Outcome) (ans accounts.Answer, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	ans = accounts.Answer{ID: id, Reason: o.Reason}
	switch o.Reason {
	case pipeline.Answered, pipeline.ContentFiltered, pipeline.NonInvestmentRelated, pipeline.ShouldUseScreener,
		pipeline.FailedToAnswer:
		ans.Code = http.StatusOK
	case pipeline.Timeout:
		ans.Code = http.StatusGatewayTimeout
	case pipeline.ServiceUnavailable, pipeline.Canceled: // the service is closing, or the client has left
		ans.Code, ans.Reason = http.StatusServiceUnavailable, pipeline.ServiceUnavailable
	default:
		ans.Code, ans.Reason = http.StatusInternalServerError, pipeline.InternalError
	}
	stored := ans // what is stored will also have the claims and the trace
	if ans.Code == http.StatusOK {
		res := result{ID: id, Query: q.query, References: []pipeline.Reference{}, Subqueries: []pipeline.Subquery{}}
		if o.Reason == "" { // there is an answer
			res.Answer, res.References, res.Subqueries = o.Answer, orEmpty(o.References), orEmpty(o.Subqueries)
		}
		text, err := json.Marshal(res)
		if err != nil {
			return ans, err
		}
		ans.Body = string(text)
		recordText, err := json.Marshal(record{res, o.Asked, o.Claims})
		if err != nil {
			return ans, err
		}
		if stored.Body, err = a.seal(ctx, id, recordText); err != nil {
			return ans, err
		}
	}
	if o.Trace != nil {
		text, err := json.Marshal(o.Trace)
		if err != nil {
			return ans, err
		}
		if stored.Trace, err = a.seal(ctx, id, text); err != nil {
			return ans, err
		}
	}
	return ans, a.options.Accounts.Settle(ctx, stored, ans.Code >= http.StatusInternalServerError)
}

// orEmpty returns an empty list in place of nil, which JSON would represent by null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// respond writes the response for the outcome of a question.
func (a *API) respond(w http.ResponseWriter, ans accounts.Answer) {
	if ans.Body == "" {
		if ans.Code == http.StatusServiceUnavailable {
			w.Header().Set("Retry-After", "1")
		}
		a.refuse(w, ans.Code, ans.Reason)
		return
	}
	a.write(w, ans.Code, ans.Reason, json.RawMessage(ans.Body))
}
