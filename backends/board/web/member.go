package web

import (
	"net/url"

	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/content"
)

// memberRoutes lists the pages of the posts and threads that a member has written.
var memberRoutes = []page{
	{Method: get, Path: "/members/{userId}/posts", Admit: guests, Serve: (*call).memberPosts},
	{Method: get, Path: "/members/{userId}/threads", Admit: guests, Serve: (*call).memberThreads},
}

// writtenPage is a page of a member's posts or threads. Only one of the fields Posts and Threads is set.
type writtenPage struct {
	api.MemberInfo
	Tab     string // the selected tab
	Posts   []api.FoundInfo
	Threads []content.ThreadInfo
	First   bool   // this is the first page
	Older   string // the address of the next page; empty on the last page
}

// writtenBy returns a page of the member in the path, still without posts and threads. tab is the selected tab. It
// returns an error unless the actor may see the member's profile.
func (c *call) writtenBy(tab string) (page writtenPage, err error) {
	user, err := c.Accounts.Profile(c.Context(), c.actor, c.ID("userId"))
	if err != nil {
		return page, err
	}
	page.Tab, page.MemberInfo, page.First = tab, api.Member(user), !c.Query.Has("after")
	return page, c.faceOf(user.ID)
}

// memberPosts lists the posts of a member.
func (c *call) memberPosts() error {
	cursor := c.Query.Number("after")
	page, err := c.writtenBy("posts")
	if err != nil {
		return err
	}
	found, next, err := c.Search.By(c.Context(), c.actor, page.UserID, cursor, postsPerPage)
	if err != nil {
		return err
	}
	for _, f := range found {
		page.Posts = append(page.Posts, api.ViewFound(f))
	}
	if next != 0 {
		page.Older = "/members/" + itoa(page.UserID) + "/posts?after=" + itoa(next)
	}
	return c.Show("member_posts", c.T("Posts of {name}", "name", page.Username), page)
}

// memberThreads lists the threads of a member.
func (c *call) memberThreads() error {
	page, err := c.writtenBy("threads")
	if err != nil {
		return err
	}
	var next string
	if page.Threads, next, err = c.Posts.ThreadsBy(c.Context(), c.actor, page.UserID, c.Query.Text("after"),
		threadsPerPage); err != nil {
		return err
	}
	if next != "" {
		page.Older = "/members/" + itoa(page.UserID) + "/threads?" + url.Values{"after": {next}}.Encode()
	}
	if err := c.nameForums(); err != nil {
		return err
	}
	return c.Show("member_threads", c.T("Threads of {name}", "name", page.Username), page)
}

// nameForums reads the forums, so that lists of threads on this page name the forum of each thread.
func (c *call) nameForums() error {
	forums, err := c.Posts.Forums(c.Context(), c.actor)
	c.frame.forums = make(map[int64]content.ForumInfo, len(forums))
	for _, f := range forums {
		c.frame.forums[f.ID] = f
	}
	return err
}
