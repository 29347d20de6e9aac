package web

import (
	"net/url"

	"github.com/tollgate-gateway/tollgate/backends/authserver/factors"
)

// secondForm is the data of the form that asks for a second factor.
type secondForm struct {
	*loginForm
	// Waiting identifies the user who waits, signed for this browser.
	Waiting string
	// Challenge asks the browser for a passkey. It is nil if the user has none.
	Challenge *factors.Challenge
	// App is set if the user has an authenticator app.
	App bool
}

// askSecond asks a waiting user for the second factor. refusal is the error of the previous attempt, or nil.
func (c *call) askSecond(refusal error, form *loginForm, waiting string) error {
	w, err := c.Login.Waiting(c.Context(), waiting, c.Browser())
	if err != nil {
		return c.ShowForm(err, "login", c.T("Sign in"), form)
	}
	shown := &secondForm{loginForm: form, Waiting: waiting, App: w.Kinds.App}
	if w.Kinds.Passkey {
		if shown.Challenge, err = c.Factors.Ask(c.Context(), w.User, c.Browser()); err != nil {
			return err
		}
	}
	return c.ShowForm(refusal, "second", c.T("Sign in"), shown)
}

// second handles the form with the second factor.
func (c *call) second() error {
	if c.NoPassword && len(c.Upstreams.List) == 0 {
		return c.leave(c.At("/login"))
	}
	form, waiting := c.loginForm(&c.Form), c.Form.Text("waiting")
	w, err := c.Login.Waiting(c.Context(), waiting, c.Browser())
	if err != nil {
		return c.ShowForm(err, "login", c.T("Sign in"), form)
	}
	proof := factors.Proof{
		Code: c.Form.Text("code"), Assertion: c.Form.Text("answer"),
		Challenge: c.Form.Text("challenge"),
	}
	cookie, err := c.Login.Second(c.Context(), w, proof, c.attempt())
	if err != nil {
		return c.askSecond(err, form, waiting)
	}
	c.SignIn(cookie, c.Login.MaxAge())
	return c.leave(c.At(form.Redirect))
}

// secondMeanwhile handles a form for a second factor that was shown before somebody signed in or out in another tab, as
// loginMeanwhile does.
func (c *call) secondMeanwhile() error {
	if c.session == nil || c.NoPassword && len(c.Upstreams.List) == 0 {
		return c.second()
	}
	w, err := c.Login.Waiting(c.Context(), c.Form.Text("waiting"), c.Browser())
	if err != nil {
		return c.ShowForm(err, "login", c.T("Sign in"), c.loginForm(&c.Form))
	}
	return c.goOn(w.User.Email)
}

// againFirst handles GET requests for the form of the second factor, which cannot be shown without a waiting user.
func (c *call) againFirst() error { return c.leave(c.At("/login")) }

// proves redirects a user who needs a second factor and has not proved one: to the login if they have set one up, or
// else to the page to set one up. done reports whether it did. back is where to continue afterwards.
func (c *call) proves(needs bool, back string) (done bool, err error) {
	if !needs {
		return false, nil
	}
	list, err := c.Factors.Of(c.Context(), c.session.User.ID)
	if err != nil {
		return true, err
	}
	to := url.Values{"redirect": {back}}
	if len(list) > 0 {
		to.Set("again", "1")
		return true, c.leave(c.At("/login?" + to.Encode()))
	}
	return true, c.leave(c.At(securityPath + "?" + to.Encode()))
}

// needsFactor reports whether a second factor is required for everything and the user has not proved one.
func (c *call) needsFactor() bool {
	return c.Authorize.SecondFactor && c.session != nil && !c.session.HasSecondFactor()
}
