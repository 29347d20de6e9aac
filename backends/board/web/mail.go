package web

// unsubscribePage asks whether mails are to end, or tells that they did.
type unsubscribePage struct {
	Target string // thread, forum, or the mode of all mails
	Token  string
	Done   bool
}

func (c *call) askUnsubscribe() error {
	token := c.query("token")
	u, err := c.service.ReadUnsubscription(token)
	if err != nil {
		return err
	}
	return c.page("unsubscribe", "Mails", unsubscribePage{Target: u.Target(), Token: token})
}

// unsubscribe ends mails, for a reader of the page and for a mail program (RFC 8058).
func (c *call) unsubscribe() error {
	u, err := c.service.ReadUnsubscription(c.query("token"))
	if err != nil {
		return err
	}
	if err := c.service.EndUnsubscription(c.ctx(), u); err != nil {
		return err
	}
	return c.page("unsubscribe", "Mails", unsubscribePage{Target: u.Target(), Done: true})
}

// followForum follows a forum, or ends it.
func (c *call) followForum() error {
	id, err := c.id("forumId")
	if err != nil {
		return err
	}
	mode := c.text("mode")
	if mode == "off" {
		err = c.service.UnsubscribeForum(c.ctx(), c.actor, id)
	} else {
		err = c.service.SubscribeForum(c.ctx(), c.actor, id, mode)
	}
	if err != nil {
		return err
	}
	notice := "You follow this forum: you are told of new threads in it."
	if mode == "off" || mode == "none" {
		notice = "You do not follow this forum any more."
	}
	if c.flag("list") {
		return c.redirect("/account/subscriptions", "Saved.")
	}
	return c.redirect("/forums/"+itoa(id), notice)
}
