package oidclogin

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin/oidclogintest"
)

func TestClaims(t *testing.T) {
	t.Parallel()
	claims := map[string]any{
		"preferred_username": "ann", "upn": "ann@corp.example", "email": "ann@example.com",
		"email_verified": true, "groups": []any{"a"},
		"realm":           map[string]any{"roles": []any{"admins", 7}, "deep": map[string]any{"name": "Ann Stone"}},
		"realm.roles.all": []any{"whole"}, "number": 7,
	}
	for name, test := range map[string]struct {
		claims                Claims
		groups                string
		trust                 bool
		username, full, email string
		confirmed             bool
		claimed               []string
	}{
		"default": {email: "ann@example.com", confirmed: true, groups: "groups", claimed: []string{"a"}},
		"named": {
			claims: Claims{"preferred_username", "realm.deep.name", "upn"}, username: "ann", full: "Ann Stone",
			email: "ann@corp.example", groups: "realm.roles", claimed: []string{"admins"},
		},
		"trusted": {
			claims: Claims{Email: "upn"}, trust: true, email: "ann@corp.example", confirmed: true,
			groups: "groups", claimed: []string{"a"},
		},
		"whole name":  {email: "ann@example.com", confirmed: true, groups: "realm.roles.all", claimed: []string{"whole"}},
		"other kinds": {claims: Claims{"number", "realm", "upn.x"}, groups: "number"},
		"not there":   {claims: Claims{"a.b.c", "", "x"}, groups: "realm.roles.x"},
		"too deep": {
			claims: Claims{Username: strings.Repeat("a.", 50) + "b"}, email: "ann@example.com", confirmed: true,
			groups: "groups", claimed: []string{"a"},
		},
	} {
		p := &Provider{o: Options{Claims: test.claims, GroupsClaim: test.groups, TrustEmail: test.trust}}
		got := p.person(claims)
		if got.Username != test.username || got.Name != test.full || got.Email != test.email ||
			got.Confirmed != test.confirmed || !slices.Equal(got.Claimed, test.claimed) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestClaimsFromUserInfo checks that configured claims that the ID token lacks are requested from the UserInfo
// endpoint.
func TestClaimsFromUserInfo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.at.Claims = map[string]any{"email": "ann@example.com", "email_verified": true, "groups": []string{"a"}}
	f.at.UserInfo = map[string]any{"sub": "s-1", "login": "ann"}
	f.o.Claims = Claims{Username: "login"}
	person, err := f.Finish(t.Context(), browser, f.begin(Ask{}))
	if err != nil || person.Username != "ann" || person.Email != "ann@example.com" {
		t.Errorf("%+v, error %v", person, err)
	}
}

func TestLoginHint(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, hint := range []string{"ann+x@example.com", ""} {
		location, err := f.Begin(t.Context(), browser, Ask{Hint: hint})
		if err != nil {
			t.Fatal(err)
		}
		target, err := url.Parse(location)
		if err != nil || target.Query().Get("login_hint") != hint || target.Query().Has("login_hint") != (hint != "") {
			t.Errorf("%q: %s, error %v", hint, location, err)
		}
	}
}

// TestDenied checks that the error code of the provider is only in the log, shortened, and not in the message.
func TestDenied(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	query := f.begin(Ask{})
	query.Set("error", "access_denied"+strings.Repeat("x", 200))
	_, err := f.Finish(t.Context(), browser, query)
	e, ok := apierror.From(err)
	if !ok || e.Cause == nil || !strings.Contains(e.Cause.Error(), "access_denied") || len(e.Cause.Error()) > 150 ||
		strings.Contains(e.Message, "access_denied") {
		t.Errorf("error %v", err)
	}
	if errDenied.Cause != nil {
		t.Error("the shared error has been given a cause")
	}
}

// TestCheck checks that Check fetches the provider's documents each time, even if they are cached.
func TestCheck(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for i := range 2 {
		facts, err := f.Check(t.Context())
		if err != nil || facts.Authorization != f.at.URL+"/authorize" || facts.Token != f.at.URL+"/token" ||
			facts.Keys != 1 || !facts.TellsIssuer {
			t.Errorf("%+v, error %v", facts, err)
		}
		if n := f.at.Asked(oidclogintest.Discovery); n != i+1 {
			t.Errorf("the provider was asked %d times", n)
		}
	}
	f.begin(Ask{})
	if n := f.at.Asked(oidclogintest.Discovery); n != 2 {
		t.Errorf("the sign-in requested the discovery document again: %d requests", n)
	}
	for path, want := range map[string]string{oidclogintest.Discovery: "502", "/keys": "its keys: "} {
		f.at.Lost = path
		if _, err := f.Check(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is lost: error %v", path, err)
		}
	}
	f.at.Lost = ""
	hold := make(chan struct{})
	f.at.Hold(hold)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Check(ctx); err == nil {
		t.Error("Check does not end with its context")
	}
	close(hold)
}

// FuzzClaim checks that every JSON value of a provider is either read as a claim or ignored.
func FuzzClaim(f *testing.F) {
	f.Add(`{"a":{"b":["c"]}}`, "a.b")
	f.Add(`{"a.b":"c","a":7}`, "a.b")
	f.Add(`{"":{"":{}}}`, "..")
	f.Fuzz(func(t *testing.T, text, name string) {
		var claims map[string]any
		if json.Unmarshal([]byte(text), &claims) != nil {
			return
		}
		p := &Provider{o: Options{Claims: Claims{name, name, name}, GroupsClaim: name}}
		person := p.person(claims)
		whole, found := claims[name]
		if text, ok := whole.(string); found && ok && (person.Username != text || person.Name != text ||
			person.Email != text) {
			t.Fatalf("%q of %v is %+v", name, claims, person)
		}
	})
}
