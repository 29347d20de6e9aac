package web

import (
	"net/http"

	"github.com/tollgate-gateway/tollgate/backends/board"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// loginForm asks who it is.
type loginForm struct{ Name, Next string }

func (c *call) askLogin() error {
	form := loginForm{Next: local(c.query("next"))}
	if c.actor.User != nil {
		return c.redirect(form.Next, "")
	}
	return c.page("login", "Sign in", form)
}

func (c *call) login() error {
	form := loginForm{Name: c.text("name"), Next: local(c.text("next"))}
	cookie, err := c.service.Login(c.ctx(), form.Name, c.text("password"), c.address(), c.cookie(cookieSession))
	if err != nil {
		return c.form(err, "login", "Sign in", form)
	}
	c.signIn(cookie)
	return c.redirect(form.Next, "")
}

func (c *call) logout() error {
	if err := c.service.Logout(c.ctx(), c.cookie(cookieSession)); err != nil {
		return err
	}
	c.setCookie(cookieSession, "", 0)
	return c.redirect("/", "You are signed out.")
}

// registerForm asks for what makes a member.
type registerForm struct {
	Name, Email string
	Approval    bool // an administrator must let the member in
	Confirms    bool // the member must open a link that is mailed
	Stamp       string
	Question    string // empty: none
	Answer      string
}

func (c *call) registerForm() (*registerForm, error) {
	if err := c.service.Admit(c.actor); err != nil { // the route is open to guests of a board for members only
		return nil, err
	}
	mode := c.actor.Settings().Registration
	if mode == board.RegistrationClosed {
		return nil, apierror.New(http.StatusForbidden, "forbidden", "This board takes no new members.")
	}
	c.token() // binds the form to the browser, and its stamp with it
	return &registerForm{
		Stamp: c.service.JoinStamp(c.bound, c.text("stamp")), Question: c.actor.Settings().Question, Answer: c.text("answer"),
		Name: c.text("username"), Email: c.text("email"),
		Approval: mode == board.RegistrationApproval, Confirms: c.service.Mails() && c.actor.Settings().ConfirmMail,
	}, nil
}

func (c *call) askRegister() error {
	if c.actor.User != nil {
		return c.redirect("/account", "")
	}
	form, err := c.registerForm()
	if err != nil {
		return err
	}
	return c.page("register", "Join", form)
}

func (c *call) register() error {
	form, err := c.registerForm()
	if err != nil {
		return err
	}
	done, err := c.service.Register(c.ctx(), board.NewMember{Name: form.Name, Email: form.Email, Password: c.text("password"), Address: c.address(), Form: board.JoinForm{
		Browser: c.bound, Stamp: c.text("stamp"), Trap: c.text("homepage"), Answer: form.Answer,
	}})
	if err != nil {
		return c.form(err, "register", "Join", form)
	}
	if done.Cookie == "" {
		return c.redirect("/login", "Thank you. You can sign in when an administrator has let you in.")
	}
	c.signIn(done.Cookie)
	switch {
	case done.Closed:
		return c.redirect("/account/email", "")
	case done.Asked:
		return c.redirect("/", "Welcome! You are signed in. Mails come to you when you have opened the link that is on its way to you.")
	}
	return c.redirect("/", "Welcome! You are signed in.")
}

func (c *call) askConfirm() error {
	return c.page("confirm", "Your password", loginForm{Next: local(c.query("next"))})
}

func (c *call) confirm() error {
	form := loginForm{Next: local(c.text("next"))}
	if err := c.service.Confirm(c.ctx(), c.actor, c.session, c.text("password"), c.address()); err != nil {
		return c.form(err, "confirm", "Your password", form)
	}
	return c.redirect(form.Next, "")
}
