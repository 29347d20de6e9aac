package web

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/pages"
)

// A user who requests a mail while signing in to an application continues with that sign-in after opening the link, if
// the same browser opens it. A cookie stores the path to continue at, since the transaction is only valid in that
// browser.

const (
	onwardCookie = "authserver_onward"
	onwardLasts  = time.Hour
	// maxOnward is the maximum length of the cookie's value, since browsers limit cookies to about 4 KB.
	maxOnward = 3500
)

// withOnward returns the path of a page with a query parameter for redirect, the path at which the browser continues
// afterwards.
func withOnward(page, redirect string) string {
	if redirect == "" || redirect == "/" {
		return page
	}
	return page + "?" + url.Values{"redirect": {redirect}}.Encode()
}

// keepOnward stores the path at which to continue in the cookie.
func (c *call) keepOnward() {
	value := url.QueryEscape(c.onward())
	if value != "" && len(value) <= maxOnward {
		c.setOnward(value, int(onwardLasts/time.Second))
	}
}

// takeOnward returns the path in the cookie and deletes the cookie. Without a cookie it returns "".
func (c *call) takeOnward() string {
	cookie, err := c.R.Cookie(onwardCookie)
	if err != nil {
		return ""
	}
	c.setOnward("", -1)
	path, err := url.QueryUnescape(cookie.Value)
	if err != nil {
		return ""
	}
	return pages.LocalUpTo(maxRedirect, path)
}

func (c *call) setOnward(value string, age int) {
	http.SetCookie(c.W, &http.Cookie{ //nolint:gosec // G124: Secure wherever the site is https
		Name: onwardCookie, Value: value, Path: c.At("/"), MaxAge: age, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: c.Options.Secure || strings.HasPrefix(c.Issuer, "https://"),
	})
}
