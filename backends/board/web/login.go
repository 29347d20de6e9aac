package web

import (
	"net/http"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

// loginForm is the form for name and password.
type loginForm struct {
	Name, Next string
	Action     string       // the path that the form is sent to
	Kept       []pages.Kept // the fields that are sent along
}

// askLogin shows the login form. A member who is signed in is redirected to the next page.
func (c *call) askLogin() error {
	form := loginForm{Next: pages.Local(c.Query.Text("next")), Action: "/login"}
	if c.actor.User != nil {
		return c.Redirect(form.Next, "")
	}
	return c.Show("login", c.T("Sign in"), form)
}

// errKept is the error for a guest who has sent a form with a text that signInWith keeps.
var errKept = apierror.New(http.StatusForbidden, "forbidden",
	"You are signed out. What you wrote is kept on this page: sign in, and you can send it again.")

// signInWith asks a guest who has sent a form with a text to sign in. The login form contains the text and is sent to
// the same path, so signInWith also handles that login form. After signing in, the member is shown the first form
// again, with the text.
func (c *call) signInWith() error {
	if err := c.ReadKept(); err != nil {
		return err
	}
	form := loginForm{Name: c.Form.Text("name"), Next: "/", Action: c.R.URL.Path, Kept: c.Kept()}
	password := c.Form.Text("password")
	if c.Outdated() || password == "" { // this is not the login form yet, or an old one
		return c.ShowForm(errKept, "login", c.T("Sign in"), form)
	}
	cookie, err := c.Accounts.Login(c.Context(), form.Name, password, c.address(), c.Session())
	if err != nil {
		return c.ShowForm(err, "login", c.T("Sign in"), form)
	}
	c.SignIn(cookie, accounts.SessionIdle)
	c.ShowAgain()
	if err := c.setActor(cookie); err != nil {
		return err
	}
	return members(c)
}

// login signs a member in with name and password.
func (c *call) login() error {
	form := loginForm{Name: c.Form.Text("name"), Next: pages.Local(c.Form.Text("next")), Action: "/login"}
	cookie, err := c.Accounts.Login(c.Context(), form.Name, c.Form.Text("password"), c.address(), c.Session())
	if err != nil {
		return c.ShowForm(err, "login", c.T("Sign in"), form)
	}
	c.SignIn(cookie, accounts.SessionIdle)
	return c.Redirect(form.Next, "")
}

// loginMeanwhile handles a login form that was shown before somebody signed in or out in another tab. The member who is
// now signed in stays signed in, whatever name the form has.
func (c *call) loginMeanwhile() error {
	if c.actor.User == nil {
		return c.login()
	}
	return c.Redirect(pages.Local(c.Form.Text("next")), c.signedInAs())
}

// logout ends the member's session.
func (c *call) logout() error {
	if err := c.Accounts.Logout(c.Context(), c.Session()); err != nil {
		return err
	}
	c.SignOut()
	return c.Redirect("/", c.T("You are signed out."))
}

// logoutMeanwhile handles a form to sign out that was shown to another member than the current member. Nobody is signed
// out.
func (c *call) logoutMeanwhile() error {
	if c.actor.User == nil {
		return c.logout()
	}
	return c.Redirect("/", c.signedInAs())
}

// signedInAs returns the notice that shows the current name to a member whose form came from another tab.
func (c *call) signedInAs() string {
	return c.T("You are signed in as {name}.", "name", c.actor.User.Name)
}

// registerForm is the registration form.
type registerForm struct {
	Name, Email string
	Approval    bool   // an administrator must let the member in
	Confirms    bool   // the member must open a link that is mailed
	Stamp       string // see accounts.JoinStamp
	Question    string // a question against automatic registrations; empty if none is asked
	Answer      string // to Question
}

// registerForm returns the form with the values that were sent. It returns an error if nobody may register.
func (c *call) registerForm() (*registerForm, error) {
	if err := c.Rights.Admit(c.actor); err != nil { // guests reach this route even if the board is for members only
		return nil, err
	}
	mode := c.actor.Settings().Registration
	if mode == kernel.RegistrationClosed {
		return nil, apierror.New(http.StatusForbidden, "forbidden", "This board takes no new members.")
	}
	return &registerForm{
		Stamp: c.Accounts.JoinStamp(c.Browser(), c.Form.Text("stamp")), Question: c.actor.Settings().Question,
		Answer: c.Form.Text("answer"),
		Name:   c.Form.Text("username"), Email: c.Form.Text("email"),
		Approval: mode == kernel.RegistrationApproval, Confirms: c.Accounts.Mails() && c.actor.Settings().ConfirmMail,
	}, nil
}

// askRegister shows the registration form.
func (c *call) askRegister() error {
	if c.actor.User != nil {
		return c.Redirect("/account", "")
	}
	form, err := c.registerForm()
	return c.ThenShow(err, "register", c.T("Join"), form)
}

// register creates a member and signs it in, unless an administrator must approve it first.
func (c *call) register() error {
	form, err := c.registerForm()
	if err != nil {
		return err
	}
	registered, err := c.Accounts.Register(c.Context(),
		accounts.NewMember{
			Name: form.Name, Email: form.Email, Password: c.Form.Text("password"), Address: c.address(),
			Form: accounts.JoinForm{
				Browser: c.Browser(), Stamp: c.Form.Text("stamp"), Trap: c.Form.Text("homepage"), Answer: form.Answer,
			},
		})
	if err != nil {
		return c.ShowForm(err, "register", c.T("Join"), form)
	}
	if registered.Cookie == "" {
		return c.Redirect("/login", c.T("Thank you. You can sign in after an administrator has approved your account."))
	}
	c.SignIn(registered.Cookie, accounts.SessionIdle)
	switch {
	case registered.Closed:
		return c.Redirect("/account/email", "")
	case registered.Asked:
		return c.Redirect("/", c.T("Welcome! You are signed in.")+" "+
			c.T("You will receive mails after you open the link that was mailed to you."))
	}
	return c.Redirect("/", c.T("Welcome! You are signed in."))
}

// askConfirm asks a member who is signed in for the password, before pages that need a recent sign-in.
func (c *call) askConfirm() error {
	return c.Show("confirm", c.T("Your password"), loginForm{Next: pages.Local(c.Query.Text("next"))})
}

// confirm checks the password and redirects to the page that needs it.
func (c *call) confirm() error {
	form := loginForm{Next: pages.Local(c.Form.Text("next"))}
	if err := c.Accounts.Confirm(c.Context(), c.actor, c.session, c.Form.Text("password"), c.address()); err != nil {
		return c.ShowForm(err, "confirm", c.T("Your password"), form)
	}
	return c.Redirect(form.Next, "")
}

// browser describes the user's browser for signing in at a provider.
func (c *call) browser() oidclogin.Browser {
	return oidclogin.Browser{Secret: c.Browser(), Redirect: c.Base() + "/login/oidc/callback"}
}

// beginSignOn redirects to the OpenID provider at which the user signs in.
func (c *call) beginSignOn() error {
	if c.options.OIDC == nil {
		return pages.NotFound()
	}
	next, reauthenticate := pages.Local(c.Query.Text("next")), c.Query.Text("again") != ""
	if c.actor.User != nil && !reauthenticate {
		return c.Redirect(next, "")
	}
	location, err := c.options.OIDC.Begin(c.Context(), c.browser(), oidclogin.Ask{Next: next, Again: reauthenticate})
	if err != nil {
		return err
	}
	http.Redirect(c.W, c.R, location, http.StatusSeeOther)
	return nil
}

// signOn handles the redirect back from the OpenID provider and signs the member in.
func (c *call) signOn() error {
	if c.options.OIDC == nil {
		return pages.NotFound()
	}
	person, err := c.options.OIDC.Finish(c.Context(), c.browser(), c.R.URL.Query())
	if err != nil {
		return err
	}
	cookie, err := c.Accounts.SignOn(c.Context(), person, c.options.OIDC.Managed(), c.Session())
	if err != nil {
		return err
	}
	if cookie == "" {
		return c.Redirect("/login", c.T("Thank you. You can sign in after an administrator has approved your account."))
	}
	c.SignIn(cookie, accounts.SessionIdle)
	return c.Redirect(pages.Local(person.Next), "")
}
