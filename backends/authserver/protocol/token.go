package protocol

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// token serves the token endpoint (RFC 6749 section 3.2).
func (p *Protocol) token(w http.ResponseWriter, r *http.Request) error {
	began := time.Now()
	p.Proofs.Greet(w, r)
	answer, err := p.grant(w, r)
	if err != nil {
		return tokenError(err)
	}
	p.Took("token_issuance_duration_seconds", "", began)
	return write(w, http.StatusOK, answer.AppendJSON(make([]byte, 0, 1024)))
}

// tokenError sets the status of a refusal to 400, unless RFC 6749 section 5.2 permits the status at the token endpoint.
func tokenError(err error) error {
	e, ok := apierror.From(err)
	if !ok {
		return err
	}
	switch e.Status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusTooManyRequests, http.StatusServiceUnavailable,
		http.StatusInternalServerError:
		return err
	}
	e = new(*e)
	e.Status = http.StatusBadRequest
	return e
}

// grant authenticates the client of a token request and serves its grant type.
func (p *Protocol) grant(w http.ResponseWriter, r *http.Request) (answer tokens.Answer, err error) {
	form, err := kernel.ReadForm(w, r, "resource", "audience")
	if err != nil {
		return answer, err
	}
	c, err := p.client(w, r, form)
	if err != nil {
		return answer, err
	}
	grant := form.Get("grant_type")
	switch {
	case grant == "":
		return answer, kernel.Refuse(kernel.InvalidRequest, "grant_type is required")
	case !slices.Contains(p.Grants, grant):
		return answer, kernel.Refuse(kernel.UnsupportedGrantType, "this server does not support the requested grant_type")
	case !c.May(grant):
		p.denied(r, c.ID, kernel.UnauthorizedClient)
		return answer, kernel.Refuse(kernel.UnauthorizedClient, "the client is not registered for the grant %s", grant)
	}
	jkt, err := p.proof(w, r, c)
	if err != nil {
		return answer, err
	}
	switch grant {
	case clients.GrantCode:
		return p.code(r, c, form, jkt)
	case clients.GrantRefresh:
		return p.refresh(r, c, form, jkt)
	case clients.GrantClient:
		if answer, err = p.clientCredentials(r, c, form, jkt); err != nil {
			p.deniedToken(r, c, "client_credentials.denied", "client_credentials_denied_total", "", err)
		}
		return answer, err
	case clients.GrantDevice:
		return p.device(r, c, form, jkt)
	case clients.GrantJWT:
		return p.assertion(r, c, form, jkt)
	case clients.GrantExchange:
		return p.exchange(r, c, form, jkt)
	}
	// not reached: each grant type in p.Grants has a case above
	return answer, kernel.Refuse(kernel.UnsupportedGrantType, "this server does not support the requested grant_type")
}

// proof returns the thumbprint of the key to which the tokens of a request are bound. Without a DPoP proof the tokens
// are bearer tokens, and proof returns "".
func (p *Protocol) proof(w http.ResponseWriter, r *http.Request, c *clients.Client) (jkt string, err error) {
	jkt, err = p.Proofs.Key(w, r, TokenPath, "")
	if err == nil && jkt == "" && c.Metadata.DPoP { // RFC 9449 section 5.2
		err = kernel.Refuse(kernel.InvalidProof, "the client is registered with dpop_bound_access_tokens: a DPoP proof is required")
	}
	if e, ok := apierror.From(err); ok && e.Code == kernel.InvalidProof {
		p.denied(r, c.ID, kernel.InvalidProof)
	}
	return jkt, err
}

// code serves the authorization_code grant (RFC 6749 section 4.1.3). The jkt is the result of proof, as in all grants.
func (p *Protocol) code(
	r *http.Request, c *clients.Client, form kernel.Form, jkt string,
) (answer tokens.Answer, err error) {
	code := form.Get("code")
	if code == "" {
		return answer, kernel.Refuse(kernel.InvalidRequest, "code is required")
	}
	return p.Tokens.Redeem(r.Context(), tokens.Redemption{
		Client: c, Code: code, RedirectURI: form.Get("redirect_uri"), Verifier: form.Get("code_verifier"),
		Resources: form.All("resource"), JKT: jkt, Address: p.Address(r),
	})
}

// refresh serves the refresh_token grant (RFC 6749 section 6).
func (p *Protocol) refresh(
	r *http.Request, c *clients.Client, form kernel.Form, jkt string,
) (answer tokens.Answer, err error) {
	token := form.Get("refresh_token")
	if token == "" {
		return answer, kernel.Refuse(kernel.InvalidRequest, "refresh_token is required")
	}
	return p.Tokens.Refresh(r.Context(), tokens.Renewal{
		Client: c, Token: token, Scope: form.Get("scope"), Resources: form.All("resource"), JKT: jkt, Address: p.Address(r),
	})
}

// clientCredentials serves the client_credentials grant (RFC 6749 section 4.4).
func (p *Protocol) clientCredentials(
	r *http.Request, c *clients.Client, form kernel.Form, jkt string,
) (answer tokens.Answer, err error) {
	if c.Public() {
		return answer, kernel.Refuse(kernel.UnauthorizedClient, "a public client must not use the grant client_credentials")
	}
	if len(c.Scope) == 0 {
		return answer, kernel.Refuse(kernel.InvalidScope,
			"the grant client_credentials requires a registered scope, but the client has none: an administrator must add one")
	}
	targets, err := p.Catalog.Resolve(r.Context(), form.All("resource"))
	if err != nil {
		return answer, err
	}
	scope, err := p.clientCredentialsScope(r, c, targets, form.Get("scope"))
	if err != nil {
		return answer, err
	}
	if answer, err = p.Tokens.Machine(r.Context(), c, scope, targets, jkt); err != nil {
		return answer, err
	}
	p.Audit(r.Context(), kernel.Event{
		Action: "client_credentials.issued", Actor: c.ID, Client: c.ID,
		Address: p.Address(r), Detail: []string{"scope", answer.Scope},
	})
	return answer, nil
}

// clientCredentialsScope returns the scope of a token for the client credentials grant. Each requested scope must be
// within the client's registered scope (see resources.Within) and must be declared by one of the targets. If no scope
// is requested, the result consists of those registered scopes of the client that the targets declare. Without
// targets, the scopes need not be declared.
func (p *Protocol) clientCredentialsScope(
	r *http.Request, c *clients.Client, targets []*resources.Resource, requested string,
) ([]string, error) {
	scopes, err := resources.ParseScope(requested)
	if err != nil {
		return nil, err
	}
	if len(scopes) > 0 {
		if err := resources.Within(scopes, c.Scope); err != nil || len(targets) == 0 {
			return scopes, err
		}
		return scopes, p.Catalog.Declared(r.Context(), targets, scopes)
	}
	if len(targets) == 0 {
		return c.Scope, nil
	}
	for _, scope := range c.Scope {
		declares := func(resource *resources.Resource) bool { return slices.Contains(resource.Names(), scope) }
		if slices.ContainsFunc(targets, declares) {
			scopes = append(scopes, scope)
		}
	}
	if len(scopes) == 0 {
		return nil, kernel.Refuse(kernel.InvalidScope, "the requested resources declare none of the client's registered scopes")
	}
	return scopes, nil
}

// deniedToken counts a refused token request in the metric called name, and records it in the audit feed as an event
// with this action. If reason is empty, the error code of refusal is used as the reason. The detail is a list of
// alternating names and values.
func (p *Protocol) deniedToken(
	r *http.Request, c *clients.Client, action, name, reason string, refusal error, detail ...string,
) {
	if reason == "" {
		reason = kernel.ServerError
		if e, ok := apierror.From(refusal); ok {
			reason = e.Code
		}
	}
	p.Count(name, reason)
	p.Audit(r.Context(), kernel.Event{
		Action: action, Actor: c.ID, Client: c.ID, Address: p.Address(r),
		Detail: append([]string{"reason", reason}, detail...),
	})
}

// inactive is the introspection response for any invalid token (RFC 7662 section 2.2).
var inactive = []byte(`{"active":false}`)

// introspect serves the introspection endpoint (RFC 7662).
func (p *Protocol) introspect(w http.ResponseWriter, r *http.Request) error {
	began := time.Now()
	form, err := kernel.ReadForm(w, r)
	if err != nil {
		return err
	}
	c, err := p.client(w, r, form)
	if err != nil {
		return err
	}
	if c.Public() {
		p.denied(r, c.ID, "public_client")
		return kernel.Refuse(kernel.InvalidClient, "client authentication failed")
	}
	token := form.Get("token")
	if token == "" {
		return kernel.Refuse(kernel.InvalidRequest, "token is required")
	}
	answer, err := p.Tokens.Introspect(r.Context(), c, token, p.Address(r))
	if err != nil {
		return errors.Join(kernel.Refuse(kernel.Unavailable, "the token cannot be checked right now; try again shortly"), err)
	}
	active := "true"
	if answer == nil {
		answer, active = inactive, "false"
	}
	p.Count("introspection_total", active)
	p.Took("introspection_duration_seconds", "", began)
	return write(w, http.StatusOK, answer)
}

// revoke serves the revocation endpoint (RFC 7009).
func (p *Protocol) revoke(w http.ResponseWriter, r *http.Request) error {
	form, err := kernel.ReadForm(w, r)
	if err != nil {
		return err
	}
	c, err := p.client(w, r, form)
	if err != nil {
		return err
	}
	token := form.Get("token")
	if token == "" {
		return kernel.Refuse(kernel.InvalidRequest, "token is required")
	}
	if err := p.Tokens.Revoke(r.Context(), c, token, p.Address(r)); err != nil {
		return err
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// Bearer returns the token in an Authorization header with the scheme Bearer, or "" without such a header.
func Bearer(r *http.Request) string {
	const scheme = "Bearer "
	if h := r.Header.Get("Authorization"); len(h) > len(scheme) && strings.EqualFold(h[:len(scheme)], scheme) {
		return h[len(scheme):]
	}
	return ""
}
