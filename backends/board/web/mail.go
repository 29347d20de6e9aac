package web

// unsubscribePage asks whether mails are to end, or tells that they did.
type unsubscribePage struct {
	Target string // thread, forum, or the mode of all mails
	Token  string
	Done   bool
}

func (c *call) askUnsubscribe() error {
	token := c.Query.Text("token")
	u, err := c.Mails.ReadUnsubscription(token)
	if err != nil {
		return err
	}
	return c.Show("unsubscribe", "Mails", unsubscribePage{Target: u.Target(), Token: token})
}

// unsubscribe ends mails, for a reader of the page and for a mail program (RFC 8058).
func (c *call) unsubscribe() error {
	u, err := c.Mails.ReadUnsubscription(c.Query.Text("token"))
	if err != nil {
		return err
	}
	if err := c.Mails.EndUnsubscription(c.Context(), u); err != nil {
		return err
	}
	return c.Show("unsubscribe", "Mails", unsubscribePage{Target: u.Target(), Done: true})
}

// followForum follows a forum, or ends it.
func (c *call) followForum() error {
	id := c.ID("forumId")
	return c.follow("/forums/"+itoa(id), "You follow this forum: you are told of new threads in it.",
		"You do not follow this forum any more.", func(mode string) error {
			if mode == "off" {
				return c.Following.UnsubscribeForum(c.Context(), c.actor, id)
			}
			return c.Following.SubscribeForum(c.Context(), c.actor, id, mode)
		})
}
