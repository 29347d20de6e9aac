package web

import "github.com/tollgate-gateway/tollgate/backends/board"

// resetPage asks where to mail a link, or tells that it was.
type resetPage struct {
	Email string
	Asked bool
}

func (c *call) askReset() error { return c.page("forgot", "Forgot your password?", resetPage{}) }

func (c *call) mailReset() error {
	page := resetPage{Email: c.text("email")}
	err := c.service.AskReset(c.ctx(), page.Email, c.address())
	page.Asked = err == nil
	return c.form(err, "forgot", "Forgot your password?", page)
}

// linkPage is what a link opens. It is used by its form: programs that look at
// mails open links, too.
type linkPage struct {
	board.Linked
	Secret string
}

// link looks at the link of the request.
func (c *call) link(kind, secret string) (linkPage, error) {
	l, err := c.service.ReadLink(c.ctx(), kind, secret)
	return linkPage{l, secret}, err
}

func (c *call) openReset() error {
	page, err := c.link(board.LinkReset, c.query("token"))
	if err != nil {
		return err
	}
	return c.page("reset", "New password", page)
}

func (c *call) reset() error {
	page, err := c.link(board.LinkReset, c.text("secret"))
	if err != nil {
		return err
	}
	if err := c.service.Reset(c.ctx(), page.Secret, c.text("password"), c.address()); err != nil {
		return c.form(err, "reset", "New password", page)
	}
	c.setCookie(cookieSession, "", 0)
	return c.redirect("/login", "The password is changed, and all browsers are signed out. Sign in with it.")
}

// emailPage asks for another mail address, or tells that a link to it was sent.
type emailPage struct {
	Now   string // empty: none
	Email string
	Asked bool
}

func (c *call) emailPage() (page emailPage, err error) {
	page.Now, err = c.service.Email(c.ctx(), c.actor)
	return page, err
}

func (c *call) email() error {
	page, err := c.emailPage()
	if err != nil {
		return err
	}
	return c.page("email", "Mail address", page)
}

func (c *call) mailEmail() error {
	page, err := c.emailPage()
	if err != nil {
		return err
	}
	page.Email = c.text("email")
	err = c.service.AskEmail(c.ctx(), c.actor, page.Email, c.text("password"), c.address())
	page.Asked = err == nil
	return c.form(err, "email", "Mail address", page)
}

func (c *call) openEmail() error {
	page, err := c.link(board.LinkEmail, c.query("token"))
	if err != nil {
		return err
	}
	return c.page("email_confirm", "Mail address", page)
}

func (c *call) changeEmail() error {
	email, err := c.service.ChangeEmail(c.ctx(), c.text("secret"))
	if err != nil {
		return err
	}
	return c.redirect("/", "Your mail address is "+email+" now.")
}
