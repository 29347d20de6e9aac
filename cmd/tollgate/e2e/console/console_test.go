package console

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestConsole runs the cases of testdata/npm/console.mjs in a headless Chromium: the console as its users see it, on a
// gateway where users paste tokens and on one where they sign in with an OpenID provider.
func TestConsole(t *testing.T) {
	t.Parallel()
	up := e2e.NewUpstream(t)
	g := e2e.NewGateway(t, "\t\tcatalog {\n\t\t\tprovider openai {\n\t\t\t\tbase_url "+up.URL+"/openai/v1\n\t\t\t}\n"+
		"\t\t\tprovider groq {\n\t\t\t\tbase_url "+up.URL+"/groq/v1\n\t\t\t}\n"+
		"\t\t\tprovider mistral {\n\t\t\t\tbase_url http://127.0.0.1:1/v1\n\t\t\t}\n\t\t}")
	id := newIdentityProvider(t)
	signIn := e2e.NewGateway(t, "", "\ttollgate gateway\n", "\ttollgate gateway {\n"+
		"\t\tuser_jwt {\n\t\t\tissuer "+id.url+"\n\t\t\taudience gateway\n\t\t}\n"+
		"\t\tconsole {\n\t\t\toidc "+id.url+" console\n\t\t\tscopes openid profile offline_access\n\t\t}\n\t}\n")
	token := func(g *e2e.Gateway, user string) string {
		return strings.TrimSpace(g.Tool("keychain", "token", user, "--json"))
	}
	cache, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output() // the build cache, for compiling the code of the playground
	if err != nil {
		t.Fatal(err)
	}
	e2e.RunBrowser(t, "console.mjs", "GOCACHE="+strings.TrimSpace(string(cache)), "GOFLAGS=-trimpath", "CGO_ENABLED=0", "TOLLGATE_URL="+g.Base, "TOLLGATE_UPSTREAM="+up.URL, "TOLLGATE_TOKENS="+fmt.Sprintf("[%s,%s]", token(g, "ada"), token(g, "berta")),
		"TOLLGATE_OIDC_URL="+signIn.Base, "TOLLGATE_OIDC_TOKEN="+token(signIn, "carla"), "IDENTITY_PROVIDER="+id.url)
}

// TestConsoleFiles checks the files of the console with plain HTTP requests.
func TestConsoleFiles(t *testing.T) {
	t.Parallel()
	g := e2e.NewGateway(t, "", "\ttollgate gateway\n", "\ttollgate gateway {\n\t\tconsole {\n\t\t\toidc https://id.example.com/realm console\n"+
		"\t\t\torigins https://tokens.example.com\n\t\t\ttoken id\n\t\t}\n\t}\n")
	page := e2e.CheckConsole(t, g.Base+"/console/", "", "connect-src 'self' https://id.example.com https://tokens.example.com;")
	if a := e2e.Get(t, e2e.Client, g.Base+"/console/callback", ""); a.Status != http.StatusOK || a.Body != page {
		t.Errorf("callback: status %d", a.Status)
	}
	if a := e2e.Get(t, e2e.Client, g.Base+"/console/settings.json", ""); a.Body != `{"oidc":{"issuer":"https://id.example.com/realm","client_id":"console","scopes":["openid","profile","email"],"token":"id"}}` {
		t.Errorf("settings: %s", a.Body)
	}
	for _, path := range []string{"index.html", "nothing", "pages/", "pages/..%2fapp.js", "parts/", "../console.go"} {
		if a := e2e.Get(t, e2e.Client, g.Base+"/console/"+path, ""); a.Status != http.StatusNotFound || !strings.Contains(a.Body, `"code":"not_found"`) {
			t.Errorf("%s: status %d, %s", path, a.Status, a.Body)
		}
	}
	if a := e2e.Do(t, e2e.Client, http.MethodPost, g.Base+"/console/", "", ""); a.Status != http.StatusMethodNotAllowed || a.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: status %d, %v", a.Status, a.Header)
	}
	still := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if a := e2e.Get(t, still, g.Base+"/console", ""); a.Status != http.StatusPermanentRedirect || a.Header.Get("Location") != "console/" {
		t.Errorf("redirect: status %d, %v", a.Status, a.Header)
	}

	disabled := e2e.NewGateway(t, "", "\ttollgate gateway\n", "\ttollgate gateway {\n\t\tconsole off\n\t}\n")
	if a := e2e.Get(t, e2e.Client, disabled.Base+"/console/", ""); a.Status != http.StatusNotFound {
		t.Errorf("off: status %d", a.Status)
	}
}

// identityProvider is an OpenID provider at which everybody is already signed in and consents. It requires PKCE, and
// each code and refresh token can be used once.
type identityProvider struct {
	t       *testing.T
	url     string
	key     *ecdsa.PrivateKey
	mu      sync.Mutex
	codes   map[string]url.Values // the authorization request of each code
	refresh map[string]bool
	renewed int
}

func newIdentityProvider(t *testing.T) *identityProvider {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p := &identityProvider{t: t, key: key, codes: make(map[string]url.Values), refresh: make(map[string]bool)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		p.answer(w, http.StatusOK, map[string]any{
			"issuer": p.url, "authorization_endpoint": p.url + "/authorize?tenant=a", "token_endpoint": p.url + "/token", "jwks_uri": p.url + "/keys",
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		point, err := key.PublicKey.Bytes()
		if err != nil {
			t.Error(err)
			return
		}
		encode := base64.RawURLEncoding.EncodeToString
		p.answer(w, http.StatusOK, map[string]any{"keys": []any{map[string]string{
			"kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": "1", "x": encode(point[1:33]), "y": encode(point[33:]),
		}}})
	})
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /renewed", func(w http.ResponseWriter, _ *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.answer(w, http.StatusOK, p.renewed)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

func (p *identityProvider) answer(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(value); err != nil {
		p.t.Error(err)
	}
}

func (p *identityProvider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("response_type") != "code" || q.Get("client_id") != "console" || q.Get("scope") != "openid profile offline_access" ||
		q.Get("code_challenge_method") != "S256" || q.Get("nonce") == "" || len(q.Get("state")) < 32 || q.Get("tenant") != "a" {
		p.t.Errorf("authorization request %v", q)
	}
	code := rand.Text()
	p.mu.Lock()
	p.codes[code] = q
	p.mu.Unlock()
	params := url.Values{"state": {q.Get("state")}, "code": {code}, "iss": {p.url}}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+params.Encode(), http.StatusFound) //nolint:gosec // what the client asks for, in a test
}

func (p *identityProvider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	nonce := ""
	switch r.PostFormValue("grant_type") {
	case "authorization_code":
		query, ok := p.codes[r.PostFormValue("code")]
		delete(p.codes, r.PostFormValue("code"))
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		if !ok || base64.RawURLEncoding.EncodeToString(sum[:]) != query.Get("code_challenge") || r.PostFormValue("redirect_uri") != query.Get("redirect_uri") {
			p.answer(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
			return
		}
		nonce = query.Get("nonce")
	case "refresh_token":
		if !p.refresh[r.PostFormValue("refresh_token")] {
			p.answer(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
			return
		}
		delete(p.refresh, r.PostFormValue("refresh_token"))
		p.renewed++
	default:
		p.answer(w, http.StatusBadRequest, map[string]string{"error": "unsupported_grant_type"})
		return
	}
	next := rand.Text()
	p.refresh[next] = true
	p.answer(w, http.StatusOK, map[string]any{
		"token_type": "Bearer", "expires_in": 31, "refresh_token": next, // the console renews tokens that expire within 30 seconds
		"access_token": p.sign(jwt.MapClaims{"aud": "gateway"}),
		"id_token":     p.sign(jwt.MapClaims{"aud": "console", "nonce": nonce, "name": "Dora"}),
	})
}

func (p *identityProvider) sign(claims jwt.MapClaims) string {
	claims["iss"], claims["sub"] = p.url, "dora"
	claims["iat"], claims["exp"] = time.Now().Unix(), time.Now().Add(5*time.Minute).Unix()
	token := jwt.NewWithClaims(jwt.SigningMethodES256, claims)
	token.Header["kid"] = "1"
	text, err := token.SignedString(p.key)
	if err != nil {
		p.t.Error(err)
	}
	return text
}
