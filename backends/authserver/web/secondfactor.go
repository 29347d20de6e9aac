package web

import (
	"net/url"

	"github.com/tollgate-gateway/tollgate/backends/authserver/factors"
)

// secondForm is the data of the form that asks for a second factor. A waiting user has proved the first factor (the
// password or the sign-in at a provider), and must prove the second one before a session begins.
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
	page := &secondForm{loginForm: form, Waiting: waiting, App: w.Kinds.App}
	if w.Kinds.Passkey {
		if page.Challenge, err = c.Factors.Ask(c.Context(), w.User, c.Browser()); err != nil {
			return err
		}
	}
	return c.ShowForm(refusal, "second", c.T("Sign in"), page)
}

// second handles the form with the second factor.
func (c *call) second() error {
	if c.NoPassword && len(c.Upstreams.List) == 0 { // no sign-in here asks for a second factor
		return c.redirectTo(c.At("/login"))
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
	return c.redirectTo(c.At(form.Redirect))
}

// secondUserChanged handles a form for a second factor that was shown before somebody signed in or out in another tab,
// like loginUserChanged.
func (c *call) secondUserChanged() error {
	if c.session == nil || c.NoPassword && len(c.Upstreams.List) == 0 {
		return c.second()
	}
	w, err := c.Login.Waiting(c.Context(), c.Form.Text("waiting"), c.Browser())
	if err != nil {
		return c.ShowForm(err, "login", c.T("Sign in"), c.loginForm(&c.Form))
	}
	return c.continueIfSameUser(w.User.Email)
}

// restartLogin answers GET requests for pages that only handle a form of the sign-in, for example after a reload. It
// redirects to the login page.
func (c *call) restartLogin() error { return c.redirectTo(c.At("/login")) }

// requireSecondFactor makes the signed-in user prove a second factor. It redirects to the login page or, if the user
// has no second factor, to the page that sets one up. Afterwards the browser continues at nextPath. If needed is
// false, requireSecondFactor does nothing. The result done reports whether a response has been sent.
func (c *call) requireSecondFactor(needed bool, nextPath string) (done bool, err error) {
	if !needed {
		return false, nil
	}
	list, err := c.Factors.Of(c.Context(), c.session.User.ID)
	if err != nil {
		return true, err
	}
	query := url.Values{"redirect": {nextPath}}
	if len(list) > 0 {
		query.Set("again", "1")
		return true, c.redirectTo(c.At("/login?" + query.Encode()))
	}
	return true, c.redirectTo(c.At(securityPath + "?" + query.Encode()))
}

// needsFactor reports whether the server requires a second factor of every user and this user has not proved one.
func (c *call) needsFactor() bool {
	return c.Authorize.SecondFactor && c.session != nil && !c.session.HasSecondFactor()
}
