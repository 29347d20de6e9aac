package web

import "github.com/tollgate-gateway/tollgate/backends/board/content"

// unread shows the threads of all forums that have posts which the member has not read.
func (c *call) unread() error {
	list, err := c.Posts.Unread(c.Context(), c.actor, c.Query.Text("after"), threadsPerPage)
	if err != nil {
		return err
	}
	forums, err := c.Posts.Forums(c.Context(), c.actor)
	if err != nil {
		return err
	}
	c.frame.forums = make(map[int64]content.ForumInfo, len(forums))
	for _, f := range forums {
		c.frame.forums[f.ID] = f
	}
	if err := c.tagged(list.Followed, list.Others); err != nil {
		return err
	}
	return c.Show("unread", "What is new", list)
}
