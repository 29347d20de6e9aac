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
	// upstreamCookie is the name of the cookie with the state of a flow: a sign-in at a provider in progress. If another
	// tab has already set that cookie, the name is followed by the id of the flow; see flowID.
	upstreamCookie = "authserver_oidc_state"
	// upstreamCookiePath is the path of these cookies.
	upstreamCookiePath = "/oidc"
	// maxFlows is the maximum number of flows in one browser.
	maxFlows = 8
	// maxCookieValue is the maximum length of one cookie's value, so that browsers accept it.
	maxCookieValue = 3500
	// maxCookies is the maximum number of cookies of one flow; a long path at which to continue is divided among them.
	maxCookies = 5
)

// startUpstream redirects to the provider of the section oidc.
func (c *call) startUpstream() error {
	if c.Upstream == nil {
		return pages.NotFound()
	}
	nextPath := pages.LocalUpTo(maxRedirect, c.Query.Text("redirect"))
	return c.redirectToProvider(c.Upstream, oidclogin.Ask{Again: c.Query.Flag("again")}, nextPath)
}

// redirectToProvider redirects to a provider. It stores nextPath in a cookie; the browser continues there after the
// sign-in.
func (c *call) redirectToProvider(provider *Upstream, ask oidclogin.Ask, nextPath string) error {
	browser := oidclogin.Browser{Secret: secret.New(), Redirect: provider.Redirect}
	location, err := provider.Provider.Begin(c.Context(), browser, ask)
	if err != nil {
		return err
	}
	u, err := url.Parse(location)
	if err != nil {
		return err
	}
	id := flowID(u.Query().Get("state"))
	cookie := c.Signer("oidc").Sign([]byte(id + " " + browser.Secret + " " + nextPath))
	if len(cookie) > maxCookieValue*maxCookies {
		return apierror.New(http.StatusBadRequest, kernel.InvalidRequest,
			"The request of the application is too long to be stored during the sign-in at the identity provider."+
				" Sign in here first, and then begin again in the application.")
	}
	c.storeFlow(id, cookie, provider.Lasts)
	return c.redirectTo(location)
}

// flowID returns a short identifier of a flow, derived from the parameter state of its authorization request.
func flowID(state string) string {
	sum := sha256.Sum256([]byte(state))
	return base64.RawURLEncoding.EncodeToString(sum[:9])
}

// cookieName returns the name of the i-th cookie of a flow whose first cookie has the given name.
func cookieName(name string, i int) string {
	if i == 0 {
		return name
	}
	return name + "_" + strconv.Itoa(i)
}

// storeFlow stores a value in the cookies of the flow with an id, without replacing those of other tabs. The first flow
// uses a name without an id. If there are maxFlows cookies or more, the oldest are deleted, because they come from
// sign-ins that were abandoned. Browsers send the cookies of a path in the order of their creation (RFC 6265 section
// 5.4).
func (c *call) storeFlow(id, value string, lasts time.Duration) {
	name := upstreamCookie
	if _, err := c.R.Cookie(name); err == nil {
		name += "_" + id
	}
	var pending []string // names of cookies, the oldest first
	for _, other := range c.R.Cookies() {
		if strings.HasPrefix(other.Name, upstreamCookie) {
			pending = append(pending, other.Name)
		}
	}
	for _, abandoned := range pending[:max(0, len(pending)-maxFlows+1)] {
		c.deleteCookie(abandoned, upstreamCookiePath)
	}
	for i := 0; value != ""; i++ {
		part := value[:min(len(value), maxCookieValue)]
		value = value[len(part):]
		c.setCookie(cookieName(name, i), upstreamCookiePath, part, lasts)
	}
}

// takeFlow returns the values that redirectToProvider stored for the flow with a state, and deletes its cookies.
// Without such cookies both values are empty.
func (c *call) takeFlow(state string) (secret, nextPath string) {
	id := flowID(state)
	// storeFlow uses the name without an id for the first flow, and a name with the id for each further one.
	for _, name := range [...]string{upstreamCookie, upstreamCookie + "_" + id} {
		var value strings.Builder
		count := 0
		for ; count < maxCookies; count++ {
			part, err := c.R.Cookie(cookieName(name, count))
			if err != nil {
				break
			}
			value.WriteString(part.Value)
		}
		payload, ok := c.Signer("oidc").Open(value.String())
		content, matches := strings.CutPrefix(string(payload), id+" ")
		if !ok || !matches {
			continue
		}
		for i := range count {
			c.deleteCookie(cookieName(name, i), upstreamCookiePath)
		}
		secret, nextPath, _ = strings.Cut(content, " ")
		return secret, nextPath
	}
	return "", ""
}

// finishUpstream handles the redirect back from the provider of the section oidc.
func (c *call) finishUpstream() error {
	if c.Upstream == nil {
		return pages.NotFound()
	}
	person, nextPath, err := c.finishAtProvider(c.Upstream)
	if err != nil {
		return c.recordFailure(err, "")
	}
	u, err := c.Users.FindOrCreate(c.Context(), person)
	if err != nil {
		return c.recordFailure(err, "")
	}
	cookie, err := c.Login.Enter(c.Context(), u, authTimeOf(person), c.Address(c.R), c.Session())
	if err != nil {
		return c.recordFailure(err, u.ID)
	}
	c.SignIn(cookie, c.Login.MaxAge())
	return c.redirectTo(c.At(nextPath))
}

// authTimeOf returns when a provider authenticated a person, or the zero time, which means now. It returns the zero
// time if the provider was asked to authenticate the person again: the provider has just done so, even if its clock
// differs.
func authTimeOf(person *oidclogin.Person) time.Time {
	if person.Again {
		return time.Time{}
	}
	return person.AuthTime
}

// finishAtProvider handles the redirect back from a provider. It returns the person who has signed in there and the
// path at which the browser continues.
func (c *call) finishAtProvider(provider *Upstream) (person *oidclogin.Person, nextPath string, err error) {
	browser := oidclogin.Browser{Redirect: provider.Redirect}
	browser.Secret, nextPath = c.takeFlow(c.Query.Text("state"))
	began := time.Now()
	person, err = provider.Provider.Finish(c.Context(), browser, c.R.URL.Query())
	c.Took("oidc_exchange_duration_seconds", "", began)
	// An error with the status 403 is about the provider's response, not about the user's rights here. It becomes a 400.
	if e, ok := apierror.From(err); ok && e.Status == http.StatusForbidden {
		badRequest := *e
		badRequest.Status = http.StatusBadRequest
		err = &badRequest
	}
	return person, nextPath, err
}

// maxCause is the maximum length of the cause in the audit feed. The cause may quote the provider's response.
const maxCause = 200

// recordFailure records a failed sign-in at a provider in the metric and the audit feed, and returns err for the page.
// The user is the id of the user, or "" if it is unknown. The detail consists of names and values for the audit event,
// alternately.
func (c *call) recordFailure(err error, user string, detail ...string) error {
	e, ok := apierror.From(err)
	if !ok {
		return err
	}
	if e.Status < http.StatusInternalServerError {
		c.Count(login.Attempts, "failure")
	}
	detail = append(detail, "reason", e.Code)
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
