// Package jwkstest provides an identity provider for tests.
package jwkstest

import (
	"crypto"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/MicahParks/jwkset"
)

// JWK returns a public key as an identity provider publishes it. extraMembers is at most one text, such as "use":"enc",
// with further members that are put in front.
func JWK(kid string, key crypto.Signer, extraMembers ...string) string {
	parsed, err := jwkset.NewJWKFromKey(key.Public(), jwkset.JWKOptions{Metadata: jwkset.JWKMetadataOptions{KID: kid}})
	if err != nil {
		panic(err)
	}
	text, err := json.Marshal(parsed.Marshal())
	if err != nil {
		panic(err)
	}
	if len(extraMembers) > 0 {
		return "{" + extraMembers[0] + "," + string(text[1:])
	}
	return string(text)
}

// Keys returns a JWK set.
func Keys(keys ...string) string { return `{"keys":[` + strings.Join(keys, ",") + `]}` }

// Provider is an identity provider. Set changes its answers.
type Provider struct {
	*httptest.Server
	mu        sync.Mutex
	JWKS      string
	Discovery string // empty for a valid document
	Status    int
	Header    http.Header
	fetches   int
	Arrived   chan struct{} // receives a value at each fetch, if there is room
	Hold      chan struct{} // if it is not nil, fetches wait until it is closed
}

// New starts a provider that publishes keys and ends with the test.
func New(tb testing.TB, keys ...string) *Provider {
	tb.Helper()
	p := &Provider{JWKS: Keys(keys...), Status: 200, Header: http.Header{}, Arrived: make(chan struct{}, 1000)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.Discovery == "" {
			p.Discovery = fmt.Sprintf(`{"issuer":%q,"jwks_uri":%q,"token_endpoint":"x"}`, p.URL, p.URL+"/keys")
		}
		_, _ = w.Write([]byte(p.Discovery))
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.fetches++
		hold := p.Hold
		p.mu.Unlock()
		select {
		case p.Arrived <- struct{}{}:
		default:
		}
		if hold != nil {
			select {
			case <-hold:
			case <-r.Context().Done():
				return
			}
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		maps.Copy(w.Header(), p.Header)
		w.WriteHeader(p.Status)
		_, _ = w.Write([]byte(p.JWKS))
	})
	p.Server = httptest.NewServer(mux)
	tb.Cleanup(p.Close)
	return p
}

// Set changes the answers of the provider.
func (p *Provider) Set(change func(p *Provider)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

// Count returns how often the keys were fetched.
func (p *Provider) Count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fetches
}
