// Package credentials makes the header that authorises a request to a provider. Most keys are a
// header as they stand; for others a token is fetched first, from the token endpoint of the
// provider's row in the catalog and from nowhere else, whatever the key says.
package credentials

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
)

const (
	fetchTimeout = 8 * time.Second
	// spare is for how long before its end a token is not used any more: a request
	// may take a while to arrive.
	spare = 2 * time.Minute
	// unsaid is the life of a token whose answer does not tell it.
	unsaid = 5 * time.Minute
	// maxTokens bounds the tokens that are kept.
	maxTokens = 10_000
	maxHeader = 16 << 10
)

// Error is why there is no token.
type Error struct {
	// Refused: the key is at fault, and asking again does not help.
	Refused bool
	// Message is for people. It holds no part of the key.
	Message string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// grant fetches a token for a key.
type grant interface {
	token(ctx context.Context, p *catalog.Provider) (*oauth2.Token, error)
}

// Tokens keeps the tokens that were fetched until shortly before they expire. It may be used by
// any number of goroutines; those that need the same token at once wait for one fetch.
type Tokens struct {
	now     func() time.Time
	fetches singleflight.Group
	mu      sync.Mutex
	kept    map[string]kept
}

type kept struct {
	value   string
	expires time.Time
}

// NewTokens returns an empty store of tokens.
func NewTokens(now func() time.Time) *Tokens {
	return &Tokens{now: now, kept: make(map[string]kept)}
}

// Authorize sets the header field by which a provider knows a key. Only for the kinds of keys that
// are exchanged for tokens it sends anything, by transport. Its errors are an *Error, or that of ctx.
func (t *Tokens) Authorize(ctx context.Context, header http.Header, p *catalog.Provider, secret string, transport http.RoundTripper) error {
	switch p.Auth {
	case catalog.AuthXAPIKey:
		header["X-Api-Key"] = []string{secret}
		return nil
	case catalog.AuthAPIKey:
		header["Api-Key"] = []string{secret}
		return nil
	case catalog.AuthAWS:
		if signs(p, secret) {
			return nil // by Sign, which needs the whole request
		}
	case catalog.AuthEntra, catalog.AuthGoogle:
		if strings.HasPrefix(secret, "{") {
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
	header["Authorization"] = []string{"Bearer " + secret}
	return nil
}

// Forget drops the token that is kept for a key, since the provider has refused it before its end. It
// reports whether there was one.
func (t *Tokens) Forget(p *catalog.Provider, secret string) bool {
	id := tokenID(p, secret)
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.kept[id]
	delete(t.kept, id)
	return ok
}

// tokenID returns the name under which the token for a key is kept.
func tokenID(p *catalog.Provider, secret string) string {
	sum := sha256.Sum256([]byte(p.Auth + "\x00" + p.TokenURL + "\x00" + p.TokenScope + "\x00" + secret))
	return string(sum[:])
}

// token returns a token for a key, a kept one where there is one.
func (t *Tokens) token(ctx context.Context, p *catalog.Provider, secret string, transport http.RoundTripper) (string, error) {
	id := tokenID(p, secret)
	t.mu.Lock()
	k, ok := t.kept[id]
	t.mu.Unlock()
	if ok && t.now().Before(k.expires) {
		return k.value, nil
	}
	// The fetch outlives the request that began it: others wait for it too. So it has nothing of that
	// request's context, least of all its httptrace, which tells of the request's own connection.
	fetched := t.fetches.DoChan(id, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.Background(), fetchTimeout)
		defer cancel()
		return t.fetch(ctx, id, p, secret, transport)
	})
	select {
	case result := <-fetched:
		value, _ := result.Val.(string)
		return value, result.Err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// fetch gets a token from the provider's token endpoint, and keeps it.
func (t *Tokens) fetch(ctx context.Context, id string, p *catalog.Provider, secret string, transport http.RoundTripper) (string, error) {
	g, err := parse(p.Auth, secret)
	if err != nil {
		return "", err
	}
	ctx = context.WithValue(ctx, oauth2.HTTPClient, &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	})
	token, err := g.token(ctx, p)
	if err != nil {
		return "", explain(err)
	}
	if !sendable(token.AccessToken) {
		return "", &Error{Message: "the token endpoint answered with a token that cannot be sent"}
	}
	life := unsaid
	if !token.Expiry.IsZero() {
		life = time.Until(token.Expiry)
	}
	t.keep(id, kept{token.AccessToken, t.now().Add(life - min(spare, life/2))})
	return token.AccessToken, nil
}

// keep keeps a token, and lets go of those that have expired where they are many.
func (t *Tokens) keep(id string, k kept) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.kept) >= maxTokens {
		for old := range t.kept {
			if !t.now().Before(t.kept[old].expires) {
				delete(t.kept, old)
			}
		}
		if len(t.kept) >= maxTokens {
			clear(t.kept)
		}
	}
	t.kept[id] = k
}

// parse reads a key that is a JSON object.
func parse(auth, secret string) (grant, error) {
	if auth == catalog.AuthGoogle {
		return parseServiceAccount(secret)
	}
	return parseApplication(secret)
}

// explain says why a token endpoint gave no token. Of its answer only the code goes along.
func explain(err error) *Error {
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	answer, answered := errors.AsType[*oauth2.RetrieveError](err)
	if !answered || answer.Response == nil {
		return &Error{Message: "the token endpoint could not be asked for a token"}
	}
	e := &Error{Message: fmt.Sprintf("the token endpoint answered with %d", answer.Response.StatusCode)}
	if code := answer.ErrorCode; code != "" && len(code) <= 64 && !strings.ContainsFunc(code, func(r rune) bool { return r <= ' ' || r > '~' }) {
		e.Message += " " + code
	}
	switch status := answer.Response.StatusCode; status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
	default:
		e.Refused = status >= 400 && status < 500
	}
	return e
}
