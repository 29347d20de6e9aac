package web

import (
	"net/url"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/pages"
)

// A user who requests a mail while signing in to an application continues with that sign-in after opening the link, if
// the same browser opens it. A cookie stores the path at which to continue, because the path contains a transaction (an
// authorization request in progress), which is valid only in that browser.

const (
	continuationCookie = "authserver_onward"
	continuationAge    = time.Hour
	// maxContinuation is the maximum length of the cookie's value, since browsers limit cookies to about 4 KB.
	maxContinuation = 3500
)

// withRedirect returns the path of a page with the query parameter redirect: the path at which the browser continues
// afterwards. It omits the parameter if that path is empty or the start page.
func withRedirect(page, redirect string) string {
	if redirect == "" || redirect == "/" {
		return page
	}
	return page + "?" + url.Values{"redirect": {redirect}}.Encode()
}

// storeContinuation stores in a cookie the path at which the browser continues. It does nothing if the path is empty
// or too long.
func (c *call) storeContinuation() {
	value := url.QueryEscape(c.continuation())
	if value != "" && len(value) <= maxContinuation {
		c.setCookie(continuationCookie, "/", value, continuationAge)
	}
}

// takeContinuation returns the path that storeContinuation has stored in a cookie, and deletes the cookie. Without a
// cookie it returns "".
func (c *call) takeContinuation() string {
	cookie, err := c.R.Cookie(continuationCookie)
	if err != nil {
		return ""
	}
	c.deleteCookie(continuationCookie, "/")
	path, err := url.QueryUnescape(cookie.Value)
	if err != nil {
		return ""
	}
	return pages.LocalUpTo(maxRedirect, path)
}
