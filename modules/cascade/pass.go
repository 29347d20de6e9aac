package cascade

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/tidwall/gjson"

	"github.com/tollgate-gateway/tollgate/backends/gateway"
	"github.com/tollgate-gateway/tollgate/backends/gateway/cascade"
	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/backends/gateway/passthrough"
	"github.com/tollgate-gateway/tollgate/backends/gateway/wire"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/inbound"
	"github.com/tollgate-gateway/tollgate/internal/memory"
	"github.com/tollgate-gateway/tollgate/internal/origin"
	"github.com/tollgate-gateway/tollgate/modules/body"
	"github.com/tollgate-gateway/tollgate/modules/edge"
)

// passthroughRequest is a request to an endpoint whose bodies are passed on without translation. To ask a provider for
// something more, such as the description of an object, the methods work on a copy with another endpoint.
type passthroughRequest struct {
	*Handler
	endpoint        *passthrough.Endpoint
	id              string // of the object that the path names; empty if it names none
	gw              *gateway.Gateway
	catalog         *catalog.Catalog
	request         *cascade.Request
	share           *memory.Share         // memory for forms and batches, freed by the caller at the end
	input           *passthrough.Resource // the input file of a new batch, or the object to delete
	waitsForResults bool                  // whether the method charge reads the results of a batch before it returns
	ownAddress      string                // the address of this gateway for the client; empty if there is no client
}

// recordTimeout limits the time for storing in the database which objects a provider has created or deleted.
const recordTimeout = 10 * time.Second

// ownAddress returns the address of this gateway that the client uses, without /v1.
func ownAddress(r *http.Request) string {
	path := r.URL.Path
	if original, ok := r.Context().Value(caddyhttp.OriginalRequestCtxKey).(http.Request); ok {
		path = original.URL.Path
	}
	path, _, _ = strings.Cut(path, "/v1/")
	return origin.Of(edge.Request(r)) + path
}

// pass answers requests to endpoints whose bodies are passed on without translation.
func (h *Handler) pass(w http.ResponseWriter, r *http.Request, e *passthrough.Endpoint, id string) error {
	defer h.app.Acquire()()
	started := time.Now()
	gw, identity, err := h.client(r)
	if err != nil {
		return err
	}
	share := h.app.MemoryBudget().Share(identity.UserID)
	defer share.Free()
	p := &passthroughRequest{
		Handler: h, endpoint: e, id: id, gw: gw, catalog: h.app.Catalog(), request: newRequest(r, gw, identity),
		share: &share, ownAddress: ownAddress(r),
	}
	defer p.request.Release()
	if p.request.Account, err = gw.Keychain.Account(r.Context(), identity.UserID); err != nil {
		return statusError(gateway.Unavailable(err))
	}
	if e.List { // a list sends a request to a provider for each object, so it is limited like other requests
		admission, err := h.admit(r, gw, identity)
		if err != nil {
			return err
		}
		defer h.done(r, admission, 0)
		return statusError(gateway.Unavailable(p.list(w, r)))
	}
	if e.MakesBatch() && identity.RestrictsTools() {
		return refuse(http.StatusForbidden, "permission_denied",
			"this key allows only certain tools, but the tools in a batch's requests cannot be checked: use a key without allowed_tools")
	}
	if err = p.prepare(w, r); err != nil {
		return statusError(gateway.Unavailable(err))
	}
	admission, err := h.admit(r, gw, identity)
	if err != nil {
		return err
	}
	span := traceOf(r)
	var usedTokens int64
	defer func() { h.done(r, admission, usedTokens) }()
	if err := p.beforeSend(r.Context()); err != nil {
		return statusError(gateway.Unavailable(err))
	}
	result, err := h.engine(gw, span).Answer(r.Context(), w, p.request)
	usedTokens = reportResult(r, p.request, gw, result, span, started)
	if p.request.Forward.Broken {
		panic(http.ErrAbortHandler) // cuts the connection, so that the client does not take a part for the whole answer
	}
	return statusError(err)
}

// prepare reads the request and decides which provider gets it.
func (p *passthroughRequest) prepare(w http.ResponseWriter, r *http.Request) error {
	e := p.endpoint
	f := &cascade.Forward{Surface: e.Surface, Method: e.Method, Endpoint: e.Name, Path: e.PathFor(p.id)}
	p.request.Forward = f
	facts, err := p.readBody(w, r)
	if err != nil {
		return err
	}
	if err := p.request.Label(r.Header, facts.text); err != nil {
		return err
	}
	if e.NeedsModel() { // the cascade chooses the provider
		f.Answered = func(_ *keychain.Candidate, _ *keychain.Key, _ int, tail []byte) (wire.Usage, error) {
			if usage := passthrough.Usage(tail); usage.Known || facts.speechCharacters == 0 {
				return usage, nil
			}
			return passthrough.SpeechUsage(facts.speechCharacters), nil
		}
		return nil
	}
	if open := f.Body; open != nil { // the body has no model whose name could be replaced
		f.Body = func(string) (io.ReadCloser, int64, error) { return open("") }
	}
	if err := p.pin(r, facts.inputFile); err != nil {
		return err
	}
	if e.Object == passthrough.KindMessageBatch && e.Body == passthrough.JSONBody {
		return p.renameModels(r.Context(), facts.text)
	}
	return nil
}

// bodyFacts is what the method prepare needs to know about the body of a request.
type bodyFacts struct {
	text             []byte // the body, from which the request's labels are read; an empty object if it is not JSON
	inputFile        string // the id of the file with the requests of a new batch; empty for other requests
	speechCharacters int64  // the length of a text to be spoken, which determines the cost; 0 for other requests
}

// readBody reads the body of the request and sets the fields of p.request.Forward that describe it.
func (p *passthroughRequest) readBody(w http.ResponseWriter, r *http.Request) (facts bodyFacts, err error) {
	e, f := p.endpoint, p.request.Forward
	facts.text = []byte("{}")
	switch e.Body {
	case passthrough.NoBody:
	case passthrough.JSONBody:
		text, lease, err := body.Read(w, r, p.app.MemoryBudget(), p.request.User)
		if err != nil {
			return facts, err
		}
		lease.Keep()
		p.request.Lease = lease
		object, err := passthrough.ReadObject(text)
		if err != nil {
			return facts, err
		}
		facts.text = text
		f.Model, f.ContentType, f.Body = object.Model, "application/json", object.BodyFor
		if e.Name == "audio/speech" {
			facts.speechCharacters = object.Characters
		}
		if e.Input != "" {
			if facts.inputFile = object.Text(e.Input); facts.inputFile == "" {
				return facts, apierror.New(http.StatusBadRequest, "invalid_value", "%s must name a file", e.Input).With(e.Input)
			}
		}
	case passthrough.FormBody:
		if r.Header.Get("Content-Encoding") != "" {
			return facts, apierror.New(http.StatusUnsupportedMediaType, "unsupported_media_type",
				"a form must not be compressed: send it without the header Content-Encoding")
		}
		form, err := passthrough.ReadForm(r.Context(), r.Header.Get("Content-Type"), inbound.Default.Long(w, r), e.Limit,
			e.NeedsModel(), p.share)
		if err != nil {
			return facts, err
		}
		f.Model, f.ContentType = form.Model, form.ContentType()
		f.Body, f.Consumed, f.Refused = form.BodyFor, form.Consumed, form.Refused
	}
	return facts, nil
}

// pin chooses the provider and the provider key for a request about objects. For an existing object, or an input file,
// pin chooses the provider and key with which it was made; file is the id of the input file, or empty. Otherwise pin
// chooses the provider named in a request header, or else the first provider that stores such objects.
func (p *passthroughRequest) pin(r *http.Request, file string) error {
	e, f := p.endpoint, p.request.Forward
	kind, id := e.Object, p.id
	if file != "" {
		kind, id = passthrough.KindFile, file
	}
	var object passthrough.Resource
	if id != "" {
		var err error
		if object, err = p.gw.Resources.Find(r.Context(), p.request.User, p.request.TeamID, kind, id); err != nil {
			return err
		}
		if f.Pinned = p.candidate(object.Provider, object.ProviderKey); f.Pinned == nil {
			return apierror.New(http.StatusNotFound, "not_found",
				"the %s was created with a provider key that you can no longer use", kind)
		}
		if e.MakesBatch() || e.Deletes { // beforeSend needs the object
			p.input = &object
		}
	} else if f.Pinned = p.providerFor(r.Header.Get("X-Gateway-Provider")); f.Pinned == nil {
		return apierror.New(http.StatusNotFound, "no_models_available",
			"no provider for which you have a key stores %s; the header x-gateway-provider selects the provider", e.Surface)
	}
	if e.IsContent() {
		return nil
	}
	f.Held, f.Edit = true, p.rewriteResultsURL
	f.Answered = func(c *keychain.Candidate, key *keychain.Key, _ int, answer []byte) (wire.Usage, error) {
		// The object exists whether or not the client is still there.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), recordTimeout)
		defer cancel()
		return wire.Usage{}, p.recordObjects(ctx, c, key, &object, answer)
	}
	return nil
}

// candidate returns a provider as a candidate that uses only the given key; an empty key allows all keys. It returns
// nil if the provider or key does not serve the user.
func (p *passthroughRequest) candidate(provider, key string) *keychain.Candidate {
	c := p.request.Account.CandidateFor(p.catalog, p.request.TeamID, provider, p.endpoint.Name)
	if c == nil || !c.Provider.Serves(p.endpoint.Name) {
		return nil
	}
	c.Model.Price.Known = true // the call itself costs nothing
	if key != "" {
		c.Keys = slices.DeleteFunc(c.Keys, func(k keychain.Key) bool { return k.PublicID() != key })
	}
	if len(c.Keys) == 0 {
		return nil
	}
	return c
}

// providerFor returns the provider for a new object: the provider with the given code or, if code is empty, the first
// provider with a key for the user. It returns nil if there is no such provider.
func (p *passthroughRequest) providerFor(code string) *keychain.Candidate {
	if code != "" {
		return p.candidate(code, "")
	}
	for _, provider := range p.catalog.Providers() {
		if c := p.candidate(provider.Code, ""); c != nil {
			return c
		}
	}
	return nil
}

// recordObjects records the objects that a provider's response reports as created or deleted. answer is the response.
// If it describes a batch that has ended and was not charged before, recordObjects charges the batch. existing is the
// recorded object that the request is about.
func (p *passthroughRequest) recordObjects(
	ctx context.Context, c *keychain.Candidate, key *keychain.Key, existing *passthrough.Resource, answer []byte,
) error {
	e, objects := p.endpoint, p.gw.Resources
	if e.Deletes {
		return objects.Forget(ctx, existing)
	}
	response := gjson.ParseBytes(answer)
	created := passthrough.Resource{
		ID: p.id, Kind: e.Object, UserID: p.request.User, TeamID: p.request.TeamID, KeyID: p.request.KeyID,
		Provider:    c.Provider.Code,
		ProviderKey: key.PublicID(),
	}
	if p.id == "" { // the request has created an object
		if created.ID = response.Get("id").Str; created.ID != "" {
			if err := objects.Keep(ctx, &created); err != nil {
				return err
			}
		}
	}
	if !created.IsBatch() {
		return nil
	}
	for _, member := range [...]string{"output_file_id", "error_file_id"} {
		file := created
		file.Kind, file.ID, file.Batch = passthrough.KindFile, response.Get(member).Str, created.ID
		if file.ID == "" {
			continue
		}
		if err := objects.Keep(ctx, &file); err != nil {
			return err
		}
	}
	if p.id == "" || existing.Charged || !passthrough.Done(answer) {
		return nil
	}
	return p.charge(ctx, existing, answer)
}

// fetch requests the description of the object o from its provider, on behalf of its owner, and passes it to
// recordObjects, which charges a batch that has ended. It returns nil if the provider does not have the object.
func (p *passthroughRequest) fetch(ctx context.Context, o *passthrough.Resource) []byte {
	endpoint, _, _ := passthrough.Find(http.MethodGet, "/"+p.endpoint.Name+"/"+o.ID)
	if endpoint == nil {
		return nil
	}
	objectRequest := *p
	request := *p.request
	objectRequest.endpoint, objectRequest.id, objectRequest.request = endpoint, o.ID, &request
	c := objectRequest.candidate(o.Provider, o.ProviderKey)
	if c == nil {
		return nil
	}
	request.Forward = &cascade.Forward{
		Surface: endpoint.Surface, Method: endpoint.Method, Endpoint: endpoint.Name, Path: endpoint.PathFor(o.ID),
		Pinned: c, Held: true, Edit: objectRequest.rewriteResultsURL,
		Answered: func(c *keychain.Candidate, key *keychain.Key, _ int, answer []byte) (wire.Usage, error) {
			return wire.Usage{}, objectRequest.recordObjects(ctx, c, key, o, answer)
		},
	}
	w := &answerWriter{header: make(http.Header)}
	if _, err := p.engine(p.gw, nil).Answer(ctx, w, &request); err != nil || !gjson.ValidBytes(w.body.Bytes()) {
		return nil
	}
	return w.body.Bytes()
}

// pageSize is the number of objects on a page. Each object is requested from its provider separately, because the
// provider's list contains the objects of all users who share the key.
const pageSize = 20

// list answers with a page of the user's and team's objects.
func (p *passthroughRequest) list(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	if query.Has("before_id") {
		return apierror.New(http.StatusBadRequest, "invalid_value", "lists begin with the newest object: use after_id").
			With("before_id")
	}
	page, err := p.gw.Resources.List(r.Context(), p.request.User, p.request.TeamID, p.endpoint.Object,
		cmp.Or(query.Get("after"), query.Get("after_id")), pageSize+1)
	if err != nil {
		return err
	}
	answer := struct {
		Object  string            `json:"object"`
		Data    []json.RawMessage `json:"data"`
		FirstID *string           `json:"first_id"`
		LastID  *string           `json:"last_id"`
		HasMore bool              `json:"has_more"`
	}{Object: "list", Data: []json.RawMessage{}, HasMore: len(page) > pageSize}
	page = page[:min(len(page), pageSize)]
	for i := range page {
		if text := p.fetch(r.Context(), &page[i]); text != nil {
			answer.Data = append(answer.Data, text)
		}
		if err := r.Context().Err(); err != nil {
			return err
		}
	}
	if len(page) > 0 {
		answer.FirstID, answer.LastID = &page[0].ID, &page[len(page)-1].ID
	}
	return writeJSON(w, answer)
}

// findPassthrough returns the endpoint of a path; see passthrough.Find.
func findPassthrough(method, path string) (e *passthrough.Endpoint, id, allow string) {
	below, ok := strings.CutPrefix(path, "/v1")
	if !ok {
		return nil, "", ""
	}
	return passthrough.Find(method, below)
}
