package web

import (
	"net/url"

	"github.com/tollgate-gateway/tollgate/backends/authserver/openid"
)

// logoutForm asks whether to sign out.
type logoutForm struct {
	Application string
	Then        string // where that leads, signed; empty: to the login
}

func (c *call) endSession() error { return c.ending(c.R.URL.Query()) }

func (c *call) endSessionForm() error {
	if err := c.ReadForm(); err != nil {
		return err
	}
	return c.ending(c.R.PostForm)
}

// ending is the request of a client that somebody be signed out. Whom the client has
// shown to know is not asked.
func (c *call) ending(values url.Values) error {
	l, err := c.OpenID.ParseLogout(c.Context(), values)
	if err != nil {
		return err
	}
	if c.session == nil {
		return c.ended(l)
	}
	if l.Subject == c.session.User.ID {
		if err := c.end(); err != nil {
			return err
		}
		return c.ended(l)
	}
	form := &logoutForm{Application: l.Client}
	if l.To != "" {
		form.Then = c.thenSigner().Sign([]byte(l.To), c.Browser())
		c.AllowForms("https:")
		c.AllowForms("http:")
	}
	return c.Show("logout", "Sign out", form)
}

// ended is behind a logout that a client has asked for.
func (c *call) ended(l *openid.Logout) error {
	if l.To != "" {
		return c.leave(l.To)
	}
	return c.Show("signedout", "Signed out", l.Client)
}
