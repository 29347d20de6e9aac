package web

import (
	"net/http"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/locale"
)

// The language of a page is the one that the user has set. Otherwise it is the one that the application has asked for
// by ui_locales (OpenID Connect Core, section 3.1.2.1), which a cookie stores for the pages that follow, or else the
// one that the browser asks for.

const (
	languageCookie = "authserver_language"
	languageLasts  = time.Hour
	// localesParameter is the parameter of requests of applications, which every page takes.
	localesParameter = "ui_locales"
)

// prefer sets the language of the page.
func (c *call) prefer() {
	var set, asked string
	if c.session != nil {
		set = c.session.User.Language
	}
	if cookie, err := c.R.Cookie(languageCookie); err == nil {
		asked = cookie.Value
	}
	if wish := locale.Wish(c.Query.Text(localesParameter)); wish != "" {
		asked = wish
		c.keepLanguage(wish)
	}
	c.Prefer(set, asked)
	c.R = c.R.WithContext(locale.NewContext(c.Context(), c.Language()))
}

// keepLanguage stores the languages that an application asks for, for the pages that follow. Without a wish it removes
// what is stored. It ignores a wish that contains no available language.
func (c *call) keepLanguage(wish string) {
	if wish == "" {
		if _, err := c.R.Cookie(languageCookie); err == nil {
			c.setLanguage("", -1)
		}
		return
	}
	if l := c.Languages.Match(wish); l != nil {
		c.setLanguage(l.Tag(), int(languageLasts/time.Second))
	}
}

func (c *call) setLanguage(tag string, age int) {
	http.SetCookie(c.W, &http.Cookie{ //nolint:gosec // G124: Secure wherever the site is https
		Name: languageCookie, Value: tag, Path: c.At("/"), MaxAge: age, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: c.Options.Secure || strings.HasPrefix(c.Issuer, "https://"),
	})
}

// chooseLanguage sets the language of the user; an empty one means that the browser decides.
func (c *call) chooseLanguage() error {
	if done, err := c.signedIn(); done {
		return err
	}
	tag := c.Form.Text("language")
	if tag != "" && c.Languages.Find(tag) == nil {
		return c.toAccount()
	}
	user, err := c.Users.Update(c.Context(), c.session.User.ID, users.Change{Language: &tag}, c.session.User.ID)
	if err != nil {
		return err
	}
	c.session.User = user
	c.keepLanguage("")
	c.Prefer(user.Language)
	return c.Redirect(accountPath, c.T("The language is saved."))
}
