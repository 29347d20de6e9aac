package web_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/locale"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/pages/pagestest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// languages returns the built-in languages, with the files of a folder of the operator.
func languages(t *testing.T, fallback string, own fstest.MapFS) *locale.Languages {
	t.Helper()
	all, err := locale.Load(fallback, nil, pages.Catalogues(), web.Catalogues(), own)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// speaks returns a browser that asks for languages.
func (s *site) speaks(accept string) *browser {
	s.t.Helper()
	b := s.guest()
	b.Always.Set("Accept-Language", accept)
	return b
}

// in checks the language of a page.
func in(t *testing.T, p *pagestest.Page, tag string) *pagestest.Page {
	t.Helper()
	if !strings.Contains(p.Text, `<html lang="`+tag+`">`) || p.Header.Get("Content-Language") != tag {
		t.Errorf("the page is in %s, want %s: %.300s", p.Header.Get("Content-Language"), tag, p.Text)
	}
	if !slices.Contains(p.Header.Values("Vary"), "Accept-Language") {
		t.Errorf("Vary is %q", p.Header.Values("Vary"))
	}
	return p
}

// TestLanguages checks which language a page has: that of the member, of the browser, of the board.
func TestLanguages(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{Languages: languages(t, "", nil)})
		in(t, s.guest().Get("/login").Want(200, "<h1>Sign in</h1>"), "en")
		in(t, s.speaks("fr").Get("/login"), "en")
		b := s.speaks("fr, de-CH;q=0.8, en;q=0.5")
		login := in(t, b.Get("/login").Want(200, "<h1>Anmelden</h1>", "<title>Anmelden – "), "de")
		in(t, login.Send("/login", "name", "bob", "password", "wrong").Want(422, "Bitte korrigieren Sie zuerst", "Der Name oder das Passwort ist falsch."), "de")
		in(t, b.Get("/nowhere").Want(404, "Seite nicht gefunden", "Hier gibt es nichts, das Sie sehen dürfen."), "de")
		in(t, b.Get("/forgot").Want(200, "Link per E-Mail senden"), "de")
		b.Get("/login").Send("/login", "name", "bob", "password", "correct horse").Want(200, "Abmelden")

		// The setting of the member comes first, in every browser, and a mail has it.
		account := in(t, b.Get("/account").Want(200, "Ihr Konto", `<option value="de" lang="de">Deutsch</option>`, `<option value="en" lang="en">English</option>`), "de")
		in(t, account.Send("/account/language", "language", "xx").Want(200), "de")
		in(t, account.Send("/account/language", "language", "en").Want(200, "The language is saved.", `value="en" lang="en" selected`), "en")
		other := s.speaks("de")
		in(t, other.Get("/forgot").Send("/forgot", "email", "bob@example.com").Want(200), "de")
		if m := s.mailed("bob", accounts.LinkReset); m.Language != "en" {
			t.Errorf("the mail is in %q", m.Language)
		}
		in(t, b.Get("/account").Send("/account/language", "language", "").Want(200, "Die Sprache ist gespeichert."), "de")

		// Administrators see the administration in English.
		ada := s.as("ada")
		ada.Always.Set("Accept-Language", "de")
		in(t, ada.Get("/account").Want(200, "Ihr Konto"), "de")
		in(t, ada.Get("/admin").Want(200, "Members waiting for approval"), "en")
		in(t, ada.Get("/moderation/log").Want(200), "en")
		in(t, ada.Get("/moderation").Want(200, "Wartende Beiträge", "Freigeben", "mit Beispieldaten eingespielt"), "de")
	})
}

// TestLanguageOfTheBoard checks that the language of the board is that of people whose languages are not there, and
// that the operator's texts replace the built-in ones.
func TestLanguageOfTheBoard(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), web.Options{Languages: languages(t, "de", fstest.MapFS{
		"de.json": {Data: []byte(`{"texts": {"Sign in": "Einloggen"}, "messages": {"the name or the password is wrong": "Das stimmt nicht."}}`)},
		"fr.json": {Data: []byte(`{"name": "Français", "texts": {"Sign in": "Se connecter"}}`)},
	})})
	login := in(t, s.guest().Get("/login").Want(200, "<h1>Einloggen</h1>"), "de")
	in(t, login.Send("/login", "name", "bob", "password", "wrong").Want(422, "Das stimmt nicht."), "de")
	in(t, s.speaks("en").Get("/login").Want(200, "<h1>Sign in</h1>"), "en")
	in(t, s.speaks("fr-CA").Get("/login").Want(200, "<h1>Se connecter</h1>", "Name or mail address"), "fr")
}

// TestLanguageOfMails checks that a mail with a link has the language of the page on which it was asked for if the
// member has chosen none.
func TestLanguageOfMails(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{Languages: languages(t, "", nil)})
		b := s.speaks("de")
		b.Get("/forgot").Send("/forgot", "email", "bob@example.com").Want(http.StatusOK, "Wenn bob@example.com die Adresse eines Mitglieds ist")
		if m := s.mailed("bob", accounts.LinkReset); m.Language != "de" {
			t.Errorf("the mail is in %q", m.Language)
		}
		s.join(b.Get("/register").Want(200, "<h1>Registrieren</h1>"), "username", "neu", "email", "neu@example.com", "password", "battery staple").
			Want(200, "E-Mail-Adresse bestätigen")
		if m := s.mailed("neu", accounts.LinkJoin); m.Language != "de" {
			t.Errorf("the mail is in %q", m.Language)
		}
	})
}
