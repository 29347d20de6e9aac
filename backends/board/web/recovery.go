package web

import (
	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
)

// resetPage asks for the address to which a link will be mailed, or reports that the link was mailed.
type resetPage struct {
	Email string
	Asked bool
}

func (c *call) askReset() error { return c.Show("forgot", c.T("Forgot your password?"), resetPage{}) }

func (c *call) mailReset() error {
	page := resetPage{Email: c.Form.Text("email")}
	err := c.Accounts.AskReset(c.Context(), page.Email, c.address())
	page.Asked = err == nil
	return c.ShowForm(err, "forgot", c.T("Forgot your password?"), page)
}

// linkPage is the page that a mailed link opens. Only the page's form uses up the link, since programs that scan mails
// open links too.
type linkPage struct {
	accounts.Linked
	Secret string
}

// link reads a link of one of the kinds and returns its page.
func (c *call) link(secret string, kinds ...string) (linkPage, error) {
	l, err := c.Accounts.ReadLink(c.Context(), secret, kinds...)
	return linkPage{l, secret}, err
}

func (c *call) openReset() error {
	page, err := c.link(c.Query.Text("token"), accounts.LinkReset)
	return c.ThenShow(err, "reset", c.T("New password"), page)
}

func (c *call) reset() error {
	page, err := c.link(c.Form.Text("secret"), accounts.LinkReset)
	if err != nil {
		return err
	}
	if err := c.Accounts.Reset(c.Context(), page.Secret, c.Form.Text("password"), c.address()); err != nil {
		return c.ShowForm(err, "reset", c.T("New password"), page)
	}
	c.SignOut()
	return c.Redirect("/login", c.T("The password was changed, and all browsers are signed out. Sign in with the new password."))
}

// emailPage shows the mail address, with a form for another address.
type emailPage struct {
	accounts.MailAddress
	Email string
}

func (c *call) emailPage() (page emailPage, err error) {
	page.MailAddress, err = c.Accounts.MailAddress(c.Context(), c.actor)
	return page, err
}

func (c *call) email() error { return c.showEmail(nil) }

func (c *call) showEmail(refusal error) error {
	page, err := c.emailPage()
	if err != nil {
		return err
	}
	if refusal != nil {
		page.Email = c.Form.Text("email")
	}
	return c.ShowForm(refusal, "email", c.T("Mail address"), page)
}

func (c *call) mailEmail() error {
	if err := c.Accounts.AskEmail(c.Context(), c.actor, c.Form.Text("email"), c.Form.Text("password"),
		c.address()); err != nil {
		return c.showEmail(err)
	}
	return c.Redirect("/account/email", "")
}

func (c *call) mailEmailAgain() error {
	if err := c.Accounts.AskEmailAgain(c.Context(), c.actor, c.address()); err != nil {
		return c.showEmail(err)
	}
	return c.Redirect("/account/email", c.T("Another mail is on its way."))
}

func (c *call) openEmail() error {
	page, err := c.link(c.Query.Text("token"), accounts.LinkEmail, accounts.LinkJoin)
	return c.ThenShow(err, "email_confirm", c.T("Mail address"), page)
}

func (c *call) confirmEmail() error {
	done, err := c.Accounts.ConfirmEmail(c.Context(), c.Form.Text("secret"))
	if err != nil {
		return err
	}
	switch notice := c.T("{email} is confirmed.", "email", done.Email) + " "; {
	case done.Awaits:
		if c.session != nil && c.session.User == done.User {
			c.SignOut()
		}
		return c.Redirect("/login", notice+c.T("You can sign in when an administrator has let you in."))
	case done.Joined && (c.session == nil || c.session.User != done.User):
		return c.Redirect("/login", notice+c.T("Welcome! Sign in with your name and password."))
	case done.Joined:
		return c.Redirect("/", notice+c.T("Welcome!"))
	}
	return c.Redirect("/", c.T("Your mail address is {email} now.", "email", done.Email))
}
