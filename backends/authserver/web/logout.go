package web

import (
	"net/url"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authorize"
	"github.com/tollgate-gateway/tollgate/backends/authserver/openid"
)

// logoutForm asks whether to sign out.
type logoutForm struct {
	Application string
	Then        string // where that leads, signed; empty: to the login
	Host        string // of that place; empty: it has none
}

func (c *call) endSession() error { return c.ending(c.R.URL.Query()) }

func (c *call) endSessionForm() error {
	if err := c.ReadForm(); err != nil {
		return err
	}
	return c.ending(c.R.PostForm)
}

// ending is the request of a client that somebody be signed out. Whom the client has
// shown to know is not asked. Nobody else is led away without having been asked: clients
// say themselves where to.
func (c *call) ending(values url.Values) error {
	l, err := c.OpenID.ParseLogout(c.Context(), values)
	if err != nil {
		return err
	}
	if c.session == nil && (l.To == "" || l.Subject != "") {
		return c.ended(l)
	}
	if c.session != nil && l.Subject == c.session.User.ID {
		if err := c.end(); err != nil {
			return err
		}
		return c.ended(l)
	}
	return c.askLogout(l.Client, l.To)
}

// askLogout asks whether to sign out, for an application that leads to an address afterwards; both may be empty.
func (c *call) askLogout(application, then string) error {
	form := &logoutForm{Application: application}
	if then != "" {
		to := authorize.TargetOf(then)
		form.Then, form.Host = c.thenSigner().Sign([]byte(then), c.Browser()), to.Host
		c.AllowForms(to.Source()) // an application on this device has a scheme of its own
		c.AllowForms("https:")
		c.AllowForms("http:")
	}
	return c.Show("logout", "Sign out", form)
}

// logoutMeanwhile answers a form to sign out that was shown before somebody signed in, or out, in another tab: who is
// signed in now is asked, and nobody else has to be.
func (c *call) logoutMeanwhile() error {
	if c.session == nil {
		return c.logout()
	}
	then, _ := c.thenSigner().Open(c.Form.Text("then"), c.Browser())
	return c.askLogout("", string(then))
}

// ended is behind a logout that a client has asked for.
func (c *call) ended(l *openid.Logout) error {
	if l.To != "" {
		return c.leave(l.To)
	}
	return c.Show("signedout", "Signed out", l.Client)
}
