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

// maxRedirect bounds the path at which to continue after a login, which may contain a transaction.
const maxRedirect = 32 << 10

// loginForm is the data of the login form.
type loginForm struct {
	Email    string
	Redirect string
	// Application is the name of the application that the user signs in for, or empty.
	Application string
	NoPassword  bool
	Again       bool // ask even a user who is signed in
	// Meanwhile is the user who has signed in here in another tab since the form was shown, or empty.
	Meanwhile string
	// Upstream is the link to another provider, whose name is UpstreamName. Both are empty if there is none.
	Upstream, UpstreamName string
	// Providers are links to further providers, and ByAddress reports whether some are found by the mail address.
	Providers []providerLink
	ByAddress bool
	// Joins is the provider whose account is connected with that of the user who signs in, or empty.
	Joins string
	// Forgot and Register are links to pages that send mails. They are empty if these are not available.
	Forgot, Register string
	// Passkey asks the browser for a passkey that signs in alone; nil: there is no such sign-in.
	Passkey *factors.Challenge
}

// loginForm returns the data of the login form for the fields of a request.
func (c *call) loginForm(fields *pages.Fields) *loginForm {
	return c.loginFormTo(fields.Text("redirect"), fields.Flag("again"))
}

// loginFormTo returns the data of a login form that leads to a path.
func (c *call) loginFormTo(to string, again bool) *loginForm {
	form := &loginForm{Redirect: pages.LocalUpTo(maxRedirect, to), NoPassword: c.NoPassword, Again: again}
	if c.forgets() {
		form.Forgot = c.At(withOnward(forgotPath, form.Redirect))
	}
	if c.registers() {
		form.Register = c.At(withOnward(registerPath, form.Redirect))
	}
	if form.Upstream = c.upstreamLink(form); form.Upstream != "" {
		form.UpstreamName = c.Upstream.Name
	}
	c.addProviders(form)
	path, query, _ := strings.Cut(form.Redirect, "?")
	values, err := url.ParseQuery(query)
	switch {
	case err != nil:
	case path == "/consent":
		r, client, err := c.Authorize.Open(c.Context(), values.Get("session_id"), c.Browser())
		if err == nil {
			form.Application, form.Email = client.Name, r.Hint
			c.allow(r)
		}
	case path == "/oauth/authorize": // the browser follows the redirect of that page
		c.AllowForms("https:")
		c.AllowForms("http:")
	}
	form.Passkey = c.anyPasskey()
	return form
}

// allow lets the form of this page be redirected to the client of a request, which the Content-Security-Policy would
// block otherwise.
func (c *call) allow(r *authorize.Request) { c.allowTo(r.Redirect) }

// allowTo lets the form of this page be redirected to a redirect URI, and onwards from there.
func (c *call) allowTo(redirect string) {
	target := authorize.TargetOf(redirect)
	c.AllowForms(target.Source())
	if target.Scheme == "https" {
		c.AllowForms("https:")
	}
}

func (c *call) askLogin() error {
	form := c.loginForm(&c.Query)
	if form.Email == "" {
		form.Email = c.Query.Text("email")
	}
	if c.session != nil && !form.Again {
		return c.leave(c.At(form.Redirect))
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
	return c.leave(c.At(form.Redirect))
}

// loginMeanwhile handles a login form that was shown before somebody signed in or out in another tab. It never replaces
// the user who is signed in: otherwise somebody who prepared the form before could make this browser continue under
// another account.
func (c *call) loginMeanwhile() error {
	if c.session == nil || c.NoPassword {
		return c.login()
	}
	return c.goOn(c.Form.Text("email"))
}

// goOn answers a form of a user who has signed in meanwhile in another tab. It redirects to where the form leads if the
// form was filled in for the same user, and otherwise asks whether to sign in as the other user.
func (c *call) goOn(email string) error {
	form, user := c.loginForm(&c.Form), c.session.User
	if mailaddress.Key(email) == mailaddress.Key(user.Email) {
		return c.leave(c.At(form.Redirect))
	}
	form.Email, form.Again, form.Meanwhile = email, true, cmp.Or(user.Email, user.ID)
	return c.ShowForm(errMeanwhile, "login", c.T("Sign in"), form)
}

var errMeanwhile = apierror.New(http.StatusConflict, "conflict",
	"somebody else has signed in here in another tab meanwhile")

// attempt returns the attempt to sign in that the submitted form describes.
func (c *call) attempt() login.Attempt {
	return login.Attempt{
		Email: c.Form.Text("email"), Password: c.Form.Text("password"), Address: c.Address(c.R), Former: c.Session(),
		Browser: c.Browser(),
	}
}

// logout signs the user out, and redirects to the address that a client has requested, if any.
func (c *call) logout() error {
	then, asked := c.thenSigner().Open(c.Form.Text("then"), c.Browser())
	if err := c.end(); err != nil {
		return err
	}
	if asked {
		return c.leave(string(then))
	}
	return c.Redirect("/login", c.T("You are signed out."))
}

// thenSigner signs the address to go to after a logout.
func (c *call) thenSigner() signed.Signer { return c.Signer("logout") }

// end ends the session of the browser.
func (c *call) end() error {
	if err := c.Login.SignOut(c.Context(), c.Session(), c.Address(c.R)); err != nil {
		return err
	}
	c.SignOut()
	former := c.session
	c.session, c.Call.Site = nil, c.frame()
	if former != nil && c.SignedOut != nil {
		c.SignedOut(c.Context(), former.User.ID)
	}
	return nil
}

// toLogin redirects to the login, from where the browser returns to the transaction of a request.
func (c *call) toLogin(r *authorize.Request, transaction string) error {
	back := url.Values{"redirect": {consentAt(transaction)}}
	if c.session != nil || r.SignedInSince > r.At { // so that the other provider asks too, even if it has a session
		back.Set("again", "1")
	}
	return c.leave(c.At("/login?" + back.Encode()))
}
