package web_test

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/mail"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// mailing is a site that sends mails and permits registration.
type mailing struct {
	*site
	smtp *testenv.SMTPServer
}

func newMailing(t *testing.T, k authtest.Kernel, o ...settings) *mailing {
	t.Helper()
	m := &mailing{newSite(t, k, append(o, settings{})[0]), testenv.SMTP(t)}
	transport, err := mail.NewSMTP(mail.SMTPOptions{URL: "smtp://" + m.smtp.Address, From: "Accounts <accounts@example.com>"})
	if err != nil {
		t.Fatal(err)
	}
	m.accounts.Mail, m.accounts.Registration.Open = transport, true
	return m
}

// mails sends the mails that are due and returns them.
func (m *mailing) mails() []testenv.Mail {
	m.t.Helper()
	if _, err := m.accounts.Send(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
	list := m.smtp.Take()
	for i := range list { // decode quoted-printable text
		list[i].Data = strings.NewReplacer("=\n", "", "=3D", "=").Replace(list[i].Data)
	}
	return list
}

var linkIn = regexp.MustCompile(regexp.QuoteMeta(authtest.Issuer) + `(/\S+)`)

// link returns the link of the only mail that is sent now, which must go to recipient.
func (m *mailing) link(recipient string) string {
	m.t.Helper()
	list := m.mails()
	if len(list) != 1 || list[0].To != recipient {
		m.t.Fatalf("the mails are %+v, want one to %s", list, recipient)
	}
	found := linkIn.FindStringSubmatch(list[0].Data)
	if found == nil {
		m.t.Fatalf("there is no link in %s", list[0].Data)
	}
	return found[1]
}

const chosen = "four words are long"

// TestForgottenPassword checks that a user can choose a new password by a link, which works once and ends the user's
// sessions.
func TestForgottenPassword(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		m := newMailing(t, k)
		phone, b := m.signedIn(), m.browser()
		b.get("/login").is(t, http.StatusOK, `href="/forgot"`)
		form := b.get("/forgot").is(t, http.StatusOK)
		b.post("/forgot", with(form.Fields(), "email", " ANN@example.com")).is(t, http.StatusOK, "a mail with a link is on its way")
		link := m.link(annMail)

		b.get(link).is(t, http.StatusOK) // as a program that scans mails does
		form = b.get(link).is(t, http.StatusOK, "Choose a password", annMail)
		b.post("/choose-password", with(form.Fields(), "password", "short")).is(t, http.StatusUnprocessableEntity, "8 characters")
		loc := b.post("/choose-password", with(form.Fields(), "password", chosen)).leads(t, "/login")
		b.get(loc).is(t, http.StatusOK, "Your password is changed.", `value="ann@example.com"`)
		if phone.in() || b.in() {
			t.Error("somebody is still signed in, or already")
		}
		b.post("/choose-password", with(form.Fields(), "password", "yet another one")).is(t, http.StatusGone)
		b.get(link).is(t, http.StatusGone)
		b.tries(annMail, chosen).leads(t, "/")
	})
}

// TestLinksEnd checks that links become invalid when the user chooses a new password, is signed out everywhere, or gets
// another mail address, since somebody else may have requested them.
func TestLinksEnd(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		m := newMailing(t, k)
		ctx, id, moved := t.Context(), m.ann.ID, "ann@example.net"
		for _, secure := range []func() error{
			func() error { return authtest.SetPassword(ctx, m.users, id, annPass, "") },
			func() error { return m.users.SignOut(ctx, id, "") },
			func() error {
				_, err := m.users.Update(ctx, id, users.Change{Email: &moved}, "")
				return err
			},
		} {
			m.Clock.Pass(time.Hour)
			b := m.browser()
			b.post("/forgot", with(b.get("/forgot").Fields(), "email", annMail)).is(t, http.StatusOK)
			link := m.link(annMail)
			form := b.get(link).is(t, http.StatusOK).Fields()
			if err := secure(); err != nil {
				t.Fatal(err)
			}
			b.get(link).is(t, http.StatusGone)
			b.post("/choose-password", with(form, "password", chosen)).is(t, http.StatusGone)
			oldAddress := annMail
			if _, err := m.users.Update(ctx, id, users.Change{Email: &oldAddress}, ""); err != nil {
				t.Fatal(err)
			}
		}

		b := m.signedIn()
		form := with(b.get("/account").formTo(t, "/account/address", ""), "email", "eve@example.com", "present", annPass)
		b.post("/account/address", form).leads(t, "/account")
		link := m.link("eve@example.com")
		if err := authtest.SetPassword(ctx, m.users, id, chosen, ""); err != nil {
			t.Fatal(err)
		}
		m.browser().get(link).is(t, http.StatusGone)
	})
}

// TestForgottenPasswordTellsNothing checks that an unknown address gets the same response, and no mail.
func TestForgottenPasswordTellsNothing(t *testing.T) {
	t.Parallel()
	m := newMailing(t, authtest.SQLite(t))
	if _, err := m.users.Disable(t.Context(), m.user("out@example.com").ID, ""); err != nil {
		t.Fatal(err)
	}
	b := m.browser()
	text := regexp.MustCompile(`(?s)<main.*</main>`)
	answers := make([]string, 0, 3)
	for _, email := range []string{annMail, "nobody@example.com", "out@example.com"} {
		p := b.post("/forgot", with(b.get("/forgot").Fields(), "email", email)).is(t, http.StatusOK)
		answers = append(answers, strings.ReplaceAll(text.FindString(p.Text), email, ""))
	}
	if answers[0] != answers[1] || answers[0] != answers[2] {
		t.Errorf("the answers differ: %q", answers)
	}
	if list := m.mails(); len(list) != 1 {
		t.Errorf("%d mails, want 1", len(list))
	}
}

// TestLinksAreLimited checks that the number of mails to an address, and of mails that a client requests, is limited.
func TestLinksAreLimited(t *testing.T) {
	t.Parallel()
	m := newMailing(t, authtest.SQLite(t))
	b := m.browser()
	ask := func(email string) page { return b.post("/forgot", with(b.get("/forgot").Fields(), "email", email)) }
	for range 3 {
		ask(annMail).is(t, http.StatusOK)
	}
	ask(annMail).is(t, http.StatusTooManyRequests, "Too many mails")
	for range 17 {
		ask("a"+time.Now().String()+"@example.com").is(t, http.StatusOK)
	}
	ask("other@example.com").is(t, http.StatusTooManyRequests)
	m.Clock.Pass(time.Hour)
	ask(annMail).is(t, http.StatusOK)
}

// TestRegistration checks that an account is created by the link that is mailed to its address.
func TestRegistration(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		m := newMailing(t, k)
		b := m.browser()
		b.get("/login").is(t, http.StatusOK, `href="/register"`)
		form := b.get("/register").is(t, http.StatusOK, "Create an account")
		b.post("/register", with(form.Fields(), "email", "no address")).is(t, http.StatusUnprocessableEntity, "name@example.com")
		b.post("/register", with(form.Fields(), "email", "New@example.com", "name", "Newman")).is(t, http.StatusOK, "A mail is on its way")
		b.tries("new@example.com", "").is(t, http.StatusUnprocessableEntity)
		first := m.link("New@example.com")

		// Somebody else registers with the same address: both links are sent to it, and only one of them can be used.
		other := m.browser()
		other.post("/register", with(other.get("/register").Fields(), "email", "new@example.com", "name", "Eve")).is(t, http.StatusOK)
		second := m.link("New@example.com")
		form = b.get(first).is(t, http.StatusOK, "the new account", `value="Newman"`)
		b.post("/choose-password", with(form.Fields(), "password", "new@example.com")).is(t, http.StatusUnprocessableEntity)
		b.get(b.post("/choose-password", with(form.Fields(), "password", chosen, "name", "New")).leads(t, "/login")).is(t, http.StatusOK, "Your account is created.")
		b.tries("new@example.com", chosen).leads(t, "/")
		other.get(second).is(t, http.StatusGone)
		u, err := m.users.FindByEmail(t.Context(), "new@example.com")
		if err != nil || !u.Active() || !u.EmailVerified || u.Name != "New" {
			t.Errorf("%+v, error %v", u, err)
		}
	})
}

// TestRegistrationWithAKnownAddress checks that only the user of the address is notified.
func TestRegistrationWithAKnownAddress(t *testing.T) {
	t.Parallel()
	m := newMailing(t, authtest.SQLite(t))
	b := m.browser()
	b.post("/register", with(b.get("/register").Fields(), "email", annMail, "name", "Eve")).is(t, http.StatusOK, "A mail is on its way")
	list := m.mails()
	if len(list) != 1 || list[0].To != annMail || !strings.Contains(list[0].Data, "You already have an account") || strings.Contains(list[0].Data, "?link=") {
		t.Errorf("%+v", list)
	}
	if u, err := m.users.FindByEmail(t.Context(), annMail); err != nil || u.Name != "Ann" || !u.Active() {
		t.Errorf("%+v, error %v", u, err)
	}
}

// TestRegistrationOfADomain checks that addresses of other domains are refused.
func TestRegistrationOfADomain(t *testing.T) {
	t.Parallel()
	m := newMailing(t, authtest.SQLite(t))
	m.accounts.Registration.Domains = []string{"example.org"}
	b := m.browser()
	for email, status := range map[string]int{
		"a@example.com": http.StatusUnprocessableEntity, "a@sub.example.org": http.StatusUnprocessableEntity, "a@Example.ORG": http.StatusOK,
	} {
		b.post("/register", with(b.get("/register").Fields(), "email", email)).is(t, status)
	}
}

// TestPendingUsersEnd checks that users who do not open the link are removed.
func TestPendingUsersEnd(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		m := newMailing(t, k)
		b := m.browser()
		b.post("/register", with(b.get("/register").Fields(), "email", "new@example.com")).is(t, http.StatusOK)
		link := m.link("new@example.com")
		if n, err := m.accounts.Sweep(t.Context()); n != 0 || err != nil {
			t.Errorf("%d are swept, error %v", n, err)
		}
		m.Clock.Pass(25 * time.Hour)
		b.get(link).is(t, http.StatusGone)
		if n, err := m.accounts.Sweep(t.Context()); n != 2 || err != nil { // the link and the user
			t.Errorf("%d are swept, error %v", n, err)
		}
		if _, err := m.users.FindByEmail(t.Context(), "new@example.com"); !users.IsNone(err) {
			t.Errorf("the user is there, error %v", err)
		}
	})
}

// TestChangeOfAddress checks that a mail address changes only by the link that is mailed to the new address, and that
// the former address is notified.
func TestChangeOfAddress(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		m := newMailing(t, k)
		b := m.signedIn()
		change := func(email string) page {
			return b.post("/account/address", with(b.get("/account").formTo(t, "/account/address", ""), "email", email, "present", annPass))
		}
		change("no address").is(t, http.StatusUnprocessableEntity, "name@example.com")
		form := with(b.get("/account").formTo(t, "/account/address", ""), "email", "ann@example.org", "present", "a wrong one")
		b.post("/account/address", form).is(t, http.StatusUnprocessableEntity)
		change("ann@example.org").leads(t, "/account")
		link := m.link("ann@example.org")
		m.browser().get(link).is(t, http.StatusOK, "ann@example.org")
		if u, err := m.users.Find(t.Context(), m.ann.ID); err != nil || u.Email != annMail {
			t.Errorf("the address is %s already, error %v", u.Email, err)
		}
		b.post("/confirm-address", b.get(link).Fields()).leads(t, "/account")
		b.get("/account").is(t, http.StatusOK, "ann@example.org", "confirmed")
		if list := m.mails(); len(list) != 1 || list[0].To != annMail || !strings.Contains(list[0].Data, "mail address of your account was changed") {
			t.Errorf("the former address gets %+v", list)
		}
		b.get(link).is(t, http.StatusGone)

		m.user("bob@example.com")
		change("bob@example.com").leads(t, "/account") // the page does not reveal whether the address is in use
		b.post("/confirm-address", b.get(m.link("bob@example.com")).Fields()).is(t, http.StatusConflict)
	})
}

// TestInvitation checks that a user can choose a password by a link that the operator passes on.
func TestInvitation(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		m := newMailing(t, k)
		_, address, err := m.accounts.Invite(t.Context(), "new@example.com", "New", true)
		if err != nil {
			t.Fatal(err)
		}
		if list := m.mails(); len(list) != 0 {
			t.Errorf("mailed as well: %+v", list)
		}
		if _, _, err := m.accounts.Invite(t.Context(), annMail, "", true); err == nil {
			t.Error("a user with an account is invited")
		}
		b := m.browser()
		m.Clock.Pass(6 * 24 * time.Hour)
		form := b.get(strings.TrimPrefix(address, authtest.Issuer)).is(t, http.StatusOK, "the new account")
		b.post("/choose-password", with(form.Fields(), "password", chosen)).leads(t, "/login")
		b.tries("new@example.com", chosen).leads(t, "/")
	})
}

// TestMailPagesNeedMail checks that the pages are not found without a mail server.
func TestMailPagesNeedMail(t *testing.T) {
	t.Parallel()
	s := newSite(t, authtest.SQLite(t), settings{})
	b := s.signedIn()
	for _, path := range []string{"/forgot", "/register"} {
		b.get(path).is(t, http.StatusNotFound)
		b.post(path, with(b.get("/account/password").Fields(), "email", annMail)).is(t, http.StatusNotFound)
	}
	if text := b.get("/login?again=1").Text; strings.Contains(text, "/forgot") || strings.Contains(text, "/register") {
		t.Error("the login page links to them")
	}
	b.get("/choose-password?"+url.Values{"link": {"x"}}.Encode()).is(t, http.StatusGone)
}

// TestRegistrationGoesOn checks that a user who registers during a sign-in returns to the application.
func TestRegistrationGoesOn(t *testing.T) {
	t.Parallel()
	m := newMailing(t, authtest.SQLite(t))
	b := m.browser()
	login := b.get("/oauth/authorize?"+m.request().Encode()).leads(t, "/login?")
	page := b.get(login).is(t, http.StatusOK, "Create an account")
	address := html.UnescapeString(regexp.MustCompile(`href="(/register\?[^"]+)"`).FindStringSubmatch(page.Text)[1])
	form := b.get(address).is(t, http.StatusOK)
	b.post("/register", with(form.Fields(), "email", "new@example.com")).is(t, http.StatusOK, "A mail is on its way")
	link := m.link("new@example.com")
	next := b.post("/choose-password", with(b.get(link).Fields(), "password", chosen)).leads(t, "/login?")
	loc := b.post("/login", with(b.get(next).Fields(), "email", "new@example.com", "password", chosen)).leads(t, "/consent?")
	b.get(loc).is(t, http.StatusOK, "The App")

	// In another browser the link does not lead back to the application.
	other := m.browser()
	other.post("/forgot", with(other.get("/forgot?redirect=//evil.example").Fields(), "email", "new@example.com")).is(t, http.StatusOK)
	next = m.browser().get(m.link("new@example.com")).is(t, http.StatusOK).Text
	if strings.Contains(next, "evil.example") {
		t.Error("it leads to another site")
	}
}
