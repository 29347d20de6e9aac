package home

import (
	"net/http"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/oidclogin"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

// AdministratorGroup is the group whose members see the state of the process.
const AdministratorGroup = "administrators"

// browser identifies the browser for a sign-in at the provider.
func (c *call) browser() oidclogin.Browser {
	return oidclogin.Browser{Secret: c.Browser(), Redirect: c.Base() + "/login/callback"}
}

// beginSignOn redirects to the provider to sign in. If the visitor is already signed in, it redirects to the page in
// the parameter next.
func (c *call) beginSignOn() error {
	if c.OIDC == nil {
		return pages.NotFound()
	}
	next := pages.Local(c.Query.Text("next"))
	if c.session != nil {
		return c.Redirect(next, "")
	}
	location, err := c.OIDC.Begin(c.Context(), c.browser(), oidclogin.Ask{Next: next})
	if err != nil {
		return err
	}
	http.Redirect(c.W, c.R, location, http.StatusSeeOther)
	return nil
}

// signOn handles the redirect from the provider after a sign-in: it starts a session.
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
	if c.session != nil && c.Options.SignedOut != nil {
		issuer, subject, _ := strings.Cut(c.session.Person, "\n")
		c.Options.SignedOut(c.Context(), issuer, subject)
	}
	return c.Redirect("/", "You are signed out.")
}

// logoutMeanwhile handles a form to sign out if, since the form was shown, another person has signed in, or the visitor
// has signed out. It does not sign out the other person.
func (c *call) logoutMeanwhile() error {
	if c.session == nil {
		return c.logout()
	}
	return c.Redirect("/", "You are signed in as "+c.session.Name+".")
}
