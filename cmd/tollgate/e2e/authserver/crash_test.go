package authserver

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestAuthserverKilled: what was answered before a crash amid refreshes holds after it: the
// newest refresh tokens and unused codes are good once, used and revoked ones are not.
func TestAuthserverKilled(t *testing.T) {
	t.Parallel()
	const (
		email, password = "ann@example.com", "a long pass phrase of Ann"
		back            = "http://127.0.0.1:1/back"
	)
	n, public, _ := newAuthserver(t, `
server: {address: '127.0.0.1:PORT', issuer: 'http://localhost:PORT'}
admin: {address: ':ADMIN'}
resources:
  - {slug: notes, uri: 'https://notes.example/mcp', display_name: Notes, scopes: [{name: 'notes:read'}]}
`)
	answersWith(t, public+"/ready", http.StatusOK)
	pipe(n, password+"\n", "authserver", "user", "add", email, "--config", "config.yaml", "--adapter", "authserver")
	post := func(path string, form url.Values) *e2e.Answer { // which a server that is killed does not answer
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, public+path, strings.NewReader(form.Encode()))
		if err != nil {
			return &e2e.Answer{Err: err}
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return e2e.Read(e2e.Client.Do(request)) //nolint:bodyclose // Read does
	}
	verifier := strings.Repeat("v", 43)
	sum := sha256.Sum256([]byte(verifier))
	ann := newPerson(t, back)
	var registered struct {
		ID string `json:"client_id"`
	}
	a := e2e.Do(t, e2e.Client, http.MethodPost, public+"/oauth/register", "", `{"client_name":"Reader","redirect_uris":["`+back+`"],"token_endpoint_auth_method":"none","grant_types":["authorization_code","refresh_token"]}`, "Content-Type", "application/json")
	if err := json.Unmarshal([]byte(a.Body), &registered); err != nil || a.Status != http.StatusCreated {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	approve := func() string {
		return ann.approve(public+"/oauth/authorize?"+url.Values{
			"response_type": {"code"}, "client_id": {registered.ID}, "redirect_uri": {back}, "scope": {"notes:read"}, "resource": {"https://notes.example/mcp"}, "state": {"s"},
			"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
		}.Encode(), email, password)
	}
	redeem := func(code string) *e2e.Answer {
		return post("/oauth/token", url.Values{"grant_type": {"authorization_code"}, "client_id": {registered.ID}, "code": {code}, "redirect_uri": {back}, "code_verifier": {verifier}})
	}
	refresh := func(token string) *e2e.Answer {
		return post("/oauth/token", url.Values{"grant_type": {"refresh_token"}, "client_id": {registered.ID}, "refresh_token": {token}})
	}
	token := func(a *e2e.Answer) string {
		t.Helper()
		var tokens struct {
			Refresh string `json:"refresh_token"`
		}
		if err := json.Unmarshal([]byte(a.Body), &tokens); err != nil || a.Status != http.StatusOK || tokens.Refresh == "" {
			t.Fatalf("%d %s %v", a.Status, a.Body, a.Err)
		}
		return tokens.Refresh
	}
	refused := func(what string, a *e2e.Answer) {
		t.Helper()
		if a.Status != http.StatusBadRequest || !strings.Contains(a.Body, `"invalid_grant"`) {
			t.Errorf("%s: %d %s %v", what, a.Status, a.Body, a.Err)
		}
	}

	usedCode, keptCode := approve(), approve()
	token(redeem(usedCode))
	first := token(redeem(approve()))
	newest := token(refresh(first))
	revoked := token(redeem(approve()))
	if a := post("/oauth/revoke", url.Values{"token": {revoked}, "client_id": {registered.ID}}); a.Status != http.StatusOK {
		t.Fatalf("revoking: %d %s", a.Status, a.Body)
	}

	// The traffic: each one refreshes what it was given until nobody answers.
	var clients sync.WaitGroup
	var answered atomic.Int64
	used := make([]string, 3) // the last that was answered with another
	last := make([]string, 3) // what that answer had; the kill may have come between its use and the next answer
	for i := range used {
		current := token(redeem(approve()))
		clients.Go(func() {
			for {
				a := refresh(current)
				var tokens struct {
					Refresh string `json:"refresh_token"`
				}
				if a.Err != nil || json.Unmarshal([]byte(a.Body), &tokens) != nil || tokens.Refresh == "" {
					if a.Err == nil {
						t.Errorf("amid the traffic: %d %s", a.Status, a.Body)
					}
					return
				}
				used[i], last[i], current = current, tokens.Refresh, tokens.Refresh
				answered.Add(1)
			}
		})
	}
	e2e.Eventually(t, e2e.StartLimit, "refreshed tokens", func() error {
		if answered.Load() < 12 {
			return errors.New("too few")
		}
		return nil
	})
	n.Kill()
	clients.Wait()
	n.Start()
	answersWith(t, public+"/ready", http.StatusOK)

	token(refresh(newest))
	token(redeem(keptCode))
	refused("a code used after the crash, again", redeem(keptCode))
	refused("a code used before the crash", redeem(usedCode))
	refused("a refresh token used before the crash", refresh(first))
	refused("a revoked refresh token", refresh(revoked))
	for i := range used {
		if used[i] == "" {
			continue
		}
		// What was answered is known after the crash: it is good, or was used by the request that the kill cut off.
		if a := refresh(last[i]); a.Status != http.StatusOK && !strings.Contains(a.Body, "used before") {
			t.Errorf("the newest refresh token: %d %s", a.Status, a.Body)
		}
		refused("a refresh token used amid the traffic", refresh(used[i]))
	}
	n.Stop()
}
