package web

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/secret"
)

// Upstream is another OpenID provider at which people sign in.
type Upstream struct {
	Provider *oidclogin.Provider
	// Name is what people call it.
	Name string
	// Redirect is where it sends people back to: oidc.redirect_uri.
	Redirect string
	// Lasts is how long they may take there.
	Lasts time.Duration
}

const (
	upstreamStart    = "/oidc/start"
	upstreamCallback = "/oidc/callback"
	// upstreamCookie holds what belongs to a sign-in that is under way.
	upstreamCookie = "authserver_oidc_state"
	// cookieMost bounds where a sign-in leads, so that the cookie is kept.
	cookieMost = 3000
)

// startUpstream leads to the other provider.
func (c *call) startUpstream() error {
	if c.Upstream == nil {
		return pages.NotFound()
	}
	to := pages.LocalUpTo(maxRedirect, c.Query.Text("redirect"))
	if len(to) > cookieMost {
		to = "/"
	}
	from := oidclogin.Browser{Secret: secret.New(), Redirect: c.Upstream.Redirect}
	location, err := c.Upstream.Provider.Begin(c.Context(), from, oidclogin.Ask{Again: c.Query.Flag("again")})
	if err != nil {
		return err
	}
	c.keepUpstream(c.Signer("oidc").Sign([]byte(from.Secret+" "+to)), c.Upstream.Lasts)
	return c.leave(location)
}

// keepUpstream keeps the cookie for a time; none removes it.
func (c *call) keepUpstream(value string, lasts time.Duration) {
	age := int(lasts / time.Second)
	if value == "" {
		age = -1
	}
	http.SetCookie(c.W, &http.Cookie{ //nolint:gosec // G124: Secure wherever the site is https
		Name: upstreamCookie, Value: value, Path: c.At("/oidc"), MaxAge: age, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: c.Options.Secure || strings.HasPrefix(c.Issuer, "https://"),
	})
}

// finishUpstream is where the other provider sends people back to.
func (c *call) finishUpstream() error {
	if c.Upstream == nil {
		return pages.NotFound()
	}
	var from oidclogin.Browser
	to := "/"
	if cookie, err := c.R.Cookie(upstreamCookie); err == nil {
		if payload, ok := c.Signer("oidc").Open(cookie.Value); ok {
			from.Redirect = c.Upstream.Redirect
			from.Secret, to, _ = strings.Cut(string(payload), " ")
		}
	}
	c.keepUpstream("", 0)
	began := time.Now()
	person, err := c.Upstream.Provider.Finish(c.Context(), from, c.R.URL.Query())
	c.Took("oidc_exchange_duration_seconds", "", began)
	if err != nil {
		if e, ok := apierror.From(err); ok && e.Status == http.StatusForbidden { // of the answer, not of the person
			answer := *e
			answer.Status = http.StatusBadRequest
			err = &answer
		}
		return c.refusedUpstream(err)
	}
	called := ""
	if len(person.Names) > 0 {
		called = person.Names[len(person.Names)-1]
	}
	for _, name := range person.Names {
		if strings.Contains(name, " ") { // a full name, where there is one
			called = name
			break
		}
	}
	u, err := c.Users.Known(c.Context(), users.Person{
		Issuer: person.Issuer, Subject: person.Subject, Email: person.Email, EmailVerified: person.Confirmed, Name: called, Groups: person.Claimed,
	})
	if err != nil {
		return c.refusedUpstream(err)
	}
	cookie, err := c.Login.Enter(c.Context(), u, c.Address(c.R), c.Session())
	if err != nil {
		return c.refusedUpstream(err)
	}
	c.SignIn(cookie, c.Login.MaxAge())
	return c.leave(c.At(to))
}

// refusedUpstream notes that somebody was not let in. Nothing of what the provider said is
// told.
func (c *call) refusedUpstream(err error) error {
	e, ok := apierror.From(err)
	if !ok {
		return err
	}
	detail := []string{"reason", e.Code}
	if e.Cause != nil {
		detail = append(detail, "cause", e.Cause.Error())
	}
	c.Audit(c.Context(), kernel.Event{Action: "user.oidc_login_failed", Address: c.Address(c.R), Detail: detail})
	return err
}

// upstreamLink is where the login page leads to the other provider; empty: nowhere.
func (c *call) upstreamLink(form *loginForm) string {
	if c.Upstream == nil {
		return ""
	}
	q := url.Values{"redirect": {form.Redirect}}
	if form.Again {
		q.Set("again", "1")
	}
	return c.At(upstreamStart) + "?" + q.Encode()
}
