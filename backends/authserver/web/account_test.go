package web_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
)

// TestAccountNeedsSignIn checks that guests are redirected to the login, and from there back.
func TestAccountNeedsSignIn(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{})
	b := s.browser()
	for _, path := range []string{"/account", "/account/password"} {
		if loc := b.get(path).leads(t, "/login?"); loc != "/login?redirect=%2Faccount" {
			t.Errorf("%s leads to %s", path, loc)
		}
	}
}

// TestSessionsOfAccount checks that users see their sessions, and can end one or all others.
func TestSessionsOfAccount(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		home, phone, office := s.signedIn(), s.signedIn(), s.signedIn()
		page := home.get("/account").is(t, http.StatusOK, "Where you are signed in", "this browser", "End all other sessions")
		if n := strings.Count(page.Text, `action="/account/sessions/end"`); n != 2 {
			t.Errorf("%d sessions can be ended, want 2", n)
		}
		form := page.formTo(t, "/account/sessions/end", "id")
		home.post("/account/sessions/end", form).leads(t, "/account")
		home.get("/account").is(t, http.StatusOK, "The session is ended.")
		home.post("/account/sessions/end", form).leads(t, "/account") // the session has ended already
		if !home.in() || phone.in() == office.in() {
			t.Error("the number of ended sessions is not one")
		}
		page = home.get("/account")
		home.post("/account/sessions/others", page.formTo(t, "/account/sessions/others", "")).leads(t, "/account")
		if !home.in() || phone.in() || office.in() {
			t.Error("not all other sessions have ended")
		}
	})
}

// TestSessionsOfOthers checks that users cannot end the sessions of others.
func TestSessionsOfOthers(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{})
	ann := s.signedIn()
	ann.signedIn() // so that the page has a form
	form := ann.get("/account").formTo(t, "/account/sessions/end", "id")
	bob := s.signedInAs("bob@example.com")
	mine := bob.get("/account").is(t, http.StatusOK)
	form.Set("csrf_token", mine.formTo(t, "/account/name", "").Get("csrf_token"))
	bob.post("/account/sessions/end", form).leads(t, "/account")
	if n := len(ann.sessions(s.ann.ID)); n != 2 {
		t.Errorf("Ann has %d sessions, want 2", n)
	}
}

// TestApplicationsOfAccount checks that withdrawing the consent to an application ends its tokens.
func TestApplicationsOfAccount(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		b := s.signedIn()
		b.get("/account").is(t, http.StatusOK, "No application has access to your account")
		b.allows(s.request("resource", files)).code(t)
		page := b.get("/account").is(t, http.StatusOK, "The App", "Files: Read your files")
		b.post("/account/applications/withdraw", page.formTo(t, "/account/applications/withdraw", s.app.ID)).leads(t, "/account")
		b.get("/account").is(t, http.StatusOK, "The application no longer has access to your account.", "No application has access to your account")
		b.get("/oauth/authorize?"+s.request("resource", files).Encode()).leads(t, "/consent")
	})
}

// TestPasswordOfAccount checks that a password change ends all other sessions.
func TestPasswordOfAccount(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		const next = "four words are long"
		home, phone := s.signedIn(), s.signedIn()
		form := home.get("/account/password").is(t, http.StatusOK, "Change your password").Fields()
		home.post("/account/password", with(form, "present", "a wrong one", "password", next)).is(t, http.StatusUnprocessableEntity, "wrong")
		home.post("/account/password", with(form, "present", annPass, "password", "short")).is(t, http.StatusUnprocessableEntity, "8 characters")
		home.post("/account/password", with(form, "present", annPass, "password", next)).leads(t, "/account")
		if !home.in() || phone.in() {
			t.Error("this browser is signed out, or the other browser is not")
		}
		other := s.browser()
		other.tries(annMail, annPass).is(t, http.StatusUnprocessableEntity)
		other.tries(annMail, next).leads(t, "/")
	})
}

// TestPresentPasswordIsBehindTheLockout checks that wrong current passwords are counted as failed sign-ins.
func TestPresentPasswordIsBehindTheLockout(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{})
	b := s.signedIn()
	form := with(b.get("/account/password").Fields(), "password", "four words are long")
	for range 3 {
		b.post("/account/password", with(form, "present", "a wrong one")).is(t, http.StatusUnprocessableEntity)
	}
	b.post("/account/password", with(form, "present", annPass)).is(t, http.StatusTooManyRequests)
	s.Clock.Pass(16 * time.Minute)
	b.post("/account/password", with(form, "present", annPass)).leads(t, "/account")
}

// TestNameOfAccount checks the change of the name, the error for an invalid name, and the list of the user's activity.
func TestNameOfAccount(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{})
	b := s.signedIn()
	form := b.get("/account").formTo(t, "/account/name", "")
	b.post("/account/name", with(form, "name", strings.Repeat("n", 201))).is(t, http.StatusUnprocessableEntity, "at most 200 characters", "nnnn")
	b.post("/account/name", with(form, "name", "Ann Other")).leads(t, "/account")
	s.Audit(t.Context(), kernel.Event{Action: "user.oidc_login_failed", Actor: s.ann.ID})
	b.get("/account").is(t, http.StatusOK, `value="Ann Other"`, "Your name is changed.", "Changed the account",
		"Sign-in at another provider failed")
}

// TestDeletionOfAccount checks that an account is deleted after the grace period, unless its user cancels the deletion.
func TestDeletionOfAccount(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *site) {
		s.signedIn().get("/account/delete").is(t, http.StatusNotFound)
		s.accounts.Grace = 48 * time.Hour
		b, phone := s.signedIn(), s.signedIn()
		deletes := func() {
			t.Helper()
			form := b.get("/account/delete").is(t, http.StatusOK, "Delete your account").Fields()
			b.post("/account/delete", with(form, "present", "a wrong one")).is(t, http.StatusUnprocessableEntity)
			b.post("/account/delete", with(form, "present", annPass)).leads(t, "/login")
		}
		deletes()
		if b.in() || phone.in() {
			t.Error("somebody is still signed in")
		}
		b.tries(annMail, annPass).leads(t, "/")
		page := b.get("/account").is(t, http.StatusOK, "Your account will be deleted")
		b.post("/account/keep", page.formTo(t, "/account/keep", "")).leads(t, "/account")
		s.Clock.Pass(49 * time.Hour)
		if n, err := s.users.SweepDeleted(t.Context()); n != 0 || err != nil {
			t.Errorf("%d users were deleted too early, error %v", n, err)
		}
		b.tries(annMail, annPass).leads(t, "/")
		deletes()
		s.Clock.Pass(49 * time.Hour)
		if n, err := s.users.SweepDeleted(t.Context()); n != 1 || err != nil {
			t.Errorf("%d are deleted, error %v", n, err)
		}
		b.tries(annMail, annPass).is(t, http.StatusUnprocessableEntity)
	})
}
