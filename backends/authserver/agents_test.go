package authserver_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	golang "github.com/golang-jwt/jwt/v5"
	"golang.org/x/oauth2"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestAgents checks that an agent cannot become another kind of client, that its tokens name it, whatever their grant,
// and that the key set lists it while it is active.
func TestAgents(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		l := newLive(t, db, "agents: {enable_jwks_listing: true}", "clients: [{client_id: robot, client_name: Robot, redirect_uris: ['https://app.example/cb'], grant_types: [authorization_code, refresh_token], agent: true, agent_description: Files things}]")
		listed := func() string {
			list := l.do("GET", "/.well-known/jwks.json", "", 200)["agents"].([]any)
			return fmt.Sprint(list)
		}
		agent := func(token *oauth2.Token, err error) any {
			t.Helper()
			claims := golang.MapClaims{}
			if err == nil {
				_, _, err = golang.NewParser().ParseUnverified(token.AccessToken, claims)
			}
			if err != nil {
				t.Fatal(err)
			}
			return claims["agent_id"]
		}
		if got := listed(); got != "[map[client_id:robot description:Files things]]" {
			t.Errorf("%s", got)
		}
		c := &oauth2.Config{
			ClientID: "robot", RedirectURL: "https://app.example/cb", Scopes: []string{"read"},
			Endpoint: oauth2.Endpoint{AuthURL: l.url + "/oauth/authorize", TokenURL: l.url + "/oauth/token", AuthStyle: oauth2.AuthStyleInParams},
		}
		verifier := oauth2.GenerateVerifier()
		token, err := c.Exchange(t.Context(), l.codeOf(c, verifier), oauth2.VerifierOption(verifier))
		if got := agent(token, err); got != "robot" {
			t.Errorf("of a code: %v", got)
		}
		token.Expiry = time.Now().Add(-time.Second)
		if got := agent(c.TokenSource(t.Context(), token).Token()); got != "robot" {
			t.Errorf("of a refresh token: %v", got)
		}
		l.do("PATCH", "/admin/clients/robot", `{"agent":false}`, http.StatusBadRequest)
		if client := l.do("GET", "/admin/clients/robot", "", 200); client["agent"] != true || client["agent_description"] != "Files things" {
			t.Errorf("%v", client)
		}
		// A metadata document can declare its client an agent.
		site := newDocumentSite(t, `"client_name":"Notes","redirect_uris":["https://app.example/cb"],"agent":true,"agent_description":"Notes things"`)
		c.ClientID = site.URL + "/c.json"
		if got := agent(c.Exchange(t.Context(), l.codeOf(c, verifier), oauth2.VerifierOption(verifier))); got != c.ClientID {
			t.Errorf("of a document: %v", got)
		}
		if got := listed(); !strings.Contains(got, "client_id:"+c.ClientID) {
			t.Errorf("%s", got)
		}
		l.do("PATCH", "/admin/clients/robot/suspend", "", 200)
		if got := listed(); strings.Contains(got, "robot") {
			t.Errorf("suspended: %s", got)
		}
	})
}
