package web

import (
	"fmt"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/following"
)

// unsubscribePage asks the user to confirm the end of mails, or reports it.
type unsubscribePage struct {
	Target string // thread, forum, or the mode whose mails all end
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

// unsubscribe ends mails. It is called by the form of the page and by mail programs (RFC 8058).
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

// followForum begins or ends the actor's subscription to a forum.
func (c *call) followForum() error {
	id := c.ID("forumId")
	return c.follow("/forums/"+itoa(id), "You follow this forum and will be notified of new threads.",
		"You do not follow this forum any more.", func(mode string) error {
			if mode == "off" {
				return c.Following.UnsubscribeForum(c.Context(), c.actor, id)
			}
			return c.Following.SubscribeForum(c.Context(), c.actor, id, mode)
		})
}

// digestForm asks when the member gets digests.
type digestForm struct{ Digests following.Digests }

func (c *call) digestForm() (digestForm, error) {
	d, err := c.Following.Digests(c.Context(), c.actor)
	return digestForm{d}, err
}

// timeChoice is an option of a select.
type timeChoice struct {
	Value    int
	Label    string
	Selected bool
}

// Hours returns the hours of a day.
func (f digestForm) Hours() (list []timeChoice) {
	for hour := range 24 {
		list = append(list, timeChoice{hour, fmt.Sprintf("%d:00", hour), int64(hour) == f.Digests.Hour})
	}
	return list
}

// Days returns the days of a week, from Monday on.
func (f digestForm) Days() (list []timeChoice) {
	for i := range 7 {
		day := time.Weekday((i + 1) % 7)
		list = append(list, timeChoice{int(day), day.String(), day == f.Digests.Day})
	}
	return list
}

func (c *call) saveDigests() error {
	hour, day := c.Form.Number("hour"), c.Form.Number("day")
	if err := c.Form.Err(); err != nil {
		return err
	}
	return c.Then(c.Following.SetDigests(c.Context(), c.actor, hour, day), "/account/subscriptions", "Saved.")
}
