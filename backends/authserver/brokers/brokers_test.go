package brokers_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/brokers"
	"github.com/tollgate-gateway/tollgate/backends/authserver/encryption"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// newBrokers returns brokers with an encryptor and variables.
func newBrokers(t *testing.T, k authtest.Kernel, env map[string]string) *brokers.Brokers {
	t.Helper()
	master, err := encryption.NewMaster(strings.Repeat("0a", 32), "")
	if err != nil {
		t.Fatal(err)
	}
	return brokers.New(k.Server, brokers.Options{Encryptor: master, Networks: loopback, Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }})
}

func config(t *testing.T, pairs ...any) json.RawMessage {
	t.Helper()
	members := make(map[string]any)
	for i := 0; i+1 < len(pairs); i += 2 {
		members[pairs[i].(string)] = pairs[i+1]
	}
	text, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// good returns a valid configuration of the protocol oauth, with changes.
func good(t *testing.T, pairs ...any) json.RawMessage {
	t.Helper()
	return config(t, append([]any{"client_id", "c", "client_secret", "hidden secret", "authorize_url", "https://up.example/authorize?x=1", "token_url", "https://up.example/token"}, pairs...)...)
}

func TestRows(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		ctx := t.Context()
		b := newBrokers(t, k, nil)
		p := &brokers.Provider{Slug: "chat", DisplayName: "Chat", Protocol: brokers.OAuth, Config: good(t)}
		if err := b.Create(ctx, p); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(p.Config), "hidden") {
			t.Errorf("%s", p.Config)
		}
		var row string
		if err := k.Read(ctx, func(c store.Conn) error {
			return c.Row("SELECT config || secret FROM authserver_brokers").Scan(&row)
		}); err != nil || strings.Contains(row, "hidden") {
			t.Errorf("%s, error %v", row, err)
		}
		if err := b.Create(ctx, &brokers.Provider{Slug: "chat", Protocol: brokers.APIKey}); !errors.Is(err, brokers.ErrExists) {
			t.Errorf("error %v", err)
		}
		// An edit without a secret keeps the stored secret; an empty secret removes it.
		p, err := b.Edit(ctx, "chat", func(p *brokers.Provider) error {
			p.Config = config(t, "client_id", "d", "authorize_url", "https://a.example", "token_url", "https://t.example")
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if c, err := b.OAuth(ctx, p); err != nil || c.ClientID != "d" {
			t.Errorf("%+v, error %v", c, err)
		}
		if p, err = b.Edit(ctx, p.ID, func(p *brokers.Provider) error {
			p.Config = good(t, "client_secret", "")
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := b.Usable(p); err == nil {
			t.Error("without a secret it is usable")
		}
		// A provider that a resource uses cannot be deleted.
		catalog := resources.New(k.Server, resources.Options{})
		r := &resources.Resource{Slug: "chat", Kind: resources.Broker, Provider: p.ID}
		if err := catalog.Create(ctx, r); err != nil {
			t.Fatal(err)
		}
		if err := b.Delete(ctx, p.ID); !errors.Is(err, brokers.ErrInUse) {
			t.Errorf("error %v", err)
		}
		if err := catalog.Delete(ctx, r.ID); err != nil {
			t.Fatal(err)
		}
		if err := b.Delete(ctx, p.ID); err != nil {
			t.Errorf("error %v", err)
		}
		if _, err := b.Find(ctx, "chat"); !errors.Is(err, brokers.ErrUnknown) {
			t.Errorf("error %v", err)
		}
		// Existing providers are not seeded again.
		list := []brokers.Provider{{Slug: "a", Protocol: brokers.APIKey}, {Slug: "b", Protocol: brokers.APIKey, DisplayName: "B"}}
		for range 2 {
			if err := b.Seed(ctx, list); err != nil {
				t.Error(err)
			}
		}
		if all, err := b.All(ctx); err != nil || len(all) != 2 || all[1].DisplayName != "B" {
			t.Errorf("%v, error %v", all, err)
		}
		// Without an encryptor no secret is stored.
		plain := brokers.New(k.Server, brokers.Options{})
		if err := plain.Create(ctx, &brokers.Provider{Slug: "c", Protocol: brokers.OAuth, Config: good(t)}); err == nil || !strings.Contains(err.Error(), "data_encryption.driver") {
			t.Errorf("error %v", err)
		}
	})
}

// TestChangedWhileResealed checks that a secret that is sealed again while its provider is edited keeps its new seal,
// since the previous key may be removed soon.
func TestChangedWhileResealed(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		b := newBrokers(t, k, nil)
		if err := b.Create(t.Context(), &brokers.Provider{Slug: "chat", Protocol: brokers.OAuth, Config: good(t)}); err != nil {
			t.Fatal(err)
		}
		fresh, err := encryption.NewMaster(strings.Repeat("0b", 32), strings.Repeat("0a", 32))
		if err != nil {
			t.Fatal(err)
		}
		times := 0
		p, err := b.Edit(t.Context(), "chat", func(p *brokers.Provider) error {
			if times++; times == 1 {
				if done, err := encryption.Reseal(t.Context(), k.Server, fresh, []encryption.Column{brokers.Sealed}, nil); err != nil || done.Rewritten != 1 {
					t.Errorf("%+v, error %v", done, err)
				}
			}
			p.DisplayName = "Chat"
			return nil
		})
		if err != nil || p.DisplayName != "Chat" {
			t.Errorf("%+v, error %v", p, err)
		}
		if done, err := encryption.Reseal(t.Context(), k.Server, fresh, []encryption.Column{brokers.Sealed}, nil); err != nil || done.Scanned != 1 || done.Rewritten != 0 {
			t.Errorf("%+v, error %v", done, err)
		}
	})
}

func TestConfig(t *testing.T) {
	t.Parallel()
	k := authtest.SQLite(t)
	b := newBrokers(t, k, map[string]string{"CONNECTOR_SECRET": "s", "HOME": "/root"})
	for name, test := range map[string]struct {
		protocol string
		config   json.RawMessage
		fault    string // empty: the provider is valid
	}{
		"good":                         {brokers.OAuth, good(t), ""},
		"by reference":                 {brokers.OAuth, good(t, "client_secret", "", "client_secret_ref", "CONNECTOR_SECRET"), ""},
		"all":                          {brokers.OAuth, good(t, "revoke_url", "https://up.example/revoke", "response_format", "slack", "extra_auth_params", map[string]string{"prompt": "consent"}, "token_auth_method", "client_secret_basic", "scope_separator", ","), ""},
		"on this machine":              {brokers.OAuth, good(t, "token_url", "http://127.0.0.1:1/t", "authorize_url", "http://localhost/a"), ""},
		"an unknown member":            {brokers.OAuth, good(t, "colour", "red"), `unknown field "colour"`},
		"a number":                     {brokers.OAuth, good(t, "client_id", 1), "cannot unmarshal number"},
		"no client":                    {brokers.OAuth, good(t, "client_id", ""), "client_id is missing"},
		"no address":                   {brokers.OAuth, good(t, "token_url", ""), "token_url is missing"},
		"on this machine by name":      {brokers.OAuth, good(t, "token_url", "http://localhost:1/t", "revoke_url", "https://127.0.0.2/t"), ""},
		"on this machine not allowed":  {brokers.OAuth, good(t, "token_url", "http://[::1]:1/t"), "token_url leads to ::1, which is not a public address"},
		"not public":                   {brokers.OAuth, good(t, "token_url", "https://10.0.0.1/token"), "token_url leads to 10.0.0.1, which is not a public address: add its network to server.allow_networks"},
		"not public to revoke":         {brokers.OAuth, good(t, "revoke_url", "https://192.168.0.1/revoke"), "revoke_url leads to 192.168.0.1"},
		"for browsers not public":      {brokers.OAuth, good(t, "authorize_url", "https://10.0.0.1/authorize"), ""},
		"an account not public":        {brokers.ServiceAccount, config(t, "token_url", "https://10.0.0.1/token", "sa_email", "a@b", "sa_key_ref", "CONNECTOR_SECRET", "algorithm", "RS256"), "token_url leads to"},
		"without TLS":                  {brokers.OAuth, good(t, "token_url", "http://up.example/token"), "token_url must begin with https://"},
		"an address in private":        {brokers.OAuth, good(t, "token_url", "http://10.0.0.1/token"), "token_url must begin with https://"},
		"a user in it":                 {brokers.OAuth, good(t, "authorize_url", "https://u:p@up.example/"), "authorize_url must be an https URL"},
		"a script":                     {brokers.OAuth, good(t, "authorize_url", "javascript:alert(1)"), "authorize_url must be an https URL"},
		"the server's own variables":   {brokers.OAuth, good(t, "client_secret", "", "client_secret_ref", "HOME"), "must name a variable that begins with CONNECTOR_"},
		"a variable that is not set":   {brokers.OAuth, good(t, "client_secret", "", "client_secret_ref", "CONNECTOR_NONE"), "CONNECTOR_NONE is not set"},
		"two secrets":                  {brokers.OAuth, good(t, "client_secret_ref", "CONNECTOR_SECRET"), "must not both be set"},
		"no secret":                    {brokers.OAuth, good(t, "client_secret", ""), "is missing"},
		"a parameter of ours":          {brokers.OAuth, good(t, "extra_auth_params", map[string]string{"State": "x"}), "must not set State"},
		"a challenge":                  {brokers.OAuth, good(t, "extra_auth_params", map[string]string{"code_challenge_method": "plain"}), "must not set code_challenge_method"},
		"a format":                     {brokers.OAuth, good(t, "response_format", "xml"), "response_format"},
		"a method":                     {brokers.OAuth, good(t, "token_auth_method", "none"), "token_auth_method"},
		"a key":                        {brokers.APIKey, config(t, "header_name", "X-Key", "issuance_instructions_url", "https://up.example/keys"), ""},
		"a key with a secret":          {brokers.APIKey, config(t, "token_url", "https://x.example"), "unknown field"},
		"an account with a short life": {brokers.ServiceAccount, config(t, "token_url", "https://up.example/token", "sa_email", "a@b", "sa_key_ref", "CONNECTOR_SECRET", "algorithm", "RS256", "token_ttl_seconds", 29), "from 30 to 3600"},
		"an account without a key":     {brokers.ServiceAccount, config(t, "token_url", "https://up.example/token", "sa_email", "a@b", "sa_key_ref", "CONNECTOR_SECRET", "algorithm", "RS256"), "does not contain a PEM private key"},
		"an account of another kind":   {brokers.ServiceAccount, config(t, "token_url", "https://up.example/token", "sa_email", "a@b", "sa_key_ref", "CONNECTOR_SECRET", "algorithm", "HS256"), "algorithm must be"},
	} {
		p := &brokers.Provider{Slug: "p" + strings.ReplaceAll(name, " ", "-"), Protocol: test.protocol, Config: test.config}
		p.Slug = strings.ReplaceAll(p.Slug, "'", "")
		if err := b.Create(t.Context(), p); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		err := b.Usable(p)
		if (test.fault == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("%s: error %v, want %q", name, err, test.fault)
		}
	}
	for name, p := range map[string]brokers.Provider{
		"slug": {Slug: "a/b", Protocol: brokers.OAuth}, "protocol": {Slug: "a", Protocol: "saml"}, "list": {Slug: "a", Protocol: brokers.OAuth, Config: json.RawMessage("[]")},
		"a secret in capitals": {Slug: "a", Protocol: brokers.OAuth, Config: json.RawMessage(`{"Client_Secret": "hush"}`)}, // would be stored and shown unencrypted
		"secret":               {Slug: "a", Protocol: brokers.OAuth, Config: json.RawMessage(`{"client_secret": 1}`)},
	} {
		if err := b.Create(t.Context(), &p); err == nil {
			t.Errorf("%s: it is accepted", name)
		}
	}
}

// TestTokens checks the responses of a token endpoint in all formats.
func TestTokens(t *testing.T) {
	t.Parallel()
	k := authtest.SQLite(t)
	b := newBrokers(t, k, nil)
	var status int
	var says string
	var got url.Values
	var basic string
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		got = r.PostForm
		user, pass, _ := r.BasicAuth()
		basic = user + ":" + pass
		w.WriteHeader(status)
		_, _ = io.WriteString(w, says)
	}))
	defer up.Close()
	expires := k.Clock.Now().Add(time.Hour).UnixMicro()
	for i, test := range []struct {
		name, format string
		status       int
		says         string
		want         brokers.Granted
		code         string // the code of the error; "-": an error without a code
	}{
		{"standard", "standard", 200, `{"access_token":"a","refresh_token":"r","expires_in":3600,"scope":"x y","token_type":"bearer","other":{}}`, brokers.Granted{Credential: brokers.Credential{Access: "a", Refresh: "r", Expires: expires}, Scope: []string{"x", "y"}}, ""},
		{"a text of seconds", "", 200, `{"access_token":"a","expires_in":"3600"}`, brokers.Granted{Credential: brokers.Credential{Access: "a", Expires: expires}}, ""},
		{"an unknown end", "", 200, `{"access_token":"a","expires_in":null,"scope":""}`, brokers.Granted{Credential: brokers.Credential{Access: "a"}, Scope: []string{}}, ""},
		{"seconds with a point", "", 200, `{"access_token":"a","expires_in":3600.0}`, brokers.Granted{Credential: brokers.Credential{Access: "a", Expires: expires}}, ""},
		{"seconds as a power", "", 200, `{"access_token":"a","expires_in":3.6e3}`, brokers.Granted{Credential: brokers.Credential{Access: "a", Expires: expires}}, ""},
		{"seconds beyond all", "", 200, `{"access_token":"a","expires_in":1e300}`, brokers.Granted{Credential: brokers.Credential{Access: "a", Expires: k.Clock.Now().Add(10 * 365 * 24 * time.Hour).UnixMicro()}}, ""},
		{"seconds before now", "", 200, `{"access_token":"a","expires_in":-1e300}`, brokers.Granted{Credential: brokers.Credential{Access: "a"}}, ""},
		{"form", "form", 200, "access_token=a&scope=x%2Cy&expires_in=3600&refresh_token=r", brokers.Granted{Credential: brokers.Credential{Access: "a", Refresh: "r", Expires: expires}, Scope: []string{"x", "y"}}, ""},
		{"form that is JSON", "form", 200, `{"access_token":"a"}`, brokers.Granted{Credential: brokers.Credential{Access: "a"}}, ""},
		{"slack", "slack", 200, `{"ok":true,"access_token":"bot","authed_user":{"id":"U","access_token":"a","refresh_token":"r","expires_in":3600,"scope":"x,y"}}`, brokers.Granted{Credential: brokers.Credential{Access: "a", Refresh: "r", Expires: expires}, Scope: []string{"x", "y"}}, ""},
		{"slack, renewed", "slack", 200, `{"ok":true,"access_token":"a","refresh_token":"r"}`, brokers.Granted{Credential: brokers.Credential{Access: "a", Refresh: "r"}}, ""},
		{"refused", "", 400, `{"error":"invalid_grant","error_description":"secret words"}`, brokers.Granted{}, "invalid_grant"},
		{"refused with 200", "form", 200, "error=bad_refresh_token", brokers.Granted{}, "bad_refresh_token"},
		{"slack refuses", "slack", 200, `{"ok":false,"error":"token_revoked"}`, brokers.Granted{}, "token_revoked"},
		{"slack refuses without a word", "slack", 200, `{"ok":false}`, brokers.Granted{}, "-"},
		{"a strange word", "", 400, `{"error":"<b>Oh"}`, brokers.Granted{}, "-"},
		{"down", "", 503, `{"error":"invalid_grant"}`, brokers.Granted{}, "-"},
		{"a page", "", 200, "<html>", brokers.Granted{}, "-"},
		{"no token", "", 200, `{}`, brokers.Granted{}, "-"},
		{"too long", "", 200, `{"access_token":"` + strings.Repeat("a", 300<<10) + `"}`, brokers.Granted{}, "-"},
		{"a redirect", "", 302, "", brokers.Granted{}, "-"},
		{"a redirect with a token", "", 302, `{"access_token":"a"}`, brokers.Granted{}, "-"},
		{"slack, of the workspace", "slack", 200, `{"ok":true,"access_token":"a","token_type":"bot","authed_user":{"id":"U"}}`, brokers.Granted{}, "-"},
	} {
		p := &brokers.Provider{Slug: "p" + string(rune('a'+i)), Protocol: brokers.OAuth, Config: good(t, "token_url", up.URL+"/token", "response_format", test.format, "token_auth_method", []string{"client_secret_post", "client_secret_basic"}[i%2])}
		if err := b.Create(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		c, err := b.OAuth(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		status, says = test.status, test.says
		g, err := b.Redeem(t.Context(), c, "code", "verifier", "https://as.example/back")
		failed, _ := errors.AsType[*brokers.UpstreamError](err)
		switch {
		case test.code == "" && err != nil, test.code != "" && failed == nil:
			t.Errorf("%s: error %v", test.name, err)
		case failed != nil && failed.Code != strings.Trim(test.code, "-"), failed != nil && strings.Contains(failed.Error(), "secret words"):
			t.Errorf("%s: error %v", test.name, failed)
		case g.Credential != test.want.Credential || !slices.Equal(g.Scope, test.want.Scope) || (g.Scope == nil) != (test.want.Scope == nil):
			t.Errorf("%s: %+v", test.name, g)
		}
		if brokers.Gone(err) != slices.Contains([]string{"invalid_grant", "bad_refresh_token", "token_revoked"}, test.code) {
			t.Errorf("%s: gone %v", test.name, brokers.Gone(err))
		}
		if got.Get("code") != "code" || got.Get("code_verifier") != "verifier" || (got.Get("client_secret") == "hidden secret") == (basic == "c:hidden+secret") {
			t.Errorf("%s: sent %v %s", test.name, got, basic)
		}
	}
	if authURL := (&brokers.OAuthConfig{AuthorizeURL: "https://up.example/a?x=1", ClientID: "c", ScopeSeparator: ",", ExtraAuthParams: map[string]string{"prompt": "consent"}}).AuthorizeAt("https://as.example/back", "s", "ch", []string{"a", "b"}); authURL !=
		"https://up.example/a?client_id=c&code_challenge=ch&code_challenge_method=S256&prompt=consent&redirect_uri=https%3A%2F%2Fas.example%2Fback&response_type=code&scope=a%2Cb&state=s&x=1" {
		t.Errorf("%s", authURL)
	}
}

func TestServiceAccount(t *testing.T) {
	t.Parallel()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	k := authtest.SQLite(t)
	b := newBrokers(t, k, map[string]string{"CONNECTOR_KEY": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}))})
	var tokenURL string
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		claims := jwt.MapClaims{}
		_, err := jwt.ParseWithClaims(r.FormValue("assertion"), claims, func(*jwt.Token) (any, error) { return &key.PublicKey, nil }, jwt.WithValidMethods([]string{"ES256"}), jwt.WithTimeFunc(k.Clock.Now))
		if err != nil || claims["iss"] != "sa@project.example" || claims["aud"] != tokenURL || claims["scope"] != "x y" || claims["exp"].(float64)-claims["iat"].(float64) != 60 {
			t.Errorf("%v, error %v", claims, err)
		}
		_, _ = io.WriteString(w, `{"access_token":"sa","expires_in":60}`)
	}))
	defer up.Close()
	tokenURL = up.URL + "/token"
	p := &brokers.Provider{Slug: "sa", Protocol: brokers.ServiceAccount, Config: config(t, "token_url", tokenURL, "sa_email", "sa@project.example", "sa_key_ref", "CONNECTOR_KEY", "algorithm", "ES256", "token_ttl_seconds", 60)}
	if err := b.Create(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	c, err := b.ServiceAccount(p)
	if err != nil {
		t.Fatal(err)
	}
	if g, err := b.Assert(t.Context(), c, []string{"x", "y"}); err != nil || g.Access != "sa" {
		t.Errorf("%+v, error %v", g, err)
	}
}

// TestMaximumProviders checks that no more providers can be stored than are read.
func TestMaximumProviders(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		b := newBrokers(t, k, nil)
		if err := k.Write(t.Context(), func(c store.Conn) error {
			_, err := c.Exec("INSERT INTO authserver_brokers (id, slug, protocol, created_at, updated_at) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999)" +
				" SELECT 'id' || i, 'slug' || i, 'api_key', 1, 1 FROM n")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		last := &brokers.Provider{Slug: "z", Protocol: brokers.APIKey}
		if err := b.Create(t.Context(), last); err != nil {
			t.Fatal(err)
		}
		err := b.Create(t.Context(), &brokers.Provider{Slug: "a", Protocol: brokers.APIKey})
		if refused, ok := apierror.From(err); !ok || refused.Status != http.StatusUnprocessableEntity {
			t.Errorf("error %v", err)
		}
		if _, err := b.Find(t.Context(), "z"); err != nil {
			t.Error(err)
		}
	})
}
