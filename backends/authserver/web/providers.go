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
func (c *call) startAt(provider *upstreams.Upstream, q url.Values) string {
	return c.At("/oidc/"+url.PathEscape(provider.Slug)+"/start") + "?" + q.Encode()
}

// addProviders adds the data about upstream providers to the sign-in form. It adds a button for each provider that is
// not hidden, and sets form.ByAddress if the mail address can select a provider. In that case the
// Content-Security-Policy allows the form to be redirected to the providers. If the user signs in to connect an
// account, addProviders sets form.Joins to the name of that account's provider.
func (c *call) addProviders(form *loginForm) {
	q := form.query()
	for _, provider := range c.Upstreams.Shown() {
		form.Providers = append(form.Providers, providerLink{provider.Name, c.startAt(provider, q)})
	}
	if form.ByAddress = c.Upstreams.ByAddress(); form.ByAddress { // the form redirects to a provider
		c.AllowForms("https:")
		for _, provider := range c.Upstreams.List {
			if strings.HasPrefix(provider.Issuer(), "http://") {
				c.AllowForms("http:")
				break
			}
		}
	}
	if path, _, _ := strings.Cut(form.Redirect, "?"); path == joinPath {
		if provider, _ := c.joined(); provider != nil {
			form.Joins = provider.Name
		}
	}
}

// query returns the query parameters of the links from the login form to a provider.
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
	provider := c.Upstreams.OfAddress(form.Email)
	if provider == nil {
		return c.ShowForm(users.Invalid("email", "No organization is known for this mail address. Sign in in another way."),
			"login", c.T("Sign in"), form)
	}
	q := form.query()
	q.Set("hint", form.Email)
	return c.leave(c.startAt(provider, q))
}

// provider returns the provider whose slug is in the path.
func (c *call) provider() (*upstreams.Upstream, error) {
	if provider := c.Upstreams.Find(c.R.PathValue("upstream")); provider != nil {
		return provider, nil
	}
	return nil, pages.NotFound()
}

// flow returns a provider as the type that leadUpstream and backFromUpstream take.
func (c *call) flow(provider *upstreams.Upstream) *Upstream {
	return &Upstream{
		Provider: provider.Provider,
		Name:     provider.Name,
		Redirect: provider.Redirect,
		Lasts:    c.Upstreams.Lasts,
	}
}

// startProvider redirects to a provider. With the parameter join, the sign-in begins no session; it only connects the
// account at the provider with an account here.
func (c *call) startProvider() error {
	provider, err := c.provider()
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
	if err := c.leadUpstream(c.flow(provider), ask, to); err != nil {
		c.warnProvider(provider, err)
		return err
	}
	return nil
}

// finishProvider handles the redirect back from a provider.
func (c *call) finishProvider() error {
	provider, err := c.provider()
	if err != nil {
		return err
	}
	person, to, err := c.backFromUpstream(c.flow(provider))
	if err != nil {
		return c.refusedProvider(provider, err, "")
	}
	to, joins := strings.CutPrefix(to, joining)
	if joins {
		return c.offer(provider, person, to)
	}
	u, err := c.Upstreams.SignIn(c.Context(), provider, person)
	if unknown, ok := errors.AsType[*people.RefusedError](err); ok {
		c.Count(login.Attempts, "failure")
		c.Audit(c.Context(), kernel.Event{
			Action: "user.oidc_login_failed",
			Detail: []string{"upstream", provider.Slug, "reason", unknown.Reason},
		})
		return c.offer(provider, person, to)
	}
	if err != nil {
		return c.refusedProvider(provider, err, "")
	}
	authTime := person.AuthTime
	if person.Again { // the user has just been authenticated, whatever the clock of the provider says
		authTime = time.Time{}
	}
	cookie, waiting, err := c.Login.EnterOrWait(c.Context(), u, authTime, provider.Slug,
		login.Attempt{Address: c.Address(c.R), Former: c.Session(), Browser: c.Browser()})
	if err != nil {
		return c.refusedProvider(provider, err, u.ID)
	}
	if waiting != "" {
		return c.askSecond(nil, c.loginFormTo(to, false), waiting)
	}
	c.SignIn(cookie, c.Login.MaxAge())
	return c.leave(c.At(to))
}

// refusedProvider records the cause of a failed sign-in in the log and the audit feed. It returns the error for the
// page, without the cause.
func (c *call) refusedProvider(provider *upstreams.Upstream, err error, user string) error {
	c.warnProvider(provider, err)
	return c.refusedUpstream(err, user, "upstream", provider.Slug)
}

// warnProvider logs an error of the provider or of the configuration. It does not log responses to sign-ins that did
// not begin here, since anybody can send them.
func (c *call) warnProvider(provider *upstreams.Upstream, err error) {
	e, ok := apierror.From(err)
	if !ok || e.Cause == nil && e.Status < http.StatusInternalServerError {
		return
	}
	c.Logger().Warn("a sign-in at an upstream provider failed", zap.String("upstream", provider.Slug),
		zap.String("issuer", provider.Issuer()),
		zap.String("reason", e.Code), zap.Error(cmp.Or(e.Cause, err)))
}
