package apiauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jwks"
	"github.com/tollgate-gateway/tollgate/internal/jwt"
)

const (
	// introspectionTime limits the time of one request to the authorization server.
	introspectionTime = 5 * time.Second
	// defaultExpiry is the assumed lifetime of a token whose expiry the authorization server does not state.
	defaultExpiry = time.Minute
	// maxIntrospection bounds a response, in bytes.
	maxIntrospection = 64 << 10
)

// Introspection configures an authorization server that checks tokens on request (RFC 7662).
type Introspection struct {
	// URL is the introspection endpoint: https, or http on a loopback address. Required.
	URL string `json:"url,omitempty"`

	// ClientID and ClientSecret are this service's credentials at the server, sent as client_secret_basic. The secret is
	// usually {env.NAME} or {file.path}. Required.
	ClientID     string `json:"client_id,omitempty"`
	ClientSecret string `json:"client_secret,omitempty"`

	// Cache is how long a response is reused, at most 1m. Default: 0, each request sends its token to the server.
	Cache caddy.Duration `json:"cache,omitempty"`

	client *http.Client
}

// provision checks the options and creates the client.
func (i *Introspection) provision() error {
	if i.ClientID == "" || i.ClientSecret == "" {
		return errors.New("client_id and client_secret are required")
	}
	if err := (jwks.Address{JWKS: i.URL}).Check(); err != nil {
		return fmt.Errorf("url: %w", err)
	}
	if time.Duration(i.Cache) < 0 || time.Duration(i.Cache) > time.Minute {
		return errors.New("cache must be at most 1m")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy, transport.MaxIdleConnsPerHost = nil, 64
	i.client = &http.Client{
		Transport: transport, Timeout: introspectionTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return nil
}

// close closes idle connections. It may be called before provision.
func (i *Introspection) close() {
	if i.client != nil {
		i.client.CloseIdleConnections()
	}
}

// introspect checks a token at the authorization server. It returns the user, the user's approximate size in bytes,
// and the time until which the result may be cached. The result may be cached for the time of the option cache, but
// not after the token expires.
func (o *OAuth) introspect(
	ctx context.Context, token string,
) (g *granted, size int64, cachedUntil time.Time, err error) {
	claims, encoded, err := o.Introspection.ask(ctx, token)
	if err != nil {
		return nil, 0, time.Time{}, apierror.Unavailable("the authorization server", err)
	}
	if active, _ := claims["active"].(bool); !active {
		return nil, 0, time.Time{}, errInactive
	}
	now := time.Now()
	expires := now.Add(defaultExpiry)
	if seconds, ok := claims["exp"].(float64); ok {
		expires = time.Unix(int64(seconds), 0)
		if !now.Before(expires.Add(time.Duration(o.Leeway))) {
			return nil, 0, time.Time{}, jwt.ErrExpired
		}
	}
	g, size, err = o.grant(claims, encoded, expires)
	cachedUntil = now.Add(time.Duration(o.Introspection.Cache))
	if expires.Before(cachedUntil) {
		cachedUntil = expires
	}
	return g, size, cachedUntil, err
}

// ask sends a token to the introspection endpoint and returns the claims in the response, which tell whether the token
// is active, and the length of the response. It returns an error if the response is not a JSON object with status 200.
func (i *Introspection) ask(ctx context.Context, token string) (claims map[string]any, encoded int, err error) {
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, i.URL, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, 0, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Accept", "application/json")
	request.SetBasicAuth(url.QueryEscape(i.ClientID), url.QueryEscape(i.ClientSecret)) // RFC 6749 section 2.3.1
	response, err := i.client.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, 0, fmt.Errorf("the introspection endpoint answers %s", response.Status)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxIntrospection+1))
	if err != nil {
		return nil, 0, err
	}
	if len(body) > maxIntrospection {
		return nil, 0, errors.New("the answer of the introspection endpoint is too long")
	}
	if err := json.Unmarshal(body, &claims); err != nil {
		return nil, 0, fmt.Errorf("the answer of the introspection endpoint: %w", err)
	}
	return claims, len(body), nil
}
