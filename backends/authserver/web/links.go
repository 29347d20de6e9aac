package web

import (
	"net/url"

	"github.com/tollgate-gateway/tollgate/backends/authserver/account"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

// If the server cannot send mails, the pages that need them answer 404.

// mailForm is the data of a form that asks for a mail address.
type mailForm struct {
	Email, Name string
	Redirect    string // the path at which the browser continues after the link was opened; may be empty
	Sent        bool   // the form was accepted; a mail is sent if the address has an account or may get an account
}

// sendsMails reports whether the server can send mails.
func (c *call) sendsMails() bool { return c.Accounts != nil && c.Accounts.Mail != nil }

// allowsRegistration reports whether users may register.
func (c *call) allowsRegistration() bool {
	return c.sendsMails() && c.Accounts.Registration.Open && !c.NoPassword
}

// allowsReset reports whether users may request a link to choose a new password.
func (c *call) allowsReset() bool { return c.sendsMails() && !c.NoPassword }

const (
	forgotPath   = "/forgot"
	registerPath = "/register"
)

// askForgot shows the form that requests a link for a new password.
func (c *call) askForgot() error {
	if !c.allowsReset() {
		return pages.NotFound()
	}
	return c.Show("forgot", c.T("Forgotten password"), &mailForm{Email: c.Query.Text("email"), Redirect: c.continuation()})
}

// forgot handles the form that requests a link for a new password.
func (c *call) forgot() error {
	if !c.allowsReset() {
		return pages.NotFound()
	}
	form := &mailForm{Email: c.Form.Text("email"), Redirect: c.continuation()}
	if err := c.Accounts.Forgot(c.Context(), form.Email, c.Address(c.R)); err != nil {
		return c.ShowForm(err, "forgot", c.T("Forgotten password"), form)
	}
	c.storeContinuation()
	form.Sent = true
	return c.Show("forgot", c.T("Forgotten password"), form)
}

// askRegister shows the form that requests an account.
func (c *call) askRegister() error {
	if !c.allowsRegistration() {
		return pages.NotFound()
	}
	return c.Show("register", c.T("Create an account"), &mailForm{Redirect: c.continuation()})
}

// register handles the form that requests an account.
func (c *call) register() error {
	if !c.allowsRegistration() {
		return pages.NotFound()
	}
	form := &mailForm{Email: c.Form.Text("email"), Name: c.Form.Text("name"), Redirect: c.continuation()}
	if err := c.Accounts.Register(c.Context(), form.Email, form.Name, c.Address(c.R)); err != nil {
		return c.ShowForm(err, "register", c.T("Create an account"), form)
	}
	c.storeContinuation()
	form.Sent = true
	return c.Show("register", c.T("Create an account"), form)
}

// chooseForm is the data of the form in which a user chooses a password after opening a mailed link.
type chooseForm struct {
	Link, Email, Name string // Link is the secret in the mailed link
	New               bool   // the link completes a new account
}

// openChooseLink returns the data of a chooseForm for the link in the query or form of a request. It returns an error
// if the link is not valid.
func (c *call) openChooseLink(fields *pages.Fields) (*chooseForm, error) {
	secret := fields.Text("link")
	l, err := c.Accounts.Look(c.Context(), secret, account.LinkReset, account.LinkJoin, account.LinkInvite)
	if err != nil {
		return nil, err
	}
	return &chooseForm{Link: secret, Email: l.Email, Name: l.User.Name, New: l.Kind != account.LinkReset}, nil
}

// askChoose shows the form in which a user chooses a password after opening a mailed link.
func (c *call) askChoose() error {
	form, err := c.openChooseLink(&c.Query)
	if err != nil {
		return err
	}
	return c.Show("choose", c.T("Choose a password"), form)
}

// choose handles the form in which a user chooses a password after opening a mailed link.
func (c *call) choose() error {
	form, err := c.openChooseLink(&c.Form)
	if err != nil {
		return err
	}
	name := c.Form.Text("name")
	form.Name = name
	user, err := c.Accounts.Choose(c.Context(), form.Link, c.Form.Text("password"), &name)
	if err != nil {
		return c.ShowForm(err, "choose", c.T("Choose a password"), form)
	}
	notice := c.T("Your password is changed. Sign in with it.")
	if form.New {
		notice = c.T("Your account is created. Sign in with your password.")
	}
	query := url.Values{"email": {user.Email}}
	if path := c.takeContinuation(); path != "" && path != "/" {
		query.Set("redirect", path)
	}
	return c.Redirect("/login?"+query.Encode(), notice)
}

// addressForm is the data of the form that confirms a mail address.
type addressForm struct{ Link, Email string }

// askAddress shows the form that confirms a mail address after the user has opened a mailed link.
func (c *call) askAddress() error {
	secret := c.Query.Text("link")
	l, err := c.Accounts.Look(c.Context(), secret, account.LinkAddress)
	if err != nil {
		return err
	}
	return c.Show("address", c.T("Confirm your mail address"), &addressForm{secret, l.Email})
}

// confirmAddress handles the form that confirms a mail address.
func (c *call) confirmAddress() error {
	return c.Then(c.Accounts.SetAddress(c.Context(), c.Form.Text("link")), accountPath,
		c.T("Your mail address is changed."))
}

// moveAddress handles the form that requests a new mail address. It mails a confirmation link to the new address.
func (c *call) moveAddress() error {
	if done, err := c.requireSession(); done {
		return err
	}
	if !c.sendsMails() {
		return pages.NotFound()
	}
	email := c.Form.Text("email")
	if err := c.Accounts.AskAddress(c.Context(), c.session.User, c.Form.Text("present"), email,
		c.Address(c.R)); err != nil {
		page, pageErr := c.accountPage()
		if pageErr != nil {
			return pageErr
		}
		page.Move = email
		return c.ShowForm(err, "account", c.T("Your account"), page)
	}
	return c.Redirect(accountPath,
		c.T("A mail is on its way to {email}. Open the link in it to confirm the address.", "email", email))
}

// linkRoutes are the routes of the pages to which mailed links lead, and of the pages that request mails.
var linkRoutes = []route{
	{Method: get, Path: forgotPath, Serve: (*call).askForgot},
	{Method: post, Path: forgotPath, Serve: (*call).forgot},
	{Method: get, Path: registerPath, Serve: (*call).askRegister},
	{Method: post, Path: registerPath, Serve: (*call).register},
	{Method: get, Path: account.ChoosePath, Serve: (*call).askChoose},
	{Method: post, Path: account.ChoosePath, Serve: (*call).choose},
	{Method: get, Path: account.AddressPath, Serve: (*call).askAddress},
	{Method: post, Path: account.AddressPath, Serve: (*call).confirmAddress},
	{Method: post, Path: accountPath + "/address", Serve: (*call).moveAddress, Else: (*call).toAccount},
}
