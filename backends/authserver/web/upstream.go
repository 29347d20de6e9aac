package web

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/login"
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
	// upstreamCookie holds what belongs to a sign-in that is under way. Of a further one, in another tab, the name has
	// the mark of its state behind it.
	upstreamCookie = "authserver_oidc_state"
	// upstreamsMost is how many sign-ins of one browser may be under way.
	upstreamsMost = 8
	// cookiePart is what one cookie holds of it, so that browsers keep it, and cookieParts
	// how many there may be: where a sign-in leads may be long.
	cookiePart, cookieParts = 3500, 5
)

// startUpstream leads to the other provider.
func (c *call) startUpstream() error {
	if c.Upstream == nil {
		return pages.NotFound()
	}
	to := pages.LocalUpTo(maxRedirect, c.Query.Text("redirect"))
	from := oidclogin.Browser{Secret: secret.New(), Redirect: c.Upstream.Redirect}
	location, err := c.Upstream.Provider.Begin(c.Context(), from, oidclogin.Ask{Again: c.Query.Flag("again")})
	if err != nil {
		return err
	}
	u, err := url.Parse(location)
	if err != nil {
		return err
	}
	mark := markOf(u.Query().Get("state"))
	kept := c.Signer("oidc").Sign([]byte(mark + " " + from.Secret + " " + to))
	if len(kept) > cookiePart*cookieParts {
		return apierror.New(http.StatusBadRequest, kernel.InvalidRequest, "The application asks for more than can be kept while you sign in elsewhere. Sign in first, and then begin there again.")
	}
	c.keepUpstream(mark, kept, c.Upstream.Lasts)
	return c.leave(location)
}

// markOf returns a short name of a sign-in that is under way, by its state.
func markOf(state string) string {
	sum := sha256.Sum256([]byte(state))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// partOf returns the name of a part of a cookie.
func partOf(name string, i int) string {
	if i == 0 {
		return name
	}
	return name + "_" + strconv.Itoa(i)
}

// keepUpstream keeps the cookie of a sign-in for a time, beside those of other tabs.
func (c *call) keepUpstream(mark, value string, lasts time.Duration) {
	name := upstreamCookie
	if _, err := c.R.Cookie(name); err == nil {
		name += "_" + mark
	}
	under := 0
	for _, other := range c.R.Cookies() {
		if !strings.HasPrefix(other.Name, upstreamCookie) {
			continue
		}
		if under++; under >= upstreamsMost { // those were given up
			c.upstreamPart(other.Name, "", -1)
		}
	}
	for i := 0; value != ""; i++ {
		part := value[:min(len(value), cookiePart)]
		value = value[len(part):]
		c.upstreamPart(partOf(name, i), part, int(lasts/time.Second))
	}
}

// keptUpstream returns what was kept of the sign-in with a state, and removes its cookie. Where nothing was, both are
// empty.
func (c *call) keptUpstream(state string) (secret, to string) {
	mark := markOf(state)
	for _, name := range [...]string{upstreamCookie, upstreamCookie + "_" + mark} {
		var all strings.Builder
		parts := 0
		for ; parts < cookieParts; parts++ {
			part, err := c.R.Cookie(partOf(name, parts))
			if err != nil {
				break
			}
			all.WriteString(part.Value)
		}
		payload, ok := c.Signer("oidc").Open(all.String())
		rest, mine := strings.CutPrefix(string(payload), mark+" ")
		if !ok || !mine {
			continue
		}
		for i := range parts {
			c.upstreamPart(partOf(name, i), "", -1)
		}
		secret, to, _ = strings.Cut(rest, " ")
		return secret, to
	}
	return "", ""
}

func (c *call) upstreamPart(name, value string, age int) {
	http.SetCookie(c.W, &http.Cookie{ //nolint:gosec // G124: Secure wherever the site is https
		Name: name, Value: value, Path: c.At("/oidc"), MaxAge: age, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: c.Options.Secure || strings.HasPrefix(c.Issuer, "https://"),
	})
}

// finishUpstream is where the other provider sends people back to.
func (c *call) finishUpstream() error {
	if c.Upstream == nil {
		return pages.NotFound()
	}
	from := oidclogin.Browser{Redirect: c.Upstream.Redirect}
	var to string
	from.Secret, to = c.keptUpstream(c.Query.Text("state"))
	began := time.Now()
	person, err := c.Upstream.Provider.Finish(c.Context(), from, c.R.URL.Query())
	c.Took("oidc_exchange_duration_seconds", "", began)
	if err != nil {
		if e, ok := apierror.From(err); ok && e.Status == http.StatusForbidden { // of the answer, not of the person
			answer := *e
			answer.Status = http.StatusBadRequest
			err = &answer
		}
		return c.refusedUpstream(err, "")
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
		return c.refusedUpstream(err, "")
	}
	at := person.AuthTime
	if person.Again { // they were asked just now, whatever the clock there says
		at = time.Time{}
	}
	cookie, err := c.Login.Enter(c.Context(), u, at, c.Address(c.R), c.Session())
	if err != nil {
		return c.refusedUpstream(err, u.ID)
	}
	c.SignIn(cookie, c.Login.MaxAge())
	return c.leave(c.At(to))
}

// causeMost bounds what the audit feed has of why an answer was refused, which may quote it.
const causeMost = 200

// refusedUpstream notes that somebody was not let in, and who it is where that is known.
// Nothing of what the provider said is told.
func (c *call) refusedUpstream(err error, user string) error {
	e, ok := apierror.From(err)
	if !ok {
		return err
	}
	if e.Status < http.StatusInternalServerError {
		c.Count(login.Attempts, "failure")
	}
	detail := []string{"reason", e.Code}
	if e.Cause != nil {
		cause := e.Cause.Error()
		detail = append(detail, "cause", strings.ToValidUTF8(cause[:min(len(cause), causeMost)], ""))
	}
	c.Audit(c.Context(), kernel.Event{Action: "user.oidc_login_failed", Actor: user, Address: c.Address(c.R), Detail: detail})
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
