package authserver_test

import (
	"crypto"
	"crypto/ed25519"
	"crypto/elliptic"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	golang "github.com/golang-jwt/jwt/v5"

	"github.com/tollgate-gateway/tollgate/internal/jwks/jwkstest"
	"github.com/tollgate-gateway/tollgate/internal/jwt"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// enterprise is a server that trusts an identity provider, with a client that brings its
// assertions.
type enterprise struct {
	*live
	idp    *jwkstest.Provider
	key    crypto.Signer
	id     string // the id of the identity provider
	client string
	secret string
	jti    atomic.Int64
}

var enterpriseKey = jwkstest.NewEC(elliptic.P256())

func newEnterprise(t *testing.T, db *store.DB, more ...string) *enterprise {
	t.Helper()
	e := &enterprise{live: newLive(t, db, more...), key: enterpriseKey}
	e.idp = jwkstest.New(t, jwkstest.JWK("k", e.key))
	e.id, _ = e.admin("POST", "/idps", map[string]any{"name": "Corp", "issuer": e.idp.URL}, 201)["id"].(string)
	client := e.admin("POST", "/clients", map[string]any{"client_name": "Agent", "grant_types": []string{"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "scope": "read write", "agent": true, "token_endpoint_auth_method": "client_secret_post"}, 201)
	e.client, _ = client["client_id"].(string)
	e.secret, _ = client["client_secret"].(string)
	return e
}

func (e *enterprise) admin(method, path string, body any, status int) map[string]any {
	e.t.Helper()
	text := ""
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			e.t.Fatal(err)
		}
		text = string(raw)
	}
	return e.do(method, "/admin"+path, text, status)
}

// claims returns valid claims with changes; nil removes a claim.
func (e *enterprise) claims(changes map[string]any) golang.MapClaims {
	now := time.Now()
	claims := golang.MapClaims{
		"iss": e.idp.URL, "sub": "u1", "aud": e.url, "client_id": e.client, "jti": fmt.Sprint("j", e.jti.Add(1)),
		"iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(), "scope": "read", "resource": "https://files.example",
	}
	for name, value := range changes {
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
	}
	return claims
}

func (e *enterprise) sign(changes map[string]any) string {
	return jwkstest.Sign(e.t, "ES256", e.key, map[string]any{"kid": "k", "typ": "oauth-id-jag+jwt"}, e.claims(changes))
}

// redeem returns the response to an assertion, with further form fields as pairs.
func (e *enterprise) redeem(assertion string, status int, form ...string) map[string]any {
	e.t.Helper()
	v := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {assertion}, "client_id": {e.client}, "client_secret": {e.secret}}
	for i := 0; i < len(form); i += 2 {
		v.Set(form[i], form[i+1])
	}
	return e.do("POST", "/oauth/token", v.Encode(), status)
}

// token returns the claims of the access token of a response.
func (e *enterprise) token(answer map[string]any) map[string]any {
	e.t.Helper()
	text, _ := answer["access_token"].(string)
	claims := golang.MapClaims{}
	if _, _, err := golang.NewParser().ParseUnverified(text, claims); err != nil {
		e.t.Fatalf("%v: %v", answer, err)
	}
	return claims
}

func TestAssertion(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		e := newEnterprise(t, db)
		d := e.do("GET", "/.well-known/oauth-authorization-server", "", 200)
		if fmt.Sprint(d["authorization_grant_profiles_supported"]) != "[urn:ietf:params:oauth:grant-profile:id-jag]" || !strings.Contains(fmt.Sprint(d["grant_types_supported"]), "jwt-bearer") {
			t.Errorf("%v", d)
		}
		answer := e.redeem(e.sign(map[string]any{"act": map[string]any{"sub": "assistant", "exp": 1, "act": map[string]any{"sub": "inner"}}}), 200)
		token := e.token(answer)
		act, _ := json.Marshal(token["act"])
		if answer["token_type"] != "Bearer" || answer["expires_in"] != 3600.0 || answer["scope"] != "read" || answer["refresh_token"] != nil ||
			token["sub"] != e.idp.URL+":u1" || token["client_id"] != e.client || token["aud"] != "https://files.example" || token["scope"] != "read" || token["agent_id"] != e.client ||
			string(act) != `{"act":{"act":{"sub":"inner"},"sub":"assistant"},"sub":"`+e.idp.URL+`"}` {
			t.Errorf("%v %v", answer, token)
		}
		// The token is active, and can be revoked.
		form := url.Values{"token": {answer["access_token"].(string)}, "client_id": {e.client}, "client_secret": {e.secret}}
		if response := e.do("POST", "/oauth/introspect", form.Encode(), 200); response["active"] != true || response["sub"] != e.idp.URL+":u1" || response["act"] == nil {
			t.Errorf("%v", response)
		}
		if list := e.admin("GET", "/issuances?user="+url.QueryEscape(e.idp.URL+":u1"), nil, 200)["issuances"].([]any); len(list) != 1 {
			t.Errorf("%v", list)
		}
		e.do("POST", "/oauth/revoke", form.Encode(), 200)
		if response := e.do("POST", "/oauth/introspect", form.Encode(), 200); response["active"] != false {
			t.Errorf("%v", response)
		}
		if token := e.token(e.redeem(e.sign(map[string]any{"tenant": "t1"}), 200)); token["sub"] != e.idp.URL+":t1:u1" {
			t.Errorf("%v", token)
		}

		// A subject may be mapped to a local user.
		mapping := map[string]any{"idp_id": e.id, "idp_subject": "u1", "local_user_id": e.ann.ID}
		newMapping := e.admin("POST", "/xaa/subject-mappings", mapping, 201)
		e.admin("POST", "/xaa/subject-mappings", mapping, 409)
		answer = e.redeem(e.sign(nil), 200)
		if token := e.token(answer); token["sub"] != e.ann.ID {
			t.Errorf("%v", token)
		}
		form.Set("token", answer["access_token"].(string))
		if response := e.do("POST", "/oauth/introspect", form.Encode(), 200); response["active"] != true || response["username"] != "ann@example.com" {
			t.Errorf("%v", response)
		}
		e.admin("PATCH", "/users/"+e.ann.ID+"/disable", nil, 200)
		if response := e.do("POST", "/oauth/introspect", form.Encode(), 200); response["active"] != false {
			t.Errorf("%v", response)
		}
		if response := e.redeem(e.sign(nil), 400); response["error"] != "invalid_grant" {
			t.Errorf("%v", response)
		}
		e.admin("DELETE", "/xaa/subject-mappings/"+newMapping["id"].(string), nil, 204)
		e.redeem(e.sign(nil), 200)

		// The audit feed contains the assertions.
		if issued := e.admin("GET", "/audit?action=jwt_bearer.", nil, 200)["events"].([]any); len(issued) != 5 {
			t.Errorf("%v", issued)
		}
	})
}

// TestAssertionEndsAtOnce checks that a token ends when its user gets a new password, even if it was issued for an
// assertion only a moment before and its issuance still waits to be stored.
func TestAssertionEndsAtOnce(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		e := newEnterprise(t, db)
		e.admin("POST", "/xaa/subject-mappings", map[string]any{"idp_id": e.id, "idp_subject": "u1", "local_user_id": e.ann.ID}, 201)
		for i := range 5 {
			text, _ := e.redeem(e.sign(nil), 200)["access_token"].(string)
			e.admin("PATCH", "/users/"+e.ann.ID, map[string]any{"password": fmt.Sprint("another horse ", i)}, 200)
			form := url.Values{"token": {text}, "client_id": {e.client}, "client_secret": {e.secret}}
			if answer := e.do("POST", "/oauth/introspect", form.Encode(), 200); answer["active"] != false {
				t.Fatalf("the token is still active: %v", answer)
			}
		}
	})
}

// TestAssertionAttacks checks that each attack is refused, and that none uses up its jti.
func TestAssertionAttacks(t *testing.T) {
	t.Parallel()
	e := newEnterprise(t, databases.SQLite(t))
	rsaKey, foreign := jwkstest.NewRSA(2048), jwkstest.NewEC(elliptic.P256())
	_, edKey, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	// The key set also contains unsuitable keys: a secret, a key for encryption, and another key with the id of a valid
	// one.
	e.idp.Set(func(p *jwkstest.Provider) {
		p.JWKS = jwkstest.Keys(jwkstest.JWK("k", e.key), jwkstest.JWK("r", rsaKey), jwkstest.JWK("ed", edKey), `{"kty":"oct","kid":"oct","k":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY"}`,
			jwkstest.JWK("enc", foreign, `"use":"enc"`), jwkstest.JWK("two", e.key), jwkstest.JWK("two", foreign))
	})
	other := jwkstest.New(t, jwkstest.JWK("k", foreign))
	e.admin("POST", "/resources", map[string]any{"slug": "far", "backend_kind": "broker", "scopes": []map[string]any{{"name": "read"}}}, 201)
	e.admin("POST", "/idps", map[string]any{"name": "Other", "issuer": other.URL}, 201)
	offIdP := jwkstest.New(t, jwkstest.JWK("k", e.key))
	e.admin("POST", "/idps", map[string]any{"name": "Off", "issuer": offIdP.URL, "enabled": false}, 201)
	timestamp := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	head := func(pairs ...any) map[string]any {
		h := map[string]any{"kid": "k", "typ": "oauth-id-jag+jwt"}
		for pair := range slices.Chunk(pairs, 2) {
			h[pair[0].(string)] = pair[1]
		}
		return h
	}
	signed := func(algorithm string, key any, header map[string]any, changes map[string]any) string {
		return jwkstest.Sign(t, algorithm, key, header, e.claims(changes))
	}
	good := signed("ES256", e.key, head(), nil)
	parts := strings.Split(good, ".")
	for name, test := range map[string]struct {
		assertion string
		code      string // the error code, or empty if the assertion is accepted
		form      []string
	}{
		"good":                     {good, "", nil},
		"again":                    {good, "invalid_grant", nil},
		"typ in full":              {signed("ES256", e.key, head("typ", "application/OAuth-ID-JAG+jwt"), nil), "", nil},
		"RS256":                    {signed("RS256", rsaKey, head("kid", "r"), nil), "", nil},
		"PS256":                    {signed("PS256", rsaKey, head("kid", "r"), nil), "", nil},
		"EdDSA":                    {signed("EdDSA", edKey, head("kid", "ed"), nil), "", nil},
		"no assertion":             {"", "invalid_request", nil},
		"nonsense":                 {"a.b.c", "invalid_grant", nil},
		"long":                     {good + strings.Repeat("A", 20000), "invalid_grant", nil},
		"typ JWT":                  {signed("ES256", e.key, head("typ", "JWT"), nil), "invalid_grant", nil},
		"typ at+jwt":               {signed("ES256", e.key, head("typ", "at+jwt"), nil), "invalid_grant", nil},
		"no typ":                   {signed("ES256", e.key, head("typ", nil), nil), "invalid_grant", nil},
		"none":                     {signed("none", golang.UnsafeAllowNoneSignatureType, head(), nil), "invalid_grant", nil},
		"HS256 with the public":    {signed("HS256", jwkstest.PEM(t, e.key.Public()), head(), nil), "invalid_grant", nil},
		"HS256 with their secret":  {signed("HS256", []byte("0123456789abcdef0123456789abcdef"), head("kid", "oct"), nil), "invalid_grant", nil},
		"RS512":                    {signed("RS512", rsaKey, head("kid", "r"), nil), "invalid_grant", nil},
		"another kind of key":      {signed("RS256", rsaKey, head(), nil), "invalid_grant", nil},
		"foreign key":              {signed("ES256", foreign, head(), nil), "invalid_grant", nil},
		"foreign key, embedded":    {signed("ES256", foreign, head("jwk", json.RawMessage(jwkstest.JWK("k", foreign)), "jku", other.URL+"/keys", "x5u", other.URL), nil), "invalid_grant", nil},
		"key to encrypt with":      {signed("ES256", foreign, head("kid", "enc"), nil), "invalid_grant", nil},
		"id that is there twice":   {signed("ES256", foreign, head("kid", "two"), nil), "invalid_grant", nil},
		"unknown id":               {signed("ES256", e.key, head("kid", "x"), nil), "invalid_grant", nil},
		"crit":                     {signed("ES256", e.key, head("crit", []string{"x"}), nil), "invalid_grant", nil},
		"other claims":             {parts[0] + "." + strings.Split(e.sign(map[string]any{"sub": "boss"}), ".")[1] + "." + parts[2], "invalid_grant", nil},
		"key of another IdP":       {signed("ES256", foreign, head(), map[string]any{"iss": e.idp.URL}), "invalid_grant", nil},
		"name of another IdP":      {signed("ES256", e.key, head(), map[string]any{"iss": other.URL}), "invalid_grant", nil},
		"IdP that is off":          {signed("ES256", e.key, head(), map[string]any{"iss": offIdP.URL}), "invalid_grant", nil},
		"unknown IdP":              {e.sign(map[string]any{"iss": "https://idp.example"}), "invalid_grant", nil},
		"slash behind the IdP":     {e.sign(map[string]any{"iss": e.idp.URL + "/"}), "invalid_grant", nil},
		"no IdP":                   {e.sign(map[string]any{"iss": nil}), "invalid_grant", nil},
		"this server as IdP":       {e.sign(map[string]any{"iss": e.url}), "invalid_grant", nil},
		"other audience":           {e.sign(map[string]any{"aud": "https://other.example"}), "invalid_grant", nil},
		"token endpoint":           {e.sign(map[string]any{"aud": e.url + "/oauth/token"}), "invalid_grant", nil},
		"no audience":              {e.sign(map[string]any{"aud": nil}), "invalid_grant", nil},
		"list of one audience":     {e.sign(map[string]any{"aud": []string{e.url}}), "", nil},
		"two audiences":            {e.sign(map[string]any{"aud": []string{e.url, "https://other.example"}}), "invalid_grant", nil},
		"audience twice":           {e.sign(map[string]any{"aud": []string{e.url, e.url}}), "invalid_grant", nil},
		"other client":             {e.sign(map[string]any{"client_id": "other"}), "invalid_grant", nil},
		"no client":                {e.sign(map[string]any{"client_id": nil}), "invalid_grant", nil},
		"list of clients":          {e.sign(map[string]any{"client_id": []string{e.client}}), "invalid_grant", nil},
		"no subject":               {e.sign(map[string]any{"sub": nil}), "invalid_grant", nil},
		"empty subject":            {e.sign(map[string]any{"sub": ""}), "invalid_grant", nil},
		"subject with NUL":         {e.sign(map[string]any{"sub": "a\x00b"}), "invalid_grant", nil},
		"no jti":                   {e.sign(map[string]any{"jti": nil}), "invalid_grant", nil},
		"jti of a number":          {e.sign(map[string]any{"jti": 7}), "invalid_grant", nil},
		"long jti":                 {e.sign(map[string]any{"jti": strings.Repeat("j", 257)}), "invalid_grant", nil},
		"expired":                  {e.sign(map[string]any{"exp": timestamp(-time.Second)}), "invalid_grant", nil},
		"no expiry":                {e.sign(map[string]any{"exp": nil}), "invalid_grant", nil},
		"no iat":                   {e.sign(map[string]any{"iat": nil}), "invalid_grant", nil},
		"old":                      {e.sign(map[string]any{"iat": timestamp(-5*time.Minute - 2*time.Second)}), "invalid_grant", nil},
		"not so old":               {e.sign(map[string]any{"iat": timestamp(-4 * time.Minute)}), "", nil},
		"issued later":             {e.sign(map[string]any{"iat": timestamp(time.Minute)}), "invalid_grant", nil},
		"not yet":                  {e.sign(map[string]any{"nbf": timestamp(time.Minute)}), "invalid_grant", nil},
		"bound to a key":           {e.sign(map[string]any{"cnf": map[string]any{"jkt": strings.Repeat("A", 43)}}), "invalid_dpop_proof", nil},
		"bound to something":       {e.sign(map[string]any{"cnf": map[string]any{"x5t#S256": "x"}}), "invalid_grant", nil},
		"bound to nothing":         {e.sign(map[string]any{"cnf": 1}), "invalid_grant", nil},
		"unknown resource":         {e.sign(map[string]any{"resource": "https://unknown.example"}), "invalid_target", nil},
		"resource of a number":     {e.sign(map[string]any{"resource": 1}), "invalid_grant", nil},
		"list of resources":        {e.sign(map[string]any{"resource": []string{"https://files.example", "https://mail.example"}}), "", []string{"resource", "files", "scope", ""}},
		"other resource":           {e.sign(nil), "invalid_target", []string{"resource", "https://mail.example"}},
		"the same, by its slug":    {e.sign(nil), "", []string{"resource", "files"}},
		"resource of the request":  {e.sign(map[string]any{"resource": nil}), "", []string{"resource", "files"}},
		"no resource":              {e.sign(map[string]any{"resource": nil}), "", nil},
		"broker":                   {e.sign(map[string]any{"resource": "far"}), "invalid_target", nil},
		"scope of another":         {e.sign(map[string]any{"scope": "send"}), "invalid_scope", nil},
		"scope beyond it":          {e.sign(nil), "invalid_scope", []string{"scope", "write"}},
		"beyond the client":        {e.sign(map[string]any{"scope": "delete"}), "invalid_scope", nil},
		"some of the scope":        {e.sign(map[string]any{"scope": "read delete"}), "", []string{"scope", "read write"}},
		"scope of a list":          {e.sign(map[string]any{"scope": []string{"read"}}), "invalid_grant", nil},
		"no scope":                 {e.sign(map[string]any{"scope": nil}), "", nil},
		"actor of a text":          {e.sign(map[string]any{"act": "x"}), "invalid_grant", nil},
		"actors without end":       {e.sign(map[string]any{"act": nested(11)}), "invalid_grant", nil},
		"ten actors":               {e.sign(map[string]any{"act": nested(10)}), "", nil},
		"tenant of a number":       {e.sign(map[string]any{"tenant": 1}), "invalid_grant", nil},
		"wrong secret":             {e.sign(nil), "invalid_client", []string{"client_secret", "x"}},
		"a jti that came to grief": {e.sign(map[string]any{"jti": "grief", "scope": "delete"}), "invalid_scope", nil},
	} {
		if name == "again" {
			continue
		}
		status := 200
		switch test.code {
		case "":
		case "invalid_client":
			status = 401
		default:
			status = 400
		}
		if response := e.redeem(test.assertion, status, test.form...); test.code != "" && response["error"] != test.code {
			t.Errorf("%s: %v", name, response)
		}
	}
	e.redeem(e.sign(map[string]any{"jti": "grief"}), 200)
	if response := e.redeem(good, 400); response["error"] != "invalid_grant" {
		t.Errorf("replayed: %v", response)
	}
	if response := e.redeem(e.sign(map[string]any{"jti": "grief"}), 400); response["error"] != "invalid_grant" {
		t.Errorf("another assertion with the same jti: %v", response)
	}

	// Only one of several concurrent uses of an assertion gets a token.
	text := e.sign(nil)
	var all sync.WaitGroup
	var won atomic.Int64
	for range 20 {
		all.Go(func() {
			r := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {text}, "client_id": {e.client}, "client_secret": {e.secret}}
			if e.status("/oauth/token", r.Encode()) == 200 {
				won.Add(1)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Errorf("%d got a token", won.Load())
	}
	// Other clients are refused, and so are other grants.
	open := e.admin("POST", "/clients", map[string]any{"client_name": "M", "grant_types": []string{"client_credentials"}, "scope": "read", "token_endpoint_auth_method": "client_secret_post"}, 201)
	form := url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {e.sign(nil)}, "client_id": {open["client_id"].(string)}, "client_secret": {open["client_secret"].(string)}}
	if response := e.do("POST", "/oauth/token", form.Encode(), 400); response["error"] != "unauthorized_client" {
		t.Errorf("%v", response)
	}
	e.admin("POST", "/clients", map[string]any{"client_name": "P", "grant_types": []string{"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "token_endpoint_auth_method": "none"}, 400)
	if _, ok := jwt.Unverified(good, "iss"); !ok {
		t.Error("the assertion has no issuer")
	}
}

// nested returns a chain of n actors.
func nested(n int) map[string]any {
	act := map[string]any{"sub": "a"}
	for range n - 1 {
		act = map[string]any{"sub": "a", "act": act}
	}
	return act
}

func TestAssertionPolicies(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		e := newEnterprise(t, db)
		policy := e.admin("POST", "/xaa/policies", map[string]any{"name": "P", "idp_id": e.id, "client_ids": []string{"other"}}, 201)
		path := "/xaa/policies/" + policy["id"].(string)
		redeem := func(code string, changes map[string]any, form ...string) map[string]any {
			t.Helper()
			status := 200
			if code != "" {
				status = 400
			}
			response := e.redeem(e.sign(changes), status, form...)
			if code != "" && response["error"] != code {
				t.Errorf("%v, want %s", response, code)
			}
			return response
		}
		put := func(more map[string]any) {
			t.Helper()
			body := map[string]any{"name": "P", "idp_id": e.id}
			maps.Copy(body, more)
			e.admin("PUT", path, body, 200)
		}
		redeem("access_denied", nil)
		put(map[string]any{"client_ids": []string{e.client}})
		redeem("", nil)
		put(map[string]any{"enabled": false})
		redeem("access_denied", nil)
		put(map[string]any{"resources": []string{"mail"}})
		redeem("access_denied", nil)
		redeem("access_denied", map[string]any{"resource": nil})
		redeem("access_denied", map[string]any{"resource": []string{"files", "mail"}})
		put(map[string]any{"resources": []string{"mail", "https://files.example"}})
		redeem("", map[string]any{"resource": []string{"files", "mail"}})
		put(map[string]any{"scopes": []string{"read"}})
		if response := redeem("", map[string]any{"scope": "read write"}); response["scope"] != "read" {
			t.Errorf("%v", response)
		}
		redeem("invalid_scope", map[string]any{"scope": "write"})
		// The scopes that several policies allow are added up.
		second := e.admin("POST", "/xaa/policies", map[string]any{"name": "Q", "idp_id": e.id, "scopes": []string{"write"}}, 201)
		if response := redeem("", map[string]any{"scope": nil}); response["scope"] != "read write" {
			t.Errorf("%v", response)
		}
		list := func(path string) int { return len(e.admin("GET", path, nil, 200)["policies"].([]any)) }
		if list("/xaa/policies") != 2 || list("/xaa/policies?idp_id="+e.id) != 2 || list("/xaa/policies?idp_id=x") != 0 || list("/xaa/policies?limit=1") != 1 {
			t.Error("the lists have the wrong entries")
		}
		e.admin("DELETE", "/xaa/policies/"+second["id"].(string), nil, 204)
		e.admin("DELETE", path, nil, 204)
		e.admin("DELETE", path, nil, 404)
		e.admin("GET", path, nil, 404)
		e.admin("PUT", path, map[string]any{"name": "P", "idp_id": e.id}, 404)
		redeem("", map[string]any{"scope": "write"})
		for _, bad := range []map[string]any{
			{"name": "P", "idp_id": "x"},
			{"name": "", "idp_id": e.id},
			{"name": "P", "idp_id": e.id, "scopes": []string{"a b"}},
			{"name": "P", "idp_id": e.id, "resources": []string{"unknown"}},
			{"name": "P", "idp_id": e.id, "more": 1},
			{"name": "P", "idp_id": e.id, "client_ids": []string{""}},
		} {
			e.admin("POST", "/xaa/policies", bad, 400)
		}
	})
}

func TestIdPs(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		e := newEnterprise(t, db)
		path := "/idps/" + e.id
		if idp := e.admin("GET", path, nil, 200); idp["issuer"] != e.idp.URL || idp["enabled"] != true || idp["jwks_uri"] != "" || idp["name"] != "Corp" {
			t.Errorf("%v", idp)
		}
		e.admin("POST", "/idps", map[string]any{"name": "Again", "issuer": e.idp.URL}, 409)
		for _, bad := range []map[string]any{
			{"name": "B", "issuer": ""},
			{"name": "B", "issuer": "http://idp.example"},
			{"name": "B", "issuer": "https://ann@idp.example"},
			{"name": "B", "issuer": "https://idp.example/#x"},
			{"name": "B", "issuer": "https://idp.example", "jwks_uri": "ftp://idp.example"},
			{"name": "", "issuer": "https://idp.example"},
			{"name": "B", "issuer": "https://idp.example", "x": 1},
		} {
			e.admin("POST", "/idps", bad, 400)
		}
		e.redeem(e.sign(nil), 200)
		// A rotated key is found, and an assertion with the old key is refused.
		oldKey := e.key
		e.key = jwkstest.NewEC(elliptic.P256())
		e.idp.Set(func(p *jwkstest.Provider) { p.JWKS = jwkstest.Keys(jwkstest.JWK("k", e.key)) })
		e.redeem(e.sign(nil), 400)
		e.admin("POST", path+"/refresh-keys", nil, 200)
		e.redeem(e.sign(nil), 200)
		e.key = oldKey
		e.redeem(e.sign(nil), 400)
		e.idp.Set(func(p *jwkstest.Provider) { p.Status = 500 })
		e.admin("POST", path+"/refresh-keys", nil, 422)
		e.admin("POST", "/idps/x/refresh-keys", nil, 404)
		e.idp.Set(func(p *jwkstest.Provider) { p.Status, p.JWKS = 200, jwkstest.Keys(jwkstest.JWK("k", e.key)) })
		// After a change of the provider's address, the keys there are valid.
		body := map[string]any{"name": "Corp", "issuer": e.idp.URL, "jwks_uri": e.idp.URL + "/keys"}
		e.admin("PUT", path, body, 200)
		e.redeem(e.sign(nil), 200)
		// If the keys cannot be fetched, the error does not blame the client.
		body["jwks_uri"] = "http://127.0.0.1:1/keys"
		e.admin("PUT", path, body, 200)
		if response := e.redeem(e.sign(nil), 503); response["error"] != "temporarily_unavailable" {
			t.Errorf("%v", response)
		}
		// The keys of an identity provider are not fetched from private networks.
		body["jwks_uri"] = "https://10.0.0.1/keys"
		e.admin("PUT", path, body, 200)
		if response := e.redeem(e.sign(nil), 503); response["error"] != "temporarily_unavailable" {
			t.Errorf("%v", response)
		}
		body["jwks_uri"], body["audience"] = "", "urn:here"
		e.admin("PUT", path, body, 200)
		e.redeem(e.sign(nil), 400)
		e.redeem(e.sign(map[string]any{"aud": "urn:here"}), 200)
		body["enabled"] = false
		e.admin("PUT", path, body, 200)
		e.redeem(e.sign(map[string]any{"aud": "urn:here"}), 400)
		if n := len(e.admin("GET", "/idps?limit=1", nil, 200)["idps"].([]any)); n != 1 {
			t.Errorf("%d", n)
		}
		e.admin("POST", "/xaa/subject-mappings", map[string]any{"idp_id": e.id, "idp_subject": "u1", "local_user_id": e.ann.ID}, 201)
		for _, bad := range []map[string]any{{"idp_id": "x", "idp_subject": "u", "local_user_id": e.ann.ID}, {"idp_id": e.id, "idp_subject": "u", "local_user_id": "x"}, {"idp_id": e.id, "idp_subject": "", "local_user_id": e.ann.ID}} {
			e.admin("POST", "/xaa/subject-mappings", bad, 400)
		}
		if n := len(e.admin("GET", "/xaa/subject-mappings?idp_id="+e.id, nil, 200)["subject_mappings"].([]any)); n != 1 {
			t.Errorf("%d", n)
		}
		e.admin("DELETE", path, nil, 204)
		e.admin("DELETE", path, nil, 404)
		if n := len(e.admin("GET", "/xaa/subject-mappings", nil, 200)["subject_mappings"].([]any)); n != 0 {
			t.Errorf("%d mappings are left", n)
		}
		e.admin("DELETE", "/xaa/subject-mappings/x", nil, 404)
	})
}

// TestAssertionModes checks the options for strict subjects, required resources, and the age and lifetime of assertions
// and tokens.
func TestAssertionModes(t *testing.T) {
	t.Parallel()
	e := newEnterprise(t, databases.SQLite(t), "xaa: {subject_mode: strict, require_resource: true, max_assertion_age: 1m, token_expiry: 10m}")
	if response := e.redeem(e.sign(nil), 400); response["error"] != "access_denied" {
		t.Errorf("%v", response)
	}
	e.admin("POST", "/xaa/subject-mappings", map[string]any{"idp_id": e.id, "idp_subject": "u1", "local_user_id": e.ann.ID}, 201)
	if answer := e.redeem(e.sign(nil), 200); answer["expires_in"] != 600.0 {
		t.Errorf("%v", answer)
	}
	if response := e.redeem(e.sign(map[string]any{"resource": nil}), 400); response["error"] != "invalid_target" {
		t.Errorf("%v", response)
	}
	if response := e.redeem(e.sign(map[string]any{"iat": time.Now().Add(-65 * time.Second).Unix()}), 400); response["error"] != "invalid_grant" {
		t.Errorf("%v", response)
	}
	disabled := newLive(t, databases.SQLite(t), "xaa: {enabled: false}")
	if d := disabled.do("GET", "/.well-known/oauth-authorization-server", "", 200); d["authorization_grant_profiles_supported"] != nil || strings.Contains(fmt.Sprint(d["grant_types_supported"]), "jwt-bearer") {
		t.Errorf("%v", d)
	}
	disabled.do("GET", "/admin/idps", "", 404)
}
