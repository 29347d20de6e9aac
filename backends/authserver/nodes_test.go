package authserver_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/tollgate-gateway/tollgate/internal/jwks/jwkstest"
	"github.com/tollgate-gateway/tollgate/internal/secret"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestOnceOnAllNodes checks that a single-use value that was used on one node is refused on another node, although each
// node has separate counters in memory.
func TestOnceOnAllNodes(t *testing.T) {
	t.Parallel()
	db := databases.Postgres(t)
	l := newLive(t, db)
	first, second := l.server, l.node(db)
	provider, err := oidc.NewProvider(t.Context(), l.url)
	if err != nil {
		t.Fatal(err)
	}
	own := l.prover()

	c := l.register(provider, appWithKey+`"none"}`)
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {secret.New()}, "client_id": {c.ClientID}}
	proof := own.proof("POST", "/oauth/token")
	l.token(form, proof).is(t, "a proof", 400, "invalid_grant")
	l.server = second
	l.token(form, proof).is(t, "a proof that another node has seen", 400, "invalid_dpop_proof")
	proof = own.proof("POST", "/oauth/token")
	l.token(form, proof).is(t, "another proof", 400, "invalid_grant")
	l.server = first
	l.token(form, proof).is(t, "that one on the first node", 400, "invalid_dpop_proof")

	c = l.register(provider, appWithKey+`"private_key_jwt", "jwks": `+jwkstest.Keys(jwkstest.JWK("k", own.key))+`}`)
	now := time.Now()
	assertion := jwkstest.Sign(t, "ES256", own.key, map[string]any{"kid": "k"}, map[string]any{
		"iss": c.ClientID, "sub": c.ClientID, "aud": l.url, "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "jti": secret.New(),
	})
	form = url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {secret.New()}, "client_assertion": {assertion},
		"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
	}
	l.token(form).is(t, "an assertion", 400, "invalid_grant")
	l.server = second
	l.token(form).is(t, "an assertion that another node has seen", 401, "invalid_client")
}

// TestCleanUp checks that expired single-use marks are removed even if an earlier part of the sweep fails.
func TestCleanUp(t *testing.T) {
	t.Parallel()
	db := databases.Postgres(t)
	if err := db.Write(t.Context(), func(c store.Conn) error {
		_, err := c.Exec("INSERT INTO authserver_once (digest, expires_at) VALUES (?, 1)", []byte("old"))
		if err == nil {
			_, err = c.Exec("ALTER TABLE authserver_audit RENAME TO elsewhere")
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	serve(t, db, "")
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		var n int
		if err := db.Read(t.Context(), func(c store.Conn) error { return c.Row("SELECT COUNT(*) FROM authserver_once").Scan(&n) }); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("an old mark is left")
		}
	}
}
