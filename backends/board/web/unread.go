package web

import "errors"

// unread shows the threads of all forums that have posts which the member has not read.
func (c *call) unread() error {
	list, err := c.Posts.Unread(c.Context(), c.actor, c.Query.Text("after"), threadsPerPage)
	if err != nil {
		return err
	}
	err = errors.Join(c.nameForums(), c.facesOfThreads(list.Followed, list.Others), c.tagged(list.Followed, list.Others))
	if err != nil {
		return err
	}
	return c.Show("unread", c.T("What is new"), list)
}
