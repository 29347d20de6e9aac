package web

import "github.com/tollgate-gateway/tollgate/backends/board/reactions"

// reactionRoutes lists the pages and forms of reactions, answers and bookmarks.
var reactionRoutes = []page{
	{Method: post, Path: "/posts/{postId}/reaction", Serve: (*call).react},
	{Method: get, Path: "/posts/{postId}/reactions", Admit: guests, Serve: (*call).reactors},
	{Method: post, Path: "/posts/{postId}/answer", Serve: (*call).setAnswer},
	{Method: get, Path: "/posts/{postId}/bookmark", Serve: (*call).askBookmark},
	{Method: post, Path: "/posts/{postId}/bookmark", Serve: (*call).bookmark},
	{Method: get, Path: "/account/bookmarks", Serve: (*call).bookmarks},
	{Method: post, Path: "/account/notices", Serve: (*call).setNotices},
}

// react sets or removes the actor's reaction to a post.
func (c *call) react() error {
	id := c.ID("postId")
	return c.Then(c.Reactions.React(c.Context(), c.actor, id, c.Form.Text("reaction")), "/posts/"+itoa(id), "")
}

// reactorsPage lists the members who have reacted to a post.
type reactorsPage struct {
	postPage
	List []reactions.Reactor
	Next int64 // the member after whom the next page begins; 0 on the last page
}

// reactors lists the members who have reacted to a post.
func (c *call) reactors() error {
	afterID := c.Query.Number("after")
	view, thread, err := c.Posts.PostByID(c.Context(), c.actor, c.ID("postId"))
	if err != nil {
		return err
	}
	page := reactorsPage{postPage: postPage{Post: view, Thread: thread}}
	page.List, page.Next, err = c.Reactions.Who(c.Context(), c.actor, view.ID, afterID, postsPerPage)
	return c.ThenShow(err, "reactions", c.T("Reactions"), page)
}

// setAnswer marks a reply as the answer of its thread, or removes the mark.
func (c *call) setAnswer() error {
	id, marked := c.ID("postId"), c.Form.Text("answer") == "yes"
	notice := c.T("This post is not the answer any more.")
	if marked {
		notice = c.T("This post is the answer now.")
	}
	return c.Then(c.Posts.SetAnswer(c.Context(), c.actor, id, marked), "/posts/"+itoa(id), notice)
}

// bookmarkPage asks for the note of a bookmark.
type bookmarkPage struct {
	postPage
	Note string
	Is   bool // the post is bookmarked already
}

// bookmarkForm returns the page for the post in the path.
func (c *call) bookmarkForm() (page bookmarkPage, err error) {
	if page.Post, page.Thread, err = c.Posts.PostByID(c.Context(), c.actor, c.ID("postId")); err != nil {
		return page, err
	}
	page.Note, page.Is, err = c.Reactions.BookmarkOf(c.Context(), c.actor, page.Post.ID)
	return page, err
}

// askBookmark shows the form to bookmark a post.
func (c *call) askBookmark() error {
	form, err := c.bookmarkForm()
	return c.ThenShow(err, "bookmark", c.T("Bookmark"), form)
}

// bookmark saves or removes a bookmark. It redirects to the post or, if the form was on the list of bookmarks, to that
// list.
func (c *call) bookmark() error {
	id, location := c.ID("postId"), "/posts/"+itoa(c.ID("postId"))
	if c.Form.Flag("list") {
		location = "/account/bookmarks"
	}
	if c.Form.Text("do") == "remove" {
		return c.Then(c.Reactions.Unbookmark(c.Context(), c.actor, id), location, c.T("The bookmark is removed."))
	}
	note := c.Form.Text("note")
	refusal := c.Reactions.Bookmark(c.Context(), c.actor, id, note)
	if refusal == nil {
		return c.Redirect(location, c.T("The bookmark is saved."))
	}
	form, err := c.bookmarkForm()
	if err != nil {
		return err
	}
	form.Note = note
	return c.ShowForm(refusal, "bookmark", c.T("Bookmark"), form)
}

// bookmarksPage lists the bookmarks of a member.
type bookmarksPage struct {
	List  []reactions.Bookmark
	Older int64 // id of the last bookmark in List, after which the next page begins; 0 on the last page
}

// bookmarks lists the member's bookmarks.
func (c *call) bookmarks() (err error) {
	var page bookmarksPage
	page.List, page.Older, err = c.Reactions.Bookmarks(c.Context(), c.actor, c.Query.Number("before"), postsPerPage)
	return c.ThenShow(err, "bookmarks", c.T("Bookmarks"), page)
}

// setNotices sets whether the member is notified of reactions and answers.
func (c *call) setNotices() error {
	return c.Then(c.Following.SetNotices(c.Context(), c.actor, c.Form.Flag("notices")), "/account/notifications",
		c.T("Saved."))
}
