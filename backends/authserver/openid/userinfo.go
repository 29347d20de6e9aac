package openid

import (
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/claims"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/proofs"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/dpop"
)

// Routes returns the routes of the endpoints that programs call.
func (s *OpenID) Routes() []kernel.Route {
	return []kernel.Route{
		{Method: http.MethodGet, Path: UserInfoPath, Serve: s.userInfo},
		{Method: http.MethodPost, Path: UserInfoPath, Serve: s.userInfo},
	}
}

// bareChallenge is the WWW-Authenticate challenge for a request without a token.
const bareChallenge = `Bearer realm="authserver"`

// challenge sets the header WWW-Authenticate and returns the error. The text parameters contains further parameters
// of the challenge, and is appended to it.
func challenge(h http.Header, status int, code, description, parameters string) error {
	h.Set("WWW-Authenticate", bareChallenge+`, error="`+code+`", error_description="`+description+`"`+parameters)
	return apierror.New(status, code, "%s", description)
}

// userInfo serves the UserInfo endpoint (OpenID Connect Core section 5.3).
func (s *OpenID) userInfo(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	s.Proofs.Greet(w, r)
	token, bound, err := presentedToken(w, r)
	switch e, ok := apierror.From(err); {
	case ok && e.Status == http.StatusBadRequest:
		return challenge(h, e.Status, e.Code, e.Message, "")
	case err != nil:
		return err
	}
	if token == "" { // neither the challenge nor the body has an error code (RFC 6750 section 3.1)
		h.Set("WWW-Authenticate", bareChallenge)
		w.WriteHeader(http.StatusUnauthorized)
		return nil
	}
	tokenClaims, _, ok, err := s.Tokens.Live(r.Context(), token)
	if err != nil {
		return err
	}
	boundAsBearer := !bound && tokenClaims != nil && tokenClaims.Confirm.JKT != ""
	if !ok || tokenClaims.User() == "" || boundAsBearer {
		return challenge(h, http.StatusUnauthorized, "invalid_token",
			"the access token is not valid for the UserInfo endpoint", "")
	}
	if bound {
		if err := s.checkProof(w, r, token, tokenClaims.Confirm.JKT); err != nil {
			return err
		}
	}
	scope := strings.Fields(tokenClaims.Scope)
	if !slices.Contains(scope, "openid") {
		return challenge(h, http.StatusForbidden, "insufficient_scope", "the access token does not have the scope openid",
			`, scope="openid"`)
	}
	u, err := s.Users.Find(r.Context(), tokenClaims.User())
	if users.IsNone(err) || err == nil && !u.Active() {
		return challenge(h, http.StatusUnauthorized, "invalid_token", "the user of the access token is not active", "")
	}
	if err != nil {
		return err
	}
	person, custom, err := s.claimsFor(r.Context(), u, tokenClaims.Client, claims.UserInfo, scope)
	if err != nil {
		return err
	}
	text, err := json.Marshal(person)
	if err != nil {
		return err
	}
	text = custom.Append(text)
	h.Set("Content-Type", "application/json")
	_, _ = w.Write(text) //nolint:gosec // G705: it is JSON; an error means that the client is gone
	return nil
}

// checkProof checks that a request has a DPoP proof of the key to which its token is bound (RFC 9449 section 7.1).
// Otherwise it sets the challenge and returns an error.
func (s *OpenID) checkProof(w http.ResponseWriter, r *http.Request, token, jkt string) error {
	key, err := s.Proofs.Key(w, r, UserInfoPath, token)
	switch e, ok := apierror.From(err); {
	case ok && (e.Code == kernel.InvalidProof || e.Code == proofs.UseNonce):
		w.Header().Set("WWW-Authenticate", proofs.Challenge(e.Code))
		return apierror.New(http.StatusUnauthorized, e.Code, "%s", e.Message)
	case err != nil:
		return err
	case key == "" || key != jkt:
		w.Header().Set("WWW-Authenticate", proofs.Challenge("invalid_token"))
		return apierror.New(http.StatusUnauthorized, "invalid_token", "the access token is not bound to the key of the proof")
	}
	return nil
}

// presentedToken returns the token of a request, from its header or from a form in its body (RFC 6750 section 2), but
// never from its URL. Without a token it returns "". The result bound reports whether the scheme of the token is DPoP.
func presentedToken(w http.ResponseWriter, r *http.Request) (token string, bound bool, err error) {
	headers := r.Header.Values("Authorization")
	if len(headers) > 1 {
		return "", false, kernel.Refuse(kernel.InvalidRequest, "there is more than one Authorization header")
	}
	if len(headers) == 1 {
		scheme, credentials, _ := strings.Cut(headers[0], " ")
		if bound = strings.EqualFold(scheme, dpop.Header); bound || strings.EqualFold(scheme, "Bearer") {
			token = strings.TrimSpace(credentials)
		}
	}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if r.Method != http.MethodPost || err != nil || media != "application/x-www-form-urlencoded" {
		return token, bound, nil
	}
	form, err := kernel.ReadForm(w, r, "access_token")
	if err != nil {
		return "", false, err
	}
	sent := form.All("access_token")
	switch {
	case len(sent) == 0:
		return token, bound, nil
	case token != "" || len(sent) > 1:
		return "", false, kernel.Refuse(kernel.InvalidRequest, "the access token was sent more than once")
	}
	return sent[0], false, nil // a token in a form is a bearer token
}
