package openid

import (
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// maxForm bounds the body of a request, in bytes.
const maxForm = 64 << 10

// Routes are the endpoints that are for programs.
func (s *OpenID) Routes() []kernel.Route {
	return []kernel.Route{
		{Method: http.MethodGet, Path: UserInfoPath, Serve: s.userInfo},
		{Method: http.MethodPost, Path: UserInfoPath, Serve: s.userInfo},
	}
}

// bare is the challenge where no token came.
const bare = `Bearer realm="authserver"`

// userInfo tells what the access token of a request may know (OpenID Connect Core 5.3).
func (s *OpenID) userInfo(w http.ResponseWriter, r *http.Request) error {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	challenge := func(status int, code, description, more string) error {
		h.Set("WWW-Authenticate", bare+`, error="`+code+`", error_description="`+description+`"`+more)
		return apierror.New(status, code, "%s", description)
	}
	token, err := bearer(w, r)
	if err != nil {
		return challenge(http.StatusBadRequest, kernel.InvalidRequest, err.Error(), "")
	}
	if token == "" { // no error code, not in the body either (RFC 6750 section 3.1)
		h.Set("WWW-Authenticate", bare)
		w.WriteHeader(http.StatusUnauthorized)
		return nil
	}
	claims, _, ok, err := s.Tokens.Live(r.Context(), token)
	if err != nil {
		return err
	}
	if !ok || claims.User() == "" || claims.Confirm.JKT != "" { // a bound token is no bearer token
		return challenge(http.StatusUnauthorized, "invalid_token", "the access token is not good here", "")
	}
	scope := strings.Fields(claims.Scope)
	if !slices.Contains(scope, "openid") {
		return challenge(http.StatusForbidden, "insufficient_scope", "the access token has not the scope openid", `, scope="openid"`)
	}
	u, err := s.Users.Find(r.Context(), claims.User())
	if users.IsNone(err) || err == nil && !u.Active() {
		return challenge(http.StatusUnauthorized, "invalid_token", "the access token is not good here", "")
	}
	if err != nil {
		return err
	}
	text, err := json.Marshal(person(u, scope))
	if err != nil {
		return err
	}
	h.Set("Content-Type", "application/json")
	_, _ = w.Write(text) // nobody to tell when the client is gone
	return nil
}

// malformed is what is wrong with how a token was sent.
type malformed string

func (m malformed) Error() string { return string(m) }

// bearer is the token of a request: in its header or, of a form, in its body (RFC 6750
// section 2), and never in the address. Empty: there is none.
func bearer(w http.ResponseWriter, r *http.Request) (token string, err error) {
	headers := r.Header.Values("Authorization")
	if len(headers) > 1 {
		return "", malformed("there is more than one Authorization header")
	}
	if len(headers) == 1 {
		scheme, rest, _ := strings.Cut(headers[0], " ")
		if strings.EqualFold(scheme, "Bearer") {
			token = strings.TrimSpace(rest)
		}
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if r.Method != http.MethodPost || err != nil || kind != "application/x-www-form-urlencoded" {
		return token, nil
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return "", malformed("the form could not be read")
	}
	sent := r.PostForm["access_token"]
	switch {
	case len(sent) == 0:
		return token, nil
	case token != "" || len(sent) > 1:
		return "", malformed("the access token was sent more than once")
	}
	return sent[0], nil
}
