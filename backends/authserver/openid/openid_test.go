package openid_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/keys"
	"github.com/tollgate-gateway/tollgate/backends/authserver/openid"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/inbound/inboundtest"
)

// layer has the endpoints with the packages that they need, a user and a client.
type layer struct {
	authtest.Kernel
	*openid.OpenID
	t   *testing.T
	ann *users.User
	app *clients.Client
}

func newLayer(t *testing.T, k authtest.Kernel) *layer {
	t.Helper()
	l := &layer{Kernel: k, t: t}
	cs := clients.New(k.Server, clients.Options{})
	ks := keys.New(k.Server, keys.Options{Store: keys.Files{Folder: t.TempDir()}, Algorithm: keys.ES256, Retain: time.Hour})
	l.OpenID = &openid.OpenID{Server: k.Server, Users: &users.Users{Server: k.Server}, Clients: cs, Keys: ks}
	ts := tokens.New(k.Server, tokens.Options{
		Clients: cs, Catalog: resources.New(k.Server, resources.Options{Own: openid.Names()}), Keys: ks, IDToken: l.IDToken,
		User: func(ctx context.Context, id string) (tokens.User, error) {
			u, err := l.Users.Find(ctx, id)
			if err != nil {
				return tokens.User{}, err
			}
			return tokens.User{Email: u.Email, Active: u.Active()}, nil
		},
	})
	l.Tokens = ts
	var err error
	if l.ann, err = l.Users.Create(t.Context(), users.New{Email: "ann@example.com", EmailVerified: true, Name: "Ann", Groups: []string{"staff", "admins"}}, ""); err != nil {
		t.Fatal(err)
	}
	l.app = &clients.Client{
		Name: "The App", AuthMethod: clients.MethodNone, Source: clients.Admin, Grants: []string{clients.GrantCode, clients.GrantRefresh}, Redirects: []string{"https://app.example/cb"},
		Metadata: clients.Metadata{Logout: []string{"https://app.example/bye", "https://app.example/bye?x=1"}},
	}
	if _, err := cs.Create(t.Context(), l.app); err != nil {
		t.Fatal(err)
	}
	return l
}

// tokens returns the tokens of a grant.
func (l *layer) tokens(scope ...string) tokens.Answer {
	l.t.Helper()
	verifier := strings.Repeat("v", 43)
	sum := sha256.Sum256([]byte(verifier))
	code, err := l.Tokens.IssueCode(l.t.Context(), tokens.Grant{
		Client: l.app.ID, User: l.ann.ID, Scope: scope, RedirectURI: "https://app.example/cb", RedirectGiven: true,
		Challenge: base64.RawURLEncoding.EncodeToString(sum[:]), Nonce: "n0", AuthTime: l.Clock.Now().Add(-time.Minute),
	})
	if err != nil {
		l.t.Fatal(err)
	}
	answer, err := l.Tokens.Redeem(l.t.Context(), tokens.Redemption{Client: l.app, Code: code, RedirectURI: "https://app.example/cb", Verifier: verifier})
	if err != nil {
		l.t.Fatal(err)
	}
	return answer
}

// TestIDToken checks an ID token with a client library.
func TestIDToken(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		l := newLayer(t, k)
		set := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			text, err := l.Keys.JWKS(r.Context())
			if err != nil {
				t.Error(err)
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(text)
		}))
		defer set.Close()
		verifier := oidc.NewVerifier(authtest.Issuer, oidc.NewRemoteKeySet(t.Context(), set.URL), &oidc.Config{ClientID: l.app.ID, SupportedSigningAlgs: []string{oidc.ES256}, Now: l.Clock.Now})

		answer := l.tokens("openid", "email", "profile", "groups")
		token, err := verifier.Verify(t.Context(), answer.IDToken)
		if err != nil {
			t.Fatal(err)
		}
		if err := token.VerifyAccessToken(answer.AccessToken); err != nil {
			t.Error(err)
		}
		if token.Subject != l.ann.ID || token.Nonce != "n0" || !token.Expiry.Equal(l.Clock.Now().Add(10*time.Minute)) || !token.IssuedAt.Equal(l.Clock.Now()) {
			t.Errorf("the token is %+v", token)
		}
		var claims map[string]any
		if err := token.Claims(&claims); err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]any{
			"email": "ann@example.com", "email_verified": true, "name": "Ann", "preferred_username": "ann@example.com", "azp": l.app.ID, "auth_time": float64(l.Clock.Now().Add(-time.Minute).Unix()),
		} {
			if claims[name] != want {
				t.Errorf("%s is %v, want %v", name, claims[name], want)
			}
		}
		if groups, _ := claims["groups"].([]any); len(groups) != 2 || groups[0] != "staff" {
			t.Errorf("the groups are %v", claims["groups"])
		}
		l.Clock.Pass(time.Minute)
		for range 2 { // OpenID Connect Core 12.2: the same user and sign-in, without the nonce
			if answer, err = l.Tokens.Refresh(t.Context(), tokens.Renewal{Client: l.app, Token: answer.Refresh}); err != nil {
				t.Fatal(err)
			}
			renewed, err := verifier.Verify(t.Context(), answer.IDToken)
			if err != nil {
				t.Fatal(err)
			}
			var renewedClaims map[string]any
			if err := renewed.Claims(&renewedClaims); err != nil {
				t.Fatal(err)
			}
			if _, has := renewedClaims["nonce"]; has || renewedClaims["sub"] != claims["sub"] || renewedClaims["auth_time"] != claims["auth_time"] || !renewed.IssuedAt.Equal(l.Clock.Now()) {
				t.Errorf("the renewed ID token is %v", renewedClaims)
			}
		}
		bare, err := verifier.Verify(t.Context(), l.tokens("openid").IDToken)
		if err != nil {
			t.Fatal(err)
		}
		claims = nil
		if err := bare.Claims(&claims); err != nil || claims["email"] != nil || claims["name"] != nil || claims["groups"] != nil {
			t.Errorf("without their scopes the ID token has %v: %v", claims, err)
		}
		if other := l.tokens("email"); other.IDToken != "" {
			t.Error("there is an ID token without openid")
		}
		// An ID token cannot be used as an access token.
		if _, _, ok, err := l.Tokens.Live(t.Context(), answer.IDToken); ok || err != nil {
			t.Errorf("an ID token is an access token: %v", err)
		}
	})
}

// serve serves a request at the endpoints.
func (l *layer) serve(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	for _, route := range l.Routes() {
		if route.Method != r.Method {
			continue
		}
		if err := route.Serve(w, r); err != nil {
			kernel.WriteError(w, err)
		}
	}
	return w
}

// TestUserInfoPace checks that the body of a form with a token must arrive at a minimum pace.
func TestUserInfoPace(t *testing.T) {
	t.Parallel()
	l := newLayer(t, authtest.SQLite(t))
	form := url.Values{"access_token": {l.tokens("openid").AccessToken}}.Encode()
	for _, route := range l.Routes() {
		if route.Method != http.MethodPost {
			continue
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, openid.UserInfoPath, strings.NewReader(form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := inboundtest.New()
		if err := route.Serve(w, r); err != nil || w.Code != http.StatusOK || !w.Paced() {
			t.Errorf("%v, %d %s, paced %t", err, w.Code, w.Body, w.Paced())
		}
	}
}

func TestUserInfo(t *testing.T) {
	t.Parallel()
	l := newLayer(t, authtest.SQLite(t))
	full, none := l.tokens("openid", "email"), l.tokens("email")
	request := func(method, body string, authorization ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, openid.UserInfoPath, strings.NewReader(body))
		for _, value := range authorization {
			r.Header.Add("Authorization", value)
		}
		if body != "" {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		return l.serve(r)
	}
	form := url.Values{"access_token": {full.AccessToken}}.Encode()
	for name, w := range map[string]*httptest.ResponseRecorder{
		"GET": request(http.MethodGet, "", "Bearer "+full.AccessToken), "POST": request(http.MethodPost, "", "bearer "+full.AccessToken), "form": request(http.MethodPost, form),
	} {
		var p map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v %s", name, w.Code, w.Header(), w.Body)
		}
		if len(p) != 3 || p["sub"] != l.ann.ID || p["email"] != "ann@example.com" || p["email_verified"] != true {
			t.Errorf("%s: %v", name, p)
		}
	}
	refused := func(name string, w *httptest.ResponseRecorder, status int, challenge string) {
		t.Helper()
		if got := w.Header().Get("WWW-Authenticate"); w.Code != status || !strings.HasPrefix(got, `Bearer realm="authserver"`) || !strings.Contains(got, challenge) || challenge == "" && strings.Contains(got, "error") {
			t.Errorf("%s: %d, %s", name, w.Code, got)
		}
	}
	refused("no token", request(http.MethodGet, ""), http.StatusUnauthorized, "")
	if w := request(http.MethodGet, ""); w.Body.Len() != 0 {
		t.Errorf("no token: %s", w.Body)
	}
	refused("another scheme", request(http.MethodGet, "", "Basic "+full.AccessToken), http.StatusUnauthorized, "")
	refused("in the address", l.serve(httptest.NewRequestWithContext(t.Context(), http.MethodGet, openid.UserInfoPath+"?"+form, nil)), http.StatusUnauthorized, "")
	refused("a form by GET", request(http.MethodGet, form), http.StatusUnauthorized, "")
	refused("garbage", request(http.MethodGet, "", "Bearer x"), http.StatusUnauthorized, `error="invalid_token"`)
	refused("an ID token", request(http.MethodGet, "", "Bearer "+full.IDToken), http.StatusUnauthorized, `error="invalid_token"`)
	refused("twice", request(http.MethodPost, form, "Bearer "+full.AccessToken), http.StatusBadRequest, `error="invalid_request"`)
	refused("two headers", request(http.MethodGet, "", "Bearer "+full.AccessToken, "Bearer x"), http.StatusBadRequest, `error="invalid_request"`)
	refused("two fields", request(http.MethodPost, form+"&"+form), http.StatusBadRequest, `error="invalid_request"`)
	refused("without openid", request(http.MethodGet, "", "Bearer "+none.AccessToken), http.StatusForbidden, `error="insufficient_scope"`)
	if _, err := l.Users.Disable(t.Context(), l.ann.ID, ""); err != nil {
		t.Fatal(err)
	}
	refused("of a disabled user", request(http.MethodGet, "", "Bearer "+full.AccessToken), http.StatusUnauthorized, `error="invalid_token"`)
}

func TestParseLogout(t *testing.T) {
	t.Parallel()
	l := newLayer(t, authtest.SQLite(t))
	hint := l.tokens("openid").IDToken
	l.Clock.Pass(30 * time.Minute) // the token has expired
	for _, test := range []struct {
		values      url.Values
		subject, to string
	}{
		{url.Values{}, "", ""},
		{url.Values{"id_token_hint": {hint}}, l.ann.ID, ""},
		{url.Values{"id_token_hint": {hint}, "client_id": {l.app.ID}, "post_logout_redirect_uri": {"https://app.example/bye"}, "state": {"a b"}}, l.ann.ID, "https://app.example/bye?state=a+b"},
		{url.Values{"client_id": {l.app.ID}, "post_logout_redirect_uri": {"https://app.example/bye?x=1"}, "state": {"s"}}, "", "https://app.example/bye?x=1&state=s"},
		{url.Values{"id_token_hint": {"garbage"}}, "", ""},
		{url.Values{"id_token_hint": {hint[:len(hint)-3] + "AAA"}, "client_id": {l.app.ID}}, "", ""},
	} {
		got, err := l.ParseLogout(t.Context(), test.values)
		if err != nil || got.Subject != test.subject || got.To != test.to || test.values.Has("client_id") != (got.Client != "") && test.subject == "" {
			t.Errorf("%v: %+v, %v", test.values, got, err)
		}
	}
	for name, values := range map[string]url.Values{
		"no client": {"post_logout_redirect_uri": {"https://app.example/bye"}}, "not registered": {"client_id": {l.app.ID}, "post_logout_redirect_uri": {"https://evil.example/"}},
		"longer": {"client_id": {l.app.ID}, "post_logout_redirect_uri": {"https://app.example/bye/"}}, "for answers": {"client_id": {l.app.ID}, "post_logout_redirect_uri": {"https://app.example/cb"}},
		"another's": {"id_token_hint": {hint}, "client_id": {"other"}}, "unknown": {"client_id": {"other"}}, "twice": {"client_id": {l.app.ID, l.app.ID}},
		"of a garbled hint": {"id_token_hint": {"garbage"}, "post_logout_redirect_uri": {"https://app.example/bye"}},
		"a long state":      {"client_id": {l.app.ID}, "post_logout_redirect_uri": {"https://app.example/bye"}, "state": {strings.Repeat("x", 2049)}},
	} {
		if got, err := l.ParseLogout(t.Context(), values); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	l := newLayer(t, authtest.SQLite(t))
	m := l.Metadata()
	if m["userinfo_endpoint"] != "https://as.example/oauth/userinfo" || m["end_session_endpoint"] != "https://as.example/oauth/logout" || !slices.Equal(openid.Names(), []string{"openid", "profile", "email", "groups"}) {
		t.Errorf("%v", m)
	}
}

// TestIDTokenOfLess checks that a refresh with a smaller scope returns an ID token without the claims of the omitted
// scope.
func TestIDTokenOfLess(t *testing.T) {
	t.Parallel()
	l := newLayer(t, authtest.SQLite(t))
	answer, err := l.Tokens.Refresh(t.Context(), tokens.Renewal{Client: l.app, Token: l.tokens("openid", "email").Refresh, Scope: "openid"})
	if err != nil {
		t.Fatal(err)
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(answer.IDToken, ".")[1])
	if err != nil || strings.Contains(string(payload), "ann@example.com") {
		t.Errorf("%s, error %v", payload, err)
	}
}
