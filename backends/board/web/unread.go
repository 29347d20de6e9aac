package web

import (
	"errors"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
)

// unread shows the threads of all forums that have posts which the member has not read.
func (c *call) unread() error {
	list, err := c.Posts.Unread(c.Context(), c.actor, c.Query.Text("after"), threadsPerPage)
	if err != nil {
		return err
	}
	if err := errors.Join(c.inForums(), c.tagged(list.Followed, list.Others)); err != nil {
		return err
	}
	return c.Show("unread", "What is new", list)
}

// inForums reads the forums of the threads on a page, for its templates.
func (c *call) inForums() error {
	forums, err := c.Posts.Forums(c.Context(), c.actor)
	c.frame.forums = make(map[int64]content.ForumInfo, len(forums))
	for _, f := range forums {
		c.frame.forums[f.ID] = f
	}
	return err
}
