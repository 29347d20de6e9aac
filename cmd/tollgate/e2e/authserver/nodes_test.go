package authserver

import (
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
	"github.com/tollgate-gateway/tollgate/internal/jwks/jwkstest"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// elsewhere is how long a change on one node may take to apply on another.
const elsewhere = 5 * time.Second

// TestAuthserverNodes checks that two processes on one PostgreSQL database act as one server. A code, a refresh token
// and, with a Redis, an assertion and a proof can be used once, at whichever node. A revocation, suspension,
// deactivation or rotation on one node applies to the other.
func TestAuthserverNodes(t *testing.T) {
	t.Parallel()
	issuer := "http://localhost:" + e2e.FreePort(t) // the address of a balancer that gets no requests
	text := `
server: {address: '127.0.0.1:PORT', issuer: '` + issuer + `'}
admin: {address: '127.0.0.1:ADMIN'}
storage: {driver: postgres, postgres: {dsn: '` + testenv.Postgres(t).DSN() + `'}}
signing: {key_store: postgres_key}
data_encryption: {driver: aes_master, aes_master: {key_env: MASTER}}
session: {secret: a secret of both nodes for the cookies of browsers}
rate_limit: {enabled: false}
counters: {redis_env: REDIS}
resources:
  - {slug: notes, uri: '` + notes + `', display_name: Notes, scopes: [{name: 'notes:read'}]}
`
	master, redis := "MASTER="+strings.Repeat("0123456789abcdef", 4), "REDIS="+testenv.Redis(t).URL()
	node1, url1, admin := e2e.NewAuthserver(t, text, master, redis)
	node2, url2, otherAdmin := e2e.NewAuthserver(t, text, master, redis)
	for _, base := range []string{url1, url2} {
		e2e.AnswersWith(t, base+"/ready", http.StatusOK)
	}
	var user struct{ ID string }
	add := addAnn(node1, "--json", "--config", "config.yaml", "--adapter", "authserver")
	if err := json.Unmarshal([]byte(add), &user); err != nil {
		t.Fatalf("%v: %s", err, add)
	}
	ann := newAnn(t)
	app, guard := create(t, admin, "Reader", ann), create(t, admin, "Guard", ann)
	administer(t, admin, http.MethodPost, "/admin/resources/notes/policy/runtime/client-ids", `{"client_id":"`+guard.id+`"}`, nil)
	urls := []string{url1, url2}
	held := func(name string, fine func() error) {
		t.Helper()
		e2e.Eventually(t, elsewhere, name, fine)
	}
	inactive := func(base, token string) func() error {
		return func() error {
			if guard.active(base, token) {
				return errors.New("the token is active")
			}
			return nil
		}
	}
	// race sends requests to both nodes at once, checks that one succeeds, and returns its tokens.
	race := func(name string, ask func(base string) *e2e.Answer) (won []granted) {
		t.Helper()
		answers := make([]*e2e.Answer, 12)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() { answers[i] = ask(urls[i%2]) })
		}
		all.Wait()
		for _, a := range answers {
			if a.Status == http.StatusOK {
				won = append(won, app.grants(a))
			} else {
				app.refuses(name, a)
			}
		}
		if len(won) != 1 {
			t.Fatalf("%s: %d of %d were answered with tokens", name, len(won), len(answers))
		}
		return won
	}

	// The first code is from a login on one node, the second from its session on the other.
	first := app.grants(app.redeem(url2, app.code(url1)))
	second, err := app.codeAtOnce(url2)
	if err != nil {
		t.Fatalf("a session on the other node: %v", err)
	}
	for _, base := range urls { // until each node has read the policy
		held("the guard may ask", func() error {
			if !guard.active(base, first.Access) {
				return errors.New("it may not")
			}
			return nil
		})
	}

	// A code is used once. The other requests reveal that it was stolen, so its tokens end on both nodes.
	stolen := race("a code", func(base string) *e2e.Answer { return app.redeem(base, second) })[0]
	for _, base := range urls {
		held("the tokens of a code that was used twice have ended", inactive(base, stolen.Access))
		app.refuses("the refresh token of a code that was used twice", app.refresh(base, stolen.Refresh))
	}

	// A refresh token is used once. The theft ends all tokens of its family on both nodes.
	third, err := app.codeAtOnce(url1)
	if err != nil {
		t.Fatal(err)
	}
	token := app.grants(app.redeem(url1, third))
	won := race("a refresh token", func(base string) *e2e.Answer { return app.refresh(base, token.Refresh) })[0]
	for _, base := range urls {
		app.refuses("the refresh token that won", app.refresh(base, won.Refresh))
		for _, access := range []string{token.Access, won.Access} {
			held("the access tokens of a stolen family have ended", inactive(base, access))
		}
	}

	assertOnce(t, admin, issuer, urls)
	proveOnce(app, issuer, urls)

	// A token exchanged on one node is valid on the other. The revocation below ends it too.
	narrow := app.grants(app.exchange(url2, first.Access))
	if !guard.active(url1, narrow.Access) {
		t.Fatal("the exchanged token is not active")
	}

	// A token is revoked while the other node has it in its cache.
	if !guard.active(url2, first.Access) {
		t.Fatal("the token is not active")
	}
	if a := app.revoke(url1, first.Refresh); a.Status != http.StatusOK {
		t.Fatalf("revoking: %d %s", a.Status, a.Body)
	}
	held("a revocation holds on the other node", inactive(url2, first.Access))
	held("the revocation also ends the exchanged token", inactive(url2, narrow.Access))
	app.refuses("a refresh token that was revoked on the other node", app.refresh(url2, first.Refresh))

	// A client is suspended.
	machine := app.grants(app.machine(url2))
	if !guard.active(url2, machine.Access) {
		t.Fatal("the token is not active")
	}
	administer(t, admin, http.MethodPatch, "/admin/clients/"+app.id+"/suspend", "", nil)
	held("a suspension holds on the other node", func() error {
		if a := app.machine(url2); a.Status != http.StatusUnauthorized {
			return fmt.Errorf("%d %s", a.Status, a.Body)
		}
		return inactive(url2, machine.Access)()
	})
	administer(t, otherAdmin, http.MethodPatch, "/admin/clients/"+app.id+"/reactivate", "", nil)
	held("the end of the suspension holds on the other node", func() error { _, err := read(app.machine(url1)); return err })

	// The signing key is rotated. The other node accepts tokens of the new key at once.
	var key struct{ KID string }
	administer(t, admin, http.MethodPost, "/admin/keys/rotate", "", &key)
	if signed := app.grants(app.machine(url1)); keyOf(t, signed.Access) != key.KID || !guard.active(url2, signed.Access) {
		t.Error("a token of the new key is not active on the other node")
	}
	held("a rotation holds on the other node", func() error {
		if kid := keyOf(t, app.grants(app.machine(url2)).Access); kid != key.KID {
			return fmt.Errorf("it signs with %s", kid)
		}
		var set struct{ Keys []struct{ KID string } }
		if err := json.Unmarshal([]byte(e2e.Get(t, e2e.Client, url2+"/.well-known/jwks.json", "").Body), &set); err != nil {
			return err
		}
		if len(set.Keys) != 2 || !slices.ContainsFunc(set.Keys, func(k struct{ KID string }) bool { return k.KID == key.KID }) {
			return fmt.Errorf("the key set is %v", set.Keys)
		}
		return nil
	})
	if !guard.active(url2, machine.Access) {
		t.Error("a token of the old key is not active any more")
	}

	// A user is disabled.
	fourth, err := app.codeAtOnce(url2)
	if err != nil {
		t.Fatal(err)
	}
	last := app.grants(app.redeem(url2, fourth))
	if !guard.active(url2, last.Access) {
		t.Fatal("the token is not active")
	}
	administer(t, admin, http.MethodPatch, "/admin/users/"+user.ID+"/disable", "", nil)
	held("a user disabled on this node is inactive on the other node", func() error {
		if _, err := app.codeAtOnce(url2); !errors.Is(err, errNoCode) {
			return fmt.Errorf("the session: %w", err)
		}
		return inactive(url2, last.Access)()
	})
	app.refuses("a refresh token of a disabled user", app.refresh(url2, last.Refresh))
	node2.Stop()
	node1.Stop()
}

// assertOnce sends one client assertion to all nodes at once and checks that it is accepted exactly once.
func assertOnce(t *testing.T, admin, issuer string, nodes []string) {
	t.Helper()
	key := jwkstest.NewEC(elliptic.P256())
	var client struct {
		ID string `json:"client_id"`
	}
	administer(t, admin, http.MethodPost, "/admin/clients", `{"client_name":"Robot","grant_types":["client_credentials"],"scope":"notes:read","token_endpoint_auth_method":"private_key_jwt","jwks":`+
		jwkstest.Keys(jwkstest.JWK("k", key))+`}`, &client)
	now := time.Now()
	c := &application{t: t, id: client.ID}
	assertion := jwkstest.Sign(t, "ES256", key, map[string]any{"kid": "k"}, map[string]any{
		"iss": client.ID, "sub": client.ID, "aud": issuer, "iat": now.Unix(), "exp": now.Add(time.Minute).Unix(), "jti": rand.Text(),
	})
	once(t, "an assertion", http.StatusUnauthorized, nodes, func(base string) *e2e.Answer {
		return c.post(base, "/oauth/token", "grant_type", "client_credentials", "client_assertion", assertion, "client_assertion_type", clients.AssertionType)
	})
}

// proveOnce sends one DPoP proof (RFC 9449) to all nodes at once and checks that it is accepted exactly once.
func proveOnce(c *application, issuer string, nodes []string) {
	c.t.Helper()
	key := jwkstest.NewEC(elliptic.P256())
	proof := jwkstest.Sign(c.t, "ES256", key, map[string]any{"typ": "dpop+jwt", "jwk": json.RawMessage(jwkstest.JWK("", key))}, map[string]any{
		"jti": rand.Text(), "htm": http.MethodPost, "htu": issuer + "/oauth/token", "iat": time.Now().Unix(),
	})
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {c.id}, "client_secret": {c.secret}}.Encode()
	once(c.t, "a proof", http.StatusBadRequest, nodes, func(base string) *e2e.Answer {
		return e2e.Do(c.t, e2e.Client, http.MethodPost, base+"/oauth/token", "", form, "Content-Type", "application/x-www-form-urlencoded", "DPoP", proof)
	})
}

// once sends requests to all nodes at once and checks that exactly one succeeds and all others get the refusal.
func once(t *testing.T, name string, refusal int, nodes []string, ask func(base string) *e2e.Answer) {
	t.Helper()
	answers := make([]*e2e.Answer, 12)
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = ask(nodes[i%len(nodes)]) })
	}
	all.Wait()
	won := 0
	for _, a := range answers {
		switch a.Status {
		case http.StatusOK:
			won++
		case refusal:
		default:
			t.Errorf("%s: %d %s %v", name, a.Status, a.Body, a.Err)
		}
	}
	if won != 1 {
		t.Errorf("%s was accepted %d times", name, won)
	}
}

// keyOf returns the kid of a JWT.
func keyOf(t *testing.T, token string) string {
	t.Helper()
	head, _, _ := strings.Cut(token, ".")
	raw, err := base64.RawURLEncoding.DecodeString(head)
	var header struct{ KID string }
	if err == nil {
		err = json.Unmarshal(raw, &header)
	}
	if err != nil {
		t.Fatal(err)
	}
	return header.KID
}
