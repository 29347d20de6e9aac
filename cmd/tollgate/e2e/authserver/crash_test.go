package authserver

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tollgate-gateway/tollgate/cmd/tollgate/e2e"
)

// TestAuthserverKilled checks that every answer from before a crash under load still holds afterwards: the newest
// refresh tokens, unused codes and tokens of clients are valid; used codes, used refresh tokens and revoked tokens are
// not.
func TestAuthserverKilled(t *testing.T) {
	t.Parallel()
	n, base, admin := e2e.NewAuthserver(t, `
server: {address: '127.0.0.1:PORT', issuer: 'http://localhost:PORT'}
admin: {address: '127.0.0.1:ADMIN'}
session: {secret: a secret that outlives the process}
rate_limit: {enabled: false}
resources:
  - {slug: notes, uri: '`+notes+`', display_name: Notes, scopes: [{name: 'notes:read'}]}
`)
	e2e.AnswersWith(t, base+"/ready", http.StatusOK)
	addAnn(n, "--config", "config.yaml", "--adapter", "authserver")
	app := register(t, base)
	robot := create(t, admin, "Robot", app.ann)

	usedCode, keptCode := app.code(base), app.code(base)
	app.grants(app.redeem(base, usedCode))
	first := app.grants(app.redeem(base, app.code(base))).Refresh
	newest := app.grants(app.refresh(base, first)).Refresh
	revoked := app.grants(app.redeem(base, app.code(base))).Refresh
	if a := app.revoke(base, revoked); a.Status != http.StatusOK {
		t.Fatalf("revoking: %d %s", a.Status, a.Body)
	}

	var traffic sync.WaitGroup
	var refreshed, redeemed, handed atomic.Int64
	// cut reports whether the kill cut an answer off. Any other error during the traffic fails the test.
	cut := func(a *e2e.Answer, err error) bool {
		if err != nil && a.Err == nil {
			t.Errorf("amid the traffic: %v", err)
		}
		return err != nil
	}
	// Three clients use each refresh token that they get, until the server no longer answers.
	used := make([]string, 3) // the last token that was exchanged for a new one
	last := make([]string, 3) // that new token; the request that the kill cut off may have used it
	for i := range used {
		current := app.grants(app.redeem(base, app.code(base))).Refresh
		traffic.Go(func() {
			for {
				a := app.refresh(base, current)
				g, err := read(a)
				if cut(a, err) {
					return
				}
				used[i], last[i], current = current, g.Refresh, g.Refresh
				refreshed.Add(1)
			}
		})
	}
	// A person authorizes the client repeatedly, and every other code is redeemed.
	type exchange struct {
		code   string
		tokens granted
	}
	var exchanges []exchange // exchanges that were answered
	var unused []string      // codes that were not redeemed
	inDoubt := ""            // a code whose redemption was not answered
	traffic.Go(func() {
		for {
			code, err := app.codeAtOnce(base)
			if errors.Is(err, errNoCode) {
				t.Errorf("amid the traffic: %v", err)
			}
			if err != nil {
				return
			}
			if len(unused) <= len(exchanges) {
				unused = append(unused, code)
				continue
			}
			a := app.redeem(base, code)
			g, err := read(a)
			if cut(a, err) {
				inDoubt = code
				return
			}
			exchanges = append(exchanges, exchange{code, g})
			redeemed.Add(1)
		}
	})
	// A client requests tokens for itself, and revokes every other token.
	var validTokens, revokedTokens []string
	traffic.Go(func() {
		for {
			a := robot.machine(base)
			g, err := read(a)
			if cut(a, err) {
				return
			}
			handed.Add(1)
			if len(validTokens) <= len(revokedTokens) {
				validTokens = append(validTokens, g.Access)
				continue
			}
			if a := robot.revoke(base, g.Access); a.Err != nil || a.Status != http.StatusOK {
				if a.Err == nil {
					t.Errorf("amid the traffic: %d %s", a.Status, a.Body)
				}
				return
			}
			revokedTokens = append(revokedTokens, g.Access)
		}
	})
	e2e.Eventually(t, e2e.StartLimit, "traffic", func() error {
		if refreshed.Load() < 12 || redeemed.Load() < 4 || handed.Load() < 8 {
			return errors.New("too little")
		}
		return nil
	})
	n.Kill()
	traffic.Wait()
	n.Start()
	e2e.AnswersWith(t, base+"/ready", http.StatusOK)

	app.grants(app.refresh(base, newest))
	app.grants(app.redeem(base, keptCode))
	app.refuses("a code used after the crash, again", app.redeem(base, keptCode))
	app.refuses("a code used before the crash", app.redeem(base, usedCode))
	app.refuses("a refresh token used before the crash", app.refresh(base, first))
	app.refuses("a revoked refresh token", app.refresh(base, revoked))
	for i := range used {
		if used[i] == "" {
			continue
		}
		// The newest token that was handed out is either valid after the crash, or was used by the request that the
		// kill cut off.
		if a := app.refresh(base, last[i]); a.Status != http.StatusOK && !strings.Contains(a.Body, "already used") {
			t.Errorf("the newest refresh token: %d %s", a.Status, a.Body)
		}
		app.refuses("a refresh token used amid the traffic", app.refresh(base, used[i]))
	}

	const some = 20 // how many of each are checked: those just before the kill
	slices.Reverse(unused)
	for _, code := range unused[:min(some, len(unused))] {
		app.grants(app.redeem(base, code))
		app.refuses("a code of the traffic, again", app.redeem(base, code))
	}
	slices.Reverse(exchanges)
	for _, e := range exchanges[:min(some, len(exchanges))] {
		app.grants(app.refresh(base, e.tokens.Refresh)) // the tokens of the exchange were stored
		app.refuses("a code redeemed amid the traffic", app.redeem(base, e.code))
	}
	if inDoubt != "" {
		if a := app.redeem(base, inDoubt); a.Status != http.StatusOK && !strings.Contains(a.Body, "redeemed before") {
			t.Errorf("a code whose answer was cut off: %d %s", a.Status, a.Body)
		}
		app.refuses("a code whose answer was cut off, again", app.redeem(base, inDoubt))
	}
	slices.Reverse(validTokens)
	for _, token := range validTokens[:min(some, len(validTokens))] {
		if !robot.active(base, token) {
			t.Error("a token of a client is not active after the crash")
		}
	}
	slices.Reverse(revokedTokens)
	for _, token := range revokedTokens[:min(some, len(revokedTokens))] {
		if robot.active(base, token) {
			t.Error("a token that was revoked is active after the crash")
		}
	}
	n.Stop()
}
