package authorize

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Errors of RFC 6749 section 4.1.2.1 and its extensions that only this endpoint returns.
const (
	unsupportedResponse = "unsupported_response_type"
	requestNotSupported = "request_not_supported" // OpenID Connect Core 3.1.2.6
	pushedNotSupported  = "request_uri_not_supported"
	loginRequired       = "login_required"
	consentRequired     = "consent_required"
	interactionRequired = "interaction_required"
	// OpenID Connect Core Unmet Authentication Requirements 1.0
	unmetAuthentication = "unmet_authentication_requirements"
)

// The limits of a request.
const (
	maxState         = 2048    // bytes
	maxNonce         = 2048    // bytes
	maxHint          = 254     // bytes of login_hint
	maxLocales       = 256     // bytes of ui_locales
	maxSeconds int64 = 1 << 31 // of max_age; a longer time has the same effect
)

// Request is an authorization request after all checks that do not depend on the signed-in user.
type Request struct {
	Client string `json:"client"`
	// Redirect is the redirect URI of the response. RedirectGiven is set if the request contained it.
	Redirect      string   `json:"redirect"`
	RedirectGiven bool     `json:"given,omitempty"`
	State         []byte   `json:"state,omitempty"` // as it was received, perhaps not UTF-8
	Scope         []string `json:"scope,omitempty"`
	Resources     []string `json:"resources,omitempty"` // ids
	Challenge     string   `json:"challenge"`
	Nonce         string   `json:"nonce,omitempty"`
	Hint          string   `json:"hint,omitempty"` // login_hint
	// Locales are the languages that the application requests (ui_locales), separated by spaces. Only the first page
	// reads them, and stores them for the following pages.
	Locales string `json:"-"`
	// Subject is the user who must be signed in (id_token_hint). If it is empty, any user may be signed in.
	Subject string `json:"sub,omitempty"`
	// JKT is the thumbprint of the key to which the code is bound (dpop_jkt), or empty.
	JKT string `json:"jkt,omitempty"`
	// Silent forbids any interaction with the user (prompt=none).
	Silent bool `json:"silent,omitempty"`
	// Ask requires a consent page even if the user has already granted all scopes (prompt=consent).
	Ask bool `json:"ask,omitempty"`
	// SignedInSince is the earliest acceptable time of the sign-in, in microseconds since 1970 (prompt=login, max_age).
	SignedInSince int64 `json:"since,omitempty"`
	// TwoFactors requires two factors (acr_values); see tokens.TwoFactors.
	TwoFactors bool `json:"two,omitempty"`
	// Form requests the response by a form (response_mode=form_post).
	Form bool `json:"form,omitempty"`
	// At is when the request was received, in microseconds since 1970.
	At int64 `json:"at"`
}

// RefusalError is an error that is sent to the client through the browser.
type RefusalError struct {
	Request *Request // Redirect, State and Form are valid
	Reason  *apierror.Error
}

// Error implements error.
func (r *RefusalError) Error() string { return r.Reason.Error() }

// Unwrap returns the reason.
func (r *RefusalError) Unwrap() error { return r.Reason }

// requestValues are the parameters of a request.
type requestValues struct{ url.Values }

// withoutEmpty returns the parameters that are not empty. An empty parameter counts as omitted (RFC 6749 section 3.1).
// Repeated parameters are kept, so that later checks can refuse them.
func withoutEmpty(values url.Values) url.Values {
	nonempty := make(url.Values, len(values))
	for name, sent := range values {
		if name == "resource" {
			sent = slices.DeleteFunc(slices.Clone(sent), func(value string) bool { return value == "" })
		}
		if len(sent) > 1 || len(sent) == 1 && sent[0] != "" {
			nonempty[name] = sent
		}
	}
	return nonempty
}

// single returns the value of a parameter, or "" if it was not sent exactly once.
func (a requestValues) single(name string) string {
	if len(a.Values[name]) != 1 {
		return ""
	}
	return a.Values[name][0]
}

// pageError returns an error that must be shown to the user instead of being sent to the redirect URI (RFC 6749 section
// 4.1.2.1).
func pageError(message string) error {
	return apierror.New(http.StatusBadRequest, kernel.InvalidRequest, "%s", message)
}

// Parse checks the parameters of a request. A *RefusalError must be sent to the client, and any other error shown to
// the user.
func (s *Authorize) Parse(ctx context.Context, values url.Values) (*Request, error) {
	values, err := s.takePushed(ctx, withoutEmpty(values))
	if err != nil {
		return nil, err
	}
	a := requestValues{values}
	for _, name := range []string{"client_id", "redirect_uri"} {
		if len(a.Values[name]) > 1 {
			return nil, pageError("the request has the parameter " + name + " twice")
		}
	}
	r := &Request{Client: a.single("client_id"), RedirectGiven: a.single("redirect_uri") != "", At: s.Micros()}
	client, err := s.setRedirect(ctx, r, a.single("redirect_uri"), s.Clients.Current)
	if err != nil {
		return nil, err
	}
	if state := a.single("state"); len(state) <= maxState {
		r.State = []byte(state)
	}
	modeFault := s.setMode(r, a.single("response_mode"))
	if err := s.check(ctx, r, client, a, modeFault); err != nil {
		return nil, s.refusal(r, err)
	}
	return r, nil
}

// setRedirect finds the client of a request by calling find, sets the redirect URI of the request and returns the
// client. The parameter redirect is the redirect_uri of the request; it may be empty.
func (s *Authorize) setRedirect(
	ctx context.Context, r *Request, redirect string, find func(ctx context.Context, id string) (*clients.Client, error),
) (*clients.Client, error) {
	if r.Client == "" {
		return nil, pageError("the request has no client_id")
	}
	client, err := find(ctx, r.Client)
	if errors.Is(err, clients.ErrUnknown) {
		return nil, pageError("no application is registered under the client_id of the request")
	}
	// The client does not authenticate here, so a fault of the client's metadata document has status 400 instead of 401.
	if refusal, ok := apierror.From(err); ok && refusal.Code == kernel.InvalidClient {
		return nil, apierror.New(http.StatusBadRequest, kernel.InvalidClient, "%s", refusal.Message)
	}
	if err != nil {
		return nil, err
	}
	if !client.Active() {
		return nil, pageError("the application of the request has been disabled")
	}
	uri, ok := client.MatchRedirect(redirect)
	switch {
	case ok:
		r.Redirect = uri
	case redirect == "":
		return nil, pageError("the request has no redirect_uri, and the application has not registered exactly one")
	default:
		return nil, pageError("the redirect_uri of the request is not one that the application has registered")
	}
	return client, nil
}

// check checks the parameters whose errors are sent to the client, and stores their values in r. A non-empty modeFault
// is a fault that was already found in the parameter response_mode; check returns it as an error.
func (s *Authorize) check(
	ctx context.Context, r *Request, client *clients.Client, a requestValues, modeFault string,
) error {
	for name, values := range a.Values {
		if len(values) > 1 && name != "resource" {
			return kernel.Refuse(kernel.InvalidRequest, "a parameter other than resource was sent more than once")
		}
	}
	switch response := a.single("response_type"); {
	case a.Has("request"):
		return kernel.Refuse(requestNotSupported, "request objects are not supported")
	case a.Has("request_uri"):
		return kernel.Refuse(pushedNotSupported, "request_uri is not supported")
	case len(a.single("state")) > maxState:
		return kernel.Refuse(kernel.InvalidRequest, "state is longer than %d bytes", maxState)
	case response == "":
		return kernel.Refuse(kernel.InvalidRequest, "response_type is missing")
	case response != "code":
		return kernel.Refuse(unsupportedResponse, "response_type must be code")
	case !client.May(clients.GrantCode):
		return kernel.Refuse(kernel.UnauthorizedClient, "the client is not registered for the grant authorization_code")
	}
	if modeFault != "" {
		return kernel.Refuse(kernel.InvalidRequest, "%s", modeFault)
	}
	r.Challenge, r.Nonce, r.Hint = a.single("code_challenge"), a.single("nonce"), a.single("login_hint")
	if locales := a.single("ui_locales"); len(locales) <= maxLocales {
		r.Locales = locales
	}
	jkt := a.single("dpop_jkt")
	switch {
	case r.Challenge == "":
		return kernel.Refuse(kernel.InvalidRequest, "code_challenge is missing: PKCE is required")
	case a.single("code_challenge_method") != "S256":
		return kernel.Refuse(kernel.InvalidRequest, "code_challenge_method must be S256")
	case !isDigest(r.Challenge):
		return kernel.Refuse(kernel.InvalidRequest, "code_challenge must be 43 characters of base64url")
	case jkt != "" && !isDigest(jkt):
		return kernel.Refuse(kernel.InvalidRequest, "dpop_jkt must be 43 characters of base64url")
	case len(r.Nonce) > maxNonce:
		return kernel.Refuse(kernel.InvalidRequest, "nonce is longer than %d bytes", maxNonce)
	}
	if len(r.Hint) > maxHint { // ignored, since it is only a hint
		r.Hint = ""
	}
	if s.DPoP { // otherwise a bound code could not be redeemed
		r.JKT = jkt
	}
	if err := s.setSubject(ctx, r, a.single("id_token_hint")); err != nil {
		return err
	}
	if err := r.applyPrompt(a); err != nil {
		return err
	}
	r.applyACR(a.single("acr_values"))
	return s.setScope(ctx, r, client, a)
}

// isDigest reports whether a text has the form of a SHA-256 digest in base64url.
func isDigest(text string) bool {
	return len(text) == 43 && !strings.ContainsFunc(text, func(c rune) bool {
		return c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	})
}

// setSubject sets the subject of a request from the ID token in id_token_hint (OpenID Connect Core section 3.1.2.1). It
// ignores a token that this server did not issue, or whose signing key no longer exists.
func (s *Authorize) setSubject(ctx context.Context, r *Request, token string) error {
	if token == "" || s.Hinted == nil {
		return nil
	}
	subject, client, err := s.Hinted(ctx, token)
	if err == nil && subject != "" && client != r.Client {
		err = kernel.Refuse(kernel.InvalidRequest, "id_token_hint was issued to another client")
	}
	r.Subject = subject
	return err
}

// applyPrompt evaluates the parameters prompt and max_age (OpenID Connect Core section 3.1.2.1).
func (r *Request) applyPrompt(a requestValues) error {
	words := strings.Fields(a.single("prompt"))
	for _, word := range words {
		switch word {
		case "none":
			r.Silent = true
		case "login", "select_account":
			r.SignedInSince = r.At + 1 // later than the request, so that the user must sign in again
		case "consent":
			r.Ask = true
		default:
			return kernel.Refuse(kernel.InvalidRequest, "prompt must be none, login or consent")
		}
	}
	if r.Silent && len(words) > 1 {
		return kernel.Refuse(kernel.InvalidRequest, "prompt=none must not be combined with other values")
	}
	if text := a.single("max_age"); text != "" {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil || seconds < 0 {
			return kernel.Refuse(kernel.InvalidRequest, "max_age must be a number of seconds")
		}
		cutoff := r.At - min(seconds, maxSeconds)*int64(time.Second/time.Microsecond)
		if seconds == 0 {
			cutoff = r.At + 1 // like prompt=login
		}
		r.SignedInSince = max(r.SignedInSince, cutoff)
	}
	return nil
}

// applyACR evaluates acr_values: the first class in it that this server knows determines the required number of factors
// (OpenID Connect Core section 3.1.2.1, RFC 9470).
func (r *Request) applyACR(values string) {
	for class := range strings.FieldsSeq(values) {
		if slices.Contains(tokens.Classes(), class) {
			r.TwoFactors = class == tokens.TwoFactors
			return
		}
	}
}

// setScope sets the resources and the scope of a request.
func (s *Authorize) setScope(ctx context.Context, r *Request, client *clients.Client, a requestValues) error {
	for _, name := range a.Values["resource"] {
		if _, err := url.Parse(name); err != nil || strings.Contains(name, "#") { // a slug is a relative reference
			return kernel.Refuse(kernel.InvalidTarget,
				"resource must be an absolute URI without fragment, or the slug of a resource")
		}
	}
	found, err := s.Catalog.Resolve(ctx, a.Values["resource"])
	if err != nil {
		return err
	}
	for _, resource := range found {
		r.Resources = append(r.Resources, resource.ID)
	}
	r.Scope, err = s.Catalog.Scope(ctx, s.Clients.Ceiling(client), found, a.single("scope"))
	return err
}

// refusal returns err as a *RefusalError for the client of the request. An unexpected error becomes server_error or
// temporarily_unavailable, with err as its cause.
func (s *Authorize) refusal(r *Request, err error) error {
	e, ok := apierror.From(err)
	switch {
	case errors.Is(err, store.ErrUnavailable):
		e = kernel.Refuse(kernel.Unavailable, "the server is not available right now, try again shortly")
		e.Cause = err
	case !ok:
		e = kernel.Refuse(kernel.ServerError, "internal error")
		e.Cause = err
	}
	return &RefusalError{r, e}
}

// resources returns the resources of a request. A deleted resource is an error.
func (s *Authorize) resources(ctx context.Context, r *Request) (list []*resources.Resource, err error) {
	for _, id := range r.Resources {
		resource, err := s.Catalog.Find(ctx, id)
		if errors.Is(err, resources.ErrUnknown) {
			return nil, kernel.Refuse(kernel.InvalidTarget, "a resource of the request no longer exists")
		}
		if err != nil {
			return nil, err
		}
		list = append(list, resource)
	}
	return list, nil
}

// isOwn reports whether a scope belongs to this server and not to a resource.
func (s *Authorize) isOwn(word string) bool {
	return slices.ContainsFunc(s.Own, func(scope resources.Scope) bool { return scope.Name == word })
}
