package web

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/backends/authserver/login"
	"github.com/tollgate-gateway/tollgate/backends/authserver/upstreams"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/people"
)

// Pages for the sign-in at the providers of the list upstreams. Each provider has a separate redirect URI, so that a
// response of one provider is never accepted as a response of another (RFC 9700, section 4.4.2).

const (
	providerStart    = "/oidc/{upstream}/start"
	providerCallback = "/oidc/{upstream}/callback"
	// providerPath is the path of the form that finds the provider for a mail address.
	providerPath = "/login/provider"
	// joining is the prefix of the stored path for a sign-in whose only purpose is to connect accounts.
	joining = "join "
	// maxHint is the maximum length of a login_hint, in bytes.
	maxHint = 320
)

// providerLink is a button on the sign-in page.
type providerLink struct{ Name, Href string }

// providerRoutes are the routes of these pages.
var providerRoutes = []route{
	{Method: get, Path: providerStart, Serve: (*call).startProvider},
	{Method: get, Path: providerCallback, Serve: (*call).finishProvider},
	{Method: post, Path: providerPath, Serve: (*call).findProvider, Else: (*call).findProvider},
	{Method: get, Path: joinPath, Serve: (*call).askJoin},
	{Method: post, Path: joinPath, Serve: (*call).join, Else: (*call).toJoin},
	{Method: post, Path: accountPath + "/providers/remove", Serve: (*call).removeProvider, Else: (*call).toAccount},
}

// startAt returns the path that begins a sign-in at a provider.
func (c *call) startAt(up *upstreams.Upstream, q url.Values) string {
	return c.At("/oidc/"+url.PathEscape(up.Slug)+"/start") + "?" + q.Encode()
}

// addProviders adds the data about upstream providers to the sign-in form. It adds a button for each provider that is
// not hidden, and sets ByAddress if the mail address can select a provider. In that case it allows the form to be
// redirected to the providers (Content-Security-Policy). If the user signs in to connect an account, it sets Joins to
// the name of that account's provider.
func (c *call) addProviders(form *loginForm) {
	q := form.query()
	for _, up := range c.Upstreams.Shown() {
		form.Providers = append(form.Providers, providerLink{up.Name, c.startAt(up, q)})
	}
	if form.ByAddress = c.Upstreams.ByAddress(); form.ByAddress { // the form redirects to a provider
		c.AllowForms("https:")
		for _, up := range c.Upstreams.List {
			if strings.HasPrefix(up.Issuer(), "http://") {
				c.AllowForms("http:")
				break
			}
		}
	}
	if path, _, _ := strings.Cut(form.Redirect, "?"); path == joinPath {
		if up, _ := c.joined(); up != nil {
			form.Joins = up.Name
		}
	}
}

// query returns the query that links to a provider add to the path.
func (f *loginForm) query() url.Values {
	q := url.Values{"redirect": {f.Redirect}}
	if f.Again {
		q.Set("again", "1")
	}
	return q
}

// findProvider redirects to the provider for the mail address in the form.
func (c *call) findProvider() error {
	form := c.loginForm(&c.Form)
	form.Email = c.Form.Text("email")
	up := c.Upstreams.OfAddress(form.Email)
	if up == nil {
		return c.ShowForm(users.Invalid("email", "No organization is known for this mail address. Sign in in another way."),
			"login", c.T("Sign in"), form)
	}
	q := form.query()
	q.Set("hint", form.Email)
	return c.leave(c.startAt(up, q))
}

// provider returns the provider whose slug is in the path.
func (c *call) provider() (*upstreams.Upstream, error) {
	if up := c.Upstreams.Find(c.R.PathValue("upstream")); up != nil {
		return up, nil
	}
	return nil, pages.NotFound()
}

// flow returns a provider as the type that leadUpstream and backFromUpstream take.
func (c *call) flow(up *upstreams.Upstream) *Upstream {
	return &Upstream{Provider: up.Provider, Name: up.Name, Redirect: up.Redirect, Lasts: c.Upstreams.Lasts}
}

// startProvider redirects to a provider. With the parameter join, the sign-in begins no session; it only connects the
// account at the provider with an account here.
func (c *call) startProvider() error {
	up, err := c.provider()
	if err != nil {
		return err
	}
	to := pages.LocalUpTo(maxRedirect, c.Query.Text("redirect"))
	if c.Query.Flag("join") {
		to = joining + to
	}
	ask := oidclogin.Ask{Again: c.Query.Flag("again")}
	if hint := c.Query.Text("hint"); len(hint) <= maxHint {
		ask.Hint = hint
	}
	if err := c.leadUpstream(c.flow(up), ask, to); err != nil {
		c.warnProvider(up, err)
		return err
	}
	return nil
}

// finishProvider handles the redirect back from a provider.
func (c *call) finishProvider() error {
	up, err := c.provider()
	if err != nil {
		return err
	}
	person, to, err := c.backFromUpstream(c.flow(up))
	if err != nil {
		return c.refusedProvider(up, err, "")
	}
	to, joins := strings.CutPrefix(to, joining)
	if joins {
		return c.offer(up, person, to)
	}
	u, err := c.Upstreams.SignIn(c.Context(), up, person)
	if unknown, ok := errors.AsType[*people.RefusedError](err); ok {
		c.Count(login.Attempts, "failure")
		c.Audit(c.Context(), kernel.Event{
			Action: "user.oidc_login_failed",
			Detail: []string{"upstream", up.Slug, "reason", unknown.Reason},
		})
		return c.offer(up, person, to)
	}
	if err != nil {
		return c.refusedProvider(up, err, "")
	}
	at := person.AuthTime
	if person.Again { // the user has just been authenticated, whatever the clock of the provider says
		at = time.Time{}
	}
	cookie, waiting, err := c.Login.EnterOrWait(c.Context(), u, at, up.Slug,
		login.Attempt{Address: c.Address(c.R), Former: c.Session(), Browser: c.Browser()})
	if err != nil {
		return c.refusedProvider(up, err, u.ID)
	}
	if waiting != "" {
		return c.askSecond(nil, c.loginFormTo(to, false), waiting)
	}
	c.SignIn(cookie, c.Login.MaxAge())
	return c.leave(c.At(to))
}

// refusedProvider records the cause of a failed sign-in in the log and the audit feed. It returns the error for the
// page, without the cause.
func (c *call) refusedProvider(up *upstreams.Upstream, err error, user string) error {
	c.warnProvider(up, err)
	return c.refusedUpstream(err, user, "upstream", up.Slug)
}

// warnProvider logs an error of the provider or of the configuration. It does not log responses to sign-ins that did
// not begin here, since anybody can send them.
func (c *call) warnProvider(up *upstreams.Upstream, err error) {
	e, ok := apierror.From(err)
	if !ok || e.Cause == nil && e.Status < http.StatusInternalServerError {
		return
	}
	c.Logger().Warn("a sign-in at an upstream provider failed", zap.String("upstream", up.Slug),
		zap.String("issuer", up.Issuer()),
		zap.String("reason", e.Code), zap.Error(cmp.Or(e.Cause, err)))
}
