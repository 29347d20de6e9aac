package web

import (
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/locale"
)

// The language of a page is the first of these: the language that the user has set; the language that the application
// has requested by ui_locales (OpenID Connect Core, section 3.1.2.1), which a cookie stores for the following pages;
// the language that the browser requests.

const (
	languageCookie    = "authserver_language"
	languageCookieAge = time.Hour
	// localesParameter is the parameter in which applications request a language, on any page.
	localesParameter = "ui_locales"
)

// setPageLanguage sets the language of the page, and of texts that are made with the context of the request.
func (c *call) setPageLanguage() {
	var chosen, requested string
	if c.session != nil {
		chosen = c.session.User.Language
	}
	if cookie, err := c.R.Cookie(languageCookie); err == nil {
		requested = cookie.Value
	}
	if wish := locale.Wish(c.Query.Text(localesParameter)); wish != "" {
		requested = wish
		c.keepLanguage(wish)
	}
	c.Prefer(chosen, requested)
	c.R = c.R.WithContext(locale.NewContext(c.Context(), c.Language()))
}

// keepLanguage sets a cookie with the language of the following pages. The parameter wish has the languages that an
// application requests. If wish is empty, keepLanguage deletes the cookie. It ignores a wish without an available
// language.
func (c *call) keepLanguage(wish string) {
	if wish == "" {
		if _, err := c.R.Cookie(languageCookie); err == nil {
			c.deleteCookie(languageCookie, "/")
		}
		return
	}
	if l := c.Languages.Match(wish); l != nil {
		c.setCookie(languageCookie, "/", l.Tag(), languageCookieAge)
	}
}

// chooseLanguage handles the form that sets the user's language. An empty language means the browser's.
func (c *call) chooseLanguage() error {
	if done, err := c.requireSession(); done {
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
	c.keepLanguage("") // the user's choice replaces the language that an application has requested
	c.Prefer(user.Language)
	return c.Redirect(accountPath, c.T("The language is saved."))
}
