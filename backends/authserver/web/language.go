package web

import (
	"net/http"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/locale"
)

// The language of a page is the first of these: the language that the user has set; the language that the application
// has requested by ui_locales (OpenID Connect Core, section 3.1.2.1), which a cookie stores for the following pages;
// the language that the browser requests.

const (
	languageCookie = "authserver_language"
	languageLasts  = time.Hour
	// localesParameter is the parameter in which applications request a language, on any page.
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

// keepLanguage stores the languages that an application requests in a cookie, for the following pages. If wish is
// empty, it deletes the cookie. It ignores a wish without an available language.
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

// chooseLanguage handles the form that sets the user's language. An empty language means the browser's.
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
