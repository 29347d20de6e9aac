package web_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/clients"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// onBoth runs a test on a site on each engine.
func onBoth(t *testing.T, test func(t *testing.T, s *site)) {
	t.Helper()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) { test(t, newSite(t, k, settings{})) })
}

// granted returns the grants of the codes that were issued, the oldest first.
func (s *site) granted() (list []tokens.Grant) {
	s.t.Helper()
	err := s.Read(s.t.Context(), func(c store.Conn) error {
		list = nil
		return c.All("SELECT client_id, user_id, granted FROM authserver_codes ORDER BY family", nil, func(r store.Row) error {
			var g tokens.Grant
			var text string
			if err := r.Scan(&g.Client, &g.User, &text); err != nil {
				return err
			}
			list = append(list, g)
			return json.Unmarshal([]byte(text), &list[len(list)-1])
		})
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

// TestFlow checks the way from a request to the code, and that the next request needs no page.
func TestFlow(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		b := s.browser()
		request := s.request("scope", "read write openid offline_access", "nonce", "n0", "dpop_jkt", challenge())
		request.Add("resource", files)
		start := s.Clock.Now()
		form := b.get(b.get("/oauth/authorize?"+request.Encode()).leads(t, "/login?"))
		form.is(t, http.StatusOK, "The App", "Sign in")
		s.Clock.Pass(time.Second)
		ask := b.get(b.signIn(form).leads(t, "/consent?session_id="))
		ask.is(t, http.StatusOK, "The App", "app.example", "Files", "Read your files", "Change your files", "Know who you are", annMail)
		if strings.Contains(ask.Text, "self-declared") {
			t.Error("an administrator's client is shown as self-declared")
		}
		if scopes := ask.Fields()["scopes"]; !slices.Equal(scopes, []string{"openid", "read", "write"}) {
			t.Errorf("asked for %q", scopes)
		}
		fields := with(ask.Fields(), "action", "allow")
		fields["scopes"] = []string{"read", "openid"}
		done := b.post("/consent", fields)
		if done.code(t); done.StatusCode != http.StatusSeeOther {
			t.Errorf("answered %d after a form", done.StatusCode)
		}
		list := s.granted()
		if len(list) != 1 {
			t.Fatalf("%d codes", len(list))
		}
		g := list[0]
		all, err := s.consents.Of(t.Context(), s.ann.ID)
		if err != nil || len(all) != 2 {
			t.Fatalf("granted %+v: %v", all, err)
		}
		if g.Client != s.app.ID || g.User != s.ann.ID || !slices.Equal(g.Scope, []string{"read", "openid"}) || len(g.Resources) != 1 || g.RedirectURI != callback || !g.RedirectGiven ||
			g.Challenge != challenge() || g.Nonce != "n0" || g.JKT != "" || !g.AuthTime.Equal(start.Add(time.Second)) || g.Session == 0 || !contains(g.Consents, all[0].ID, all[1].ID) {
			t.Errorf("the grant of the code is %+v", g)
		}

		s.Clock.Pass(time.Minute)
		request.Set("scope", "read openid")
		if second := b.get("/oauth/authorize?" + request.Encode()); second.StatusCode != http.StatusFound || second.code(t) == done.code(t) {
			t.Errorf("granted already: %d", second.StatusCode)
		}
		request.Set("scope", "read")
		if p := b.post("/oauth/authorize", request); p.StatusCode != http.StatusSeeOther || p.code(t) == "" {
			t.Errorf("by POST: %d", p.StatusCode)
		}
		request.Set("scope", "read write") // more than was granted
		ask = b.get(b.get("/oauth/authorize?"+request.Encode()).leads(t, "/consent?"))
		b.post("/consent", with(ask.Fields(), "action", "allow")).code(t)
		request.Set("scope", "write openid") // what was granted before stays
		b.get("/oauth/authorize?" + request.Encode()).code(t)
		for action, n := range map[string]int{"consent.granted": 2, "user.login": 1, "consent.denied": 0} {
			if s.Events.Count(action) != n {
				t.Errorf("%s was recorded %d times", action, s.Events.Count(action))
			}
		}
	})
}

// TestCeilingLowered checks that an open page does not grant scopes that the client may no longer request.
func TestCeilingLowered(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{})
	b := s.signedIn()
	loc := b.get("/oauth/authorize?"+s.request("scope", "read write").Encode()).leads(t, "/consent?")
	ask := b.get(loc).is(t, http.StatusOK)
	if _, err := s.clients.Edit(t.Context(), s.app.ID, func(c *clients.Client) error { c.Scope = []string{"read"}; return nil }); err != nil {
		t.Fatal(err)
	}
	b.get(loc).refused(t, "invalid_scope")
	b.post("/consent", with(ask.Fields(), "action", "allow")).refused(t, "invalid_scope")
	if len(s.granted()) != 0 {
		t.Error("there is a code")
	}
}

func TestDeny(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{})
	b := s.signedIn()
	ask := b.get(b.get("/oauth/authorize?"+s.request().Encode()).leads(t, "/consent?"))
	b.post("/consent", with(ask.Fields(), "action", "deny")).refused(t, "access_denied")
	if s.Events.Count("consent.denied") != 1 || len(s.granted()) != 0 {
		t.Error("something was granted")
	}
	// The user goes back and answers again.
	b.post("/consent", with(ask.Fields(), "action", "allow")).code(t)
	b.post("/consent", with(ask.Fields(), "action", "allow")).code(t)
	if n := len(s.granted()); n != 2 {
		t.Errorf("%d codes", n)
	}
	fields := ask.Fields()
	fields.Del("scopes")
	b.post("/consent", with(fields, "action", "allow")).is(t, http.StatusBadRequest, "No permission was chosen")
	fields.Set("scopes", "write")
	b.post("/consent", with(fields, "action", "allow")).is(t, http.StatusBadRequest)
	b.post("/consent", with(fields, "action", "")).is(t, http.StatusBadRequest)
}

// TestEmptyParameters checks that an empty parameter counts as omitted (RFC 6749 section 3.1), since some libraries
// send all parameters that they know.
func TestEmptyParameters(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{})
	b := s.signedIn()
	for _, name := range []string{"request", "request_uri", "resource", "nonce", "prompt", "max_age", "login_hint", "id_token_hint", "response_mode", "dpop_jkt", "claims"} {
		v := s.request()
		v.Set(name, "")
		for method, p := range map[string]page{"GET": b.get("/oauth/authorize?" + v.Encode()), "POST": b.post("/oauth/authorize", v)} {
			if loc := p.Header.Get("Location"); !strings.HasPrefix(loc, "/consent?") {
				t.Errorf("%s with an empty %s leads to %q", method, name, loc)
			}
		}
	}
	for _, name := range []string{"response_type", "code_challenge", "code_challenge_method"} {
		v := s.request()
		v.Set(name, "")
		b.get("/oauth/authorize?"+v.Encode()).refused(t, "invalid_request")
	}
}

// TestInvalidClientIsNotRedirected checks that a request with an invalid client or redirect URI does not redirect.
func TestInvalidClientIsNotRedirected(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{})
	two := s.client(&clients.Client{Name: "Two", Redirects: []string{"https://a.example/", "https://b.example/"}})
	suspended := s.client(&clients.Client{Name: "Gone", Redirects: []string{callback}})
	if _, err := s.clients.SetStatus(t.Context(), suspended.ID, clients.Suspended); err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]url.Values{
		"no client": s.request("client_id", ""), "unknown": s.request("client_id", "x"), "suspended": s.request("client_id", suspended.ID),
		"other address": s.request("redirect_uri", "https://evil.example/"), "longer": s.request("redirect_uri", callback+"&x=1"), "fragment": s.request("redirect_uri", callback+"#x"),
		"path": s.request("redirect_uri", "https://app.example/cb/../evil?keep=1"), "case": s.request("redirect_uri", "https://APP.example/cb?keep=1"),
		"user": s.request("redirect_uri", "https://app.example@evil.example/cb?keep=1"), "script": s.request("redirect_uri", "javascript:alert(1)"),
		"which": s.request("client_id", two.ID, "redirect_uri", ""), "none": {},
		"client twice": {"client_id": {s.app.ID, s.app.ID}, "redirect_uri": {callback}}, "address twice": {"client_id": {s.app.ID}, "redirect_uri": {callback, "https://evil.example/"}},
		"also when asked for nothing": s.request("redirect_uri", "https://evil.example/", "prompt", "none", "response_type", "token"),
	} {
		for _, b := range []*browser{s.browser(), s.signedIn()} {
			p := b.get("/oauth/authorize?" + v.Encode())
			if p.StatusCode != http.StatusBadRequest || p.Header.Get("Location") != "" || !strings.HasPrefix(p.Header.Get("Content-Type"), "text/html") || strings.Contains(p.Text, "evil.example") {
				t.Errorf("%s: %d, to %q: %s", name, p.StatusCode, p.Header.Get("Location"), p.Text)
			}
		}
	}
}

// TestURLParametersIgnored checks that parameters in the URL of a form request, and second values of a field, are
// ignored.
func TestURLParametersIgnored(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{})
	const evil = "redirect_uri=https%3A%2F%2Fevil.example%2F&scope=write&client_id=x&code_challenge=&action=allow&scopes=write&email=x&password=x&redirect=%2Fevil"
	b := s.browser()
	form := b.get(b.post("/oauth/authorize?"+evil, s.request()).leads(t, "/login?"))
	ask := b.get(b.post("/login?"+evil, with(form.Fields(), "email", annMail, "password", annPass)).leads(t, "/consent?session_id="))
	if scopes := ask.Fields()["scopes"]; slices.Contains(scopes, "write") || strings.Contains(ask.Text, "evil") {
		t.Errorf("asked for %q", scopes)
	}
	b.post("/consent?"+evil, with(ask.Fields(), "action", "")).is(t, http.StatusBadRequest)
	b.post("/consent?"+evil, with(ask.Fields(), "action", "deny")).refused(t, "access_denied")
	b.post("/consent?"+evil, with(ask.Fields(), "action", "allow")).code(t)
	if list := s.granted(); len(list) != 1 || list[0].RedirectURI != callback || slices.Contains(list[0].Scope, "write") || list[0].Client != s.app.ID {
		t.Errorf("%+v", list)
	}
	for _, name := range []string{"redirect_uri", "client_id", "scope", "state", "code_challenge", "code_challenge_method", "response_type", "prompt"} {
		twice := s.request()
		twice.Set(name, s.request("prompt", "consent").Get(name))
		twice.Add(name, twice.Get(name))
		for method, p := range map[string]page{"GET": b.get("/oauth/authorize?" + twice.Encode()), "POST": b.post("/oauth/authorize", twice)} {
			if strings.HasPrefix(name, "redirect") || name == "client_id" {
				p.is(t, http.StatusBadRequest)
			} else if v := p.answered(t); v.Get("error") != "invalid_request" || v.Has("code") {
				t.Errorf("%s with %s twice: %v", method, name, v)
			}
		}
	}
}

// TestRefused checks the errors that are sent to the client.
func TestRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{})
	limited := s.client(&clients.Client{Name: "Limited", Redirects: []string{callback}, Scope: []string{"read"}})
	codeless := s.client(&clients.Client{Name: "Codeless", Redirects: []string{callback}, Grants: []string{clients.GrantClient}})
	b := s.browser()
	for code, requests := range map[string][]url.Values{
		"invalid_request": {
			s.request("response_type", ""), s.request("code_challenge", ""), s.request("code_challenge", challenge()[1:]), s.request("code_challenge", challenge()[1:]+"!"),
			s.request("code_challenge_method", ""), s.request("code_challenge_method", "plain"), s.request("response_mode", "fragment"), s.request("prompt", "none login"),
			s.request("prompt", "other"), s.request("max_age", "-1"), s.request("max_age", "x"), s.request("dpop_jkt", "x"), s.request("state", strings.Repeat("x", 2049)),
			s.request("nonce", strings.Repeat("x", 2049)),
		},
		"unsupported_response_type": {s.request("response_type", "token"), s.request("response_type", "code id_token")},
		"invalid_scope":             {s.request("scope", "unknown"), s.request("scope", "read \x01"), s.request("scope", "send", "resource", files), s.request("scope", "write", "client_id", limited.ID)},
		"invalid_target":            {s.request("resource", "https://other.example"), s.request("resource", files+"#x")},
		"unauthorized_client":       {s.request("client_id", codeless.ID)},
		"request_not_supported":     {s.request("request", "e30.e30.")},
		"request_uri_not_supported": {s.request("request_uri", "https://app.example/request")},
		"login_required":            {s.request("prompt", "none")},
	} {
		for _, v := range requests {
			p := b.get("/oauth/authorize?" + v.Encode())
			p.refused(t, code)
			if state := p.answered(t).Get("state"); state != "st&te" && len(v.Get("state")) < 2049 {
				t.Errorf("%v: the state is %q", v, state)
			}
		}
	}
	for _, name := range []string{"scope", "state", "nonce", "code_challenge", "response_type", "prompt", "anything"} {
		v := s.request("nonce", "n", "prompt", "login", "anything", "x")
		v.Add(name, v.Get(name))
		b.get("/oauth/authorize?"+v.Encode()).refused(t, "invalid_request")
	}
	if len(s.granted()) != 0 {
		t.Error("there is a code")
	}
}

// TestPrompt checks prompt and max_age (OpenID Connect Core section 3.1.2.1).
func TestPrompt(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{})
	b := s.signedIn()
	s.Clock.Pass(time.Minute)
	ask := func(pairs ...string) page { return b.get("/oauth/authorize?" + s.request(pairs...).Encode()) }
	ask("prompt", "none").refused(t, "consent_required")
	b.allows(s.request()).code(t)
	ask("prompt", "none").code(t)
	ask("prompt", "none", "max_age", "60").code(t)
	ask("prompt", "none", "max_age", "59").refused(t, "login_required")
	ask("max_age", "60").code(t)
	ask("prompt", "consent").leads(t, "/consent?")

	for _, pairs := range [][]string{{"prompt", "login"}, {"max_age", "59"}, {"max_age", "0"}} {
		first := ask(pairs...).leads(t, "/login?")
		form := b.get(first).is(t, http.StatusOK, "Sign in") // although the user is signed in
		s.Clock.Pass(time.Second)
		// The user cannot go on without signing in again.
		redirect := form.Fields().Get("redirect")
		b.get(redirect).leads(t, "/login?")
		b.get(b.signIn(form).leads(t, "/consent?")).code(t)
		s.Clock.Pass(time.Minute)
	}
	// Both values can be combined.
	form := b.get(ask("prompt", "login consent").leads(t, "/login?"))
	s.Clock.Pass(time.Second)
	b.get(b.signIn(form).leads(t, "/consent?")).is(t, http.StatusOK, "Allow")
	// The login form contains the hint.
	b.get(ask("prompt", "login", "login_hint", "hint@example.com").leads(t, "/login?")).is(t, http.StatusOK, `value="hint@example.com"`)
}

// TestOwnScopesTakenBack checks that a user who is asked again and approves none of the server's own scopes withdraws
// their consent to these scopes.
func TestOwnScopesTakenBack(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{})
	b := s.signedIn()
	request := s.request("scope", "read openid", "resource", files)
	b.allows(request).code(t)
	request.Set("prompt", "consent")
	form := b.get(b.get("/oauth/authorize?"+request.Encode()).leads(t, "/consent?")).Fields()
	form["scopes"] = []string{"read"}
	b.post("/consent", with(form, "action", "allow")).code(t)
	request.Set("prompt", "none")
	b.get("/oauth/authorize?"+request.Encode()).refused(t, "consent_required")
	request.Set("scope", "read")
	b.get("/oauth/authorize?" + request.Encode()).code(t)
}

// TestHint checks that a client that names a user by an ID token gets nothing about another user (OpenID Connect Core
// section 3.1.2.1).
func TestHint(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{})
	b := s.signedIn()
	b.allows(s.request()).code(t)
	hint := func(client, user string) string {
		t.Helper()
		text, err := s.openid.IDToken(t.Context(), tokens.Grant{Client: client, User: user, AuthTime: s.Clock.Now()}, "")
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	bob, err := s.users.Create(t.Context(), users.New{Email: "bob@example.com", Password: "another horse"}, "admin")
	if err != nil {
		t.Fatal(err)
	}
	annHint, bobHint := hint(s.app.ID, s.ann.ID), hint(s.app.ID, bob.ID)
	s.Clock.Pass(time.Hour) // the ID tokens have expired
	ask := func(pairs ...string) page { return b.get("/oauth/authorize?" + s.request(pairs...).Encode()) }
	ask("prompt", "none", "id_token_hint", annHint).code(t)
	ask("id_token_hint", annHint).code(t)
	ask("prompt", "none", "id_token_hint", "of.nobody.known").code(t)
	ask("prompt", "none", "id_token_hint", bobHint).refused(t, "login_required")
	ask("id_token_hint", hint("other", s.ann.ID)).refused(t, "invalid_request")
	ask("id_token_hint", strings.Repeat("x", 20_000)).refused(t, "invalid_request")

	// If the signed-in user is not the user of the hint, they have to sign in again. If the same user does so, the
	// client gets an error.
	form := b.get(ask("id_token_hint", bobHint).leads(t, "/login?"))
	b.get(form.Fields().Get("redirect")).leads(t, "/login?")
	s.Clock.Pass(time.Second)
	b.get(b.signIn(form).leads(t, "/consent?")).refused(t, "login_required")
	s.Clock.Pass(time.Second)
	form = b.get(ask("id_token_hint", bobHint).leads(t, "/login?"))
	s.Clock.Pass(time.Second)
	done := b.post("/login", with(form.Fields(), "email", "bob@example.com", "password", "another horse"))
	question := b.get(done.leads(t, "/consent?")).is(t, http.StatusOK, "Allow")
	b.post("/consent", with(question.Fields(), "action", "allow")).code(t)
}

// TestTransaction checks that a transaction is valid only in its browser, for ten minutes, and while its client is
// active.
func TestTransaction(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{})
	b := s.signedIn()
	loc := b.get("/oauth/authorize?"+s.request().Encode()).leads(t, "/consent?")
	other := s.signedIn()
	other.get(loc).is(t, http.StatusBadRequest)
	other.get("/oauth/authorize?"+s.request().Encode()).leads(t, "/consent?") // another browser with another form secret
	other.get(loc).is(t, http.StatusBadRequest)
	b.get(loc[:len(loc)-1]+"x").is(t, http.StatusBadRequest)
	b.get("/consent").is(t, http.StatusBadRequest)
	ask := b.get(loc).is(t, http.StatusOK)
	fields := with(ask.Fields(), "action", "allow")
	other.post("/consent", fields).is(t, http.StatusForbidden)
	s.Clock.Pass(10*time.Minute - time.Second)
	b.get(loc).is(t, http.StatusOK)
	if _, err := s.clients.SetStatus(t.Context(), s.app.ID, clients.Suspended); err != nil {
		t.Fatal(err)
	}
	b.post("/consent", fields).is(t, http.StatusBadRequest)
	if _, err := s.clients.SetStatus(t.Context(), s.app.ID, clients.Active); err != nil {
		t.Fatal(err)
	}
	s.Clock.Pass(time.Second)
	b.get(loc).is(t, http.StatusBadRequest, "ten minutes")
	b.post("/consent", fields).is(t, http.StatusBadRequest)
	if len(s.granted()) != 0 {
		t.Error("there is a code")
	}
}

// TestTarget checks that the page shows where the response really goes.
func TestTarget(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{})
	b := s.signedIn()
	for redirect, want := range map[string][3]string{ // what the page says, the source of its forms, what it does not say
		"http://127.0.0.1:8000/cb":   {"127.0.0.1:8000", "http://127.0.0.1:8000;", ""},
		"http://[::1]:8000/cb":       {"[::1]:8000", "http:;", ""},
		"http://localhost/cb":        {"localhost", "http://localhost;", ""},
		"com.example.app:/cb":        {"com.example.app:", "com.example.app:;", "program on the device"},
		"https://other.example:8/cb": {"other.example:8", "https://other.example:8 https:;", "program on the device"},
	} {
		c := s.client(&clients.Client{Name: "<b>Bold</b>", Redirects: []string{redirect}, Source: clients.DCR})
		p := b.get(b.get("/oauth/authorize?"+s.request("client_id", c.ID, "redirect_uri", redirect).Encode()).leads(t, "/consent?"))
		p.is(t, http.StatusOK, `<p class="host">`+want[0]+`</p>`, "&lt;b&gt;Bold", "self-declared")
		if policy := p.Header.Get("Content-Security-Policy"); !strings.Contains(policy+";", "form-action 'self' "+want[1]) {
			t.Errorf("%s: %s", redirect, policy)
		}
		if local := strings.Contains(p.Text, "program on the device"); local == (want[2] != "") {
			t.Errorf("%s: warned of: %v", redirect, local)
		}
		if loc := b.post("/consent", with(p.Fields(), "action", "deny")).leads(t, redirect+"?error=access_denied&"); !strings.Contains(loc, "iss=https%3A%2F%2Fas.example") {
			t.Errorf("leads to %s", loc)
		}
	}
}

// TestDocumentChanged checks that users are asked again if the redirect URIs of a metadata document have changed.
func TestDocumentChanged(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{})
	for _, source := range []string{clients.Document, clients.DCR} {
		c := s.client(&clients.Client{ID: "https://app.example/" + source, Name: "Document", Redirects: []string{callback}, Source: source, FreshUntil: s.Clock.Now().Add(time.Hour)})
		b := s.signedIn()
		p := b.get(b.get("/oauth/authorize?"+s.request("client_id", c.ID).Encode()).leads(t, "/consent?"))
		if document := source == clients.Document; strings.Contains(p.Text, "The application is identified by its address at") != document {
			t.Errorf("%s: %s", source, p.Text)
		}
		b.post("/consent", with(p.Fields(), "action", "allow")).code(t)
		b.get("/oauth/authorize?" + s.request("client_id", c.ID).Encode()).code(t)
		_, err := s.clients.Edit(t.Context(), c.ID, func(c *clients.Client) error {
			c.Redirects = []string{callback, "https://more.example/"}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		second := b.get("/oauth/authorize?" + s.request("client_id", c.ID).Encode())
		if source == clients.Document {
			second.leads(t, "/consent?")
		} else {
			second.code(t)
		}
	}
}

// TestFirstParty checks that users are not asked for consent to an application of the operator, unless the application
// requests that. The consent is stored and can be revoked. An application cannot declare itself an application of the
// operator.
func TestFirstParty(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		b := s.signedIn()
		ask := func(c *clients.Client, pairs ...string) page {
			return b.get("/oauth/authorize?" + s.request(append([]string{"client_id", c.ID}, pairs...)...).Encode())
		}
		own := s.client(&clients.Client{Name: "Console", Redirects: []string{callback}, Source: clients.Admin, Metadata: clients.Metadata{FirstParty: true}})
		ask(own).code(t)
		grants, err := s.consents.Of(t.Context(), s.ann.ID)
		if err != nil || len(grants) != 1 || grants[0].Client != own.ID {
			t.Fatalf("granted %+v: %v", grants, err)
		}
		if list := s.granted(); len(list) != 1 || !slices.Equal(list[0].Consents, []string{grants[0].ID}) {
			t.Errorf("the code is of %+v", list)
		}
		ask(own, "prompt", "none").code(t)
		p := b.get(ask(own, "prompt", "consent").leads(t, "/consent?")).is(t, http.StatusOK, "Console")
		if strings.Contains(p.Text, "self-declared") {
			t.Error("the client is shown as self-declared")
		}
		for _, source := range []string{clients.DCR, clients.Document} {
			c := s.client(&clients.Client{ID: "https://app.example/own-" + source, Name: "Other", Redirects: []string{callback}, Source: source, Metadata: clients.Metadata{FirstParty: true}, FreshUntil: s.Clock.Now().Add(time.Hour)})
			b.get(ask(c).leads(t, "/consent?")).is(t, http.StatusOK, "self-declared")
		}
	})
}
