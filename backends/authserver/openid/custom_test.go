package openid_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/claims"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/openid"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
)

// told returns the claims of an ID token, without verifying it.
func told(t *testing.T, text string) (all map[string]any) {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(strings.Split(text, ".")[1])
	if err == nil {
		err = json.Unmarshal(raw, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// asks returns the user info for an access token.
func (l *layer) asks(token string) (all map[string]any) {
	l.t.Helper()
	r := httptest.NewRequest(http.MethodGet, openid.UserInfoPath, nil)
	r.Header.Set("Authorization", "Bearer "+token)
	w := httptest.NewRecorder()
	if err := l.Routes()[0].Serve(w, r); err != nil {
		l.t.Fatal(err)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &all); err != nil {
		l.t.Fatalf("%s: %v", w.Body, err)
	}
	return all
}

// TestClaimRules checks that rules add claims about a user to ID tokens and to the user info.
func TestClaimRules(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		l := newLayer(t, k)
		roles, attributes := []string{"admin", "app:user"}, map[string][]string{"department": {"sales"}}
		if _, _, err := l.Users.Regroup(t.Context(), l.ann.ID, nil, &roles, &attributes, ""); err != nil {
			t.Fatal(err)
		}
		set := func(rules ...claims.Rule) {
			t.Helper()
			var err error
			if l.app, err = l.Clients.Edit(t.Context(), l.app.ID, func(c *clients.Client) error {
				c.Metadata.Claims = rules
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		check := func(name string, answer tokens.Answer, inToken, inUserInfo string) {
			t.Helper()
			show := func(all map[string]any) string {
				return fmt.Sprint(all["roles"], " ", all["groups"], " ", all["department"], " ", all["email"])
			}
			if got := show(told(t, answer.IDToken)); got != inToken {
				t.Errorf("%s: the ID token has %s, want %s", name, got, inToken)
			}
			if got := show(l.asks(answer.AccessToken)); got != inUserInfo {
				t.Errorf("%s: userinfo has %s, want %s", name, got, inUserInfo)
			}
		}
		check("without rules", l.tokens("openid", "groups"), "<nil> [staff admins] <nil> <nil>",
			"<nil> [staff admins] <nil> <nil>")
		set(
			claims.Rule{Claim: "roles", From: claims.Roles, Prefix: "app:", Strip: true},
			claims.Rule{Claim: "department", From: "attributes.department", Scope: "profile", In: []string{claims.UserInfo}},
		)
		check("of a scope that is not there", l.tokens("openid", "email"), "[user] <nil> <nil> ann@example.com",
			"[user] <nil> <nil> ann@example.com")
		check("with it", l.tokens("openid", "profile"), "[user] <nil> <nil> <nil>", "[user] <nil> sales <nil>")
		set(claims.Rule{Claim: "groups", From: claims.Groups, Prefix: "st"})
		check("in place of the scope's", l.tokens("openid", "groups"), "<nil> [staff] <nil> <nil>",
			"<nil> [staff] <nil> <nil>")
		set(claims.Rule{Claim: "groups", From: claims.Groups, Prefix: "none"})
		check("which leaves nothing", l.tokens("openid", "groups"), "<nil> [] <nil> <nil>", "<nil> [] <nil> <nil>")

		// Discovery lists only the claims that the server makes itself.
		set(claims.Rule{Claim: "roles", From: claims.Roles})
		answer := l.tokens("openid")
		if all := told(t, answer.IDToken); all["sub"] != l.ann.ID || len(all["roles"].([]any)) != 2 {
			t.Errorf("%v", all)
		}
		if supported := l.Metadata()["claims_supported"].([]string); strings.Contains(strings.Join(supported, " "), "roles") {
			t.Errorf("discovery contains %v", supported)
		}
	})
}
