package web

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authorize"
	"github.com/tollgate-gateway/tollgate/backends/authserver/factors"
	"github.com/tollgate-gateway/tollgate/backends/authserver/login"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/signed"
)

// maxRedirect is the maximum length of the path at which the browser continues after a login. The path may contain a
// transaction, which is an authorization request in progress.
const maxRedirect = 32 << 10

// loginForm is the data of the login form.
type loginForm struct {
	Email    string // the prefilled mail address
	Redirect string // the path at which the browser continues after the sign-in
	// Application is the name of the application for which the user signs in, or empty.
	Application string
	NoPassword  bool // the password form is hidden
	Again       bool // ask even a user who is signed in
	// Meanwhile is the mail address of a user who has signed in in another tab since the form was shown, or empty.
	Meanwhile string
	// Upstream is the link to the provider of the section oidc, and UpstreamName its name. Both are empty if that
	// section is not enabled.
	Upstream, UpstreamName string
	// Providers are links to the providers of the list upstreams. ByAddress is set if the mail address can select a
	// provider.
	Providers []providerLink
	ByAddress bool
	// Joins is the name of the provider whose account will be connected with the account of the signed-in user, or
	// empty.
	Joins string
	// Forgot and Register are links to the pages that send mails. They are empty if those pages are not available.
	Forgot, Register string
	// Passkey asks the browser for a passkey, to sign in without a password. It is nil if a passkey alone may not sign in.
	Passkey *factors.Challenge
}

// loginForm returns the data of the login form for the fields of a request.
func (c *call) loginForm(fields *pages.Fields) *loginForm {
	return c.loginFormTo(fields.Text("redirect"), fields.Flag("again"))
}

// loginFormTo returns the data of a login form after which the browser continues at nextPath. If forced is set, the
// user must sign in even with a valid session. loginFormTo also changes the Content-Security-Policy of this response
// so that it allows the redirects after the form.
func (c *call) loginFormTo(nextPath string, forced bool) *loginForm {
	form := &loginForm{Redirect: pages.LocalUpTo(maxRedirect, nextPath), NoPassword: c.NoPassword, Again: forced}
	if c.allowsReset() {
		form.Forgot = c.At(withRedirect(forgotPath, form.Redirect))
	}
	if c.allowsRegistration() {
		form.Register = c.At(withRedirect(registerPath, form.Redirect))
	}
	form.Upstream = c.upstreamLink(form)
	if form.Upstream != "" {
		form.UpstreamName = c.Upstream.Name
	}
	c.addProviders(form)
	path, query, _ := strings.Cut(form.Redirect, "?")
	values, err := url.ParseQuery(query)
	switch {
	case err != nil: // the path was not made by this server
	case path == "/consent":
		r, client, err := c.Authorize.Open(c.Context(), values.Get("session_id"), c.Browser())
		if err == nil {
			form.Application, form.Email = client.Name, r.Hint
			c.allowRedirectToClient(r)
		}
	case path == "/oauth/authorize": // the browser follows the redirect of that page
		c.AllowForms("https:")
		c.AllowForms("http:")
	}
	form.Passkey = c.anyPasskey()
	return form
}

// allowRedirectToClient permits the form of this page to be redirected to the client of a request. Otherwise the
// Content-Security-Policy would block the redirect.
func (c *call) allowRedirectToClient(r *authorize.Request) { c.allowRedirectTo(r.Redirect) }

// allowRedirectTo permits the form of this page to be redirected to a redirect URI, and from there to further pages.
func (c *call) allowRedirectTo(redirect string) {
	target := authorize.TargetOf(redirect)
	c.AllowForms(target.Source())
	if target.Scheme == "https" {
		c.AllowForms("https:")
	}
}

// askLogin shows the login form. If the user is signed in already, it redirects to where the form leads.
func (c *call) askLogin() error {
	form := c.loginForm(&c.Query)
	if c.session != nil && !form.Again {
		return c.redirectTo(c.At(form.Redirect))
	}
	if form.Email == "" {
		form.Email = c.Query.Text("email")
	}
	return c.Show("login", c.T("Sign in"), form)
}

// login handles the login form.
func (c *call) login() error {
	if c.NoPassword {
		return pages.NotFound()
	}
	form := c.loginForm(&c.Form)
	form.Email = c.Form.Text("email")
	cookie, waiting, err := c.Login.SignIn(c.Context(), c.attempt())
	if err != nil {
		return c.ShowForm(err, "login", c.T("Sign in"), form)
	}
	if waiting != "" {
		return c.askSecond(nil, form, waiting)
	}
	c.SignIn(cookie, c.Login.MaxAge())
	return c.redirectTo(c.At(form.Redirect))
}

// loginUserChanged handles a login form that was shown before somebody signed in or out in another tab. It never
// replaces the session of the signed-in user. Otherwise an attacker who had prepared the form could make the browser
// continue under the attacker's account.
func (c *call) loginUserChanged() error {
	if c.session == nil || c.NoPassword {
		return c.login()
	}
	return c.continueIfSameUser(c.Form.Text("email"))
}

// continueIfSameUser handles a sign-in form that was shown before somebody signed in in another tab. The email is the
// mail address with which the form signs in. If it is the address of the signed-in user, continueIfSameUser redirects
// to the path in the form's field redirect, without checking the password. Otherwise it shows the login form again.
// There the user chooses to continue as the signed-in user or to sign in with the address.
func (c *call) continueIfSameUser(email string) error {
	form, user := c.loginForm(&c.Form), c.session.User
	if mailaddress.Key(email) == mailaddress.Key(user.Email) {
		return c.redirectTo(c.At(form.Redirect))
	}
	form.Email, form.Again, form.Meanwhile = email, true, cmp.Or(user.Email, user.ID)
	return c.ShowForm(errUserChanged, "login", c.T("Sign in"), form)
}

var errUserChanged = apierror.New(http.StatusConflict, "conflict",
	"another user has signed in here in another tab since this page was opened")

// attempt returns the attempt to sign in that the submitted form describes. If the browser already has a session, a
// successful attempt ends that session.
func (c *call) attempt() login.Attempt {
	return login.Attempt{
		Email: c.Form.Text("email"), Password: c.Form.Text("password"), Address: c.Address(c.R), Former: c.Session(),
		Browser: c.Browser(),
	}
}

// logout handles the form that signs the user out. It redirects to the URL that a client has requested, if any.
func (c *call) logout() error {
	next, hasNext := c.logoutSigner().Open(c.Form.Text("then"), c.Browser())
	if err := c.endThisSession(); err != nil {
		return err
	}
	if hasNext {
		return c.redirectTo(string(next))
	}
	return c.Redirect("/login", c.T("You are signed out."))
}

// logoutSigner returns the signer for the address to which the browser is redirected after a logout.
func (c *call) logoutSigner() signed.Signer { return c.Signer("logout") }

// endThisSession ends the session of the browser, if there is one, and deletes its cookie.
func (c *call) endThisSession() error {
	if err := c.Login.SignOut(c.Context(), c.Session(), c.Address(c.R)); err != nil {
		return err
	}
	c.SignOut()
	ended := c.session
	c.session, c.Call.Site = nil, c.frame()
	if ended != nil && c.SignedOut != nil {
		c.SignedOut(c.Context(), ended.User.ID)
	}
	return nil
}

// toLogin redirects to the login page, which leads back to the consent page of a request.
func (c *call) toLogin(r *authorize.Request, transaction string) error {
	query := url.Values{"redirect": {consentLocation(transaction)}}
	if c.session != nil || r.SignedInSince > r.At { // even a provider with a session must ask for the sign-in again
		query.Set("again", "1")
	}
	return c.redirectTo(c.At("/login?" + query.Encode()))
}
