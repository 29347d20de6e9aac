package web

import (
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board"
)

func (c *call) account() error {
	return c.page("account", "Profile", board.Profile{Title: c.actor.User.Title, Bio: c.actor.User.Bio, TimeZone: c.actor.User.TimeZone})
}

func (c *call) saveProfile() error {
	form := board.Profile{Title: c.text("title"), Bio: c.text("bio"), TimeZone: c.text("timeZone")}
	if err := c.service.SetProfile(c.ctx(), c.actor, form); err != nil {
		return c.form(err, "account", "Profile", form)
	}
	return c.redirect("/account", "Saved.")
}

func (c *call) askPassword() error { return c.page("password", "Password", nil) }

func (c *call) savePassword() error {
	cookie, err := c.service.SetPassword(c.ctx(), c.actor, c.text("current"), c.text("password"), c.address())
	if err != nil {
		return c.form(err, "password", "Password", nil)
	}
	c.signIn(cookie)
	return c.redirect("/account/password", "The password is changed. All other browsers are signed out.")
}

// tokensPage are the tokens of a member, and one to be made.
type tokensPage struct {
	Tokens []board.TokenInfo
	May    bool // make one
	All    []string
	Name   string
	Scopes []string
	Days   int64
	Made   string // shown once
}

// Has reports whether a scope is ticked.
func (p tokensPage) Has(scope string) bool { return slices.Contains(p.Scopes, scope) }

func (c *call) tokensPage() (tokensPage, error) {
	list, err := c.service.OwnTokens(c.ctx(), c.actor)
	return tokensPage{Tokens: list, May: c.actor.May(board.TokenIssue), All: board.Scopes, Scopes: board.Scopes, Days: c.actor.Settings().TokenDays}, err
}

func (c *call) tokens() error {
	page, err := c.tokensPage()
	if err != nil {
		return err
	}
	return c.page("tokens", "Tokens", page)
}

func (c *call) issueToken() error {
	days, err := c.number("days")
	if err != nil {
		return err
	}
	request := board.TokenRequest{Name: c.text("name"), Scopes: c.values("scope"), Days: int(min(days, 1<<20))}
	made, refusal := c.service.IssueOwnToken(c.ctx(), c.actor, request, c.text("password"), c.address())
	page, err := c.tokensPage()
	if err != nil {
		return err
	}
	if refusal != nil {
		page.Name, page.Scopes, page.Days = request.Name, request.Scopes, days
		return c.form(refusal, "tokens", "Tokens", page)
	}
	page.Made = made // on this answer only: it is stored nowhere
	return c.page("tokens", "Tokens", page)
}

func (c *call) revokeToken() error {
	id, err := c.id("tokenId")
	if err != nil {
		return err
	}
	if err := c.service.RevokeOwnToken(c.ctx(), c.actor, id); err != nil {
		return err
	}
	return c.redirect("/account/tokens", "The token is revoked.")
}

// subscriptionsPage are the threads that a member follows.
type subscriptionsPage struct {
	List   []board.SubscriptionInfo
	Forums []board.FollowedForum
	Modes  []string
	Mail   board.MailAddress
}

func (c *call) subscriptions() error {
	list, err := c.service.Subscriptions(c.ctx(), c.actor)
	if err != nil {
		return err
	}
	page := subscriptionsPage{Modes: board.Modes}
	if page.Mail, err = c.service.MailAddress(c.ctx(), c.actor); err != nil {
		return err
	}
	if page.Forums, err = c.service.FollowedForums(c.ctx(), c.actor); err != nil {
		return err
	}
	for _, s := range list {
		page.List = append(page.List, s.Info())
	}
	return c.page("subscriptions", "Followed threads", page)
}

// notificationsPage is what a member was told.
type notificationsPage struct {
	List   []board.NotificationInfo
	Newest int64
	Older  int64
}

func (c *call) notifications() error {
	after, err := c.queryNumber("after")
	if err != nil {
		return err
	}
	list, next, err := c.service.Notifications(c.ctx(), c.actor, after, postsPerPage)
	if err != nil {
		return err
	}
	page := notificationsPage{Older: next}
	for _, n := range list {
		page.List = append(page.List, n.Info())
	}
	if after == 0 && len(page.List) > 0 {
		page.Newest = page.List[0].ID
	}
	return c.page("notifications", "Notifications", page)
}

func (c *call) readNotifications() error {
	upTo, err := c.number("upTo")
	if err != nil {
		return err
	}
	if _, err := c.service.ReadNotifications(c.ctx(), c.actor, upTo); err != nil {
		return err
	}
	return c.redirect("/account/notifications", "All are marked as read.")
}
