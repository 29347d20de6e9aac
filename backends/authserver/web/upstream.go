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
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/secret"
)

// Upstream is an OpenID provider at which users sign in.
type Upstream struct {
	Provider *oidclogin.Provider
	// Name is the name of the provider.
	Name string
	// Redirect is the redirect URI that is registered at the provider: oidc.redirect_uri.
	Redirect string
	// Lasts is the maximum time for a sign-in at the provider.
	Lasts time.Duration
}

const (
	upstreamStart    = "/oidc/start"
	upstreamCallback = "/oidc/callback"
	// upstreamCookie is the name of the cookie with the state of a sign-in in progress. If another tab has already set
	// that cookie, the name is followed by the mark of the sign-in; see markOf.
	upstreamCookie = "authserver_oidc_state"
	// maxUpstreams is the maximum number of sign-ins in progress in one browser.
	maxUpstreams = 8
	// cookiePart is the maximum length of one cookie's value, so that browsers accept it. cookieParts is the maximum
	// number of cookies for one sign-in; a long path at which to continue is divided among them.
	cookiePart, cookieParts = 3500, 5
)

// startUpstream redirects to the provider of the section oidc.
func (c *call) startUpstream() error {
	if c.Upstream == nil {
		return pages.NotFound()
	}
	to := pages.LocalUpTo(maxRedirect, c.Query.Text("redirect"))
	return c.leadUpstream(c.Upstream, oidclogin.Ask{Again: c.Query.Flag("again")}, to)
}

// leadUpstream redirects to a provider. It stores the path to in a cookie; the browser continues there after the
// sign-in.
func (c *call) leadUpstream(provider *Upstream, ask oidclogin.Ask, to string) error {
	from := oidclogin.Browser{Secret: secret.New(), Redirect: provider.Redirect}
	location, err := provider.Provider.Begin(c.Context(), from, ask)
	if err != nil {
		return err
	}
	u, err := url.Parse(location)
	if err != nil {
		return err
	}
	mark := markOf(u.Query().Get("state"))
	cookie := c.Signer("oidc").Sign([]byte(mark + " " + from.Secret + " " + to))
	if len(cookie) > cookiePart*cookieParts {
		return apierror.New(http.StatusBadRequest, kernel.InvalidRequest,
			"The application asks for more than can be kept while you sign in elsewhere. Sign in first, and then begin there again.")
	}
	c.keepUpstream(mark, cookie, provider.Lasts)
	return c.leave(location)
}

// markOf returns a short identifier of a sign-in, derived from its state.
func markOf(state string) string {
	sum := sha256.Sum256([]byte(state))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// partOf returns the name of the i-th cookie of a sign-in.
func partOf(name string, i int) string {
	if i == 0 {
		return name
	}
	return name + "_" + strconv.Itoa(i)
}

// keepUpstream stores a value in the cookies of a sign-in, without replacing those of other tabs. The mark identifies
// the sign-in; see markOf.
func (c *call) keepUpstream(mark, value string, lasts time.Duration) {
	name := upstreamCookie
	if _, err := c.R.Cookie(name); err == nil {
		name += "_" + mark
	}
	pending := 0
	for _, other := range c.R.Cookies() {
		if !strings.HasPrefix(other.Name, upstreamCookie) {
			continue
		}
		if pending++; pending >= maxUpstreams { // abandoned sign-ins
			c.upstreamPart(other.Name, "", -1)
		}
	}
	for i := 0; value != ""; i++ {
		part := value[:min(len(value), cookiePart)]
		value = value[len(part):]
		c.upstreamPart(partOf(name, i), part, int(lasts/time.Second))
	}
}

// keptUpstream returns the values that leadUpstream stored for the sign-in with a state, and deletes its cookies.
// Without such cookies both values are empty.
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
		rest, matches := strings.CutPrefix(string(payload), mark+" ")
		if !ok || !matches {
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

// finishUpstream handles the redirect back from the provider of the section oidc.
func (c *call) finishUpstream() error {
	if c.Upstream == nil {
		return pages.NotFound()
	}
	person, to, err := c.backFromUpstream(c.Upstream)
	if err != nil {
		return c.refusedUpstream(err, "")
	}
	u, err := c.Users.FindOrCreate(c.Context(), person)
	if err != nil {
		return c.refusedUpstream(err, "")
	}
	authTime := person.AuthTime
	if person.Again { // they have just been asked, whatever the provider's clock says
		authTime = time.Time{}
	}
	cookie, err := c.Login.Enter(c.Context(), u, authTime, c.Address(c.R), c.Session())
	if err != nil {
		return c.refusedUpstream(err, u.ID)
	}
	c.SignIn(cookie, c.Login.MaxAge())
	return c.leave(c.At(to))
}

// backFromUpstream handles the redirect back from a provider. It returns the person who has signed in there and the
// path at which the browser continues.
func (c *call) backFromUpstream(provider *Upstream) (person *oidclogin.Person, to string, err error) {
	from := oidclogin.Browser{Redirect: provider.Redirect}
	from.Secret, to = c.keptUpstream(c.Query.Text("state"))
	began := time.Now()
	person, err = provider.Provider.Finish(c.Context(), from, c.R.URL.Query())
	c.Took("oidc_exchange_duration_seconds", "", began)
	// Such an error is about the provider's response, not about the user's rights here.
	if e, ok := apierror.From(err); ok && e.Status == http.StatusForbidden {
		answer := *e
		answer.Status = http.StatusBadRequest
		err = &answer
	}
	return person, to, err
}

// maxCause is the maximum length of the cause in the audit feed. The cause may quote the provider's response.
const maxCause = 200

// refusedUpstream records a failed sign-in and returns the error for the page, without the provider's response. The
// user is the id of the user, if known. The list more has further names and values for the audit event.
func (c *call) refusedUpstream(err error, user string, more ...string) error {
	e, ok := apierror.From(err)
	if !ok {
		return err
	}
	if e.Status < http.StatusInternalServerError {
		c.Count(login.Attempts, "failure")
	}
	detail := append(more, "reason", e.Code)
	if e.Cause != nil {
		cause := e.Cause.Error()
		detail = append(detail, "cause", strings.ToValidUTF8(cause[:min(len(cause), maxCause)], ""))
	}
	c.Audit(c.Context(), kernel.Event{
		Action: "user.oidc_login_failed", Actor: user, Address: c.Address(c.R),
		Detail: detail,
	})
	return err
}

// upstreamLink returns the login page's link to the provider of the section oidc, or "" if that section is not enabled.
func (c *call) upstreamLink(form *loginForm) string {
	if c.Upstream == nil {
		return ""
	}
	return c.At(upstreamStart) + "?" + form.query().Encode()
}
