package web

import (
	"github.com/tollgate-gateway/tollgate/backends/board/following"
)

// unsubscribePage asks the user to confirm unsubscribing from mails, or reports that it is done.
type unsubscribePage struct {
	Target string // thread, forum, or the mode whose mails all end
	Token  string
	Done   bool
}

// askUnsubscribe asks the user to confirm what the link in a mail ends.
func (c *call) askUnsubscribe() error {
	token := c.Query.Text("token")
	u, err := c.Mails.ReadUnsubscription(token)
	return c.ThenShow(err, "unsubscribe", c.T("Mails"), unsubscribePage{Target: u.Target(), Token: token})
}

// unsubscribe ends mails. Both the form of the page and mail programs (RFC 8058) send this request.
func (c *call) unsubscribe() error {
	u, err := c.Mails.ReadUnsubscription(c.Query.Text("token"))
	if err != nil {
		return err
	}
	if err := c.Mails.EndUnsubscription(c.Context(), u); err != nil {
		return err
	}
	return c.Show("unsubscribe", c.T("Mails"), unsubscribePage{Target: u.Target(), Done: true})
}

// followForum begins or ends the actor's subscription to a forum.
func (c *call) followForum() error {
	id := c.ID("forumId")
	return c.follow("/forums/"+itoa(id), c.T("You follow this forum and will be notified of new threads."),
		c.T("You do not follow this forum any more."), func(mode string) error {
			if mode == "off" {
				return c.Following.UnsubscribeForum(c.Context(), c.actor, id)
			}
			return c.Following.SubscribeForum(c.Context(), c.actor, id, mode)
		})
}

// digestForm is the form for the times at which the member gets digests.
type digestForm struct{ Digests following.Digests }

// saveDigests sets the hour and the day of the week at which the member gets digests.
func (c *call) saveDigests() error {
	hour, day := c.Form.Number("hour"), c.Form.Number("day")
	if err := c.Form.Err(); err != nil {
		return err
	}
	return c.Then(c.Following.SetDigests(c.Context(), c.actor, hour, day), "/account/subscriptions", c.T("Saved."))
}
