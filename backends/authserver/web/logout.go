package web

import (
	"net/url"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authorize"
	"github.com/tollgate-gateway/tollgate/backends/authserver/openid"
)

// logoutForm is the data of the form that confirms signing out.
type logoutForm struct {
	Application string
	Then        string // the URL at which the browser continues afterwards, signed; empty for the login page
	Host        string // the host of that URL, if it has one
}

// endSession handles an RP-initiated logout (OpenID Connect RP-Initiated Logout 1.0) by GET.
func (c *call) endSession() error { return c.startLogout(c.R.URL.Query()) }

// endSessionForm handles an RP-initiated logout by POST.
func (c *call) endSessionForm() error {
	if err := c.ReadForm(); err != nil {
		return err
	}
	return c.startLogout(c.R.PostForm)
}

// startLogout handles an RP-initiated logout. The user must confirm it, since clients choose the page to which the
// browser is redirected afterwards. No confirmation is needed if the client proves by an ID token that it knows the
// user.
func (c *call) startLogout(values url.Values) error {
	l, err := c.OpenID.ParseLogout(c.Context(), values)
	if err != nil {
		return err
	}
	if c.session == nil && (l.To == "" || l.Subject != "") {
		return c.finishLogout(l)
	}
	if c.session != nil && l.Subject == c.session.User.ID {
		if err := c.endThisSession(); err != nil {
			return err
		}
		return c.finishLogout(l)
	}
	return c.askLogout(l.Client, l.To)
}

// askLogout shows the form that confirms signing out. The application is the name of the client that requests the
// logout, and next is the signed address to which the browser is redirected afterwards. Both may be empty.
func (c *call) askLogout(application, next string) error {
	form := &logoutForm{Application: application}
	if next != "" {
		target := authorize.TargetOf(next)
		form.Then, form.Host = c.logoutSigner().Sign([]byte(next), c.Browser()), target.Host
		c.AllowForms(target.Source()) // an application on this device may have its own scheme
		c.AllowForms("https:")
		c.AllowForms("http:")
	}
	return c.Show("logout", c.T("Sign out"), form)
}

// logoutUserChanged handles a logout form that was shown before a user signed in or out in another tab. If a user is
// signed in now, it shows the form again.
func (c *call) logoutUserChanged() error {
	if c.session == nil {
		return c.logout()
	}
	next, _ := c.logoutSigner().Open(c.Form.Text("then"), c.Browser())
	return c.askLogout("", string(next))
}

// finishLogout sends the response after a logout that a client requested.
func (c *call) finishLogout(l *openid.Logout) error {
	if l.To != "" {
		return c.redirectTo(l.To)
	}
	return c.Show("signedout", c.T("Signed out"), l.Client)
}
