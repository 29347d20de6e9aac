package admin

import (
	"net/http"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/cms/kernel"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

// cookieLasts is how long a browser keeps the session cookie. An unused session ends earlier.
const cookieLasts = 30 * 24 * time.Hour

type loginForm struct{ Name, Next string }

func (c *call) askLogin() error {
	if c.by != nil {
		return c.Redirect("/", "")
	}
	return c.Show("login", "Sign in", loginForm{Next: pages.Local(c.Query.Text("next"))})
}

func (c *call) login() error {
	form := loginForm{c.Form.Text("name"), pages.Local(c.Form.Text("next"))}
	user, epoch, err := c.Auth.Check(c.ctx(), form.Name, c.Form.Text("password"), c.Address(c.R))
	if err != nil {
		return c.ShowForm(apiError(err), "login", "Sign in", form)
	}
	return c.signIn(user, epoch, "", form.Next)
}

// loginMeanwhile answers a form to sign in that was shown before somebody signed in, or out, in another tab. Whoever is
// signed in by now goes on as that user, whatever name the form has.
func (c *call) loginMeanwhile() error {
	if c.by == nil {
		return c.login()
	}
	return c.Redirect(pages.Local(c.Form.Text("next")), c.signedInAs())
}

// signedInAs returns a notice for users who have sent a form of another tab, which tells them who they are now.
func (c *call) signedInAs() string { return "You are signed in as " + c.by.Name + "." }

// signIn begins a session and redirects to next.
func (c *call) signIn(user *kernel.User, epoch int64, issuer, next string) error {
	header, err := c.Auth.Begin(c.R, user, epoch, c.Session(), issuer, false)
	if err != nil {
		return err
	}
	cookie, err := http.ParseSetCookie(header)
	if err != nil {
		return err
	}
	c.SignIn(cookie.Value, cookieLasts)
	return c.Redirect(next, "")
}

func (c *call) logout() error {
	if _, err := c.Auth.End(c.R, c.Session(), false); err != nil {
		return err
	}
	c.SignOut()
	return c.Redirect("/login", "You are signed out.")
}

// logoutMeanwhile answers a form to sign out that was made for another user than the one who is signed in now. It signs
// nobody out.
func (c *call) logoutMeanwhile() error {
	if c.by == nil {
		return c.logout()
	}
	return c.Redirect("/", c.signedInAs())
}
