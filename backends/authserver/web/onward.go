package web

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/pages"
)

// Whoever asks for a mail in the middle of a sign-in for an application goes on to the application
// behind the link, in the same browser: a cookie keeps where. The application's request itself is good
// in that browser alone.

const (
	onwardCookie = "authserver_onward"
	onwardLasts  = time.Hour
	// onwardMost bounds the cookie, which browsers keep up to about 4 KB.
	onwardMost = 3500
)

// withOnward adds where somebody goes on to, to the address of a page.
func withOnward(page, redirect string) string {
	if redirect == "" || redirect == "/" {
		return page
	}
	return page + "?" + url.Values{"redirect": {redirect}}.Encode()
}

// keepOnward keeps in the browser where the form that was sent goes on to.
func (c *call) keepOnward() {
	value := url.QueryEscape(c.onward())
	if value != "" && len(value) <= onwardMost {
		c.setOnward(value, int(onwardLasts/time.Second))
	}
}

// takeOnward returns where the browser goes on to, and forgets it. It is empty where nothing was kept.
func (c *call) takeOnward() string {
	kept, err := c.R.Cookie(onwardCookie)
	if err != nil {
		return ""
	}
	c.setOnward("", -1)
	path, err := url.QueryUnescape(kept.Value)
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
