package authserver_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	golang "github.com/golang-jwt/jwt/v5"
	"golang.org/x/oauth2"

	"github.com/tollgate-gateway/tollgate/backends/authserver"
	"github.com/tollgate-gateway/tollgate/backends/authserver/config"
)

// TestClaimRules checks that the rules of seeded clients and resources make claims of the roles and attributes that an
// administrator has set for a user. A client that registered itself receives only the claims of the resource.
func TestClaimRules(t *testing.T) {
	t.Parallel()
	l := newLab(t, settings{
		"dcr.mode": "open",
		"clients": `[{"client_id":"shop","redirect_uris":["https://app.example/cb"],"claim_rules":` +
			`[{"claim":"department","from":"attributes.department"}]}]`,
		"resources": `[{"slug":"files","uri":"https://files.example","scopes":[{"name":"read"},{"name":"write"}],` +
			`"claim_rules":[{"claim":"realm_access.roles","from":"roles","prefix":"files:"}]}]`,
	})
	for _, call := range [][3]string{
		{http.MethodPatch, "/admin/users/" + l.ann.ID + "/attributes", `{"groups":["staff/night"],"roles":["shop:buyer"],` +
			`"attributes":{"department":["sales"]}}`},
		{http.MethodPut, "/admin/group-roles", `{"group":"staff","roles":["files:reader"]}`},
	} {
		if w := l.ask(call[0], call[1], call[2]); w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", call[1], w.Code, w.Body)
		}
	}
	shown := func(text string) string {
		t.Helper()
		all := golang.MapClaims{}
		if _, _, err := golang.NewParser().ParseUnverified(text, all); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(all["department"], " ", all["realm_access"])
	}
	// checked returns the claims that a service in the same process reads from an access token.
	checked := func(text string) string {
		t.Helper()
		all, _, ok, err := l.server.CheckToken(t.Context(), text)
		if err != nil || !ok {
			t.Fatalf("the token is valid: %t, %v", ok, err)
		}
		if all["name"] != "Ann" || all["email"] != "ann@example.com" || all["email_verified"] != false {
			t.Errorf("the user is %v, %v, %v", all["name"], all["email"], all["email_verified"])
		}
		return fmt.Sprint(all["department"], " ", all["realm_access"])
	}
	verifier := oauth2.GenerateVerifier()
	app := l.app()
	app.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	for id, want := range map[string][2]string{
		"shop":       {"sales map[roles:[files:reader]]", "sales <nil>"},
		app.ClientID: {"<nil> map[roles:[files:reader]]", "<nil> <nil>"},
	} {
		c := *app
		c.ClientID, c.Scopes = id, append(c.Scopes, "profile", "email")
		resource := oauth2.SetAuthURLParam("resource", "https://files.example")
		location, _ := l.answers(c.AuthCodeURL("s1", oauth2.S256ChallengeOption(verifier), resource))
		callback, err := url.Parse(location)
		if err != nil {
			t.Fatal(err)
		}
		token, err := c.Exchange(t.Context(), callback.Query().Get("code"), oauth2.VerifierOption(verifier))
		if err != nil {
			t.Fatal(err)
		}
		if got := shown(token.AccessToken); got != want[0] {
			t.Errorf("%s: the access token has %s, want %s", id, got, want[0])
		}
		if got := checked(token.AccessToken); got != want[0] {
			t.Errorf("%s: the check gives %s, want %s", id, got, want[0])
		}
		if got := shown(token.Extra("id_token").(string)); got != want[1] {
			t.Errorf("%s: the ID token has %s, want %s", id, got, want[1])
		}
	}

	// An invalid rule keeps the server from starting.
	for _, rule := range []string{`{"claim":"sub","from":"roles"}`, `{"claim":"x","from":"roles","prefx":"y"}`} {
		for _, list := range []string{
			`clients: [{"client_id":"c","redirect_uris":["https://app.example/cb"],"claim_rules":[%s]}]`,
			`resources: [{"slug":"r","uri":"https://r.example","claim_rules":[%s]}]`,
		} {
			cfg, err := config.Parse(fmt.Appendf(nil, list, rule), func(string) (string, bool) { return "", false })
			if err == nil {
				err = authserver.Try(cfg)
			}
			if err == nil {
				t.Errorf(list+" is accepted", rule)
			}
		}
	}
	for _, name := range []string{"scopes_supported", "claims_supported"} {
		w := l.ask(http.MethodGet, "/.well-known/openid-configuration", "")
		if list := member(t, w, name); strings.Contains(list, "role") || strings.Contains(list, "department") {
			t.Errorf("discovery contains %s %s", name, list)
		}
	}
}
