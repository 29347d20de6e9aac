package web_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/web"
	"github.com/tollgate-gateway/tollgate/internal/locale"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// languages returns the built-in languages, with the files of the operator's folder.
func languages(t *testing.T, own fstest.MapFS) *locale.Languages {
	t.Helper()
	all, err := locale.Load("", nil, pages.Catalogues(), web.Catalogues(), own)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// speaks returns a browser with the given Accept-Language.
func (s *site) speaks(accept string) *browser {
	b := s.browser()
	b.Always.Set("Accept-Language", accept)
	return b
}

// language checks the language of a page.
func (p page) language(t *testing.T, tag string) page {
	t.Helper()
	if !strings.Contains(p.Text, `<html lang="`+tag+`">`) || p.Header.Get("Content-Language") != tag {
		t.Errorf("%s is in %s, want %s: %.300s", p.Where(), p.Header.Get("Content-Language"), tag, p.Text)
	}
	if vary := p.Header.Values("Vary"); !slices.Contains(vary, "Accept-Language") || p.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s: Vary %q, Cache-Control %q", p.Where(), vary, p.Header.Get("Cache-Control"))
	}
	return p
}

// TestLanguages checks which language a page has: that of the user, of the application, of the browser.
func TestLanguages(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		s := newSite(t, k, settings{web: web.Options{Languages: languages(t, nil)}})
		s.browser().get("/login").language(t, "en").is(t, http.StatusOK, "Mail address")
		s.speaks("fr").get("/login").language(t, "en")
		b := s.speaks("fr, de-CH;q=0.8, en;q=0.5")
		login := b.get("/login").language(t, "de").is(t, http.StatusOK, "<h1>Anmelden</h1>", "E-Mail-Adresse", "<title>Anmelden – ")
		b.post("/login", with(login.Fields(), "email", annMail, "password", "wrong")).language(t, "de").
			is(t, http.StatusUnprocessableEntity, "Bitte korrigieren Sie zuerst", "Die E-Mail-Adresse oder das Passwort ist falsch.")
		b.get("/nowhere").language(t, "de").is(t, http.StatusNotFound, "Seite nicht gefunden", "Hier gibt es nichts")
		b.post("/login", url.Values{}).language(t, "de").is(t, http.StatusForbidden, "Dieses Formular ist veraltet")

		// The language that an application requests also applies to the following pages, until a request without a
		// language.
		english := s.browser()
		loc := english.get("/oauth/authorize?"+s.request("ui_locales", "xx de en").Encode()).leads(t, "/login")
		login = english.get(loc).language(t, "de").is(t, http.StatusOK, "um zu <strong>The App</strong> zu gelangen")
		consent := english.get(
			english.post("/login", with(login.Fields(), "email", annMail, "password", annPass)).leads(t, "/consent")).language(t, "de").
			is(t, http.StatusOK, "Diese Anwendung möchte in Ihrem Namen handeln", ">Zulassen<")
		english.post("/consent", with(consent.Fields(), "action", "deny")).refused(t, "access_denied")
		english.get("/account").language(t, "de").is(t, http.StatusOK, "Ihr Konto")
		english.get("/oauth/authorize?"+s.request().Encode()).leads(t, "/consent")
		english.get("/account").language(t, "en")
		english.get("/account?ui_locales=de").language(t, "de")

		// The setting of the user comes first, in every browser.
		b.get(b.tries(annMail, annPass).leads(t, "/")).language(t, "de")
		account := b.get("/account").is(t, http.StatusOK, `<option value="de" lang="de">Deutsch</option>`, `<option value="en" lang="en">English</option>`)
		b.post("/account/language", with(account.Fields(), "language", "xx")).leads(t, "/account")
		b.get("/account").language(t, "de")
		b.post("/account/language", with(account.Fields(), "language", "en")).leads(t, "/account")
		b.get("/account").language(t, "en").is(t, http.StatusOK, "The language is saved.", `value="en" lang="en" selected`)
		english.get("/account?ui_locales=de").language(t, "en")
		b.post("/account/language", with(account.Fields(), "language", "")).leads(t, "/account")
		b.get("/account").language(t, "de").is(t, http.StatusOK, "Die Sprache ist gespeichert.")
		if u, err := s.users.Find(t.Context(), s.ann.ID); err != nil || u.Language != "" || u.Name != "Ann" {
			t.Errorf("%+v, error %v", u, err)
		}
	})
}

// TestPushedLanguage checks that a pushed authorization request determines the language, too.
func TestPushedLanguage(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		s := newSite(t, k, settings{web: web.Options{Languages: languages(t, nil)}})
		uri, err := s.authorize.Push(t.Context(), s.app, s.request("ui_locales", "de"))
		if err != nil {
			t.Fatal(err)
		}
		b := s.browser()
		loc := b.get("/oauth/authorize?"+url.Values{"client_id": {s.app.ID}, "request_uri": {uri}}.Encode()).leads(t, "/login")
		b.get(loc).language(t, "de")
	})
}

// text returns a mail with the encoded letters of its subject and its text decoded.
func text(mail testenv.Mail) string {
	return strings.NewReplacer(
		"=C3=A4", "ä", "=C3=BC", "ü", "=C3=B6", "ö", "=C3=9F", "ß", "=E2=80=93", "–", "_", " ",
	).Replace(mail.Data)
}

// TestMailsInTheirLanguage checks that a mail has the language of its user or, without one, that of the page on which
// it was requested.
func TestMailsInTheirLanguage(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		m := newMailing(t, k, settings{web: web.Options{Languages: languages(t, fstest.MapFS{
			"de.json": {Data: []byte(`{"texts": {"If that was not you, do nothing: no account is created.": "Sonst ignorieren Sie diese E-Mail."}}`)},
		})}})
		b := m.speaks("de")
		form := b.get("/register").language(t, "de").is(t, http.StatusOK, "Konto erstellen")
		b.post("/register", with(form.Fields(), "email", "neu@example.com")).is(t, http.StatusOK, "Eine E-Mail an <strong>neu@example.com</strong> ist unterwegs")
		mails := m.mails()
		if len(mails) != 1 {
			t.Fatalf("the mails are %+v", mails)
		}
		letter := text(mails[0])
		for _, part := range []string{"Registrierung abschließen – as.example", "dann wird Ihr Konto erstellt:", "Der Link gilt einmal, bis ", " Uhr UTC.", "Sonst ignorieren Sie diese E-Mail."} {
			if !strings.Contains(letter, part) {
				t.Errorf("the mail lacks %q: %s", part, letter)
			}
		}

		forgets := func(b *browser, subject string) {
			t.Helper()
			b.post("/forgot", with(b.get("/forgot").Fields(), "email", annMail)).is(t, http.StatusOK)
			if mails := m.mails(); len(mails) != 1 || !strings.Contains(text(mails[0]), subject) {
				t.Errorf("the mails are %+v, want %s", mails, subject)
			}
		}
		forgets(m.speaks("fr"), "Choose a new password")
		forgets(b, "Neues Passwort wählen")
		signedIn := m.signedIn()
		account := signedIn.get("/account")
		signedIn.post("/account/language", with(account.Fields(), "language", "de")).leads(t, "/account")
		forgets(m.browser(), "Neues Passwort wählen")
	})
}
