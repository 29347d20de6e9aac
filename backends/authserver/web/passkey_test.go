package web_test

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/login"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/backends/authserver/web"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const passkeyPath = "/login/passkey"

// verified are the flags of an authenticator whose user is present and verified.
const verified = 1 | 4

// asksFor returns the options of the page's request to the authenticator.
func (p page) asksFor(t *testing.T) string {
	t.Helper()
	found := shownOptions.FindStringSubmatch(p.Text)
	if found == nil {
		t.Fatalf("no passkey is asked for:\n%s", p.Text)
	}
	return html.UnescapeString(found[1])
}

// passkey sets up a passkey in a browser whose user is signed in.
func (b *browser) passkey() *authenticator {
	b.t.Helper()
	a := newAuthenticator(b.t, authtest.Issuer, "as.example")
	a.present = verified
	form := b.get("/security/passkey").is(b.t, http.StatusOK, "you can also use it to sign in without your password")
	b.post("/security/passkey", with(form.Fields(), "name", "Laptop", "answer", a.makes(form.asksFor(b.t)))).is(b.t,
		http.StatusOK)
	return a
}

// offers returns the form of a page that asks for the passkey of any user.
func (p page) offers(t *testing.T) url.Values {
	t.Helper()
	return p.is(t, http.StatusOK, `autocomplete="username webauthn"`, `data-mediation="conditional"`,
		"passkey.js").formTo(t, passkeyPath, "Sign in with a passkey")
}

// TestPasskeyAlone checks a sign-in without a password, which counts as two factors.
func TestPasskeyAlone(t *testing.T) {
	t.Parallel()
	settings := settings{alone: true, required: true}
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		s := newSite(t, k, settings)
		in := s.signedIn()
		a := in.passkey()
		if string(a.handle) != s.ann.ID || strings.Contains(string(a.handle), "@") {
			t.Errorf("the user handle is %q", a.handle)
		}
		in.get("/security").is(t, http.StatusOK, "A passkey can also be used to sign in without the password")

		b := s.browser()
		loc := b.get("/oauth/authorize?"+s.request("acr_values", "2").Encode()).leads(t, "/login?")
		form := b.get(loc)
		fields := form.offers(t)
		proof := a.signsAlone(form.asksFor(t))
		next := b.post(passkeyPath, with(fields, "answer", proof)).leads(t, "/consent?")
		b.post("/consent", with(b.get(next).is(t, http.StatusOK, "The App").Fields(), "action", "allow")).code(t)
		session := s.login.Resume(t.Context(), b.cookie(sessionName))
		if session == nil || strings.Join(session.Methods, " ") != "pop mfa" || session.User.ID != s.ann.ID {
			t.Fatalf("the session is %+v", session)
		}
		if e := s.last("user.login"); e.Actor != s.ann.ID || strings.Join(e.Detail, " ") != "method passkey" {
			t.Errorf("recorded %+v", e)
		}
		// The session of a user who sets up another factor does not claim a password.
		b.setsUpApp("/security/app")
		if session = s.login.Resume(t.Context(), b.cookie(sessionName)); strings.Join(session.Methods, " ") != "pop mfa" {
			t.Errorf("the session is %+v", session)
		}

		// A response is valid once, whoever sends it.
		thief := s.browser()
		thief.setCookie("authserver_form", b.cookie("authserver_form"))
		thief.post(passkeyPath, with(fields, "answer", proof)).is(t, http.StatusUnprocessableEntity, "open for too long",
			"Sign in with a passkey")
		if thief.in() {
			t.Error("an answer is accepted twice")
		}
	})
}

// TestPasskeyAloneRefused checks that all invalid responses are refused with the same message.
func TestPasskeyAloneRefused(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		s := newSite(t, k, settings{alone: true, login: generous})
		a := s.signedIn().passkey()
		s.user("bob@example.com")
		bob := s.browser()
		bob.tries("bob@example.com", annPass).leads(t, "/")
		other := bob.passkey()
		const refusal = "This passkey does not sign in here"
		tests := []struct {
			name, reason, text string
			proof              func(page page) string
		}{
			{"another challenge", "wrong", refusal, func(page) string { return a.says(coded(make([]byte, 32)), a.handle) }},
			{
				"the challenge of another browser", "wrong", refusal,
				func(page) string { return a.signsAlone(s.browser().get("/login").asksFor(t)) },
			},
			{"another origin", "wrong", refusal, func(p page) string {
				clone := *a
				clone.origin = "https://evil.example"
				return clone.signsAlone(p.asksFor(t))
			}},
			{"another host", "wrong", refusal, func(p page) string {
				clone := *a
				clone.host = "evil.example"
				return clone.signsAlone(p.asksFor(t))
			}},
			{"the user is not verified", "wrong", refusal, func(p page) string {
				clone := *a
				clone.present = 1
				return clone.signsAlone(p.asksFor(t))
			}},
			{"nobody is there", "wrong", refusal, func(p page) string {
				clone := *a
				clone.present = 4
				return clone.signsAlone(p.asksFor(t))
			}},
			{"another key", "wrong", refusal, func(p page) string {
				clone := *a
				clone.key = other.key
				return clone.signsAlone(p.asksFor(t))
			}},
			{"no user handle", "wrong", refusal, func(p page) string { return a.says(a.read(p.asksFor(t)).Challenge, nil) }},
			{"the handle of another user", "wrong", refusal, func(p page) string {
				clone := *a
				clone.handle = other.handle
				return clone.signsAlone(p.asksFor(t))
			}},
			{"an unknown passkey", "unknown", refusal, func(p page) string {
				clone := *a
				clone.id = []byte("unknown")
				return clone.signsAlone(p.asksFor(t))
			}},
			{"no answer", "unknown", refusal, func(page) string { return "" }},
			{"junk", "unknown", refusal, func(page) string { return strings.Repeat("[", 10000) }},
			{"a long answer", "unknown", refusal, func(page) string { return strings.Repeat("x", 70<<10) }},
			{"a counter that goes back", "copied", refusal, func(p page) string {
				clone := *a
				clone.count = 0
				first := s.browser()
				form := first.get("/login")
				a.count = 10
				first.post(passkeyPath, with(form.offers(t), "answer", a.signsAlone(form.asksFor(t)))).leads(t, "/")
				return clone.signsAlone(p.asksFor(t))
			}},
		}
		for _, test := range tests {
			b := s.browser()
			form := b.get("/login")
			before := s.Events.Count("user.login_failed")
			b.post(passkeyPath, with(form.offers(t), "answer", test.proof(form))).is(t, http.StatusUnprocessableEntity,
				test.text, `name="password"`, "Sign in with a passkey")
			if b.cookie(sessionName) != "" {
				t.Errorf("%s: there is a session", test.name)
			}
			if e := s.last("user.login_failed"); s.Events.Count("user.login_failed") != before+1 ||
				!strings.HasSuffix(strings.Join(e.Detail, " "), "reason "+test.reason) {
				t.Errorf("%s: recorded %+v", test.name, e)
			}
		}

		// The challenge is too old, although the browser is the same.
		b := s.browser()
		form := b.get("/login")
		fields, request := form.offers(t), form.asksFor(t)
		s.Clock.Pass(time.Hour)
		b.post(passkeyPath, with(fields, "answer", a.signsAlone(request))).is(t, http.StatusUnprocessableEntity,
			"open for too long")
		for _, challenge := range []string{"", "x", strings.Repeat("A", 300)} {
			b.post(passkeyPath, with(fields, "answer", a.signsAlone(request), "challenge", challenge)).is(t,
				http.StatusUnprocessableEntity, "open for too long")
		}

		// Disabled and deleted users are refused.
		if _, err := s.users.Disable(t.Context(), s.ann.ID, "admin"); err != nil {
			t.Fatal(err)
		}
		refused := func(a *authenticator, reason string) {
			t.Helper()
			b := s.browser()
			form := b.get("/login")
			b.post(passkeyPath, with(form.offers(t), "answer", a.signsAlone(form.asksFor(t)))).is(t,
				http.StatusUnprocessableEntity, refusal)
			if e := s.last("user.login_failed"); !strings.HasSuffix(strings.Join(e.Detail, " "), "reason "+reason) ||
				b.cookie(sessionName) != "" {
				t.Errorf("recorded %+v", e)
			}
		}
		refused(a, "disabled")
		if err := s.Write(t.Context(), func(c store.Conn) error { // the user has not chosen a password yet
			_, err := c.Exec("UPDATE authserver_users SET status = ? WHERE id = ?", users.Pending, s.ann.ID)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		refused(a, "disabled")
		if err := s.users.Delete(t.Context(), s.ann.ID, "admin"); err != nil {
			t.Fatal(err)
		}
		refused(a, "unknown")
	})
}

// TestPasskeyAloneLocked checks that failures are counted for the user, like wrong passwords.
func TestPasskeyAloneLocked(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{alone: true})
	a := s.signedIn().passkey()
	fails := func(a *authenticator, status int) {
		t.Helper()
		b := s.browser()
		form := b.get("/login")
		clone := *a
		clone.key = newAuthenticator(t, "", "").key
		b.post(passkeyPath, with(form.offers(t), "answer", clone.signsAlone(form.asksFor(t)))).is(t, status)
	}
	for range 3 {
		fails(a, http.StatusUnprocessableEntity)
	}
	b := s.browser()
	form := b.get("/login")
	b.post(passkeyPath, with(form.offers(t), "answer", a.signsAlone(form.asksFor(t)))).is(t, http.StatusTooManyRequests,
		"Too many logins failed")
	b.tries(annMail, annPass).is(t, http.StatusTooManyRequests)
	if s.Events.Count("auth.locked_out") != 1 {
		t.Errorf("recorded %+v", s.Events.All())
	}
	unknown := newAuthenticator(t, authtest.Issuer, "as.example")
	unknown.present, unknown.handle = verified, []byte("x")
	for range 3 {
		fails(unknown, http.StatusUnprocessableEntity)
	}
	fails(unknown, http.StatusTooManyRequests)
	s.Clock.Pass(15 * time.Minute)
	form = b.get("/login")
	b.post(passkeyPath, with(form.offers(t), "answer", a.signsAlone(form.asksFor(t)))).leads(t, "/")
}

// TestPasskeyAloneMeanwhile checks a form that was shown before a user signed in, in another tab.
func TestPasskeyAloneMeanwhile(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{alone: true})
	s.withBob()
	a := s.signedIn().passkey()
	b := s.browser()
	form := b.get("/login?redirect=/device")
	fields, proof := form.offers(t), a.signsAlone(form.asksFor(t))
	b.signsInAgain(bobMail, bobPass)
	b.post(passkeyPath, with(fields, "answer", proof)).is(t, http.StatusConflict, "Another user has signed in", bobMail)
	if b.who() != bobMail {
		t.Errorf("%q is signed in", b.who())
	}

	// The same user can go on.
	two := s.browser()
	first, second := two.get("/login?redirect=/device"), two.get("/login?redirect=/account")
	two.post(passkeyPath, with(first.offers(t), "answer", a.signsAlone(first.asksFor(t)))).leads(t, "/device")
	session := two.cookie(sessionName)
	two.post(passkeyPath, with(second.offers(t), "answer", a.signsAlone(second.asksFor(t)))).leads(t, "/account")
	if two.cookie(sessionName) != session {
		t.Error("there is another session")
	}
}

// TestPasskeyAloneOff checks that this sign-in is not offered or accepted if it is disabled.
func TestPasskeyAloneOff(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string]settings{
		"by the configuration":  {},
		"without local sign-in": {alone: true, web: web.Options{NoPassword: true}},
	} {
		s := newSite(t, authtest.SQLite(t), settings)
		b := s.browser()
		form := b.get("/login").is(t, http.StatusOK)
		if strings.Contains(form.Text, "webauthn") || strings.Contains(form.Text, "passkey") {
			t.Errorf("%s: the page is\n%s", name, form.Text)
		}
		b.post(passkeyPath, with(form.Fields(), "answer", "{}", "csrf_token", form.Fields().Get("csrf_token"))).is(t,
			map[bool]int{true: http.StatusForbidden, false: http.StatusNotFound}[settings.alone])
	}
}

// last returns the latest event of an action.
func (s *site) last(action string) (last kernel.Event) {
	for _, e := range s.Events.All() {
		if e.Action == action {
			last = e
		}
	}
	return last
}

// generous are options with a lockout that is not reached.
var generous = login.Options{
	MaxAge: 24 * time.Hour, FailClosed: true, Failures: 1000, Window: 10 * time.Minute,
	Lock: 15 * time.Minute, Identities: 1000,
}
