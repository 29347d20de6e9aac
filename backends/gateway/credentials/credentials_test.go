package credentials

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
)

const application1 = `{"tenant_id":"contoso.example","client_id":"app","client_secret":"s3cret/+ "}`

// endpoint is a token endpoint whose answers come from do.
type endpoint struct {
	do    func(form url.Values) (status int, body string)
	asked atomic.Int32
	paths []string
}

// RoundTrip implements http.RoundTripper.
func (e *endpoint) RoundTrip(r *http.Request) (*http.Response, error) {
	e.asked.Add(1)
	e.paths = append(e.paths, r.URL.String())
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	status, answer := e.do(form)
	if status == 0 {
		return nil, errors.New("no connection, and s3cret in its error")
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Location", "https://elsewhere.example/")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, answer)
	return w.Result(), nil
}

func entra() *catalog.Provider {
	return &catalog.Provider{Code: "azure", Auth: catalog.AuthEntra, TokenURL: "https://login.example/{tenant}/token", TokenScope: "scope"}
}

func TestAuthorizeHeaders(t *testing.T) {
	t.Parallel()
	for auth, want := range map[string]string{
		catalog.AuthBearer: "Authorization: Bearer key", catalog.AuthXAPIKey: "X-Api-Key: key", catalog.AuthAPIKey: "Api-Key: key",
		catalog.AuthEntra: "Api-Key: key", catalog.AuthGoogle: "Authorization: Bearer key",
	} {
		header := make(http.Header)
		if err := NewTokens(time.Now).Authorize(t.Context(), header, &catalog.Provider{Auth: auth}, "key", nil); err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		_ = header.Write(&got)
		if strings.TrimSpace(got.String()) != want {
			t.Errorf("%s: %q, want %q", auth, got.String(), want)
		}
	}
}

// TestTokenIsFetchedOnce checks that simultaneous requests share one fetch, and that the token is used until shortly
// before its expiry.
func TestTokenIsFetchedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{}
		e.do = func(form url.Values) (int, string) {
			time.Sleep(time.Second)
			if form.Get("grant_type") != "client_credentials" || form.Get("client_id") != "app" || form.Get("client_secret") != "s3cret/+ " || form.Get("scope") != "scope" {
				t.Errorf("the form is %v", form)
			}
			return 200, fmt.Sprintf(`{"access_token":"token-%d","token_type":"Bearer","expires_in":3600}`, e.asked.Load())
		}
		tokens := NewTokens(time.Now)
		ask := func() string {
			header := make(http.Header)
			if err := tokens.Authorize(t.Context(), header, entra(), application1, e); err != nil {
				t.Error(err)
			}
			return header.Get("Authorization")
		}
		var wait sync.WaitGroup
		for range 20 {
			wait.Go(func() {
				if got := ask(); got != "Bearer token-1" {
					t.Errorf("got %q", got)
				}
			})
		}
		wait.Wait()
		time.Sleep(57 * time.Minute)
		if got := ask(); got != "Bearer token-1" || e.asked.Load() != 1 {
			t.Errorf("got %q after %d fetches", got, e.asked.Load())
		}
		time.Sleep(2 * time.Minute)
		if got := ask(); got != "Bearer token-2" {
			t.Errorf("got %q shortly before the end of the first", got)
		}
		if e.paths[0] != "https://login.example/contoso.example/token" {
			t.Errorf("asked %s", e.paths[0])
		}
	})
}

// TestFetchIsNotTraced checks that the httptrace of a request does not see the fetch of its token. It would take the
// connection to the token endpoint for the provider's.
func TestFetchIsNotTraced(t *testing.T) {
	t.Parallel()
	var e endpoint
	e.do = func(url.Values) (int, string) { return http.StatusOK, `{"access_token":"tok","expires_in":3600}` }
	traced := false
	transport := roundTripper(func(r *http.Request) (*http.Response, error) {
		traced = httptrace.ContextClientTrace(r.Context()) != nil
		return e.RoundTrip(r)
	})
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{})
	if err := NewTokens(time.Now).Authorize(ctx, make(http.Header), entra(), application1, transport); err != nil {
		t.Fatal(err)
	}
	if traced {
		t.Error("the request for the token carries the trace of the request that needs it")
	}
}

// roundTripper is a function as an http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestTokenErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, key string
		status    int
		body      string
		refused   bool
		message   string
	}{
		{"wrong secret", application1, 401, `{"error":"invalid_client","error_description":"s3cret is wrong"}`, true, "answered with 401 invalid_client"},
		{"unknown tenant", application1, 400, `{"error":"invalid_request"}`, true, "answered with 400 invalid_request"},
		{"too many", application1, 429, `{}`, false, "answered with 429"},
		{"broken", application1, 503, `<html>`, false, "answered with 503"},
		{"elsewhere", application1, 302, ``, false, "answered with 302"},
		{"no connection", application1, 0, ``, false, "could not be reached or sent no token"},
		{"no token", application1, 200, `{}`, false, "could not be reached or sent no token"},
		{"a token of two lines", application1, 200, `{"access_token":"a\nb"}`, false, "not valid in a header field"},
		{"half a key", `{"tenant_id":"t"}`, 200, ``, true, "without the members"},
		{"a tenant that is a path", `{"tenant_id":"../x","client_id":"a","client_secret":"b"}`, 200, ``, true, "without the members"},
		{"no JSON", `{`, 200, ``, true, "without the members"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := &endpoint{do: func(url.Values) (int, string) { return c.status, c.body }}
			err := NewTokens(time.Now).Authorize(t.Context(), make(http.Header), entra(), c.key, e)
			got, ok := errors.AsType[*Error](err)
			if !ok || got.Refused != c.refused || !strings.Contains(got.Message, c.message) || strings.Contains(got.Message, "s3cret") {
				t.Errorf("got %#v, want refused %v and %q", err, c.refused, c.message)
			}
		})
	}
}

// TestServiceAccount checks the assertion like Google's server, and that the token_uri in the key file is not used.
func TestServiceAccount(t *testing.T) {
	t.Parallel()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	file, err := json.MarshalIndent(map[string]string{
		"type": "service_account", "client_email": "gateway@project.example", "private_key_id": "k1", "token_uri": "https://evil.example/token",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	key, err := catalog.CheckKey(string(file))
	if err != nil {
		t.Fatal(err)
	}
	const tokenURL = "https://token.example/token"
	e := &endpoint{do: func(form url.Values) (int, string) {
		claims := jwt.MapClaims{}
		token, err := jwt.ParseWithClaims(form.Get("assertion"), claims, func(*jwt.Token) (any, error) { return &private.PublicKey, nil },
			jwt.WithValidMethods([]string{"RS256"}), jwt.WithAudience(tokenURL), jwt.WithIssuer("gateway@project.example"))
		if err != nil || token.Header["kid"] != "k1" || claims["scope"] != "cloud" {
			t.Errorf("the assertion is not good: %v %v", err, claims)
		}
		return 200, `{"access_token":"ya29.x","token_type":"Bearer","expires_in":3599}`
	}}
	header := make(http.Header)
	p := &catalog.Provider{Auth: catalog.AuthGoogle, TokenURL: tokenURL, TokenScope: "cloud"}
	if err := NewTokens(time.Now).Authorize(t.Context(), header, p, key, e); err != nil {
		t.Fatal(err)
	}
	if header.Get("Authorization") != "Bearer ya29.x" || e.paths[0] != tokenURL {
		t.Errorf("%v from %v", header, e.paths)
	}
	p.TokenURL = "https://other.example/token"
	err = NewTokens(time.Now).Authorize(t.Context(), header, p, `{"type":"service_account","client_email":"a","private_key":"no key"}`, e)
	if got, ok := errors.AsType[*Error](err); !ok || !got.Refused {
		t.Errorf("a broken private key gives %v", err)
	}
}

func FuzzKeys(f *testing.F) {
	f.Add(application1)
	f.Add(`{"type":"service_account","client_email":"a","private_key":"b"}`)
	f.Fuzz(func(t *testing.T, key string) {
		stored, err := catalog.CheckKey(key)
		if err != nil {
			return
		}
		if got, err := catalog.CheckKey(stored); err != nil || got != stored {
			t.Errorf("%q is stored as %q and then as %q: %v", key, stored, got, err)
		}
		_, _ = parseApplication(stored)
		_, _ = parseServiceAccount(stored)
	})
}
