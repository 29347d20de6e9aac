// Package credentials sets the header that authorises a request to a provider. Most keys are sent unchanged. Other keys
// must first be exchanged for a token. The token is fetched only from the token endpoint in the provider's catalog
// entry, whatever address the key itself contains. The identity of the machine is an exception, which only the operator
// can choose: its tokens come from the addresses in the process environment, as in the clouds' own libraries.
package credentials

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
)

const (
	fetchTimeout = 8 * time.Second
	// expiryMargin is the last part of a token's lifetime, in which the token is no longer used, since requests take some
	// time to arrive.
	expiryMargin = 2 * time.Minute
	// defaultLifetime is the assumed lifetime of a token if the response states no lifetime.
	defaultLifetime = 5 * time.Minute
	// maxTokens limits the number of cached tokens.
	maxTokens = 10_000
	maxHeader = 16 << 10 // length limit of a header value, in bytes
)

// Error describes why a token could not be obtained.
type Error struct {
	// Refused means that the key itself is at fault, so that trying again does not help.
	Refused bool
	// Message is meant for people and contains no part of the key.
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// grant fetches a token for a key from the token endpoint of a provider. For AuthAWS the token is an access key in the
// JSON form of accessKey. The error is an *Error or one that explain converts.
type grant interface {
	token(ctx context.Context, p *catalog.Provider) (*oauth2.Token, error)
}

// Tokens caches fetched tokens until shortly before they expire. It may be used by multiple goroutines; concurrent
// requests for the same token share one fetch.
type Tokens struct {
	now         func() time.Time
	environment func(name string) string
	fetches     singleflight.Group
	mu          sync.Mutex             // guards tokens
	tokens      map[string]cachedToken // by tokenID
}

type cachedToken struct {
	value   string
	expires time.Time // expiryMargin before the token's expiry
}

// NewTokens returns an empty cache that reads the time from now.
func NewTokens(now func() time.Time) *Tokens {
	return &Tokens{now: now, environment: os.Getenv, tokens: make(map[string]cachedToken)}
}

// Authorize sets the header field that p.Auth selects. The parameter secret is the provider's key. The value of the
// field is this key, or a token for the key. Authorize does nothing for keys with which Sign signs. Only keys that
// must be exchanged for a token cause a request, which is sent by transport. Errors are an *Error or the error of
// ctx.
func (t *Tokens) Authorize(
	ctx context.Context, header http.Header, p *catalog.Provider, secret string, transport http.RoundTripper,
) error {
	switch p.Auth {
	case catalog.AuthXAPIKey:
		header["X-Api-Key"] = []string{secret}
		return nil
	case catalog.AuthAPIKey:
		header["Api-Key"] = []string{secret}
		return nil
	case catalog.AuthAWS:
		if signs(p, secret) {
			return nil // Sign sets the header, since it needs the whole request
		}
	case catalog.AuthEntra, catalog.AuthGoogle:
		if exchanged(p, secret) {
			token, err := t.token(ctx, p, secret, transport)
			if err != nil {
				return err
			}
			secret = token
		} else if p.Auth == catalog.AuthEntra {
			header["Api-Key"] = []string{secret}
			return nil
		}
	}
	header["Authorization"] = []string{"Bearer " + secret} // AuthBearer, and whatever has not returned above
	return nil
}

// Forget drops the cached token for a key if the response status may mean that the provider refused the token before
// its expiry: 401 or, for AWS, also 403. It then returns true, so that the request may be sent once more with a new
// token.
func (t *Tokens) Forget(p *catalog.Provider, secret string, status int) bool {
	refused := status == http.StatusUnauthorized || status == http.StatusForbidden && p.Auth == catalog.AuthAWS
	if !refused || !exchanged(p, secret) {
		return false
	}
	id := tokenID(p, secret)
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.tokens, id)
	return true
}

// exchanged reports whether secret, a key of the provider p, is exchanged for tokens.
func exchanged(p *catalog.Provider, secret string) bool {
	return secret == catalog.WorkloadIdentity ||
		(p.Auth == catalog.AuthEntra || p.Auth == catalog.AuthGoogle) && strings.HasPrefix(secret, "{")
}

// tokenID returns the cache key for the token of a provider key.
func tokenID(p *catalog.Provider, secret string) string {
	sum := sha256.Sum256([]byte(p.Auth + "\x00" + p.TokenURL + "\x00" + p.TokenScope + "\x00" + secret))
	return string(sum[:])
}

// token returns a token for a key, from the cache or by calling fetch.
func (t *Tokens) token(
	ctx context.Context, p *catalog.Provider, secret string, transport http.RoundTripper,
) (string, error) {
	id := tokenID(p, secret)
	t.mu.Lock()
	cached, ok := t.tokens[id]
	t.mu.Unlock()
	if ok && t.now().Before(cached.expires) {
		return cached.value, nil
	}
	// The fetch may outlive the request that started it, because other requests wait for it, too. So it inherits
	// nothing from that request's context, in particular not its httptrace, which observes the connection of that
	// request.
	fetched := t.fetches.DoChan(id, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.Background(), fetchTimeout)
		defer cancel()
		return t.fetch(ctx, id, p, secret, transport)
	})
	select {
	case result := <-fetched:
		value, _ := result.Val.(string) // empty after an error
		return value, result.Err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// fetch gets a token from the provider's token endpoint and caches it under id.
func (t *Tokens) fetch(
	ctx context.Context, id string, p *catalog.Provider, secret string, transport http.RoundTripper,
) (string, error) {
	client := &http.Client{Transport: transport, CheckRedirect: noRedirects}
	g, err := t.parse(p.Auth, secret, client)
	if err != nil {
		return "", err
	}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, client)
	token, err := g.token(ctx, p)
	if err != nil {
		return "", explain(err)
	}
	if !sendable(token.AccessToken) {
		return "", &Error{Message: "the token endpoint sent a token that is not valid in a header field"}
	}
	lifetime := defaultLifetime
	if !token.Expiry.IsZero() {
		lifetime = time.Until(token.Expiry)
	}
	t.store(id, cachedToken{token.AccessToken, t.now().Add(lifetime - min(expiryMargin, lifetime/2))})
	return token.AccessToken, nil
}

// store caches a token. If the cache is full it drops expired tokens first, and all tokens if that frees no room.
func (t *Tokens) store(id string, token cachedToken) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.tokens) >= maxTokens {
		now := t.now()
		maps.DeleteFunc(t.tokens, func(_ string, old cachedToken) bool { return !now.Before(old.expires) })
		if len(t.tokens) >= maxTokens {
			clear(t.tokens)
		}
	}
	t.tokens[id] = token
}

// noRedirects prevents an http.Client from following redirects. It is for the field CheckRedirect.
func noRedirects(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// parse returns the grant for a key that is a JSON object or stands for the identity of the machine. publicClient is
// the client for requests to token endpoints on the internet.
func (t *Tokens) parse(auth, secret string, publicClient *http.Client) (grant, error) {
	switch {
	case secret == catalog.WorkloadIdentity:
		return newWorkload(auth, t.environment, publicClient), nil
	case auth == catalog.AuthGoogle:
		return parseServiceAccount(secret)
	}
	return parseApplication(secret)
}

// explain converts the error of a token request. The message of the converted error quotes only the status and the
// error code of the endpoint's response.
func explain(err error) *Error {
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	failed, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok || failed.Response == nil {
		return &Error{Message: "the token endpoint could not be reached or sent no token"}
	}
	status := failed.Response.StatusCode
	temporary := status == http.StatusRequestTimeout || status == http.StatusTooManyRequests
	return &Error{
		Refused: status >= 400 && status < 500 && !temporary,
		Message: fmt.Sprintf("the token endpoint answered with %d", status) + quotedCode(failed.ErrorCode),
	}
}
