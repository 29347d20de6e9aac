package admin

import (
	"net/http"

	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

// browser returns the state of the sign-in at the provider in this browser, and the address to which the provider
// redirects.
func (c *call) browser() oidclogin.Browser {
	return oidclogin.Browser{Secret: c.Browser(), Redirect: c.Base() + "/login/oidc/callback"}
}

// beginSignOn redirects to the provider.
func (c *call) beginSignOn() error {
	if c.OIDC == nil {
		return pages.NotFound()
	}
	next := pages.Local(c.Query.Text("next"))
	if c.user != nil {
		return c.Redirect(next, "")
	}
	location, err := c.OIDC.Begin(c.ctx(), c.browser(), oidclogin.Ask{Next: next})
	if err != nil {
		return err
	}
	http.Redirect(c.W, c.R, location, http.StatusSeeOther)
	return nil
}

// signOn signs in the user whom the provider names in its redirect.
func (c *call) signOn() error {
	if c.OIDC == nil {
		return pages.NotFound()
	}
	person, err := c.OIDC.Finish(c.ctx(), c.browser(), c.R.URL.Query())
	if err != nil {
		return err
	}
	user, epoch, err := c.Accounts.SignOn(c.ctx(), person, c.OIDC.Managed())
	if err != nil {
		return err
	}
	return c.signIn(user, epoch, person.Issuer, pages.Local(person.Next))
}
