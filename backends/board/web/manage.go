package web

import (
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/tags"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

// manageForm holds the properties of a thread that can be changed.
type manageForm struct {
	*posts.Reading
	Forums []content.ForumInfo
	Title  string
	Tags   []string
	Prefix int64  // 0 for none
	Target int64  // the forum to move the thread to
	Other  string // the number or URL of the thread to merge with
	Kept   string // the title after merging
}

// manageForm returns the form with the current properties of the thread in the path.
func (c *call) manageForm() (*manageForm, error) {
	reading, err := c.Posts.ReadThread(c.Context(), c.actor, c.ID("threadId"), 0, 1)
	if err != nil {
		return nil, err
	}
	form := &manageForm{Reading: reading, Title: reading.Thread.Title, Target: reading.Thread.ForumID}
	if reading.Thread.Prefix != nil {
		form.Prefix = reading.Thread.Prefix.ID
	}
	tags, err := c.Tags.Of(c.Context(), reading.Thread)
	if err != nil {
		return nil, err
	}
	for _, t := range tags[reading.Thread.ID] {
		form.Tags = append(form.Tags, t.Name)
	}
	form.Forums, err = c.Posts.Forums(c.Context(), c.actor)
	return form, err
}

// manage shows the form to change a thread.
func (c *call) manage() error {
	form, err := c.manageForm()
	return c.ThenShow(err, "manage", c.T("Manage thread"), form)
}

// change applies the change whose button was pressed. Title, prefix and tags share one button. The form sends the
// flag tagged if it has a field for tags.
func (c *call) change() error {
	form, err := c.manageForm()
	if err != nil {
		return err
	}
	var change posts.ThreadChange
	notice := c.T("The thread is changed.")
	switch c.Form.Text("do") {
	case "lock":
		change.Locked, notice = new(true), c.T("The thread is locked.")
	case "unlock":
		change.Locked, notice = new(false), c.T("The thread is open again.")
	case "stick":
		change.Sticky, notice = new(true), c.T("The thread stays at the top of its forum.")
	case "unstick":
		change.Sticky, notice = new(false), c.T("The thread no longer stays at the top of its forum.")
	case "title":
		form.Title, form.Prefix = c.Form.Text("title"), c.Form.Number("prefixId")
		change.Title, change.Prefix = &form.Title, &form.Prefix
		oldTags := form.Tags
		form.Tags = tags.Split(c.Form.Values("tags"))
		if c.Form.Flag("tagged") && !slices.Equal(form.Tags, oldTags) {
			if err := c.Tags.Set(c.Context(), c.actor, form.Thread.ID, form.Tags); err != nil {
				return c.ShowForm(err, "manage", c.T("Manage thread"), form)
			}
		}
	case "merge":
		return c.merge(form)
	case "move":
		form.Target = c.Form.Number("forumId")
		change.Forum, notice = &form.Target, c.T("The thread is moved.")
	default:
		return pages.NotFound()
	}
	if err := c.Form.Err(); err != nil {
		return err
	}
	if err := c.Posts.Change(c.Context(), c.actor, form.Thread.ID, change); err != nil {
		return c.ShowForm(err, "manage", c.T("Manage thread"), form)
	}
	return c.Redirect("/threads/"+itoa(form.Thread.ID), notice)
}

// merge merges the thread with the thread that the form names.
func (c *call) merge(form *manageForm) error {
	form.Other, form.Kept = c.Form.Text("other"), c.Form.Text("kept")
	remaining, err := c.Moderation.Merge(c.Context(), c.actor, form.Thread.ID, threadNumber(form.Other), form.Kept)
	if err != nil {
		return c.ShowForm(err, "manage", c.T("Manage thread"), form)
	}
	return c.Redirect("/threads/"+itoa(remaining), c.T("The threads are merged."))
}

// subscribe begins or ends the actor's subscription to a thread.
func (c *call) subscribe() error {
	id := c.ID("threadId")
	return c.follow("/threads/"+itoa(id), c.T("You follow this thread."), c.T("You do not follow this thread any more."),
		func(mode string) error {
			if mode == "off" {
				return c.Following.Unsubscribe(c.Context(), c.actor, id)
			}
			return c.Following.Subscribe(c.Context(), c.actor, id, mode)
		})
}

// follow calls set with the mode of a subscription that the form contains. It redirects to path or, if the form was
// on the list of subscriptions, to that list. On path it shows followNotice or, if the mode switches mails or the
// subscription off, endNotice.
func (c *call) follow(path, followNotice, endNotice string, set func(mode string) error) error {
	mode := c.Form.Text("mode")
	err := set(mode)
	switch {
	case c.Form.Flag("list"):
		return c.Then(err, "/account/subscriptions", c.T("Saved."))
	case mode == "off" || mode == "none":
		return c.Then(err, path, endNotice)
	}
	return c.Then(err, path, followNotice)
}
