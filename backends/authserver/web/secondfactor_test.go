package web_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/login"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

var (
	shownSecret  = regexp.MustCompile(`<code class="secret">([A-Z2-7 ]+)</code>`)
	shownCodes   = regexp.MustCompile(`[a-z2-7]{4}(?:-[a-z2-7]{4}){3}`)
	shownOptions = regexp.MustCompile(`data-options="([^"]*)"`)
	shownForms   = regexp.MustCompile(`(?s)<form.*?</form>`)
)

// code returns the current code of an app with the given secret.
func (s *site) code(secret string) string {
	s.t.Helper()
	code, err := totp.GenerateCode(secret, s.Clock.Now())
	if err != nil {
		s.t.Fatal(err)
	}
	return code
}

// formTo returns the fields of the page's form that has the given action and contains substr.
func (p page) formTo(t *testing.T, action, substr string) url.Values {
	t.Helper()
	for _, form := range shownForms.FindAllString(p.Text, -1) {
		if strings.Contains(form, `action="`+action+`"`) && strings.Contains(form, substr) {
			clone := *p.Page
			clone.Text = form
			return clone.Fields()
		}
	}
	t.Fatalf("there is no form to %s with %q in\n%s", action, substr, p.Text)
	return nil
}

// setsUpApp sets an app up, and returns its secret and the recovery codes.
func (b *browser) setsUpApp(path string) (secret string, codes []string) {
	b.t.Helper()
	form := b.get(path).is(b.t, http.StatusOK, "Set up an authenticator app", "<path")
	secret = strings.ReplaceAll(shownSecret.FindStringSubmatch(form.Text)[1], " ", "")
	wrong := b.post("/security/app", with(form.Fields(), "code", "000000x", "name", "Telephone")).is(b.t, http.StatusUnprocessableEntity, "not the code that the app shows")
	if !strings.Contains(wrong.Text, shownSecret.FindString(form.Text)) {
		b.t.Error("the secret in the form changes after a refusal")
	}
	done := b.post("/security/app", with(wrong.Fields(), "code", b.code(secret), "name", "Telephone"))
	return secret, shownCodes.FindAllString(done.Text, -1)
}

// waits signs in with the password and returns the form of the second factor.
func (s *site) waits() (b *browser, form page) {
	s.t.Helper()
	b = s.browser()
	form = b.post("/login", with(b.get("/login?redirect=/device").Fields(), "email", annMail, "password", annPass)).is(s.t, http.StatusOK, "Two-step verification")
	if b.cookie(sessionName) != "" || strings.Contains(form.Text, annPass) {
		s.t.Error("there is a session, or the password is in the page")
	}
	return b, form
}

// types sends a code.
func (b *browser) types(form page, code string) page {
	b.t.Helper()
	return b.post("/login/second", with(form.formTo(b.t, "/login/second", `name="code"`), "code", code))
}

func TestApp(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		first := s.signedIn()
		first.get("/security").is(t, http.StatusOK, "Begin with a passkey or an authenticator app.", `href="/security/passkey"`, `href="/security/app"`)
		secret, codes := first.setsUpApp("/security/app")
		if len(codes) != 10 || len(slices.Compact(slices.Sorted(slices.Values(codes)))) != 10 {
			t.Fatalf("the recovery codes are %q", codes)
		}
		first.get("/security").is(t, http.StatusOK, "Telephone", "10 recovery codes are left")
		var stored string
		if err := s.Read(t.Context(), func(c store.Conn) error {
			return c.Row("SELECT secret FROM authserver_factors").Scan(&stored)
		}); err != nil || strings.Contains(stored, secret) || stored == "" {
			t.Errorf("the secret is stored as %q: %v", stored, err)
		}

		b, form := s.waits()
		b.types(form, s.code(secret)).is(t, http.StatusUnprocessableEntity, "The code or the passkey is not right") // used for the setup
		s.Clock.Pass(30 * time.Second)
		code := s.code(secret)
		if loc := b.types(form, code[:3]+" "+code[3:]).leads(t, "/"); loc != "/device" || !b.in() {
			t.Errorf("the second factor leads to %s", loc)
		}
		if in := s.login.Resume(t.Context(), b.cookie(sessionName)); in == nil || strings.Join(in.Methods, " ") != "pwd otp mfa" {
			t.Errorf("the session is %+v", in)
		}
		if s.Events.Count("user.login") != 2 || s.Events.Count("user.second_factor_failed") != 1 || s.Events.Count("user.factor_added") != 1 {
			t.Errorf("recorded %+v", s.Events.All())
		}
		second, form := s.waits()
		second.types(form, code).is(t, http.StatusUnprocessableEntity) // a code is valid once
		second.types(form, strings.ToUpper(strings.ReplaceAll(codes[3], "-", " "))).leads(t, "/device")
		other, form := s.waits()
		other.types(form, codes[3]).is(t, http.StatusUnprocessableEntity)
		other.types(form, codes[4]).leads(t, "/device")
		other.get("/security").is(t, http.StatusOK, "8 recovery codes are left")

		fresh := other.post("/security/recovery", other.get("/security").formTo(t, "/security/recovery", "Create new")).is(t, http.StatusOK)
		newCodes := shownCodes.FindAllString(fresh.Text, -1)
		third, form := s.waits()
		third.types(form, codes[5]).is(t, http.StatusUnprocessableEntity)
		third.types(form, newCodes[0]).leads(t, "/device")

		// A user who signed in long ago has to sign in again before changes.
		s.Clock.Pass(15 * time.Minute)
		for _, path := range []string{"/security", "/security/app", "/security/passkey"} {
			if loc := third.get(path).leads(t, "/login?"); loc != "/login?again=1&redirect=%2Fsecurity" {
				t.Errorf("%s leads to %s", path, loc)
			}
		}
		form = third.post("/login", with(third.get("/login?again=1&redirect=/security").Fields(), "email", annMail, "password", annPass)).is(t, http.StatusOK, "Two-step verification")
		if loc := third.types(form, s.code(secret)).leads(t, "/"); loc != "/security" {
			t.Errorf("signing in once more leads to %s", loc)
		}
		third.post("/security/remove", third.get("/security").formTo(t, "/security/remove", "Telephone")).leads(t, "/security")
		third.get("/security").is(t, http.StatusOK, "The second factor is removed", "No second factor is set up yet")
		activity := third.get("/account").is(t, http.StatusOK, "Set up a second factor", "Sign-in failed at the second factor",
			"Used a recovery code", "Created new recovery codes", "Removed a second factor")
		if strings.Contains(activity.Text, "<code>user.") {
			t.Error("an action has no text")
		}
		if left, err := s.factors.Left(t.Context(), s.ann.ID); err != nil || left != 0 {
			t.Errorf("%d recovery codes are left: %v", left, err)
		}
		s.signedIn()
	})
}

// TestWithoutApps checks that the page of second factors names no app if none can be set up.
func TestWithoutApps(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{noApps: true})
	page := s.signedIn().get("/security").is(t, http.StatusOK, "Begin with a passkey.", `href="/security/passkey"`)
	if strings.Contains(page.Text, "authenticator app") {
		t.Error("an app is offered")
	}
}

// TestWaiting checks that the state between password and second factor is valid only in its browser, for the unchanged
// user, and for a limited time.
func TestWaiting(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{})
	secret, codes := s.signedIn().setsUpApp("/security/app")
	_, form := s.waits()
	thief := s.browser()
	fields := with(thief.get("/login").Fields(), "waiting", form.Fields().Get("waiting"), "code", codes[0], "redirect", "/")
	thief.post("/login/second", fields).is(t, http.StatusUnprocessableEntity, "Sign in once more", `name="password"`)
	thief.get("/login/second").leads(t, "/login")
	for _, waiting := range []string{"", "x", strings.Repeat("A", 200)} {
		thief.post("/login/second", with(fields, "waiting", waiting)).is(t, http.StatusUnprocessableEntity, "Sign in once more")
	}
	late, form := s.waits()
	s.Clock.Pass(10 * time.Minute)
	late.types(form, s.code(secret)).is(t, http.StatusUnprocessableEntity, "Sign in once more")
	changed, form := s.waits()
	if err := authtest.SetPassword(t.Context(), s.users, s.ann.ID, "another horse", "admin"); err != nil {
		t.Fatal(err)
	}
	changed.types(form, s.code(secret)).is(t, http.StatusUnprocessableEntity, "Sign in once more")
	if err := authtest.SetPassword(t.Context(), s.users, s.ann.ID, annPass, "admin"); err != nil {
		t.Fatal(err)
	}
	s.Clock.Pass(time.Second)
	disabled, form := s.waits()
	if _, err := s.users.Disable(t.Context(), s.ann.ID, "admin"); err != nil {
		t.Fatal(err)
	}
	disabled.types(form, s.code(secret)).is(t, http.StatusUnprocessableEntity, "Sign in once more")
}

// TestGuessedCodes checks that wrong codes are counted for the user, whatever browser they come from.
func TestGuessedCodes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		secret, codes := s.signedIn().setsUpApp("/security/app")
		s.Clock.Pass(time.Minute)
		right := s.code(secret)
		wrong := "000000"
		if right == wrong {
			wrong = "111111"
		}
		for i := range 5 {
			b, form := s.waits()
			b.types(form, []string{wrong, "no code"}[i%2]).is(t, http.StatusUnprocessableEntity)
		}
		b, form := s.waits()
		for _, code := range []string{right, codes[0], wrong} {
			p := b.types(form, code).is(t, http.StatusTooManyRequests, "Too many codes were wrong", "15 minutes")
			if p.Header.Get("Retry-After") != "900" {
				t.Errorf("the answer has %v", p.Header)
			}
		}
		s.Clock.Pass(15 * time.Minute)
		b, form = s.waits()
		b.types(form, s.code(secret)).leads(t, "/device")
		for range 4 { // a success resets the count of failures
			b, form := s.waits()
			b.types(form, wrong).is(t, http.StatusUnprocessableEntity)
		}
		b, form = s.waits()
		b.types(form, codes[0]).leads(t, "/device")
		if _, err := s.factors.Reset(t.Context(), s.ann.ID, "admin"); err != nil {
			t.Fatal(err)
		}
		s.signedIn()
		if s.Events.Count("user.factors_reset") != 1 || s.Events.Count("user.recovery_code_used") != 1 {
			t.Errorf("recorded %+v", s.Events.All())
		}
	})
}

func TestPasskey(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		a := newAuthenticator(t, authtest.Issuer, "as.example")
		in := s.signedIn()
		form := in.get("/security/passkey").is(t, http.StatusOK, "Set up a passkey", `/assets/passkey.js?v=`)
		if policy := form.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "script-src 'self';") || strings.Contains(policy, "unsafe") {
			t.Errorf("the policy is %s", policy)
		}
		asks := func(p page) string {
			t.Helper()
			found := shownOptions.FindStringSubmatch(p.Text)
			if found == nil {
				t.Fatalf("no passkey is asked for:\n%s", p.Text)
			}
			return html.UnescapeString(found[1])
		}
		// Responses from another site and to another challenge are refused.
		foreign := *a
		foreign.origin = "https://evil.example"
		bad := in.post("/security/passkey", with(form.Fields(), "name", "Key", "answer", foreign.makes(asks(form)))).is(t, http.StatusUnprocessableEntity, "cannot be used here")
		bad = in.post("/security/passkey", with(bad.Fields(), "name", "Key", "answer", a.makes(asks(form)))).is(t, http.StatusUnprocessableEntity)
		done := in.post("/security/passkey", with(bad.Fields(), "name", "Key", "answer", a.makes(asks(bad)))).is(t, http.StatusOK)
		if codes := shownCodes.FindAllString(done.Text, -1); len(codes) != 10 {
			t.Errorf("the recovery codes are %q", codes)
		}
		if o := a.read(asks(in.get("/security/passkey"))); len(o.Exclude) != 1 || o.Exclude[0].ID != coded(a.id) {
			t.Errorf("the existing passkey is not excluded: %+v", o)
		}

		b, page := s.waits()
		fields := page.formTo(t, "/login/second", "Use a passkey")
		if strings.Contains(page.Text, "your authenticator app shows") {
			t.Error("an app is asked for")
		}
		proof := a.signs(asks(page))
		if loc := b.post("/login/second", with(fields, "answer", proof)).leads(t, "/"); loc != "/device" || !b.in() {
			t.Errorf("the passkey leads to %s", loc)
		}
		if n := s.login.Resume(t.Context(), b.cookie(sessionName)); n == nil || strings.Join(n.Methods, " ") != "pwd pop mfa" {
			t.Errorf("the session is %+v", n)
		}

		refused := func(name string, change func(other *authenticator)) {
			t.Helper()
			other := *a
			change(&other)
			b, page := s.waits()
			b.post("/login/second", with(page.formTo(t, "/login/second", "Use a passkey"), "answer", other.signs(asks(page)))).is(t, http.StatusUnprocessableEntity, "not right")
			if b.cookie(sessionName) != "" {
				t.Errorf("%s: there is a session", name)
			}
		}
		refused("another key", func(o *authenticator) { o.key = newAuthenticator(t, "", "").key })
		refused("another site", func(o *authenticator) { o.origin = "https://evil.example" })
		refused("another host", func(o *authenticator) { o.host = "evil.example" })
		refused("nobody there", func(o *authenticator) { o.present = 0 })
		refused("a copy", func(o *authenticator) { o.count = 0 })
		s.Clock.Pass(15 * time.Minute)
		refused("another passkey", func(o *authenticator) { o.id = []byte("unknown") })

		// A response is valid once, whoever sends it.
		b, page = s.waits()
		fields = page.formTo(t, "/login/second", "Use a passkey")
		a.count = 10
		proof = a.signs(asks(page))
		b.post("/login/second", with(fields, "answer", proof)).leads(t, "/device")
		thief := s.browser()
		thief.setCookie("authserver_form", b.cookie("authserver_form"))
		if thief.post("/login/second", with(fields, "answer", proof)).is(t, http.StatusBadRequest, "out of date"); thief.in() {
			t.Error("an answer is accepted twice")
		}
		session := b.cookie(sessionName)
		if b.post("/login/second", with(fields, "answer", proof)).leads(t, "/device"); b.cookie(sessionName) != session {
			t.Error("there is another session")
		}
		late, page := s.waits()
		fields = page.formTo(t, "/login/second", "Use a passkey")
		for _, junk := range []string{"{}", "x", strings.Repeat("[", 10000), strings.Repeat("x", 70<<10)} {
			late.post("/login/second", with(fields, "answer", junk)).is(t, http.StatusUnprocessableEntity)
			late, page = s.waits()
			fields = page.formTo(t, "/login/second", "Use a passkey")
		}
	})
}

// TestSecondRequired checks that nobody can continue without a second factor if it is required.
func TestSecondRequired(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{required: true})
	b := s.browser()
	before := s.signedIn()
	login := b.get("/oauth/authorize?"+s.request().Encode()).leads(t, "/login?")
	consent := b.signIn(b.get(login)).leads(t, "/consent?")
	loc := b.get(consent).leads(t, "/security?redirect=")
	b.get(loc).is(t, http.StatusOK, "Set up a second factor to continue")
	b.post("/consent", with(b.get("/").Fields(), "session_id", strings.TrimPrefix(consent, "/consent?session_id="), "action", "allow", "scopes", "read")).leads(t, "/security?redirect=")
	b.get("/oauth/authorize?"+s.request("prompt", "none").Encode()).refused(t, "interaction_required")
	_, query, _ := strings.Cut(loc, "?")
	secret, codes := b.setsUpApp("/security/app?" + query)
	if len(codes) != 10 {
		t.Fatalf("the recovery codes are %q", codes)
	}
	form := b.get(consent).is(t, http.StatusOK, "The App")
	b.post("/consent", with(form.Fields(), "action", "allow")).code(t)

	// A session from before the second factor was set up does not suffice.
	next := before.get("/oauth/authorize?"+s.request().Encode()).leads(t, "/consent?")
	next = before.get(next).leads(t, "/login?again=1&redirect=")
	s.Clock.Pass(30 * time.Second)
	step := before.post("/login", with(before.get(next).Fields(), "email", annMail, "password", annPass)).is(t, http.StatusOK, "Two-step verification", "The App")
	before.get(before.types(step, s.code(secret)).leads(t, "/consent?")).leads(t, "https://app.example/cb?")
	before.get("/device").is(t, http.StatusOK)
}

// TestParallelGuessesBehindSecondFactor checks that an attacker whose guesses are in progress while the lock begins
// does not learn which guess was right, even if a second factor follows.
func TestParallelGuessesBehindSecondFactor(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{})
	draft, err := s.factors.NewApp(s.ann, "b")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.factors.AddApp(t.Context(), s.ann, "b", draft.Signed, "Telephone", s.code(strings.ReplaceAll(draft.Secret, " ", ""))); err != nil {
		t.Fatal(err)
	}
	gate := make(chan struct{})
	s.users.Passwords.Gate = gate
	type told struct {
		waiting string
		err     error
	}
	done := make(chan told)
	go func() {
		_, waiting, err := s.login.SignIn(t.Context(), login.Attempt{Email: annMail, Password: annPass, Address: "192.0.2.1", Browser: "b"})
		done <- told{waiting, err}
	}()
	<-gate // the sign-in has passed the lockout, and hashes the password
	for range 3 {
		s.login.Lockout.Fail(s.login.Lockout.Of(annMail, "192.0.2.1"))
	}
	gate <- struct{}{}
	got := <-done
	if e, ok := apierror.From(got.err); got.waiting != "" || !ok || e.Status != http.StatusTooManyRequests || e.RetryAfter <= 0 {
		t.Errorf("waits: %v, error %v", got.waiting != "", got.err)
	}
}

// TestStepUp checks requests for two factors (acr_values). A user without a second factor sets it up, and a user who
// has not proved it in this session signs in again.
func TestStepUp(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		b, before := s.signedIn(), s.signedIn()
		ask := func(pairs ...string) page { return b.get("/oauth/authorize?" + s.request(pairs...).Encode()) }
		ask("acr_values", "1").leads(t, "/consent")
		ask("acr_values", "gold").leads(t, "/consent")
		ask("acr_values", "2", "prompt", "none").refused(t, "unmet_authentication_requirements")
		consent := ask("acr_values", "gold 2 1").leads(t, "/consent?")
		loc := b.get(consent).leads(t, "/security?redirect=")
		b.get(loc).is(t, http.StatusOK, "Set up a second factor to continue", "The application requires one")
		_, query, _ := strings.Cut(loc, "?")
		secret, _ := b.setsUpApp("/security/app?" + query)
		form := b.get(consent).is(t, http.StatusOK, "The App")
		b.post("/consent", with(form.Fields(), "action", "allow")).code(t)

		// A session from before the second factor was set up does not suffice.
		next := before.get("/oauth/authorize?"+s.request("acr_values", "2").Encode()).leads(t, "/consent?")
		next = before.get(next).leads(t, "/login?again=1&redirect=")
		s.Clock.Pass(30 * time.Second)
		step := before.post("/login", with(before.get(next).Fields(), "email", annMail, "password", annPass)).is(t, http.StatusOK, "Two-step verification")
		before.get(before.types(step, s.code(secret)).leads(t, "/consent?")).leads(t, "https://app.example/cb?")
	})
}
