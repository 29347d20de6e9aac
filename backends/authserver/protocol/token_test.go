package protocol_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	golang "github.com/golang-jwt/jwt/v5"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/jwks"
	"github.com/tollgate-gateway/tollgate/internal/jwks/jwkstest"
)

// TestOAuth2 gets and refreshes tokens with a client library.
func TestOAuth2(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		s := newServer(t, k, settings{clients: clients.Options{Pepper: []byte("pepper")}})
		for _, c := range []*clients.Client{s.client, s.public} {
			secret := s.secret
			style := oauth2.AuthStyleInHeader
			if c == s.public {
				secret, style = "", oauth2.AuthStyleInParams
			}
			library := oauth2.Config{
				ClientID: c.ID, ClientSecret: secret, RedirectURL: "https://c.example/cb", Endpoint: oauth2.Endpoint{TokenURL: s.url + "/oauth/token", AuthStyle: style},
			}
			token, err := library.Exchange(t.Context(), s.code(t, c), oauth2.VerifierOption(verifier))
			if err != nil || token.RefreshToken == "" || token.TokenType != "Bearer" || token.Extra("scope") != "read" {
				t.Fatalf("%+v, error %v", token, err)
			}
			first := token.AccessToken
			token.Expiry = time.Now().Add(-time.Hour)
			if token, err = library.TokenSource(t.Context(), token).Token(); err != nil || token.AccessToken == first {
				t.Fatalf("%+v, error %v", token, err)
			}
		}
		machine := clientcredentials.Config{
			ClientID: s.client.ID, ClientSecret: s.secret, TokenURL: s.url + "/oauth/token", Scopes: []string{"write"}, EndpointParams: values("resource", "mail"),
		}
		token, err := machine.Token(context.WithoutCancel(t.Context()))
		if err != nil || token.RefreshToken != "" || token.Extra("scope") != "write" {
			t.Errorf("%+v, error %v", token, err)
		}
		a := s.post(t, "/oauth/introspect", values("token", token.AccessToken), s.auth()...)
		if a.body["active"] != true || a.body["aud"] != "https://api.example/mail" || a.body["sub"] != s.client.ID || a.body["username"] != nil || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s", a.text)
		}
		if a := s.post(t, "/oauth/revoke", values("token", token.AccessToken), s.auth()...); a.status != http.StatusOK || a.text != "" || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%d %s", a.status, a.text)
		}
		if a := s.post(t, "/oauth/introspect", values("token", token.AccessToken), s.auth()...); a.text != `{"active":false}` {
			t.Errorf("%s", a.text)
		}
	})
}

// TestTokenRefuses checks the errors of the token endpoint.
func TestTokenRefuses(t *testing.T) {
	t.Parallel()
	s := newServer(t, authtest.SQLite(t), settings{})
	machine := func(pairs ...string) url.Values {
		return values(append([]string{"grant_type", "client_credentials"}, pairs...)...)
	}
	bare := &clients.Client{Name: "B", AuthMethod: clients.MethodPost, Grants: []string{clients.GrantClient}, Source: clients.DCR}
	bareSecret, err := s.clients.Create(t.Context(), bare)
	if err != nil {
		t.Fatal(err)
	}
	suspended := &clients.Client{Name: "G", AuthMethod: clients.MethodBasic, Grants: []string{clients.GrantClient}, Scope: []string{"read"}, Source: clients.Admin}
	suspendedSecret, err := s.clients.Create(t.Context(), suspended)
	if err == nil {
		_, err = s.clients.SetStatus(t.Context(), suspended.ID, clients.Suspended)
	}
	if err != nil {
		t.Fatal(err)
	}
	id, secret := s.client.ID, s.secret
	for _, test := range []struct {
		name   string
		form   url.Values
		auth   []string
		status int
		code   string
	}{
		{"no client", machine(), nil, 401, "invalid_client"},
		{"unknown client", machine(), basic("x", secret), 401, "invalid_client"},
		{"wrong secret", machine(), basic(id, secret+"x"), 401, "invalid_client"},
		{"suspended", machine(), basic(suspended.ID, suspendedSecret), 401, "invalid_client"},
		{"another method", machine("client_id", id, "client_secret", secret), nil, 401, "invalid_client"},
		{"no secret", machine("client_id", id), nil, 401, "invalid_client"},
		{"bearer", machine(), []string{"Authorization", "Bearer x"}, 401, "invalid_client"},
		{"basic without colon", machine(), []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("x"))}, 401, "invalid_client"},
		{"not base64", machine(), []string{"Authorization", "Basic %"}, 401, "invalid_client"},
		{"two methods", machine("client_secret", secret), s.auth(), 400, "invalid_request"},
		{"three methods", machine("client_secret", secret, "client_assertion", "x"), nil, 400, "invalid_request"},
		{"two headers", machine(), append(s.auth(), s.auth()...), 400, "invalid_request"},
		{"another client_id", machine("client_id", "x"), s.auth(), 400, "invalid_request"},
		{"assertion type", machine("client_assertion", "x", "client_assertion_type", "x"), nil, 400, "invalid_request"},
		{"no grant", values("scope", "read"), s.auth(), 400, "invalid_request"},
		{"unknown grant", values("grant_type", "password"), s.auth(), 400, "unsupported_grant_type"},
		{"grant of others", values("grant_type", "authorization_code", "code", "x", "client_id", bare.ID, "client_secret", bareSecret), nil, 400, "unauthorized_client"},
		{"public machine", machine("client_id", s.public.ID), nil, 400, "unauthorized_client"},
		{"repeated", values("grant_type", "client_credentials", "scope", "read", "scope", "write"), s.auth(), 400, "invalid_request"},
		{"no scope registered", machine("client_id", bare.ID, "client_secret", bareSecret), nil, 400, "invalid_scope"},
		{"scope above", machine("scope", "read far"), s.auth(), 400, "invalid_scope"},
		{"scope of another", machine("scope", "read", "resource", "far"), s.auth(), 400, "invalid_scope"},
		{"nothing of it", machine("resource", "far"), s.auth(), 400, "invalid_scope"},
		{"unknown resource", machine("resource", "https://x.example"), s.auth(), 400, "invalid_target"},
		{"no code", values("grant_type", "authorization_code"), s.auth(), 400, "invalid_request"},
		{"bad code", values("grant_type", "authorization_code", "code", "x", "code_verifier", verifier), s.auth(), 400, "invalid_grant"},
		{"no refresh token", values("grant_type", "refresh_token"), s.auth(), 400, "invalid_request"},
		{"bad refresh token", values("grant_type", "refresh_token", "refresh_token", "x"), s.auth(), 400, "invalid_grant"},
	} {
		a := s.post(t, "/oauth/token", test.form, test.auth...)
		a.is(t, test.name, test.status, test.code)
		if a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s may be stored", test.name)
		}
		want := ""
		if test.status == http.StatusUnauthorized && test.auth != nil {
			want = `Basic realm="authserver"`
		}
		if got := a.header.Get("WWW-Authenticate"); got != want {
			t.Errorf("%s: WWW-Authenticate %q", test.name, got)
		}
	}
	// The response does not reveal why a client is refused.
	texts := make([]string, 0, 4)
	for _, auth := range [][]string{basic("x", secret), basic(id, "x"), basic(suspended.ID, suspendedSecret), basic(s.public.ID, "x")} {
		texts = append(texts, s.post(t, "/oauth/token", machine(), auth...).text)
	}
	for _, text := range texts {
		if text != texts[0] {
			t.Errorf("%s and %s", text, texts[0])
		}
	}
	// Parameters in the query and bodies of other types are ignored; a large body is refused as too large.
	s.do(t, http.MethodPost, "/oauth/token?grant_type=client_credentials", formType, "", s.auth()...).is(t, "query", 400, "invalid_request")
	s.do(t, http.MethodPost, "/oauth/token", "application/json", `{"grant_type":"client_credentials"}`, s.auth()...).is(t, "json", 400, "invalid_request")
	s.do(t, http.MethodPost, "/oauth/token", formType, strings.Repeat("x", 65<<10), s.auth()...).is(t, "large", 400, "invalid_request")
}

// TestGolden checks the exact body of a refusal.
func TestGolden(t *testing.T) {
	t.Parallel()
	s := newServer(t, authtest.SQLite(t), settings{})
	got := s.post(t, "/oauth/token", values("grant_type", "refresh_token", "refresh_token", "x"), s.auth()...).text
	const want = `{"error":"invalid_grant","error_description":"the refresh token is unknown","status":400,"title":"Bad Request","type":"about:blank","detail":"the refresh token is unknown"}`
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestSecrets checks that a secret with a slow hash is stored as an HMAC once a pepper is configured.
func TestSecrets(t *testing.T) {
	t.Parallel()
	k := authtest.SQLite(t)
	slow := newServer(t, k, settings{})
	form := values("grant_type", "client_credentials")
	stored := func() string {
		t.Helper()
		c, err := slow.clients.Find(t.Context(), slow.client.ID)
		if err != nil {
			t.Fatal(err)
		}
		return c.Secret
	}
	for range 3 {
		slow.post(t, "/oauth/token", form, slow.auth()...).is(t, "slow", 200, "")
	}
	if !strings.HasPrefix(stored(), "$argon2id$") {
		t.Fatalf("stored as %s", stored())
	}
	peppered := clients.New(k.Server, clients.Options{Hasher: quick, Pepper: []byte("pepper")})
	authenticate := func(cs *clients.Clients, secret string) error {
		_, err := cs.Authenticate(t.Context(), basic(slow.client.ID, secret)[1:], nil)
		return err
	}
	if authenticate(peppered, "wrong") == nil || !strings.HasPrefix(stored(), "$argon2id$") {
		t.Error("a wrong secret passes, or changes what is stored")
	}
	for range 2 {
		if err := authenticate(peppered, slow.secret); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(stored(), "hmac-sha256$") || len(stored()) != len("hmac-sha256$")+64 {
			t.Fatalf("stored as %s", stored())
		}
	}
	for name, cs := range map[string]*clients.Clients{"another pepper": clients.New(k.Server, clients.Options{Hasher: quick, Pepper: []byte("other")}), "none": slow.clients} {
		if authenticate(cs, slow.secret) == nil {
			t.Errorf("%s: passes", name)
		}
	}
	fresh, err := peppered.RotateSecret(t.Context(), slow.client.ID)
	if err != nil || authenticate(peppered, slow.secret) == nil {
		t.Errorf("the old secret passes, error %v", err)
	}
	if err := authenticate(peppered, fresh); err != nil {
		t.Error(err)
	}
}

// TestAssertion checks clients that authenticate with a key.
func TestAssertion(t *testing.T) {
	t.Parallel()
	s := newServer(t, authtest.SQLite(t), settings{clients: clients.Options{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}})
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	jwk, err := jwks.Marshal("k", "ES256", private.Public())
	if err != nil {
		t.Fatal(err)
	}
	c := &clients.Client{
		Name: "K", AuthMethod: clients.MethodKey, Grants: []string{clients.GrantClient}, Scope: []string{"read"}, Source: clients.Admin,
		Metadata: clients.Metadata{JWKS: clients.RawJSON(`{"keys":[` + string(jwk) + `]}`)},
	}
	if _, err := s.clients.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	now := s.Clock.Now()
	good := func() golang.MapClaims {
		return golang.MapClaims{"iss": c.ID, "sub": c.ID, "aud": authtest.Issuer, "exp": now.Add(4 * time.Minute).Unix(), "iat": now.Unix(), "jti": rand.Text()}
	}
	sign := func(claims golang.MapClaims, key any, method golang.SigningMethod) string {
		token := golang.NewWithClaims(method, claims)
		token.Header["kid"] = "k"
		text, err := token.SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	send := func(assertion string, more ...string) answer {
		return s.post(t, "/oauth/token", values(append([]string{"grant_type", "client_credentials", "client_assertion", assertion, "client_assertion_type", clients.AssertionType}, more...)...))
	}
	for name, test := range map[string]struct {
		change func(c golang.MapClaims)
		status int
	}{
		"good":           {func(golang.MapClaims) {}, 200},
		"token endpoint": {func(c golang.MapClaims) { c["aud"] = []string{authtest.Issuer + "/oauth/token"} }, 200},
		"and another":    {func(c golang.MapClaims) { c["aud"] = []string{authtest.Issuer, "https://other.example"} }, 401},
		"both of ours":   {func(c golang.MapClaims) { c["aud"] = []string{authtest.Issuer, authtest.Issuer + "/oauth/token"} }, 401},
		"nothing":        {func(c golang.MapClaims) { c["aud"] = []string{} }, 401},
		"pushed":         {func(c golang.MapClaims) { c["aud"] = authtest.Issuer + "/oauth/par" }, 200},
		"clock ahead":    {func(c golang.MapClaims) { c["iat"] = now.Add(10 * time.Second).Unix() }, 200},
		"too far ahead":  {func(c golang.MapClaims) { c["iat"] = now.Add(11 * time.Second).Unix() }, 401},
		"not yet":        {func(c golang.MapClaims) { c["nbf"] = now.Add(11 * time.Second).Unix() }, 401},
		"audience":       {func(c golang.MapClaims) { c["aud"] = "https://other.example" }, 401},
		"no audience":    {func(c golang.MapClaims) { delete(c, "aud") }, 401},
		"issuer":         {func(c golang.MapClaims) { c["iss"] = "x" }, 401},
		"subject":        {func(c golang.MapClaims) { c["sub"] = s.client.ID }, 401},
		"expired":        {func(c golang.MapClaims) { c["exp"] = now.Unix() }, 401},
		"an hour":        {func(c golang.MapClaims) { c["exp"] = now.Add(time.Hour).Unix() }, 200},
		"an hour, ahead": {func(c golang.MapClaims) {
			c["iat"], c["exp"] = now.Add(10*time.Second).Unix(), now.Add(time.Hour+10*time.Second).Unix()
		}, 200},
		"long":     {func(c golang.MapClaims) { c["exp"] = now.Add(time.Hour + 11*time.Second).Unix() }, 401},
		"no exp":   {func(c golang.MapClaims) { delete(c, "exp") }, 401},
		"no jti":   {func(c golang.MapClaims) { delete(c, "jti") }, 401},
		"long jti": {func(c golang.MapClaims) { c["jti"] = strings.Repeat("x", 257) }, 401},
	} {
		claims := good()
		test.change(claims)
		if a := send(sign(claims, private, golang.SigningMethodES256)); a.status != test.status {
			t.Errorf("%s: %d %s", name, a.status, a.text)
		}
	}
	once := sign(good(), private, golang.SigningMethodES256)
	send(once, "client_id", "x").is(t, "client_id of another", 401, "invalid_client")
	send(once, "client_id", c.ID).is(t, "once", 200, "")
	send(once).is(t, "twice", 401, "invalid_client")
	der, err := x509.MarshalPKIXPublicKey(private.Public())
	if err != nil {
		t.Fatal(err)
	}
	for name, known := range map[string][]byte{ // public values, which are not accepted as a secret
		"JWK": jwk, "set": []byte(c.Metadata.JWKS), "DER": der, "PEM": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), "client_id": []byte(c.ID), "nothing": {},
	} {
		send(sign(good(), known, golang.SigningMethodHS256)).is(t, "the public key as a secret: "+name, 401, "invalid_client")
	}
	for name, bad := range map[string]string{
		"another key": sign(good(), other, golang.SigningMethodES256), "secret": sign(good(), []byte("0123456789012345678901234567890123"), golang.SigningMethodHS256),
		"none": sign(good(), golang.UnsafeAllowNoneSignatureType, golang.SigningMethodNone), "garbage": "x", "dots": "a.b.c", "long": strings.Repeat("x", 20000),
	} {
		send(bad).is(t, name, 401, "invalid_client")
	}
	s.post(t, "/oauth/token", values("grant_type", "client_credentials", "client_id", c.ID)).is(t, "no assertion", 401, "invalid_client")

	// The keys may be at a URL of the client, if the server may request it.
	provider := jwkstest.New(t, string(jwk))
	_, err = s.clients.Edit(t.Context(), c.ID, func(c *clients.Client) error {
		c.Metadata.JWKS, c.Metadata.JWKSURI = nil, provider.URL+"/keys"
		return s.clients.Check(c)
	})
	if err != nil {
		t.Fatal(err)
	}
	guarded := clients.New(s.Server, clients.Options{})
	_, err = guarded.Authenticate(t.Context(), nil, kernel.Form{{Name: "client_assertion", Value: sign(good(), private, golang.SigningMethodES256)}, {Name: "client_assertion_type", Value: clients.AssertionType}})
	if e, ok := apierror.From(err); !ok || e.Code != kernel.InvalidClient || provider.Count() != 0 {
		t.Errorf("an address of this machine: error %v, asked %d times", err, provider.Count())
	}
	send(sign(good(), other, golang.SigningMethodES256)).is(t, "published: another key", 401, "invalid_client")
	for range 3 {
		send(sign(good(), private, golang.SigningMethodES256)).is(t, "published", 200, "")
	}
	if n := provider.Count(); n != 1 {
		t.Errorf("the keys were fetched %d times", n)
	}
}

// TestAuthlib checks the assertion that Authlib's PrivateKeyJWT makes by default: with RS256, without a key id, valid
// for an hour, for the token endpoint, and without client_id in the form.
func TestAuthlib(t *testing.T) {
	t.Parallel()
	s := newServer(t, authtest.SQLite(t), settings{})
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	jwk, err := jwks.Marshal("k", "RS256", private.Public())
	if err != nil {
		t.Fatal(err)
	}
	c := &clients.Client{
		Name: "K", AuthMethod: clients.MethodKey, Grants: []string{clients.GrantClient}, Scope: []string{"read"}, Source: clients.Admin,
		Metadata: clients.Metadata{JWKS: clients.RawJSON(`{"keys":[` + string(jwk) + `]}`)},
	}
	if _, err := s.clients.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	sign := func() string {
		issued := s.Clock.Now().Unix()
		text, err := golang.NewWithClaims(golang.SigningMethodRS256, golang.MapClaims{
			"iss": c.ID, "aud": authtest.Issuer + "/oauth/token", "sub": c.ID, "iat": issued, "exp": issued + 3600, "jti": rand.Text() + rand.Text()[:10],
		}).SignedString(private)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	form := func(assertion string) url.Values {
		return values("grant_type", "client_credentials", "client_assertion_type", clients.AssertionType, "client_assertion", assertion)
	}
	once := sign()
	s.post(t, "/oauth/token", form(once)).is(t, "once", 200, "")
	s.Clock.Pass(59 * time.Minute)
	s.post(t, "/oauth/token", form(once)).is(t, "again, before it expires", 401, "invalid_client")
	// The other endpoints authenticate clients in the same way.
	for path, name := range map[string]string{"/oauth/introspect": "token", "/oauth/revoke": "token"} {
		v := form(sign())
		v.Set(name, "x")
		s.post(t, path, v).is(t, path, 200, "")
		v.Set("client_assertion", once)
		s.post(t, path, v).is(t, path+" again", 401, "invalid_client")
	}
}

// TestRefusedClient checks that the log and the audit feed contain which client was refused and why, but no
// credentials, and that the client does not learn the reason.
func TestRefusedClient(t *testing.T) {
	t.Parallel()
	s := newServer(t, authtest.SQLite(t), settings{})
	core, logs := observer.New(zap.InfoLevel)
	logger := zap.New(core)
	s.Logger = func() *zap.Logger { return logger }
	suspended := &clients.Client{Name: "S", AuthMethod: clients.MethodNone, Grants: []string{clients.GrantCode}, Redirects: []string{"https://s.example/"}, Source: clients.Admin}
	if _, err := s.clients.Create(t.Context(), suspended); err != nil {
		t.Fatal(err)
	}
	if _, err := s.clients.SetStatus(t.Context(), suspended.ID, clients.Suspended); err != nil {
		t.Fatal(err)
	}
	basic := func(text string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(text)) }
	const wrong = "wrong secret words"
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	assertion := part(`{"alg":"ES256"}`) + "." + part(`{"iss":"nobody","sub":"nobody"}`) + "." + part("signature")
	for name, test := range map[string]struct {
		header, form           string
		client, method, reason string
	}{
		"secret":    {basic(s.client.ID + ":" + wrong), "", s.client.ID, "client_secret_basic", "the secret is wrong"},
		"method":    {"", "client_secret=" + url.QueryEscape(wrong) + "&client_id=" + s.client.ID, s.client.ID, "client_secret_post", "the client is registered for the method client_secret_basic"},
		"unknown":   {basic("nobody:" + wrong), "", "nobody", "client_secret_basic", "there is no such client"},
		"inactive":  {"", "client_id=" + suspended.ID, suspended.ID, "none", "the client is not active"},
		"none":      {"", "", "", "", "the request names no client"},
		"malformed": {"Bearer " + wrong, "", "", "client_secret_basic", "the credentials are malformed"},
		"assertion": {"", "client_assertion_type=" + url.QueryEscape(clients.AssertionType) + "&client_assertion=" + assertion, "nobody", "private_key_jwt", "there is no such client"},
		"garbage":   {"", "client_assertion_type=" + url.QueryEscape(clients.AssertionType) + "&client_assertion=" + url.QueryEscape(wrong), "", "private_key_jwt", "the assertion is malformed, or its sub names no client"},
		"bytes":     {basic("%ff" + strings.Repeat("x", 1000) + ":" + wrong), "", "�", "client_secret_basic", "there is no such client"},
	} {
		before := len(s.Events.All())
		v, err := url.ParseQuery(test.form)
		if err != nil {
			t.Fatal(err)
		}
		v.Set("grant_type", "client_credentials")
		var header []string
		if test.header != "" {
			header = []string{"Authorization", test.header}
		}
		a := s.post(t, "/oauth/token", v, header...)
		a.is(t, name, 401, "invalid_client")
		if strings.Contains(a.text, test.reason) {
			t.Errorf("%s: the client gets %s", name, a.text)
		}
		events, lines := s.Events.All()[before:], logs.TakeAll()
		if len(events) != 1 || len(lines) != 1 || events[0].Action != "auth.denied" {
			t.Fatalf("%s: %+v, %+v", name, events, lines)
		}
		detail, fields := strings.Join(events[0].Detail, "|"), lines[0].ContextMap()
		logged, _ := fields["client_id"].(string)
		if !strings.HasPrefix(events[0].Client, test.client) || test.client == "" && events[0].Client != "" || len(events[0].Client) > 512 || logged != events[0].Client ||
			!strings.Contains(detail, "method|"+test.method+"|cause|"+test.reason) || fields["method"] != test.method || fields["reason"] != test.reason {
			t.Errorf("%s: %+v, %v", name, events[0], fields)
		}
		if all := fmt.Sprint(events[0], fields); strings.Contains(all, wrong) || strings.Contains(all, assertion) || strings.Contains(all, part("signature")) {
			t.Errorf("%s: the log or the audit feed contains a credential: %s", name, all)
		}
	}
}

func FuzzAuthenticate(f *testing.F) {
	s := newServer(f, authtest.SQLite(f), settings{clients: clients.Options{Pepper: []byte("p")}})
	f.Add(s.auth()[1], "client_id="+s.client.ID)
	f.Add("", "client_assertion_type="+clients.AssertionType+"&client_assertion=a.e30.c")
	f.Fuzz(func(t *testing.T, header, form string) {
		parsed, err := url.ParseQuery(form)
		if err != nil {
			return
		}
		a := s.do(t, http.MethodPost, "/oauth/introspect", formType, parsed.Encode(), "Authorization", sanitize(header))
		if a.status >= 500 {
			t.Fatalf("%d %s", a.status, a.text)
		}
	})
}

// sanitize removes the characters that a header cannot contain.
func sanitize(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f {
			return -1
		}
		return r
	}, text)
}
