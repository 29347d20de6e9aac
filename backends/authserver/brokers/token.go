package brokers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
)

// Credential is the set of tokens that a provider issues for a user.
type Credential struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token,omitempty"`
	// Expires is when the access token expires, in microseconds since 1970, or zero if unknown.
	Expires int64 `json:"expires_at,omitempty"`
}

// Granted is a response of a token endpoint.
type Granted struct {
	Credential
	Scope []string // nil if the response has no scope, which means that the requested scope was granted
}

// UpstreamError means that a provider has refused a request or has not answered.
type UpstreamError struct {
	Slug string
	// Code is the OAuth error code of the response. It is empty if the response has no code, or if the provider has not
	// answered.
	Code  string
	cause error // why there is no token
}

// Error implements error. From the provider's response it contains only the error code.
func (e *UpstreamError) Error() string {
	if e.Code != "" {
		return fmt.Sprintf("provider %s: %s", e.Slug, e.Code)
	}
	return fmt.Sprintf("provider %s: %s", e.Slug, e.cause)
}

// Unwrap returns the reason why there is no token, such as that the provider did not answer.
func (e *UpstreamError) Unwrap() error { return e.cause }

// endedCodes are the error codes, including Slack's, for a refresh token that is no longer valid.
var endedCodes = map[string]bool{
	kernel.InvalidGrant: true, "invalid_refresh_token": true, "token_revoked": true, "token_expired": true,
	"account_inactive": true, "bad_refresh_token": true,
}

// Gone reports whether an error means that the provider has ended a user's grant.
func Gone(err error) bool {
	e, ok := errors.AsType[*UpstreamError](err)
	return ok && endedCodes[e.Code]
}

// AuthorizeAt returns the URL of an authorization request. The challenge is the PKCE code challenge (S256).
func (c *OAuthConfig) AuthorizeAt(redirect, state, challenge string, scope []string) string {
	u, err := url.Parse(c.AuthorizeURL)
	if err != nil {
		panic(err) // it has been checked
	}
	q := u.Query()
	for name, value := range c.ExtraAuthParams {
		q.Set(name, value)
	}
	for name, value := range map[string]string{
		"client_id": c.ClientID, "redirect_uri": redirect, "response_type": "code",
		"state": state, "scope": strings.Join(scope, c.ScopeSeparator),
		"code_challenge": challenge, "code_challenge_method": "S256",
	} {
		q.Set(name, value)
		if value == "" {
			q.Del(name)
		}
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// Redeem exchanges an authorization code for tokens.
func (b *Brokers) Redeem(ctx context.Context, c *OAuthConfig, code, verifier, redirect string) (Granted, error) {
	return b.ask(ctx, c, url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "code_verifier": {verifier},
		"redirect_uri": {redirect},
	})
}

// Renew exchanges a refresh token for new tokens. If the response contains no refresh token, the result contains the
// current one.
func (b *Brokers) Renew(ctx context.Context, c *OAuthConfig, refresh string) (Granted, error) {
	granted, err := b.ask(ctx, c, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {refresh}})
	if granted.Refresh == "" {
		granted.Refresh = refresh
	}
	return granted, err
}

// Revoke revokes a credential at the provider (RFC 7009), if the provider has a revoke_url.
func (b *Brokers) Revoke(ctx context.Context, c *OAuthConfig, credential Credential) error {
	if c.RevokeURL == "" {
		return nil
	}
	token, hint := credential.Refresh, "refresh_token"
	if token == "" {
		token, hint = credential.Access, "access_token"
	}
	status, _, err := b.post(ctx, c, c.RevokeURL, url.Values{"token": {token}, "token_type_hint": {hint}})
	if err == nil && status >= http.StatusBadRequest {
		err = &UpstreamError{Slug: c.slug, cause: fmt.Errorf("status %d", status)}
	}
	return err
}

const (
	maxAnswer = 256 << 10 // bytes of a response
	maxToken  = 64 << 10  // bytes of a token
	// maxTokenLife is the maximum life of a token that is accepted from a provider's response.
	maxTokenLife = 10 * 365 * 24 * time.Hour
)

// post sends a form with the client credentials to a URL, and returns the status and the body of the response.
func (b *Brokers) post(
	ctx context.Context, c *OAuthConfig, endpoint string, form url.Values,
) (status int, answer []byte, err error) {
	if c.TokenAuthMethod == "client_secret_post" {
		form.Set("client_id", c.ClientID)
		form.Set("client_secret", c.secret)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, nil, err
	}
	if c.TokenAuthMethod == "client_secret_basic" {
		request.SetBasicAuth(url.QueryEscape(c.ClientID), url.QueryEscape(c.secret))
	}
	return b.send(c.slug, request)
}

// send sends a request to a provider, and returns the status and the body of the response. A body that is too long is
// an error.
func (b *Brokers) send(slug string, request *http.Request) (status int, answer []byte, err error) {
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Accept", "application/json")
	response, err := b.client.Do(request)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // without the URL
		}
		return 0, nil, &UpstreamError{Slug: slug, cause: err}
	}
	defer func() { _ = response.Body.Close() }() // the body has been read
	answer, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err == nil && len(answer) > maxAnswer {
		err = fmt.Errorf("the answer is longer than %d bytes", maxAnswer)
	}
	if err != nil {
		return 0, nil, &UpstreamError{Slug: slug, cause: err}
	}
	return response.StatusCode, answer, nil
}

// ask sends a request to the token endpoint and returns the tokens of the response.
func (b *Brokers) ask(ctx context.Context, c *OAuthConfig, form url.Values) (g Granted, err error) {
	status, answer, err := b.post(ctx, c, c.TokenURL, form)
	if err != nil {
		return g, err
	}
	return b.granted(c, status, answer)
}

// answered is a response of a token endpoint in any of the supported formats.
type answered struct {
	OK      *bool           `json:"ok"` // of Slack
	Error   string          `json:"error"`
	Access  string          `json:"access_token"`
	Refresh string          `json:"refresh_token"`
	Expires json.RawMessage `json:"expires_in"` // a number, or a string with one
	Scope   *string         `json:"scope"`
	Type    string          `json:"token_type"`
	User    *answered       `json:"authed_user"` // of Slack
}

// word matches the error codes of providers that are passed to callers.
var word = regexp.MustCompile(`^[a-z][a-z0-9_.-]{0,63}$`)

// parse decodes a response as a form, if format is "form", or as JSON. Some providers send errors as JSON in any case.
func (a *answered) parse(format string, text []byte) error {
	isJSON := strings.HasPrefix(strings.TrimSpace(string(text)), "{")
	if format != "form" || isJSON {
		return json.Unmarshal(text, a)
	}
	values, err := url.ParseQuery(string(text))
	if err != nil {
		return err
	}
	*a = answered{
		Error: values.Get("error"), Access: values.Get("access_token"), Refresh: values.Get("refresh_token"),
		Expires: json.RawMessage(values.Get("expires_in")),
	}
	if values.Has("scope") {
		scope := values.Get("scope")
		a.Scope = &scope
	}
	return nil
}

// granted returns the tokens in a response of the token endpoint. If there are none, the error is an *UpstreamError.
func (b *Brokers) granted(c *OAuthConfig, status int, text []byte) (g Granted, err error) {
	var a answered
	err = a.parse(c.ResponseFormat, text) // checked below: the status of a server error takes precedence
	failed := &UpstreamError{Slug: c.slug, cause: fmt.Errorf("status %d without a token", status)}
	if word.MatchString(a.Error) {
		failed.Code = a.Error
	}
	switch {
	case status >= http.StatusInternalServerError:
		failed.Code = "" // a server error is not a refusal, whatever the response says
		return g, failed
	case err != nil || status >= http.StatusMultipleChoices || a.Error != "" || a.OK != nil && !*a.OK:
		return g, failed
	}
	switch {
	case c.ResponseFormat != "slack":
	case a.User != nil && a.User.Access != "":
		a = *a.User
	case a.Type == "bot":
		failed.cause = errors.New("the token belongs to the workspace, not to the user: request a user token with user_scope in extra_auth_params")
		return g, failed
	}
	if a.Access == "" || len(a.Access) > maxToken || len(a.Refresh) > maxToken {
		return g, failed
	}
	g.Access, g.Refresh = a.Access, a.Refresh
	if n, err := strconv.ParseFloat(strings.Trim(string(a.Expires), `"`), 64); err == nil && n > 0 {
		g.Expires = b.Now().Add(time.Duration(min(n, maxTokenLife.Seconds()) * float64(time.Second))).UnixMicro()
	}
	if a.Scope != nil {
		g.Scope = words(*a.Scope, c.ScopeSeparator)
	}
	return g, nil
}

// words splits a scope at the provider's separator and at the usual separators.
func words(scope, separator string) []string {
	list := make([]string, 0, 8)
	for part := range strings.SplitSeq(scope, separator) {
		for word := range strings.FieldsFuncSeq(part, func(c rune) bool { return c == ' ' || c == ',' }) {
			list = append(list, word)
		}
	}
	return list
}

// jwtBearer is the grant type of RFC 7523 section 2.1.
const jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer" //nolint:gosec // G101: a grant

// Assert requests a token for a service account (RFC 7523).
func (b *Brokers) Assert(ctx context.Context, c *ServiceAccountConfig, scope []string) (g Granted, err error) {
	now := b.Now()
	claims := jwt.MapClaims{
		"iss": c.Email, "sub": c.Email, "aud": c.TokenURL, "iat": now.Unix(),
		"exp": now.Add(time.Duration(c.TTL) * time.Second).Unix(), "jti": kernel.NewID(),
	}
	if len(scope) > 0 {
		claims["scope"] = strings.Join(scope, " ")
	}
	assertion, err := jwt.NewWithClaims(jwt.GetSigningMethod(c.Algorithm), claims).SignedString(c.key)
	if err != nil {
		return g, &UpstreamError{Slug: c.slug, cause: errors.New("the assertion cannot be signed")} // err may quote the key
	}
	form := url.Values{"grant_type": {jwtBearer}, "assertion": {assertion}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.TokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return g, err
	}
	status, answer, err := b.send(c.slug, request)
	if err != nil {
		return g, err
	}
	return b.granted(&OAuthConfig{slug: c.slug, ResponseFormat: "standard", ScopeSeparator: " "}, status, answer)
}
