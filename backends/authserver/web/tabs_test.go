package web_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/brokers"
	"github.com/tollgate-gateway/tollgate/backends/authserver/connections"
	"github.com/tollgate-gateway/tollgate/backends/authserver/device"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/backends/authserver/web"
)

const (
	bobMail = "bob@example.com"
	bobPass = "another horse"
)

// withBob adds another user.
func (s *site) withBob() *users.User {
	s.t.Helper()
	bob, err := s.users.Create(s.t.Context(), users.New{Email: bobMail, Name: "Bob", Password: bobPass}, "admin")
	if err != nil {
		s.t.Fatal(err)
	}
	return bob
}

// asks opens the authorization endpoint as a new tab does, and returns the address of the redirect.
func (b *browser) asks(prefix string, pairs ...string) string {
	b.t.Helper()
	return b.get("/oauth/authorize?"+b.request(pairs...).Encode()).leads(b.t, prefix)
}

// signsInAgain signs a user in in another tab, whoever was signed in before.
func (b *browser) signsInAgain(email, pass string) {
	b.t.Helper()
	b.post("/login", with(b.get("/login?again=1").Fields(), "email", email, "password", pass)).leads(b.t, "/")
}

// who returns the mail address of the signed-in user, or "".
func (b *browser) who() string {
	b.t.Helper()
	in := b.login.Resume(b.t.Context(), b.cookie(sessionName))
	if in == nil {
		return ""
	}
	return in.User.Email
}

// codesOf counts the codes of a user.
func codesOf(all []tokens.Grant, user string) (n int) {
	for i := range all {
		if all[i].User == user {
			n++
		}
	}
	return n
}

// TestTabsSignIn checks that two tabs that ask for a sign-in both continue after it, also after going back in the
// history.
func TestTabsSignIn(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		s.withBob()
		b := s.browser()
		first, second, third := b.get(b.asks("/login?", "state", "one")), b.get(b.asks("/login?", "state", "two")), b.get(b.asks("/login?", "state", "three"))
		ask := b.get(b.signIn(first).leads(t, "/consent?")).is(t, http.StatusOK)
		if got := b.post("/consent", with(ask.Fields(), "action", "allow")).answered(t); got.Get("state") != "one" || got.Get("code") == "" {
			t.Errorf("the first tab leads to %v", got)
		}
		session := b.cookie(sessionName)
		// The password is not needed again in the second tab.
		for form, state := range map[*page]string{&second: "two", &first: "one"} {
			loc := b.post("/login", with(form.Fields(), "email", " Ann@example.com", "password", "")).leads(t, "/consent?")
			if got := b.get(loc).answered(t); got.Get("state") != state || got.Get("code") == "" {
				t.Errorf("tab %s leads to %v", state, got)
			}
		}
		// If another user's name is entered, the page asks how to go on, and keeps the session.
		question := b.post("/login", with(third.Fields(), "email", bobMail, "password", bobPass)).
			is(t, http.StatusConflict, "Another user has signed in here", annMail, `value="`+bobMail+`"`, `href="/consent?session_id=`)
		if b.cookie(sessionName) != session || s.Events.Count("user.login") != 1 {
			t.Error("the session has changed")
		}
		loc := b.post("/login", with(question.Fields(), "email", bobMail, "password", bobPass)).leads(t, "/consent?")
		if b.get(loc).is(t, http.StatusOK, bobMail); b.who() != bobMail {
			t.Errorf("%s is signed in", b.who())
		}
		// A form that was shown while a user was signed in can be used after the user has signed out.
		oldForm := b.get(b.asks("/login?", "prompt", "login"))
		b.post("/logout", b.get("/").Fields()).leads(t, "/login")
		s.Clock.Pass(time.Second)
		b.signIn(oldForm).leads(t, "/consent?")
	})
}

// TestTabsConsent checks that a consent form is accepted after its user has signed in again, and is shown again to
// another user.
func TestTabsConsent(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		bob := s.withBob()
		b := s.signedIn()
		allow := func() url.Values {
			return with(b.get(b.asks("/consent?", "prompt", "consent")).Fields(), "action", "allow")
		}
		form := allow()
		b.signsInAgain(annMail, annPass)
		b.post("/consent", form).code(t)
		b.post("/consent", form).code(t) // the user goes back to the form
		b.post("/consent", with(form, "action", "deny")).refused(t, "access_denied")

		b.signsInAgain(bobMail, bobPass)
		b.post("/consent", with(allow(), "action", "allow")).code(t)
		codes := len(s.granted())
		// This also holds if Bob has given consent before: Ann's answer does not count for Bob.
		for _, action := range []string{"allow", "deny"} {
			ask := b.post("/consent", with(form, "action", action)).is(t, http.StatusOK, bobMail, "Allow")
			if len(s.granted()) != codes {
				t.Fatalf("%s: the form of another user gives a code", action)
			}
			before := codesOf(s.granted(), bob.ID)
			b.post("/consent", with(ask.Fields(), "action", "allow")).code(t)
			if n := codesOf(s.granted(), bob.ID); n != before+1 {
				t.Errorf("Bob had %d codes, and %d after one more consent", before, n)
			}
			b.signsInAgain(annMail, annPass)
			form = allow()
			b.signsInAgain(bobMail, bobPass)
			codes = len(s.granted())
		}
		// A user who has signed out has to sign in, and is asked again.
		form = allow()
		b.post("/logout", b.get("/").Fields()).leads(t, "/login")
		login := b.get(b.post("/consent", form).leads(t, "/login?redirect=%2Fconsent")).is(t, http.StatusOK, "The App")
		b.get(b.signIn(login).leads(t, "/consent?")).is(t, http.StatusOK, annMail, "Allow")
	})
}

// TestTabsSecond checks two tabs that wait for a second factor.
func TestTabsSecond(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{})
	secret, codes := s.signedIn().setsUpApp("/security/app")
	s.withBob()
	b := s.browser()
	up := func(redirect string) page {
		return b.post("/login", with(b.get("/login?redirect="+redirect).Fields(), "email", annMail, "password", annPass)).is(t, http.StatusOK, "Two-step verification")
	}
	first, second := up("/device"), up("/security")
	s.Clock.Pass(time.Minute)
	code := s.code(secret)
	b.types(first, code).leads(t, "/device")
	if loc := b.types(second, code).leads(t, "/"); loc != "/security" {
		t.Errorf("the second tab leads to %s", loc)
	}
	b.types(first, code).leads(t, "/device") // the user goes back to the form
	b.signsInAgain(bobMail, bobPass)
	b.types(second, codes[0]).is(t, http.StatusConflict, "Another user has signed in here", bobMail)
	if b.who() != bobMail {
		t.Errorf("%s is signed in", b.who())
	}
	b.post("/logout", b.get("/").Fields()).leads(t, "/login")
	b.types(second, codes[1]).leads(t, "/security")
	if b.who() != annMail {
		t.Errorf("%s is signed in", b.who())
	}
}

// TestTabsOthers checks the forms for devices, second factors, connections and the sign-out after other users have
// signed in or out.
func TestTabsOthers(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{})
	s.withBob()
	a, other := s.begun(), s.begun()
	b := s.browser()
	// A guest has two tabs for two devices.
	forms := []page{b.get(b.get("/device?user_code="+a.UserCode).leads(t, "/login?")), b.get(b.get("/device?user_code="+other.UserCode).leads(t, "/login?"))}
	b.signIn(forms[0]).leads(t, "/device?user_code="+a.UserCode)
	b.signIn(forms[1]).leads(t, "/device?user_code="+other.UserCode)
	typed := with(b.get("/device").Fields(), "user_code", a.UserCode)
	b.signsInAgain(annMail, annPass)
	found := b.post("/device", typed).is(t, http.StatusOK, "The App")
	decided := with(found.Fields(), "action", "allow")
	b.signsInAgain(bobMail, bobPass)
	for _, form := range []url.Values{typed, decided} {
		if loc := b.post("/device", form).leads(t, "/"); loc != "/device?user_code="+a.UserCode {
			t.Errorf("the form of another user leads to %s", loc)
		}
	}
	b.post("/logout", b.get("/").Fields()).leads(t, "/login")
	b.get(b.post("/device", decided).leads(t, "/device?")).leads(t, "/login?redirect=%2Fdevice%3Fuser_code")
	s.polls(a, device.Pending)
	b.signsInAgain(annMail, annPass)
	b.post("/device", decided).is(t, http.StatusOK, "The device is connected")

	// These are the forms of second factors.
	setup := b.get("/security/app").is(t, http.StatusOK)
	secret := strings.ReplaceAll(shownSecret.FindStringSubmatch(setup.Text)[1], " ", "")
	fields := with(setup.Fields(), "code", s.code(secret), "name", "Telephone")
	b.signsInAgain(bobMail, bobPass)
	b.post("/security/app", fields).leads(t, "/security")
	b.get("/security").is(t, http.StatusOK, "No second factor is set up yet")
	b.post("/logout", b.get("/").Fields()).leads(t, "/login")
	b.get(b.post("/security/app", fields).leads(t, "/security")).leads(t, "/login?redirect=%2Fsecurity")
	b.signsInAgain(annMail, annPass)
	b.post("/security/app", fields).is(t, http.StatusOK, "ecovery codes")
	for _, path := range []string{"/security/remove", "/security/recovery", "/security/passkey"} {
		fields := b.get("/security").Fields()
		b.post("/logout", b.get("/").Fields())
		b.post(path, fields).leads(t, "/security")
		s.Clock.Pass(time.Minute)
		page := b.post("/login", with(b.get("/login").Fields(), "email", annMail, "password", annPass)).is(t, http.StatusOK, "Two-step verification")
		b.types(page, s.code(secret)).leads(t, "/")
	}

	// The user signs out twice, and with the form of another user.
	out := b.get("/").Fields()
	b.post("/logout", out).leads(t, "/login")
	b.post("/logout", out).leads(t, "/login")
	b.signsInAgain(bobMail, bobPass)
	ask := b.post("/logout", out).is(t, http.StatusOK, "Sign out?", bobMail)
	if b.who() != bobMail {
		t.Error("the form of another user has signed Bob out")
	}
	if b.post("/logout", ask.Fields()).leads(t, "/login"); b.who() != "" {
		t.Error("somebody is still signed in")
	}
}

// TestTabsConnections checks that the form token of a script is valid after the same user has signed in again, and for
// nobody else.
func TestTabsConnections(t *testing.T) {
	t.Parallel()
	k := authtest.SQLite(t)
	providers := brokers.New(k.Server, brokers.Options{Encryptor: sealer(t)})
	connected := connections.New(k.Server, connections.Options{Brokers: providers, Catalog: resources.New(k.Server, resources.Options{}), Encryptor: sealer(t)})
	s := newSite(t, k, settings{web: web.Options{Brokers: providers, Connections: connected}})
	bob := s.withBob()
	maps := &brokers.Provider{Slug: "maps", Protocol: brokers.APIKey, Config: json.RawMessage(`{"header_name":"X-Key"}`)}
	if err := providers.Create(t.Context(), maps); err != nil {
		t.Fatal(err)
	}
	for _, user := range []string{s.ann.ID, bob.ID} {
		if err := connected.SetKey(t.Context(), user, maps, "hush"); err != nil {
			t.Fatal(err)
		}
	}
	b := s.signedIn()
	list := b.get("/connections").is(t, http.StatusOK, `"provider":"maps"`)
	remove := func() page {
		return page{b.Do(http.MethodDelete, "/connections/maps", "", "X-CSRF-Token", list.Header.Get("X-CSRF-Token"), "Sec-Fetch-Site", "cross-site")}
	}
	b.signsInAgain(bobMail, bobPass)
	remove().is(t, http.StatusForbidden)
	b.get("/connections").is(t, http.StatusOK, `"provider":"maps"`)
	b.post("/logout", b.get("/").Fields()).leads(t, "/login")
	remove().is(t, http.StatusUnauthorized)
	b.signsInAgain(annMail, annPass)
	remove().is(t, http.StatusNoContent)
}

// TestTabsForged checks that somebody who used the browser before, and knows its form secret and an old form, can
// neither use that form in the name of a later user nor replace that user by another.
func TestTabsForged(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		s.withBob()
		attacker := s.browser()
		guest := attacker.get("/login").Fields()
		attacker.signsInAgain(bobMail, bobPass)
		theirs := attacker.get("/").Fields()
		planted := attacker.cookie("authserver_form")

		victim := s.browser()
		victim.setCookie("authserver_form", planted)
		loc := victim.asks("/login?")
		consent := victim.signIn(victim.get(loc)).leads(t, "/consent?")
		transaction := victim.get(consent).is(t, http.StatusOK, annMail).Fields().Get("session_id")
		session, form := victim.cookie(sessionName), victim.cookie("authserver_form")
		if form != planted {
			t.Fatal("the cookie was not planted")
		}
		a := s.begun()
		for owner, token := range map[string]url.Values{"a guest": guest, "Bob": theirs} {
			fields := with(url.Values{}, "csrf_token", token.Get("csrf_token"), "email", bobMail, "password", bobPass, "redirect", "/",
				"session_id", transaction, "action", "allow", "scopes", "read", "user_code", a.UserCode, "name", "x", "id", "x")
			for _, path := range []string{"/login", "/login/second", "/logout", "/consent", "/device", "/security/app", "/security/passkey", "/security/remove", "/security/recovery"} {
				victim.post(path, fields)
				if victim.cookie(sessionName) != session || victim.who() != annMail {
					t.Fatalf("%s of %s: %q is signed in", path, owner, victim.who())
				}
			}
		}
		s.polls(a, device.Pending)
		if n := len(s.granted()); n != 0 {
			t.Errorf("there are %d codes", n)
		}
		for _, action := range []string{"consent.granted", "user.logout", "user.factor_added"} {
			if s.Events.Count(action) != 0 {
				t.Errorf("%s was accepted", action)
			}
		}
		// A planted session is replaced at the sign-in.
		victim.setCookie(sessionName, attacker.cookie(sessionName))
		if victim.signsInAgain(annMail, annPass); victim.cookie(sessionName) == attacker.cookie(sessionName) || victim.who() != annMail {
			t.Error("the planted session stays")
		}
	})
}
