package web

import (
	"cmp"

	"github.com/tollgate-gateway/tollgate/backends/authserver/factors"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

// passkeyPath is the path of the form that signs in with a passkey alone.
const passkeyPath = "/login/passkey"

// anyPasskey returns a challenge that any user's passkey can answer. It returns nil if a passkey alone is not enough to
// sign in, or if the local sign-in is hidden.
func (c *call) anyPasskey() *factors.Challenge {
	if c.NoPassword {
		return nil
	}
	challenge, err := c.Factors.AskAnyone(c.Browser())
	if err != nil { // the password form can still be used
		return nil
	}
	return challenge
}

// byPasskey handles a sign-in with a passkey alone.
func (c *call) byPasskey() error {
	if c.NoPassword || !c.Factors.Alone() {
		return pages.NotFound()
	}
	cookie, err := c.Login.ByPasskey(c.Context(), c.Form.Text("answer"), c.Form.Text("challenge"), c.attempt())
	if err != nil {
		return c.ShowForm(err, "login", c.T("Sign in"), c.loginForm(&c.Form))
	}
	c.SignIn(cookie, c.Login.MaxAge())
	return c.redirectTo(c.At(pages.LocalUpTo(maxRedirect, c.Form.Text("redirect"))))
}

// byPasskeyUserChanged handles a passkey form that was shown before somebody signed in or out in another tab, like
// loginUserChanged. It never replaces the session of the signed-in user.
func (c *call) byPasskeyUserChanged() error {
	if c.session == nil || c.NoPassword || !c.Factors.Alone() {
		return c.byPasskey()
	}
	form := c.loginForm(&c.Form)
	claim, err := c.Factors.Claim(c.Context(), c.Form.Text("answer"))
	if err == nil && claim.User != nil && claim.User.ID == c.session.User.ID {
		return c.redirectTo(c.At(form.Redirect)) // the passkey is that of the signed-in user
	}
	form.Again, form.Meanwhile = true, cmp.Or(c.session.User.Email, c.session.User.ID)
	return c.ShowForm(errUserChanged, "login", c.T("Sign in"), form)
}
