package web

import (
	"net/http"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

// browser describes this browser to the sign-in at a provider.
func (c *call) browser() oidclogin.Browser {
	return oidclogin.Browser{Secret: c.Browser(), Redirect: c.Base() + "/login/oidc/callback"}
}

// beginSignOn redirects to the provider.
func (c *call) beginSignOn() error {
	if c.options.OIDC == nil {
		return pages.NotFound()
	}
	next, again := pages.Local(c.Query.Text("next")), c.Query.Text("again") != ""
	if c.actor.User != nil && !again {
		return c.Redirect(next, "")
	}
	location, err := c.options.OIDC.Begin(c.Context(), c.browser(), oidclogin.Ask{Next: next, Again: again})
	if err != nil {
		return err
	}
	http.Redirect(c.W, c.R, location, http.StatusSeeOther)
	return nil
}

// signOn serves the address to which the provider redirects back.
func (c *call) signOn() error {
	if c.options.OIDC == nil {
		return pages.NotFound()
	}
	person, err := c.options.OIDC.Finish(c.Context(), c.browser(), c.R.URL.Query())
	if err != nil {
		return err
	}
	cookie, err := c.Accounts.SignOn(c.Context(), person, c.options.OIDC.Managed(), c.Session())
	if err != nil {
		return err
	}
	if cookie == "" {
		return c.Redirect("/login", c.T("Thank you. You can sign in when an administrator has let you in."))
	}
	c.SignIn(cookie, accounts.SessionIdle)
	return c.Redirect(pages.Local(person.Next), "")
}
