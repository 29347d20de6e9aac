package web

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authorize"
	"github.com/tollgate-gateway/tollgate/backends/authserver/login"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/mailaddress"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/signed"
)

// maxRedirect bounds the path that a login leads back to: it may hold a transaction.
const maxRedirect = 32 << 10

// loginForm asks who it is.
type loginForm struct {
	Email    string
	Redirect string
	// Application is the name of the one that the login is for; empty: none.
	Application string
	NoPassword  bool
	Again       bool // also of who is signed in
	// Meanwhile is who has signed in here in another tab since the form was shown; empty: nobody.
	Meanwhile string
	// Upstream leads to another provider that is called UpstreamName; empty: there is none.
	Upstream, UpstreamName string
	// Forgot and Register lead to where mails are asked for; empty: there are none.
	Forgot, Register string
}

// loginForm leads back to a path.
func (c *call) loginForm(fields *pages.Fields) *loginForm {
	form := &loginForm{Redirect: pages.LocalUpTo(maxRedirect, fields.Text("redirect")), NoPassword: c.NoPassword, Again: fields.Flag("again")}
	if c.forgets() {
		form.Forgot = c.At(withOnward(forgotPath, form.Redirect))
	}
	if c.registers() {
		form.Register = c.At(withOnward(registerPath, form.Redirect))
	}
	if form.Upstream = c.upstreamLink(form); form.Upstream != "" {
		form.UpstreamName = c.Upstream.Name
	}
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
	case path == "/oauth/authorize": // the browser follows on to where that leads
		c.AllowForms("https:")
		c.AllowForms("http:")
	}
	return form
}

// allow lets the form of this page lead to the client of a request, and on from there.
func (c *call) allow(r *authorize.Request) {
	target := authorize.TargetOf(r.Redirect)
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
	return c.Show("login", "Sign in", form)
}

func (c *call) login() error {
	if c.NoPassword {
		return pages.NotFound()
	}
	form := c.loginForm(&c.Form)
	form.Email = c.Form.Text("email")
	cookie, waiting, err := c.Login.SignIn(c.Context(), c.attempt())
	if err != nil {
		return c.ShowForm(err, "login", "Sign in", form)
	}
	if waiting != "" {
		return c.askSecond(nil, form, waiting)
	}
	c.SignIn(cookie, c.Login.MaxAge())
	return c.leave(c.At(form.Redirect))
}

// loginMeanwhile answers a form to sign in that was shown before somebody signed in, or out, in another tab. It never
// puts another person in the place of the one who is signed in: whoever made the form before the sign-in could otherwise
// have this browser go on in another's name.
func (c *call) loginMeanwhile() error {
	if c.session == nil || c.NoPassword {
		return c.login()
	}
	return c.goOn(c.Form.Text("email"))
}

// goOn leads the person who has signed in meanwhile on to where the form leads, if they are the one that it was filled
// in for. Else it asks whether they want to sign in as that other person.
func (c *call) goOn(email string) error {
	form, user := c.loginForm(&c.Form), c.session.User
	if mailaddress.Key(email) == mailaddress.Key(user.Email) {
		return c.leave(c.At(form.Redirect))
	}
	form.Email, form.Again, form.Meanwhile = email, true, cmp.Or(user.Email, user.ID)
	return c.ShowForm(errMeanwhile, "login", "Sign in", form)
}

var errMeanwhile = apierror.New(http.StatusConflict, "conflict", "somebody else has signed in here in another tab meanwhile")

// attempt is a try to sign in by the form that was sent.
func (c *call) attempt() login.Attempt {
	return login.Attempt{
		Email: c.Form.Text("email"), Password: c.Form.Text("password"), Address: c.Address(c.R), Former: c.Session(), Browser: c.Browser(),
	}
}

// logout signs out, and leads on where that was asked for by a client.
func (c *call) logout() error {
	then, asked := c.thenSigner().Open(c.Form.Text("then"), c.Browser())
	if err := c.end(); err != nil {
		return err
	}
	if asked {
		return c.leave(string(then))
	}
	return c.Redirect("/login", "You are signed out.")
}

// thenSigner signs where a logout leads.
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

// toLogin leads to the login, and from there back to a transaction, of a request.
func (c *call) toLogin(r *authorize.Request, transaction string) error {
	back := url.Values{"redirect": {consentAt(transaction)}}
	if c.session != nil || r.SignedInSince > r.At { // also at another provider, which may have a session
		back.Set("again", "1")
	}
	return c.leave(c.At("/login?" + back.Encode()))
}
