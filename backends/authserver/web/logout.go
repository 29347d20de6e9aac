package web

import (
	"net/url"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authorize"
	"github.com/tollgate-gateway/tollgate/backends/authserver/openid"
)

// logoutForm is the data of the form that asks whether to sign out.
type logoutForm struct {
	Application string
	Then        string // where to go afterwards, signed; empty for the login page
	Host        string // the host of that address, if it has one
}

func (c *call) endSession() error { return c.ending(c.R.URL.Query()) }

func (c *call) endSessionForm() error {
	if err := c.ReadForm(); err != nil {
		return err
	}
	return c.ending(c.R.PostForm)
}

// ending handles an RP-initiated logout. The user is not asked if the client has proved by an ID token that it knows
// the user. Otherwise the user must confirm, since clients choose themselves where to redirect afterwards.
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

// askLogout asks whether to sign out, for an application and with an address to go to afterwards. Both may be empty.
func (c *call) askLogout(application, then string) error {
	form := &logoutForm{Application: application}
	if then != "" {
		to := authorize.TargetOf(then)
		form.Then, form.Host = c.thenSigner().Sign([]byte(then), c.Browser()), to.Host
		c.AllowForms(to.Source()) // an application on this device may have its own scheme
		c.AllowForms("https:")
		c.AllowForms("http:")
	}
	return c.Show("logout", c.T("Sign out"), form)
}

// logoutMeanwhile handles a logout form that was shown before somebody signed in or out in another tab. If somebody is
// signed in now, they are asked again.
func (c *call) logoutMeanwhile() error {
	if c.session == nil {
		return c.logout()
	}
	then, _ := c.thenSigner().Open(c.Form.Text("then"), c.Browser())
	return c.askLogout("", string(then))
}

// ended sends the response after a logout that a client has requested.
func (c *call) ended(l *openid.Logout) error {
	if l.To != "" {
		return c.leave(l.To)
	}
	return c.Show("signedout", c.T("Signed out"), l.Client)
}
