package web

import (
	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
)

// resetPage asks for the address to which a link will be mailed, or reports that the link was mailed.
type resetPage struct {
	Email string
	Asked bool
}

// askReset shows the form for the mail address of a member who has forgotten the password.
func (c *call) askReset() error { return c.Show("forgot", c.T("Forgot your password?"), resetPage{}) }

// mailReset mails a link to set a new password.
func (c *call) mailReset() error {
	page := resetPage{Email: c.Form.Text("email")}
	err := c.Accounts.AskReset(c.Context(), page.Email, c.address())
	page.Asked = err == nil
	return c.ShowForm(err, "forgot", c.T("Forgot your password?"), page)
}

// linkPage is the page that a mailed link opens. The link is used up only when the page's form is sent, since programs
// that scan mails open links too.
type linkPage struct {
	accounts.Linked
	Secret string
}

// link returns the page of the mailed link with this secret. It returns an error unless the link is valid and of one of
// the kinds.
func (c *call) link(secret string, kinds ...string) (linkPage, error) {
	l, err := c.Accounts.ReadLink(c.Context(), secret, kinds...)
	return linkPage{l, secret}, err
}

// openReset shows the form for a new password that a mailed link leads to.
func (c *call) openReset() error {
	page, err := c.link(c.Query.Text("token"), accounts.LinkReset)
	return c.ThenShow(err, "reset", c.T("New password"), page)
}

// reset sets the new password and signs the member out in all browsers.
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
	Email string // the address in the form
}

// emailPage returns the page with the member's mail address and an empty form.
func (c *call) emailPage() (page emailPage, err error) {
	page.MailAddress, err = c.Accounts.MailAddress(c.Context(), c.actor)
	return page, err
}

// email shows the member's mail address with a form to change it.
func (c *call) email() error { return c.showEmail(nil) }

// showEmail shows the mail address. refusal is the reason why the sent form was refused, or nil.
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

// mailEmail mails a link that confirms a new address to that address.
func (c *call) mailEmail() error {
	if err := c.Accounts.AskEmail(c.Context(), c.actor, c.Form.Text("email"), c.Form.Text("password"),
		c.address()); err != nil {
		return c.showEmail(err)
	}
	return c.Redirect("/account/email", "")
}

// mailEmailAgain mails another link to the address that is not confirmed yet.
func (c *call) mailEmailAgain() error {
	if err := c.Accounts.AskEmailAgain(c.Context(), c.actor, c.address()); err != nil {
		return c.showEmail(err)
	}
	return c.Redirect("/account/email", c.T("Another mail is on its way."))
}

// openEmail shows the page that a mailed link leads to, with a button that confirms the address.
func (c *call) openEmail() error {
	page, err := c.link(c.Query.Text("token"), accounts.LinkEmail, accounts.LinkJoin)
	return c.ThenShow(err, "email_confirm", c.T("Mail address"), page)
}

// confirmEmail confirms an address and redirects to the page where the member continues.
func (c *call) confirmEmail() error {
	confirmed, err := c.Accounts.ConfirmEmail(c.Context(), c.Form.Text("secret"))
	if err != nil {
		return err
	}
	signedIn := c.session != nil && c.session.User == confirmed.User // the link may be opened in another browser
	notice := c.T("{email} is confirmed.", "email", confirmed.Email) + " "
	switch {
	case confirmed.Awaits:
		if signedIn {
			c.SignOut()
		}
		return c.Redirect("/login", notice+c.T("You can sign in after an administrator has approved your account."))
	case confirmed.Joined && !signedIn:
		return c.Redirect("/login", notice+c.T("Welcome! Sign in with your name and password."))
	case confirmed.Joined:
		return c.Redirect("/", notice+c.T("Welcome!"))
	}
	return c.Redirect("/", c.T("Your mail address is {email} now.", "email", confirmed.Email))
}
