package home

import (
	"net/http"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

// AdministratorGroup is the group of those who see the state of the process.
const AdministratorGroup = "administrators"

// browser identifies the browser for a sign-in at the provider.
func (c *call) browser() oidclogin.Browser {
	return oidclogin.Browser{Secret: c.Browser(), Redirect: c.Base() + "/login/callback"}
}

// beginSignOn redirects to the provider.
func (c *call) beginSignOn() error {
	if c.OIDC == nil {
		return pages.NotFound()
	}
	next := pages.Local(c.Query.Text("next"))
	if c.by != nil {
		return c.Redirect(next, "")
	}
	location, err := c.OIDC.Begin(c.Context(), c.browser(), oidclogin.Ask{Next: next})
	if err != nil {
		return err
	}
	http.Redirect(c.W, c.R, location, http.StatusSeeOther)
	return nil
}

// signOn handles the redirect from the provider.
func (c *call) signOn() error {
	if c.OIDC == nil {
		return pages.NotFound()
	}
	person, err := c.OIDC.Finish(c.Context(), c.browser(), c.R.URL.Query())
	if err != nil {
		return err
	}
	cookie, err := c.sessions.begin(c.Context(), person, c.Call.Session())
	if err != nil {
		return err
	}
	c.SignIn(cookie, sessionIdle)
	return c.Redirect(pages.Local(person.Next), "")
}

// logout ends the session at this page and, by way of SignedOut, at the services that use the same provider.
func (c *call) logout() error {
	if c.OIDC == nil {
		return pages.NotFound()
	}
	if err := c.sessions.end(c.Context(), c.Call.Session()); err != nil {
		return err
	}
	c.SignOut()
	if c.by != nil && c.Options.SignedOut != nil {
		issuer, subject, _ := strings.Cut(c.by.Person, "\n")
		c.Options.SignedOut(c.Context(), issuer, subject)
	}
	return c.Redirect("/", "You are signed out.")
}

// logoutMeanwhile answers a form to sign out that was made for another person than the one who is signed in now. It
// signs nobody out.
func (c *call) logoutMeanwhile() error {
	if c.by == nil {
		return c.logout()
	}
	return c.Redirect("/", "You are signed in as "+c.by.Name+".")
}
