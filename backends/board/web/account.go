package web

import (
	"slices"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/following"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
)

// account shows the member's profile with a form to change it.
func (c *call) account() error {
	u := c.actor.User
	return c.showAccount(nil, accounts.Profile{Title: u.Title, Bio: u.Bio, TimeZone: u.TimeZone})
}

// showAccount shows the profile form with the values of form. refusal is the reason why the sent form was refused, or
// nil.
func (c *call) showAccount(refusal error, form accounts.Profile) error {
	if err := c.faceOf(c.actor.ID()); err != nil {
		return err
	}
	return c.ShowForm(refusal, "account", c.T("Profile"), form)
}

// saveProfile saves the member's profile, or shows the form again with the reason why it was refused.
func (c *call) saveProfile() error {
	form := accounts.Profile{Title: c.Form.Text("title"), Bio: c.Form.Text("bio"), TimeZone: c.Form.Text("timeZone")}
	if err := c.Accounts.SetProfile(c.Context(), c.actor, form); err != nil {
		return c.showAccount(err, form)
	}
	return c.Redirect("/account", c.T("Saved."))
}

// chooseLanguage sets the language of the member. An empty language means that of the browser.
func (c *call) chooseLanguage() error {
	tag := c.Form.Text("language")
	if tag != "" && c.options.Languages.Find(tag) == nil {
		return c.Redirect("/account", "")
	}
	if err := c.Accounts.SetLanguage(c.Context(), c.actor, tag); err != nil {
		return err
	}
	c.actor.User.Language = tag
	c.setLanguage()
	return c.Redirect("/account", c.T("The language is saved."))
}

// askPassword shows the form to change the password.
func (c *call) askPassword() error { return c.Show("password", c.T("Password"), nil) }

// savePassword changes the password and signs the member out in all other browsers.
func (c *call) savePassword() error {
	cookie, err := c.Accounts.SetPassword(c.Context(), c.actor, c.Form.Text("current"), c.Form.Text("password"),
		c.address())
	if err != nil {
		return c.ShowForm(err, "password", c.T("Password"), nil)
	}
	c.SignIn(cookie, accounts.SessionIdle)
	return c.Redirect("/account/password", c.T("The password was changed. All other browsers are signed out."))
}

// tokensPage lists the tokens of a member, with a form to create a token.
type tokensPage struct {
	Tokens []accounts.TokenInfo
	May    bool     // the member may create tokens
	All    []string // all scopes
	Made   string   // the new token, which is shown only once; empty if none was created

	// These fields are the contents of the form.
	Name   string
	Scopes []string
	Days   int64
}

// Has reports whether the checkbox of a scope is ticked.
func (p tokensPage) Has(scope string) bool { return slices.Contains(p.Scopes, scope) }

// tokensPage returns the page with an empty form.
func (c *call) tokensPage() (tokensPage, error) {
	list, err := c.Accounts.OwnTokens(c.Context(), c.actor)
	return tokensPage{
		Tokens: list, May: c.actor.May(rights.TokenIssue), All: rights.Scopes, Scopes: rights.Scopes,
		Days: c.actor.Settings().TokenDays,
	}, err
}

// tokens lists the member's API tokens, with a form to create one.
func (c *call) tokens() error {
	page, err := c.tokensPage()
	return c.ThenShow(err, "tokens", c.T("Tokens"), page)
}

// issueToken creates a token and shows it.
func (c *call) issueToken() error {
	days := c.Form.Number("days")
	if err := c.Form.Err(); err != nil {
		return err
	}
	request := accounts.TokenRequest{
		Name: c.Form.Text("name"), Scopes: c.Form.Values("scope"),
		Days: int(min(days, 1<<20)),
	}
	token, refusal := c.Accounts.IssueOwnToken(c.Context(), c.actor, request, c.Form.Text("password"), c.address())
	page, err := c.tokensPage()
	if err != nil {
		return err
	}
	if refusal != nil {
		page.Name, page.Scopes, page.Days = request.Name, request.Scopes, days
		return c.ShowForm(refusal, "tokens", c.T("Tokens"), page)
	}
	page.Made = token // only in this response, as the token is not stored
	return c.Show("tokens", c.T("Tokens"), page)
}

// revokeToken revokes one of the member's API tokens.
func (c *call) revokeToken() error {
	return c.Then(c.Accounts.RevokeOwnToken(c.Context(), c.actor, c.ID("tokenId")), "/account/tokens",
		c.T("The token was revoked."))
}

// subscriptionsPage lists the threads and forums that a member follows.
type subscriptionsPage struct {
	List   []api.SubscriptionInfo
	Forums []following.FollowedForum
	Modes  []string // the modes to choose from
	Mail   accounts.MailAddress
	digestForm
}

// subscriptions lists what the member follows, with the settings for mails.
func (c *call) subscriptions() error {
	list, err := c.Following.Subscriptions(c.Context(), c.actor)
	if err != nil {
		return err
	}
	page := subscriptionsPage{Modes: following.Modes}
	if page.Mail, err = c.Accounts.MailAddress(c.Context(), c.actor); err != nil {
		return err
	}
	if page.Digests, err = c.Following.Digests(c.Context(), c.actor); err != nil {
		return err
	}
	if page.Forums, err = c.Following.FollowedForums(c.Context(), c.actor); err != nil {
		return err
	}
	for _, s := range list {
		page.List = append(page.List, api.ViewSubscription(s))
	}
	return c.Show("subscriptions", c.T("Followed threads"), page)
}

// notificationsPage lists the notifications of a member.
type notificationsPage struct {
	List    []following.Notification
	Newest  int64 // the newest notification; 0 on later pages
	Older   int64 // the notification after which the next page begins; 0 on the last page
	First   bool  // this is the first page
	Notices bool  // the member is notified of reactions and answers
}

// notifications lists the member's notifications.
func (c *call) notifications() error {
	cursor := c.Query.Number("after")
	list, next, err := c.Following.Notifications(c.Context(), c.actor, cursor, postsPerPage)
	if err != nil {
		return err
	}
	page := notificationsPage{List: list, Older: next, First: cursor == 0}
	if cursor == 0 && len(page.List) > 0 {
		page.Newest = page.List[0].ID
	}
	page.Notices, err = c.Following.Notices(c.Context(), c.actor)
	return c.ThenShow(err, "notifications", c.T("Notifications"), page)
}

// readNotifications marks the notifications up to the newest one on the page as read.
func (c *call) readNotifications() error {
	upTo := c.Form.Number("upTo")
	if err := c.Form.Err(); err != nil {
		return err
	}
	_, err := c.Following.ReadNotifications(c.Context(), c.actor, upTo)
	return c.Then(err, "/account/notifications", c.T("All are marked as read."))
}

// Days returns the days of a week, from Monday on.
func (digestForm) Days() []time.Weekday {
	return []time.Weekday{
		time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday, time.Saturday, time.Sunday,
	}
}
