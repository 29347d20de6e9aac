package authserver_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/oauth2"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/config"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin/oidclogintest"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
	"github.com/tollgate-gateway/tollgate/internal/transit/transittest"
)

// keys are a configuration: values by the names of keys. nil is a key that is not there,
// which has its default.
type keys map[string]any

// flip is how the effect of a key is seen: of two configurations that differ in its value
// alone, a client or an operator sees different things.
type flip struct {
	one, other any // values of the key
	// see runs the server with the key, and whatever else it needs, and returns what is
	// seen.
	see func(t *testing.T, key keys) string
	// want and but are what is seen with one and with other. Empty: it is not told.
	want, but string
}

// flips are those of this service. The keys of the process around it, its listeners,
// storage and telemetry, are flipped where they act.
func flips(t *testing.T) map[string]flip {
	t.Helper()
	all := make(map[string]flip)
	for _, section := range []map[string]flip{
		issuerFlips(), signingFlips(t), registrationFlips(), documentFlips(), sessionFlips(t), limitFlips(), adminFlips(), oauthFlips(), upstreamFlips(t), encryptionFlips(t), grantFlips(), proofFlips(), connectFlips(),
		enterpriseFlips(),
	} {
		for name, one := range section {
			if _, twice := all[name]; twice {
				t.Errorf("%s is in two sections", name)
			}
			all[name] = one
		}
	}
	return all
}

// TestFlip: each key of the configuration is alive: who changes it sees a difference.
func TestFlip(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("config/testdata/process-keys.txt")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, all, known := strings.Fields(string(text)), flips(t), make(map[string]bool)
	for _, key := range config.Keys() {
		known[key.Name] = true
		if slices.Contains(elsewhere, key.Name) {
			continue
		}
		one, ok := all[key.Name]
		if !ok {
			t.Errorf("%s: nobody has seen an effect of it", key.Name)
			continue
		}
		t.Run(key.Name, func(t *testing.T) {
			t.Parallel()
			seen := one.see(t, keys{key.Name: one.one})
			then := one.see(t, keys{key.Name: one.other})
			if seen == then || one.want != "" && seen != one.want || one.but != "" && then != one.but {
				t.Errorf("with %v: %q, want %q; with %v: %q, want %q", one.one, seen, one.want, one.other, then, one.but)
			}
		})
	}
	for name := range all {
		if !known[name] || slices.Contains(elsewhere, name) {
			t.Errorf("%s is no key of this service", name)
		}
	}
}

// people are databases with a user.
var people = storetest.Fixture{Schemas: []store.Schema{authserver.Schema()}, Fill: func(ctx context.Context, db *store.DB) error {
	k := authserver.Offline(db, time.Now)
	defer k.Close()
	_, err := authserver.OfflineUsers(k).Create(ctx, users.New{Email: "ann@example.com", Name: "Ann", Password: "correct horse", EmailVerified: true}, "")
	return err
}}

// flipped is a server with a configuration, which is watched.
type flipped struct {
	*live
	clock *authtest.Clock
	db    *store.DB
	log   *observer.ObservedLogs
}

// variables of the process: names for secrets.
var variables = map[string]string{
	"MASTER": strings.Repeat("0a", 32), "OTHER_MASTER": strings.Repeat("0b", 32), "BAD": "a guess",
	"KMS_TOKEN": transittest.Root, "KMS_ROLE": transittest.RoleID, "KMS_SECRET": transittest.SecretID, "OIDC_SECRET": oidclogintest.Secret,
}

// trust has the server reach this machine.
var trust = keys{"server.allow_networks": []string{"127.0.0.0/8"}}

// start runs a server on a database, nil: a new one. The error is what keeps it from
// starting. The later of several values of a key counts. The issuer is the address of the
// server unless a key says otherwise.
func start(t *testing.T, db *store.DB, sets ...keys) (*flipped, error) {
	t.Helper()
	f := &flipped{live: &live{t: t}, clock: authtest.NewClock(), db: db}
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.server.Public().ServeHTTP(w, r) }))
	t.Cleanup(listener.Close)
	f.url = listener.URL
	set := keys{
		"server.issuer": f.url, "signing.key_path": t.TempDir(), "admin.api_key": "0123456789abcdef0123456789abcdef",
		"resources": []map[string]any{
			{"slug": "files", "uri": "https://files.example", "scopes": []map[string]any{{"name": "read"}, {"name": "write"}}},
			{"slug": "mail", "uri": "https://mail.example", "scopes": []map[string]any{{"name": "send"}}},
		},
	}
	for _, more := range sets {
		maps.Copy(set, more)
	}
	cfg, err := config.Parse(set.text(t), func(name string) (string, bool) {
		value, ok := variables[name]
		return value, ok
	})
	if err != nil {
		return nil, err
	}
	if f.db == nil {
		f.db = people.SQLite(t)
	}
	core, logs := observer.New(zapcore.DebugLevel)
	f.log = logs
	shared := counters.NewMemory(f.clock.Now)
	process := make([]byte, 32) // as of another one
	_, _ = rand.Read(process)   // never fails
	if f.server, err = authserver.New(authserver.Options{Config: cfg, DB: f.db, Counters: shared, Key: process, Logger: func() *zap.Logger { return zap.New(core) }, Now: f.clock.Now}); err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		f.server.Close()
		_ = shared.Close()
	})
	if err := f.server.Start(); err != nil {
		return nil, err
	}
	for f.server.Ready(t.Context()) != nil { // until the resources are stored
		time.Sleep(time.Millisecond)
	}
	k := authserver.Offline(f.db, time.Now)
	t.Cleanup(k.Close)
	f.users = authserver.OfflineUsers(k)
	if f.ann, err = f.users.FindEmail(t.Context(), "ann@example.com"); err != nil {
		return nil, err
	}
	f.browser()
	return f, nil
}

// begin is start where it must start.
func begin(t *testing.T, sets ...keys) *flipped {
	t.Helper()
	f, err := start(t, nil, sets...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// refusal is the error of a start with a key, and "starts" without one.
func refusal(err error) string {
	if err != nil {
		return err.Error()
	}
	return "starts"
}

// text is the file of keys.
func (k keys) text(t *testing.T) []byte {
	t.Helper()
	root := make(map[string]any)
	for name, value := range k {
		if value == nil {
			continue
		}
		at, words := root, strings.Split(name, ".")
		for _, word := range words[:len(words)-1] {
			if at[word] == nil {
				at[word] = make(map[string]any)
			}
			at, _ = at[word].(map[string]any)
		}
		at[words[len(words)-1]] = value
	}
	text, err := json.Marshal(root) // which is YAML
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// with is keys with others above them.
func (k keys) with(others ...keys) keys {
	all := maps.Clone(k)
	for _, more := range others {
		maps.Copy(all, more)
	}
	return all
}

// browser is a new one, without cookies.
func (f *flipped) browser() {
	f.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		f.t.Fatal(err)
	}
	f.people = &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// answer is one to a program or a browser, with its status.
type answer struct {
	*httptest.ResponseRecorder
	body map[string]any
}

// ask sends a request to a site; header are pairs.
func ask(h http.Handler, method, path, body string, header ...string) answer {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != "" {
		kind := "application/x-www-form-urlencoded"
		if body[0] == '{' {
			kind = "application/json"
		}
		r.Header.Set("Content-Type", kind)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	a := answer{ResponseRecorder: httptest.NewRecorder()}
	h.ServeHTTP(a, r)
	_ = json.Unmarshal(a.Body.Bytes(), &a.body)
	return a
}

// status of an answer, as text.
func (a answer) status() string { return strconv.Itoa(a.Code) }

// says is the error of an answer, else its status.
func (a answer) says() string {
	code, _ := a.body["error"].(string)
	return cmp.Or(code, a.status())
}

// public asks the public site.
func (f *flipped) public(method, path, body string, header ...string) answer {
	return ask(f.server.Public(), method, path, body, header...)
}

// admin asks the administration with its key.
func (f *flipped) admin(method, path, body string) answer {
	return ask(f.server.Admin(), method, "/admin"+path, body, "Authorization", "Bearer 0123456789abcdef0123456789abcdef")
}

// metadata is a member of the metadata document, as text.
func metadata(member string) func(t *testing.T, key keys) string {
	return func(t *testing.T, key keys) string {
		t.Helper()
		text, err := json.Marshal(begin(t, key).public(http.MethodGet, "/.well-known/oauth-authorization-server", "").body[member])
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

// client registers one, with more members.
func (f *flipped) client(members map[string]any) (id, secret string) {
	f.t.Helper()
	all := map[string]any{
		"client_name": "App", "redirect_uris": []string{"https://app.example/cb"}, "grant_types": []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
		"token_endpoint_auth_method": "none", "scope": "openid read write",
	}
	maps.Copy(all, members)
	text, err := json.Marshal(all)
	if err != nil {
		f.t.Fatal(err)
	}
	made := f.admin(http.MethodPost, "/clients", string(text))
	if made.Code != http.StatusCreated {
		f.t.Fatalf("%d %s", made.Code, made.Body)
	}
	id, _ = made.body["client_id"].(string)
	secret, _ = made.body["client_secret"].(string)
	return id, secret
}

// app is a client that nobody authenticates, as x/oauth2 knows it.
func (f *flipped) app() *oauth2.Config {
	f.t.Helper()
	id, _ := f.client(nil)
	return &oauth2.Config{
		ClientID: id, RedirectURL: "https://app.example/cb", Scopes: []string{"read"},
		Endpoint: oauth2.Endpoint{AuthURL: f.url + "/oauth/authorize", TokenURL: f.url + "/oauth/token", AuthStyle: oauth2.AuthStyleInParams},
	}
}

// signedIn is an app with tokens of ann's.
func (f *flipped) signedIn() (*oauth2.Config, answer) {
	f.t.Helper()
	c := f.app()
	tokens := f.public(http.MethodPost, "/oauth/token", f.redeem(c).Encode())
	if tokens.Code != http.StatusOK {
		f.t.Fatalf("%d %s", tokens.Code, tokens.Body)
	}
	return c, tokens
}

// renew uses a refresh token.
func (f *flipped) renew(c *oauth2.Config, tokens answer) answer {
	token, _ := tokens.body["refresh_token"].(string)
	return f.public(http.MethodPost, "/oauth/token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}, "client_id": {c.ClientID}}.Encode())
}

// seconds is expires_in of an answer.
func (a answer) seconds() string {
	n, _ := a.body["expires_in"].(float64)
	return time.Duration(n * float64(time.Second)).String()
}
