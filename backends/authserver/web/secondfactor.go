package web

import (
	"net/url"

	"github.com/tollgate-gateway/tollgate/backends/authserver/factors"
)

// secondForm is the data of the form that asks for a second factor.
type secondForm struct {
	*loginForm
	// Waiting is the signed text that identifies the waiting user; see login.Login.Waiting.
	Waiting string
	// Challenge asks the browser for a passkey. It is nil for a user without passkeys.
	Challenge *factors.Challenge
	// App is set if the user has an authenticator app.
	App bool
}

// askSecond asks a waiting user for the second factor. The refusal is the error of the previous attempt, or nil.
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

// secondMeanwhile handles a form for a second factor that was shown before a user signed in or out in another tab, like
// loginMeanwhile.
func (c *call) secondMeanwhile() error {
	if c.session == nil || c.NoPassword && len(c.Upstreams.List) == 0 {
		return c.second()
	}
	w, err := c.Login.Waiting(c.Context(), c.Form.Text("waiting"), c.Browser())
	if err != nil {
		return c.ShowForm(err, "login", c.T("Sign in"), c.loginForm(&c.Form))
	}
	return c.continueMeanwhile(w.User.Email)
}

// againFirst answers GET requests for the form of the second factor, which needs a waiting user. It redirects to the
// login page.
func (c *call) againFirst() error { return c.leave(c.At("/login")) }

// redirectToProve does nothing unless needs is set. It redirects a user who must prove a second factor to the login
// page. A user who has no second factor is redirected to the page that sets one up. The browser continues at the path
// back afterwards. The result done reports whether a response has been sent.
func (c *call) redirectToProve(needs bool, back string) (done bool, err error) {
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

// needsFactor reports whether the server requires a second factor of every user and this user has not proved one.
func (c *call) needsFactor() bool {
	return c.Authorize.SecondFactor && c.session != nil && !c.session.HasSecondFactor()
}
