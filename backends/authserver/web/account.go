package web

import (
	"net/url"
	"strconv"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/account"
	"github.com/tollgate-gateway/tollgate/backends/authserver/audit"
	"github.com/tollgate-gateway/tollgate/backends/authserver/login"
	"github.com/tollgate-gateway/tollgate/backends/authserver/resources"
	"github.com/tollgate-gateway/tollgate/backends/authserver/upstreams"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
)

// accountPath is the path of the page on which users manage their accounts.
const accountPath = "/account"

// accountPage is the data of the account page.
type accountPage struct {
	User         *users.User
	Local        bool           // the user has a password here
	Mails        bool           // the user can change the mail address by a mailed link
	Deletes      bool           // the account can be deleted
	DeletedAt    time.Time      // when the account will be deleted; zero if it will not
	Move         string         // the new address that the user has typed
	Connected    []connected    // the connected accounts at other providers
	Connects     []providerLink // the providers that can be connected
	Browsers     []browser
	Applications []account.Application
	Activity     []audit.Record
}

// browser is a session in the list of the user's sessions.
type browser struct {
	login.Browser
	Name string // such as Firefox on Linux
	This bool   // the session of this request
}

// requireSession redirects a visitor without a session to the login page, which leads back to the account page. The
// result done reports whether it has sent a response.
func (c *call) requireSession() (done bool, err error) {
	if c.session == nil || c.session.ID == 0 { // the id is 0 while the database does not answer
		return true, c.redirectTo(c.At("/login?" + url.Values{"redirect": {accountPath}}.Encode()))
	}
	return false, nil
}

// account shows the account page.
func (c *call) account() error {
	if done, err := c.requireSession(); done {
		return err
	}
	page, err := c.accountPage()
	if err != nil {
		return err
	}
	return c.Show("account", c.T("Your account"), page)
}

// accountPage returns the data of the account page for the signed-in user.
func (c *call) accountPage() (*accountPage, error) {
	ctx, user := c.Context(), c.session.User
	page := &accountPage{
		Deletes: c.Accounts.Grace > 0, User: user, Local: user.Provider == users.Local,
		Mails: c.sendsMails() && user.Provider == users.Local,
	}
	sessions, err := c.Login.Browsers(ctx, user.ID)
	if err != nil {
		return nil, err
	}
	for _, s := range sessions {
		page.Browsers = append(page.Browsers, browser{s, browserName(c.Language(), s.Agent), s.ID == c.session.ID})
	}
	if page.Applications, err = c.Accounts.Applications(ctx, user.ID); err != nil {
		return nil, err
	}
	if page.Connected, page.Connects, err = c.providersOf(user); err != nil {
		return nil, err
	}
	if page.DeletedAt, err = c.Users.DeletionOf(ctx, user.ID); err != nil {
		return nil, err
	}
	page.Activity, err = c.Accounts.Activity(ctx, user.ID)
	return page, err
}

// toAccount redirects to the account page. It also handles a form if the signed-in user has changed since the form
// was shown.
func (c *call) toAccount() error { return c.redirectTo(c.At(accountPath)) }

// rename handles the form that sets the user's name.
func (c *call) rename() error {
	if done, err := c.requireSession(); done {
		return err
	}
	typed := c.Form.Text("name")
	name := typed // normalized by Update
	_, err := c.Users.Update(c.Context(), c.session.User.ID, users.Change{Name: &name}, c.session.User.ID)
	if err != nil {
		page, pageErr := c.accountPage()
		if pageErr != nil {
			return pageErr
		}
		user := *page.User // a copy, with the name as the user has typed it
		user.Name, page.User = typed, &user
		return c.ShowForm(err, "account", c.T("Your account"), page)
	}
	return c.Redirect(accountPath, c.T("Your name is changed."))
}

// endBrowser handles the form that ends one of the user's sessions.
func (c *call) endBrowser() error {
	if done, err := c.requireSession(); done {
		return err
	}
	id, err := strconv.ParseInt(c.Form.Text("id"), 10, 64)
	if err != nil {
		return c.toAccount()
	}
	return c.Then(c.Login.EndBrowser(c.Context(), c.session.User.ID, id), accountPath, c.T("The session is ended."))
}

// endOtherBrowsers handles the form that ends all sessions of the user except this one.
func (c *call) endOtherBrowsers() error {
	if done, err := c.requireSession(); done {
		return err
	}
	return c.Then(c.Login.EndOtherBrowsers(c.Context(), c.session.User.ID, c.session.ID), accountPath,
		c.T("All other sessions are ended."))
}

// withdraw handles the form that withdraws the user's consents to an application.
func (c *call) withdraw() error {
	if done, err := c.requireSession(); done {
		return err
	}
	err := c.Accounts.Withdraw(c.Context(), c.session.User.ID, c.Form.Text("client"))
	return c.Then(err, accountPath, c.T("The application no longer has access to your account."))
}

// passwordForm is the data of the form that asks for a new password.
type passwordForm struct {
	Email string // for the browser's password manager
}

// askPassword shows the form that replaces the user's password.
func (c *call) askPassword() error {
	if done, err := c.requireSession(); done {
		return err
	}
	if c.session.User.Provider != users.Local {
		return c.toAccount()
	}
	return c.Show("password", c.T("Change your password"), &passwordForm{c.session.User.Email})
}

// password handles the form that replaces the user's password.
func (c *call) password() error {
	if done, err := c.requireSession(); done {
		return err
	}
	cookie, err := c.Accounts.SetPassword(c.Context(), c.session, c.Form.Text("present"), c.Form.Text("password"),
		c.Address(c.R))
	if err != nil {
		return c.ShowForm(err, "password", c.T("Change your password"), &passwordForm{c.session.User.Email})
	}
	c.SignIn(cookie, c.Login.MaxAge())
	return c.redirectTo(c.At(accountPath))
}

// accountRoutes are the routes of the account pages.
var accountRoutes = []route{
	{Method: get, Path: accountPath, Serve: (*call).account},
	{Method: post, Path: accountPath + "/name", Serve: (*call).rename, Else: (*call).toAccount},
	{Method: post, Path: accountPath + "/language", Serve: (*call).chooseLanguage, Else: (*call).toAccount},
	{Method: post, Path: accountPath + "/sessions/end", Serve: (*call).endBrowser, Else: (*call).toAccount},
	{Method: post, Path: accountPath + "/sessions/others", Serve: (*call).endOtherBrowsers, Else: (*call).toAccount},
	{Method: post, Path: accountPath + "/applications/withdraw", Serve: (*call).withdraw, Else: (*call).toAccount},
	{Method: get, Path: accountPath + "/delete", Serve: (*call).askDeletion},
	{Method: post, Path: accountPath + "/delete", Serve: (*call).deleteAccount, Else: (*call).toAccount},
	{Method: post, Path: accountPath + "/keep", Serve: (*call).keepAccount, Else: (*call).toAccount},
	{Method: get, Path: accountPath + "/password", Serve: (*call).askPassword},
	{Method: post, Path: accountPath + "/password", Serve: (*call).password, Else: (*call).toAccount},
}

// sampleAccount is sample data for testing the templates of Options.Brand.
var sampleAccount = &accountPage{
	User: &users.User{Email: "ann@example.com", EmailVerified: true, Name: "Ann"}, Local: true,
	Browsers: []browser{
		{login.Browser{ID: 1}, "Firefox on Linux", true},
		{login.Browser{ID: 2, Address: "192.0.2.1"}, "Safari on iPhone", false},
	},
	Applications: []account.Application{{Client: "sample", Name: "Sample", Access: []account.Access{
		{Resource: "Files", Scopes: []resources.Scope{{Name: "read", Description: "See your files"}, {Name: "write"}}},
	}}},
	Connected: []connected{{upstreams.Identity{ID: 1, Username: "ann"}, "Example"}},
	Connects:  []providerLink{{"Company", "/oidc/company/start?join=1"}},
	Activity:  []audit.Record{{Action: "user.login", Address: "192.0.2.1"}},
}
