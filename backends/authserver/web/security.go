package web

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/authserver/factors"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

// security is the data of the page on which users manage their second factors.
type security struct {
	Redirect  string // where to continue; may be empty
	Factors   []*factors.Factor
	Left      int64 // the number of unused recovery codes
	Apps      bool  // apps can be set up
	Passkeys  bool
	Alone     bool // a passkey also signs in without the password
	Required  bool // a second factor is required for everything
	Wanted    bool // the request to continue with needs a second factor
	Elsewhere bool // the user signs in at another provider
}

// securityPath is the path of the page on which users manage their second factors.
const securityPath = "/security"

// factorsToChange returns the second factors of the user, if the user may change how to sign in. Otherwise it sends a
// response, and done is true.
func (c *call) factorsToChange() (list []*factors.Factor, done bool, err error) {
	if c.session == nil {
		return nil, true, c.leave(c.At("/login?" + url.Values{"redirect": {c.securityHere()}}.Encode()))
	}
	if list, err = c.Factors.Of(c.Context(), c.session.User.ID); err != nil {
		return nil, true, err
	}
	if len(c.session.Methods) == 0 && c.session.User.Provider != users.Local {
		return nil, true, c.Show("security", c.T("Sign-in and security"), &security{Elsewhere: true})
	}
	if len(c.session.Methods) == 0 || !c.Login.Fresh(c.session, factors.KindsOf(list)) {
		return nil, true, c.leave(c.At("/login?" + url.Values{"again": {"1"}, "redirect": {c.securityHere()}}.Encode()))
	}
	return list, false, nil
}

// securityHere returns the path of the security page, including the path at which the browser continues afterwards.
func (c *call) securityHere() string {
	to := c.onward()
	if to == "" {
		return securityPath
	}
	return securityPath + "?" + url.Values{"redirect": {to}}.Encode()
}

// toSecurity redirects to the security page. It answers a form if the signed-in user has changed since the form was
// shown.
func (c *call) toSecurity() error { return c.leave(c.At(c.securityHere())) }

// onward returns the path at which the browser continues, from the query or the form. It returns "" if neither contains
// one.
func (c *call) onward() string {
	fields := &c.Query
	if c.R.Method == http.MethodPost {
		fields = &c.Form
	}
	if to := pages.LocalUpTo(maxRedirect, fields.Text("redirect")); to != "/" {
		return to
	}
	return ""
}

// security shows the page on which users manage their second factors.
func (c *call) security() error {
	list, done, err := c.factorsToChange()
	if done {
		return err
	}
	left, err := c.Factors.Left(c.Context(), c.session.User.ID)
	if err != nil {
		return err
	}
	return c.Show("security", c.T("Sign-in and security"), &security{
		Redirect: c.onward(), Factors: list, Left: left, Apps: c.Factors.Apps(), Passkeys: c.Factors.Passkeys(),
		Alone:    c.Factors.Alone(),
		Required: c.Authorize.SecondFactor,
		Wanted:   strings.HasPrefix(c.onward(), "/consent?"),
	})
}

// appForm is the data of the form that sets up an authenticator app.
type appForm struct {
	*factors.Draft
	Redirect, Called string
}

func (c *call) askApp() error {
	if _, done, err := c.factorsToChange(); done {
		return err
	}
	draft, err := c.Factors.NewApp(c.session.User, c.Browser())
	if err != nil {
		return err
	}
	return c.Show("app", c.T("Set up an app"), &appForm{draft, c.onward(), c.T("Authenticator app")})
}

// addApp handles the form that sets up an authenticator app.
func (c *call) addApp() error {
	if _, done, err := c.factorsToChange(); done {
		return err
	}
	signed, label := c.Form.Text("draft"), c.Form.Text("name")
	recovery, err := c.Factors.AddApp(c.Context(), c.session.User, c.Browser(), signed, label, c.Form.Text("code"))
	if err != nil {
		draft, old := c.Factors.Draft(signed, c.session.User, c.Browser())
		if old != nil {
			return old
		}
		return c.ShowForm(err, "app", c.T("Set up an app"), &appForm{draft, c.onward(), label})
	}
	return c.finishFactor(factors.ByCode, recovery, c.T("The app is set up."))
}

// passkeyForm is the data of the form that sets up a passkey.
type passkeyForm struct {
	*factors.Challenge
	Redirect, Called string
	Alone            bool // it signs in without the password, too
}

func (c *call) askPasskey() error {
	if _, done, err := c.factorsToChange(); done {
		return err
	}
	return c.newPasskey(nil, c.T("Passkey"))
}

func (c *call) newPasskey(refusal error, label string) error {
	challenge, err := c.Factors.NewPasskey(c.Context(), c.session.User, c.Browser())
	if err != nil {
		return err
	}
	return c.ShowForm(refusal, "passkey", c.T("Set up a passkey"),
		&passkeyForm{challenge, c.onward(), label, c.Factors.Alone()})
}

// addPasskey handles the form that sets up a passkey.
func (c *call) addPasskey() error {
	if _, done, err := c.factorsToChange(); done {
		return err
	}
	label := c.Form.Text("name")
	recovery, err := c.Factors.AddPasskey(c.Context(), c.session.User, c.Browser(), c.Form.Text("challenge"), label,
		c.Form.Text("answer"))
	if err != nil {
		return c.newPasskey(err, label)
	}
	return c.finishFactor(factors.ByKey, recovery, c.T("The passkey is set up."))
}

// recoveryCodes is the data of the page that shows new recovery codes, once.
type recoveryCodes struct {
	Codes    []string
	Redirect string
}

// finishFactor sends the response after a second factor was set up: a page with the recovery codes, if there are any,
// and otherwise a redirect to the security page, which shows the notice. The factor then counts as proved in this
// session.
func (c *call) finishFactor(method string, recovery []string, notice string) error {
	if err := c.Login.Proved(c.Context(), c.session, method); err != nil {
		return err
	}
	if len(recovery) == 0 {
		return c.Redirect(c.securityHere(), notice)
	}
	return c.Show("recovery", c.T("Recovery codes"), &recoveryCodes{recovery, c.onward()})
}

func (c *call) removeFactor() error {
	if _, done, err := c.factorsToChange(); done {
		return err
	}
	return c.Then(c.Factors.Remove(c.Context(), c.session.User.ID, c.Form.Text("id")), c.securityHere(),
		c.T("It is removed."))
}

func (c *call) newRecovery() error {
	if _, done, err := c.factorsToChange(); done {
		return err
	}
	codes, err := c.Factors.Renew(c.Context(), c.session.User.ID)
	if err != nil {
		return err
	}
	return c.Show("recovery", c.T("Recovery codes"), &recoveryCodes{codes, c.onward()})
}
