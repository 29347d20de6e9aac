package web

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/authserver/factors"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/locale/localetest"
	"github.com/tollgate-gateway/tollgate/internal/password"
)

// TestCatalogue compares the catalogue with the texts of all pages and mails, and with the messages of the errors that
// the pages show.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	texts := localetest.New()
	texts.Templates(t, files, "templates/*.html")
	texts.Variable(t, "../account/letters.go", "letterTexts")
	texts.Source(t, ".", map[string]int{"users.Invalid": 1})
	texts.Source(t, "../account", map[string]int{"users.Invalid": 1})
	texts.Source(t, "../users", map[string]int{"Invalid": 1}, "password.go", "pending.go", "upstream.go", "users.go")
	texts.Source(t, "../login", nil)
	texts.Source(t, "../factors", nil)
	texts.Source(t, "../authorize", map[string]int{"pageError": 0})
	texts.Source(t, "../device", nil)
	texts.Source(t, "../upstreams", nil)
	texts.Source(t, "../openid", map[string]int{"refuse": 0}, "logout.go")
	texts.Source(t, "../connections", map[string]int{"refuse": 1}, "connect.go")
	texts.Source(t, "../../../internal/oidclogin", nil)
	texts.Message(
		users.ErrCredentials.Error(), factors.ErrWrong.Error(), password.ErrGuessable.Error(),
		"this site", "the server", "sign-in", "the identity provider",
	)
	texts.Except(t, // texts that only administrators and programs get
		"a group must be one line of at most 100 characters", "a user can have at most 100 groups", "the role must be user or admin",
		"the id must have at most 100 characters, and neither a slash nor a colon",
		"there are both a password and the hash of a password; give only one of them",
		"the hash must be one of argon2id, bcrypt with a cost from 10 to 16, PBKDF2 or scrypt, and not too costly to check",
		"no mails are sent: mail.url is not set", "the mail was not sent: X",
		"nobody is signed in", "the server is not available right now, try again shortly",
		"sign-in is not available right now, try again shortly", // of the catalogue of the package pages
	)
	german, err := catalogues.ReadFile("languages/de.json")
	if err != nil {
		t.Fatal(err)
	}
	texts.Check(t, "de", german)
}
