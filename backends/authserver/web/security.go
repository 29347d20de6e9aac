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
	Apps      bool  // authenticator apps can be set up
	Passkeys  bool  // passkeys can be set up
	Alone     bool  // a passkey also signs in without the password
	Required  bool  // a second factor is required for everything
	Wanted    bool  // the request to continue with needs a second factor
	Elsewhere bool  // the user signs in at another provider
}

// securityPath is the path of the page on which users manage their second factors.
const securityPath = "/security"

// factorsToChange returns the second factors of the user if the user may change them: the user has recently signed in
// here, with a second factor if there is one. Otherwise it sends a response, and done is true.
func (c *call) factorsToChange() (list []*factors.Factor, done bool, err error) {
	if c.session == nil {
		return nil, true, c.redirectTo(c.At("/login?" + url.Values{"redirect": {c.securityLocation()}}.Encode()))
	}
	if list, err = c.Factors.Of(c.Context(), c.session.User.ID); err != nil {
		return nil, true, err
	}
	if len(c.session.Methods) == 0 && c.session.User.Provider != users.Local {
		// The user has signed in at a provider, which asks for second factors itself.
		return nil, true, c.Show("security", c.T("Sign-in and security"), &security{Elsewhere: true})
	}
	if len(c.session.Methods) == 0 || !c.Login.Fresh(c.session, factors.KindsOf(list)) {
		query := url.Values{"again": {"1"}, "redirect": {c.securityLocation()}}
		return nil, true, c.redirectTo(c.At("/login?" + query.Encode()))
	}
	return list, false, nil
}

// securityLocation returns the path of the security page, including the path at which the browser continues afterwards.
func (c *call) securityLocation() string { return withRedirect(securityPath, c.continuation()) }

// toSecurity redirects to the security page. It also handles a form if the signed-in user has changed since the form
// was shown.
func (c *call) toSecurity() error { return c.redirectTo(c.At(c.securityLocation())) }

// continuation returns the path at which the browser continues: the field redirect of the query or, for a POST, of the
// form. It returns "" if there is none, if it is the start page, or if it is not a path of this site.
func (c *call) continuation() string {
	fields := &c.Query
	if c.R.Method == http.MethodPost {
		fields = &c.Form
	}
	if nextPath := pages.LocalUpTo(maxRedirect, fields.Text("redirect")); nextPath != "/" {
		return nextPath
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
		Redirect: c.continuation(), Factors: list, Left: left, Apps: c.Factors.Apps(), Passkeys: c.Factors.Passkeys(),
		Alone:    c.Factors.Alone(),
		Required: c.Authorize.SecondFactor,
		Wanted:   strings.HasPrefix(c.continuation(), "/consent?"), // only a request that needs a factor leads here
	})
}

// appForm is the data of the form that sets up an authenticator app.
type appForm struct {
	*factors.Draft
	Redirect, Called string // Called is the name of the new factor
}

// askApp shows the form that sets up an authenticator app.
func (c *call) askApp() error {
	if _, done, err := c.factorsToChange(); done {
		return err
	}
	draft, err := c.Factors.NewApp(c.session.User, c.Browser())
	if err != nil {
		return err
	}
	return c.Show("app", c.T("Set up an app"), &appForm{draft, c.continuation(), c.T("Authenticator app")})
}

// addApp handles the form that sets up an authenticator app.
func (c *call) addApp() error {
	if _, done, err := c.factorsToChange(); done {
		return err
	}
	signed, label := c.Form.Text("draft"), c.Form.Text("name")
	recovery, err := c.Factors.AddApp(c.Context(), c.session.User, c.Browser(), signed, label, c.Form.Text("code"))
	if err != nil {
		draft, draftErr := c.Factors.Draft(signed, c.session.User, c.Browser())
		if draftErr != nil {
			return draftErr
		}
		return c.ShowForm(err, "app", c.T("Set up an app"), &appForm{draft, c.continuation(), label})
	}
	return c.finishFactor(factors.ByCode, recovery, c.T("The app is set up."))
}

// passkeyForm is the data of the form that sets up a passkey.
type passkeyForm struct {
	*factors.Challenge
	Redirect, Called string // Called is the name of the new factor
	Alone            bool   // a passkey also signs in without the password
}

// askPasskey shows the form that sets up a passkey.
func (c *call) askPasskey() error {
	if _, done, err := c.factorsToChange(); done {
		return err
	}
	return c.showPasskeyForm(nil, c.T("Passkey"))
}

// showPasskeyForm shows the form that sets up a passkey, with label as the name of the passkey. The refusal is the
// error of the previous attempt, or nil.
func (c *call) showPasskeyForm(refusal error, label string) error {
	challenge, err := c.Factors.NewPasskey(c.Context(), c.session.User, c.Browser())
	if err != nil {
		return err
	}
	return c.ShowForm(refusal, "passkey", c.T("Set up a passkey"),
		&passkeyForm{challenge, c.continuation(), label, c.Factors.Alone()})
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
		return c.showPasskeyForm(err, label)
	}
	return c.finishFactor(factors.ByKey, recovery, c.T("The passkey is set up."))
}

// recoveryCodes is the data of the page that shows new recovery codes, once.
type recoveryCodes struct {
	Codes    []string
	Redirect string
}

// finishFactor sends the response after a second factor was set up: a page with the new recovery codes, if there are
// any, and otherwise a redirect to the security page, which shows the notice. The factor then counts as proved in this
// session. The method is factors.ByCode or factors.ByKey.
func (c *call) finishFactor(method string, recovery []string, notice string) error {
	if err := c.Login.Proved(c.Context(), c.session, method); err != nil {
		return err
	}
	if len(recovery) == 0 {
		return c.Redirect(c.securityLocation(), notice)
	}
	return c.Show("recovery", c.T("Recovery codes"), &recoveryCodes{recovery, c.continuation()})
}

// removeFactor handles the form that removes a second factor.
func (c *call) removeFactor() error {
	if _, done, err := c.factorsToChange(); done {
		return err
	}
	return c.Then(c.Factors.Remove(c.Context(), c.session.User.ID, c.Form.Text("id")), c.securityLocation(),
		c.T("The second factor is removed."))
}

// newRecovery handles the form that replaces the recovery codes, and shows the new ones.
func (c *call) newRecovery() error {
	if _, done, err := c.factorsToChange(); done {
		return err
	}
	codes, err := c.Factors.Renew(c.Context(), c.session.User.ID)
	if err != nil {
		return err
	}
	return c.Show("recovery", c.T("Recovery codes"), &recoveryCodes{codes, c.continuation()})
}
