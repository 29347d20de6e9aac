package web

import (
	"net/url"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authorize"
	"github.com/tollgate-gateway/tollgate/backends/authserver/login"
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
	// Upstream leads to another provider that is called UpstreamName; empty: there is none.
	Upstream, UpstreamName string
}

// loginForm leads back to a path.
func (c *call) loginForm(fields *pages.Fields) *loginForm {
	form := &loginForm{Redirect: pages.LocalUpTo(maxRedirect, fields.Text("redirect")), NoPassword: c.NoPassword, Again: fields.Flag("again")}
	if form.Upstream = c.upstreamLink(form); form.Upstream != "" {
		form.UpstreamName = c.Upstream.Name
	}
	path, query, _ := strings.Cut(form.Redirect, "?")
	values, err := url.ParseQuery(query)
	switch {
	case err != nil:
	case path == "/consent":
		r, client, err := c.Authorize.Open(c.Context(), values.Get("session_id"), c.Visit(false))
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
	c.session, c.Call.Site = nil, new(frame)
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
