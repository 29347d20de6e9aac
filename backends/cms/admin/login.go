package admin

import (
	"time"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

// cookieLasts is how long a browser keeps the session cookie. An unused session ends earlier.
const cookieLasts = 30 * 24 * time.Hour

// loginForm is the data of the sign-in page. Next is the path to which a sign-in leads.
type loginForm struct{ Name, Next string }

// askLogin shows the sign-in form. It redirects a user who has signed in already.
func (c *call) askLogin() error {
	if c.user != nil {
		return c.Redirect("/", "")
	}
	return c.Show("login", "Sign in", loginForm{Next: pages.Local(c.Query.Text("next"))})
}

// login handles the sign-in form.
func (c *call) login() error {
	form := loginForm{c.Form.Text("name"), pages.Local(c.Form.Text("next"))}
	user, epoch, err := c.Auth.Check(c.ctx(), form.Name, c.Form.Text("password"), c.Address(c.R))
	if err != nil {
		return c.ShowForm(apiError(err), "login", "Sign in", form)
	}
	return c.signIn(user, epoch, "", form.Next)
}

// loginMeanwhile handles a sign-in form that was shown before the user signed in or out in another tab. A user who is
// signed in by now stays signed in, and the name and password of the form are ignored.
func (c *call) loginMeanwhile() error {
	if c.user == nil {
		return c.login()
	}
	return c.Redirect(pages.Local(c.Form.Text("next")), c.signedInAs())
}

// signedInAs returns a notice with the name of the current user. It is shown after an outdated form.
func (c *call) signedInAs() string { return "You are signed in as " + c.user.Name + "." }

// signIn begins a session and redirects to next. See auth.Auth.Begin for epoch and issuer.
func (c *call) signIn(user *kernel.User, epoch int64, issuer, next string) error {
	value, err := c.Auth.Begin(c.ctx(), user, epoch, c.Session(), issuer)
	if err != nil {
		return err
	}
	c.SignIn(value, cookieLasts)
	return c.Redirect(next, "")
}

// logout ends the session, if any, and redirects to the sign-in page.
func (c *call) logout() error {
	if err := c.Auth.End(c.ctx(), c.Session()); err != nil {
		return err
	}
	c.SignOut()
	return c.Redirect("/login", "You are signed out.")
}

// logoutMeanwhile handles a sign-out form that was shown to another user than the current one. It does not sign the
// current user out.
func (c *call) logoutMeanwhile() error {
	if c.user == nil {
		return c.logout()
	}
	return c.Redirect("/", c.signedInAs())
}
