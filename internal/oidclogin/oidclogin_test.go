package oidclogin

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin/oidclogintest"
)

var browser = Browser{Secret: "a-secret-of-the-browser", Redirect: "https://forum.example.com/login/oidc"}

type fixture struct {
	*Provider
	at  *oidclogintest.Provider
	now time.Time
	t   *testing.T
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{at: oidclogintest.New(t), now: time.Now(), t: t}
	memory := counters.NewMemory(nil)
	var err error
	f.Provider, err = New(Options{
		Issuer: f.at.URL, ClientID: oidclogintest.ClientID, Secret: oidclogintest.Secret, Groups: map[string][]string{"staff": {"editors", "readers"}, "root": {"admins"}},
		Key: func() []byte { return []byte(strings.Repeat("k", 32)) }, Counters: func() counters.Store { return memory }, Now: func() time.Time { return f.now },
	})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) begin(ask Ask) url.Values {
	f.t.Helper()
	location, err := f.Begin(f.t.Context(), browser, ask)
	if err != nil {
		f.t.Fatal(err)
	}
	return f.at.Visit(location)
}

func (f *fixture) refuses(from Browser, query url.Values, status int) {
	f.t.Helper()
	person, err := f.Finish(f.t.Context(), from, query)
	if e, ok := apierror.From(err); !ok || e.Status != status {
		f.t.Errorf("%v: %+v, error %v, want status %d", query, person, err, status)
	}
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.at.Claims = map[string]any{"email": "ann@example.com", "email_verified": true, "name": "Ann B.", "preferred_username": "ann", "groups": []any{"staff", "others", 7}}
	if f.at.Asked != 0 {
		t.Error("the provider was asked before anybody signed in")
	}
	back := f.begin(Ask{Next: "/threads/1?page=2"})
	person, err := f.Finish(t.Context(), browser, back)
	if err != nil {
		t.Fatal(err)
	}
	if person.Issuer != f.at.URL || person.Subject != "s-1" || person.Email != "ann@example.com" || !person.Confirmed || person.Next != "/threads/1?page=2" ||
		!slices.Equal(person.Names, []string{"ann", "Ann B."}) || !slices.Equal(person.Groups, []string{"editors", "readers"}) || !person.AuthTime.IsZero() {
		t.Errorf("%+v", person)
	}
	f.refuses(browser, back, http.StatusForbidden) // once
	if !slices.Equal(f.Managed(), []string{"admins", "editors", "readers"}) {
		t.Errorf("managed: %v", f.Managed())
	}
	if f.begin(Ask{}); f.at.Asked != 1 {
		t.Errorf("asked %d times what the provider is", f.at.Asked)
	}
}

// TestOfOneBrowser: what another browser, address, client or time has begun is not finished.
func TestOfOneBrowser(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	back := f.begin(Ask{})
	f.refuses(Browser{Secret: "another", Redirect: browser.Redirect}, back, http.StatusForbidden)
	f.refuses(Browser{Redirect: browser.Redirect}, back, http.StatusForbidden)
	f.refuses(Browser{Secret: browser.Secret, Redirect: "https://other.example.com/"}, back, http.StatusForbidden)
	for name, values := range map[string][]string{
		"state": {"", back.Get("state") + "A", strings.Repeat("A", 9999)}, "code": {"", "another", strings.Repeat("A", codeMost+1)}, "iss": {"", "https://evil.example.com"}, "error": {"access_denied"},
	} {
		for _, value := range values {
			changed := url.Values{"state": back["state"], "code": back["code"], "iss": back["iss"]}
			changed.Set(name, value)
			if name == "code" && value == "another" { // this one uses the state up
				changed["state"] = f.begin(Ask{})["state"]
			}
			f.refuses(browser, changed, http.StatusForbidden)
		}
		twice := url.Values{"state": back["state"], "code": back["code"], "iss": back["iss"]}
		if twice.Add(name, "more"); name != "error" {
			f.refuses(browser, twice, http.StatusForbidden)
		}
	}
	f.now = f.now.Add(lasts)
	f.refuses(browser, back, http.StatusForbidden)
	f.now = f.now.Add(-lasts)
	if _, err := f.Finish(t.Context(), browser, back); err != nil {
		t.Errorf("after all that was refused: %v", err)
	}
}

// TestToken: an ID token that is not of this sign-in is refused.
func TestToken(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, claims := range map[string]map[string]any{
		"nonce": {"nonce": "another"}, "no nonce": {"nonce": nil}, "audience": {"aud": "other"}, "issuer": {"iss": "https://other.example.com"}, "expired": {"exp": f.now.Add(-time.Hour).Unix()},
		"party": {"azp": "other"}, "audiences": {"aud": []string{oidclogintest.ClientID, "other"}}, "subject": {"sub": ""}, "long subject": {"sub": strings.Repeat("s", 256)},
	} {
		f.at.Claims = claims
		back := f.begin(Ask{})
		person, err := f.Finish(t.Context(), browser, back)
		if e, ok := apierror.From(err); !ok || e.Status != http.StatusForbidden {
			t.Errorf("%s: %+v, error %v", name, person, err)
		}
	}
}

// TestAgain: a provider that was to ask the person anew must tell that it did.
func TestAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.refuses(browser, f.begin(Ask{Again: true}), http.StatusForbidden)
	f.at.Claims = map[string]any{"auth_time": f.now.Add(-time.Hour).Unix()}
	f.refuses(browser, f.begin(Ask{Again: true}), http.StatusForbidden)
	f.at.Claims = map[string]any{"auth_time": f.now.Unix()}
	location, err := f.Begin(t.Context(), browser, Ask{Again: true})
	if err != nil || !strings.Contains(location, "max_age=0") {
		t.Fatalf("%s, error %v", location, err)
	}
	person, err := f.Finish(t.Context(), browser, f.at.Visit(location))
	if err != nil || !person.Again || person.AuthTime.Unix() != f.now.Unix() {
		t.Errorf("%+v, error %v", person, err)
	}
}

func TestUserInfo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.at.UserInfo = map[string]any{"sub": "s-1", "email": "ann@example.com", "email_verified": "true", "groups": "root", "name": "Ann", "preferred_username": "ann@example.com"}
	person, err := f.Finish(t.Context(), browser, f.begin(Ask{}))
	if err != nil || person.Email != "ann@example.com" || !person.Confirmed || !slices.Equal(person.Groups, []string{"admins"}) || !slices.Equal(person.Names, []string{"Ann", "ann@example.com"}) {
		t.Errorf("%+v, error %v", person, err)
	}
	f.at.UserInfo["sub"] = "s-2"
	f.refuses(browser, f.begin(Ask{}), http.StatusForbidden)
	// What confirms one address does not confirm another.
	f.at.UserInfo["sub"], f.at.Claims = "s-1", map[string]any{"email": "bob@example.com"}
	if person, err := f.Finish(t.Context(), browser, f.begin(Ask{})); err != nil || person.Confirmed || person.Email != "bob@example.com" {
		t.Errorf("%+v, error %v", person, err)
	}
}

func TestDown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.at.Down = true
	if _, err := f.Begin(t.Context(), browser, Ask{}); !unavailable(err) {
		t.Errorf("error %v", err)
	}
	f.at.Down = false
	back := f.begin(Ask{})
	f.at.Down = true
	f.refuses(browser, back, http.StatusServiceUnavailable)
	f.now = f.now.Add(2 * knownFor)
	if _, err := f.Begin(t.Context(), browser, Ask{}); err != nil {
		t.Errorf("what was known does not serve on: %v", err)
	}
}

func unavailable(err error) bool {
	e, ok := apierror.From(err)
	return ok && e.Status == http.StatusServiceUnavailable
}

// TestGuard: an address that the provider names beside its own is not in the operator's network.
func TestGuard(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, allow := range [][]netip.Prefix{nil, {netip.MustParsePrefix("127.0.0.0/8")}} {
		client := newClient("id.example.com", allow)
		answer, err := client.Get(f.at.URL + "/keys") //nolint:noctx // the client has a time limit
		if err == nil {
			_ = answer.Body.Close()
		}
		if (err == nil) != (allow != nil) {
			t.Errorf("%v: error %v", allow, err)
		}
	}
	if _, err := newClient("id.example.com", nil).Get("http://id.example.com/keys"); err == nil { //nolint:noctx,bodyclose // there is no answer
		t.Error("keys came without TLS")
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	good := Options{Issuer: "https://id.example.com/", ClientID: "x"}
	if _, err := New(good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(o *Options){
		"issuer": func(o *Options) { o.Issuer = "http://id.example.com" }, "query": func(o *Options) { o.Issuer += "?a=b" }, "user": func(o *Options) { o.Issuer = "https://a@id.example.com" },
		"client": func(o *Options) { o.ClientID = "" }, "scopes": func(o *Options) { o.Scopes = []string{"email"} },
	} {
		o := good
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// FuzzState: what was not signed here is nothing, however it looks.
func FuzzState(f *testing.F) {
	p := &Provider{o: Options{Key: func() []byte { return make([]byte, 32) }, Now: time.Now}}
	f.Add("", "/")
	f.Add("AAAA", strings.Repeat("n", nextMost+1))
	f.Fuzz(func(t *testing.T, text, next string) {
		made := p.sign(browser, Ask{Next: next})
		s, ok := p.open(browser, made)
		if want := next; !ok || s.Next != want && len(want) <= nextMost {
			t.Fatalf("%q: %+v %v", next, s, ok)
		}
		if _, ok := p.open(browser, text); ok && text != made {
			t.Fatalf("%q was taken", text)
		}
	})
}
