package web

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strings"

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
	// joinPrefix begins the path that is stored during a sign-in at a provider, if the only purpose of the sign-in is to
	// connect accounts.
	joinPrefix = "join "
	// maxHint is the maximum length of a login_hint, in bytes. A longer one is omitted.
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

// providerStartLocation returns the path, with a query, that begins a sign-in at a provider; see startProvider.
func (c *call) providerStartLocation(provider *upstreams.Upstream, query url.Values) string {
	return c.At("/oidc/"+url.PathEscape(provider.Slug)+"/start") + "?" + query.Encode()
}

// addProviders adds the data about upstream providers to the sign-in form. It adds a button for each provider that is
// not hidden, and sets form.ByAddress if the mail address can select a provider. In that case the
// Content-Security-Policy allows the form to be redirected to the providers. If the user signs in to connect an
// account, addProviders sets form.Joins to the name of that account's provider.
func (c *call) addProviders(form *loginForm) {
	q := form.query()
	for _, provider := range c.Upstreams.Shown() {
		form.Providers = append(form.Providers, providerLink{provider.Name, c.providerStartLocation(provider, q)})
	}
	form.ByAddress = c.Upstreams.ByAddress()
	if form.ByAddress { // the form is redirected to a provider
		c.AllowForms("https:")
		for _, provider := range c.Upstreams.List {
			if strings.HasPrefix(provider.Issuer(), "http://") {
				c.AllowForms("http:")
				break
			}
		}
	}
	if path, _, _ := strings.Cut(form.Redirect, "?"); path == joinPath {
		if provider, _ := c.readJoinCookie(); provider != nil {
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
	return c.redirectTo(c.providerStartLocation(provider, q))
}

// provider returns the provider whose slug is in the path.
func (c *call) provider() (*upstreams.Upstream, error) {
	if provider := c.Upstreams.Find(c.R.PathValue("upstream")); provider != nil {
		return provider, nil
	}
	return nil, pages.NotFound()
}

// asUpstream returns a provider as the type that redirectToProvider and finishAtProvider take.
func (c *call) asUpstream(provider *upstreams.Upstream) *Upstream {
	return &Upstream{
		Provider: provider.Provider, Name: provider.Name, Redirect: provider.Redirect, Lasts: c.Upstreams.Lasts,
	}
}

// startProvider redirects to a provider. With the parameter join, the sign-in begins no session; it only connects the
// account at the provider with an account here.
func (c *call) startProvider() error {
	provider, err := c.provider()
	if err != nil {
		return err
	}
	nextPath := pages.LocalUpTo(maxRedirect, c.Query.Text("redirect"))
	if c.Query.Flag("join") {
		nextPath = joinPrefix + nextPath
	}
	ask := oidclogin.Ask{Again: c.Query.Flag("again")}
	if hint := c.Query.Text("hint"); len(hint) <= maxHint {
		ask.Hint = hint
	}
	if err := c.redirectToProvider(c.asUpstream(provider), ask, nextPath); err != nil {
		c.logProviderFailure(provider, err)
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
	person, storedPath, err := c.finishAtProvider(c.asUpstream(provider))
	if err != nil {
		return c.recordProviderFailure(provider, err, "")
	}
	nextPath, isJoin := strings.CutPrefix(storedPath, joinPrefix)
	if isJoin {
		return c.offerJoin(provider, person, nextPath)
	}
	u, err := c.Upstreams.SignIn(c.Context(), provider, person)
	if refused, ok := errors.AsType[*people.RefusedError](err); ok { // the person has no account here yet
		c.Count(login.Attempts, "failure")
		c.Audit(c.Context(), kernel.Event{
			Action: "user.oidc_login_failed",
			Detail: []string{"upstream", provider.Slug, "reason", refused.Reason},
		})
		return c.offerJoin(provider, person, nextPath)
	}
	if err != nil {
		return c.recordProviderFailure(provider, err, "")
	}
	cookie, waiting, err := c.Login.EnterOrWait(c.Context(), u, authTimeOf(person), provider.Slug,
		login.Attempt{Address: c.Address(c.R), Former: c.Session(), Browser: c.Browser()})
	if err != nil {
		return c.recordProviderFailure(provider, err, u.ID)
	}
	if waiting != "" {
		return c.askSecond(nil, c.loginFormTo(nextPath, false), waiting)
	}
	c.SignIn(cookie, c.Login.MaxAge())
	return c.redirectTo(c.At(nextPath))
}

// recordProviderFailure records the cause of a failed sign-in in the log and the audit feed, and returns the error for
// the page. The user is the id of the user, or "" if it is unknown.
func (c *call) recordProviderFailure(provider *upstreams.Upstream, err error, user string) error {
	c.logProviderFailure(provider, err)
	return c.recordFailure(err, user, "upstream", provider.Slug)
}

// logProviderFailure logs an error of the provider or of the configuration. It does not log other errors, since
// anybody can cause them. An example is the error for a response to a sign-in that did not begin here.
func (c *call) logProviderFailure(provider *upstreams.Upstream, err error) {
	e, ok := apierror.From(err)
	if !ok || e.Cause == nil && e.Status < http.StatusInternalServerError {
		return
	}
	c.Logger().Warn("a sign-in at an upstream provider failed", zap.String("upstream", provider.Slug),
		zap.String("issuer", provider.Issuer()),
		zap.String("reason", e.Code), zap.Error(cmp.Or(e.Cause, err)))
}
