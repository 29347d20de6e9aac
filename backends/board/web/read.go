package web

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

const (
	threadsPerPage = 30
	postsPerPage   = 25
)

// indexPage shows the tree of forums.
type indexPage struct{ Forums []posts.ForumEntry }

// index shows the first page of the board.
func (c *call) index() error {
	tree, err := c.Posts.Tree(c.Context(), c.actor)
	if err != nil {
		return err
	}
	c.frame.Feed, c.frame.Place = "/feed.atom", "/"
	c.share(c.frame.Settings.Name, c.frame.Settings.Description)
	return c.Show("index", "", indexPage{tree})
}

// forumPage shows a forum with its threads.
type forumPage struct {
	posts.ForumEntry
	Above   []content.ForumInfo
	Below   []posts.ForumEntry
	Sticky  []content.ThreadInfo
	Threads []content.ThreadInfo
	First   bool   // this is the first page
	Older   string // the cursor of the next page; empty on the last page

	Mode      string // the mode in which the actor follows the forum
	MayFollow bool
}

// forum shows a page of a forum. A forum that is a link redirects to its URL.
func (c *call) forum() error {
	id := c.ID("forumId")
	var page forumPage
	var err error
	if page.ForumEntry, page.Above, page.Below, err = c.Posts.Forum(c.Context(), c.actor, id); err != nil {
		return err
	}
	if page.Type == "link" && page.LinkURL != nil {
		c.W.Header().Set("Referrer-Policy", "no-referrer")
		http.Redirect(c.W, c.R, *page.LinkURL, http.StatusFound)
		return nil
	}
	cursor := c.Query.Text("after")
	page.First = cursor == ""
	if page.Type == "forum" {
		if page.Threads, page.Older, err = c.Posts.Threads(c.Context(), c.actor, id, cursor, threadsPerPage); err != nil {
			return err
		}
		if page.First {
			if page.Sticky, err = c.Posts.Sticky(c.Context(), c.actor, id); err != nil {
				return err
			}
		}
		// The first page lists the sticky threads separately.
		page.Threads = slices.DeleteFunc(page.Threads, func(t content.ThreadInfo) bool { return t.IsSticky })
		if page.Mode, page.MayFollow, err = c.Following.ForumSubscription(c.Context(), c.actor, id); err != nil {
			return err
		}
	}
	if err := errors.Join(
		c.facesOfThreads(page.Sticky, page.Threads), c.readTags(page.Sticky, page.Threads),
	); err != nil {
		return err
	}
	c.frame.Feed = "/forums/" + itoa(id) + "/feed.atom"
	// Pages after the first list other threads, and so need their own URLs.
	if c.frame.Place = pages.Slugged("/forums/", page.ID, page.Slug); !page.First {
		c.frame.Place += "?" + url.Values{"after": {cursor}}.Encode()
	}
	c.share(page.Title, page.Description)
	return c.Show("forum", page.Title, page)
}

// readForum marks all threads of a forum as read.
func (c *call) readForum() error {
	id := c.ID("forumId")
	return c.Then(c.Following.MarkForumRead(c.Context(), c.actor, id), "/forums/"+itoa(id),
		c.T("All threads here are marked as read."))
}

// readAll marks all threads of the board as read.
func (c *call) readAll() error {
	return c.Then(c.Following.MarkForumRead(c.Context(), c.actor, 0), "/", c.T("All forums are marked as read."))
}

// thread shows a page or another part of a thread and marks its posts as read. If the request has the parameter post,
// thread redirects to the page with that post. If it has the parameter date, thread redirects to the first post on or
// after that day.
func (c *call) thread() error {
	id := c.ID("threadId")
	post, afterID, page := c.Query.Number("post"), c.Query.Number("after"), c.Query.Number("page")
	if err := c.Query.Err(); err != nil {
		return err
	}
	switch {
	case post != 0:
		return c.toPost(post)
	case c.Query.Text("date") != "":
		return c.toDate(id)
	}
	reading, err := c.readPart(id, page, afterID)
	if err != nil {
		return c.mergedThread(err, id)
	}
	if len(reading.Posts) == 0 && (afterID > 0 || reading.Page > reading.Pages) { // beyond the end of the thread
		return c.Redirect("/threads/"+itoa(id)+"/last", "")
	}
	if last := lastOf(reading.Posts); c.actor.User != nil && (last > reading.LastRead || reading.HasUnread) {
		if err := c.Following.MarkRead(c.Context(), c.actor, id, last); err != nil {
			return err
		}
	}
	if err := readFaces(c, reading.Posts, func(p posts.PostView) *int64 { return p.AuthorUserID }); err != nil {
		return err
	}
	if err := errors.Join(c.readTags([]content.ThreadInfo{reading.Thread}), c.readPolls(reading)); err != nil {
		return err
	}
	c.frame.Place = pagePath(reading.Thread, reading.Page)
	if reading.Page == 0 { // not a page, but the posts after afterID
		c.frame.Place += "?after=" + itoa(afterID)
	}
	c.shareThread(reading)
	return c.Show("thread", reading.Thread.Title, reading)
}

// lastOf returns the id of the last post of a list, or 0 if the list is empty.
func lastOf(posts []posts.PostView) int64 {
	if len(posts) == 0 {
		return 0
	}
	return posts[len(posts)-1].ID
}

// toPlaceInThread works like toPlace for a place in a thread. If the thread was merged into another thread, it
// redirects there.
func (c *call) toPlaceInThread(thread int64, p posts.Place, err error) error {
	if err != nil {
		return c.mergedThread(err, thread)
	}
	return c.toPlace(p, nil)
}

// toPlace redirects to the place of a post. If err is not nil, it returns err.
func (c *call) toPlace(p posts.Place, err error) error {
	if err != nil {
		return err
	}
	path := pagePath(p.Thread, p.Page)
	if p.After > 0 {
		path += "?after=" + itoa(p.After)
	}
	return c.Redirect(path+"#post-"+itoa(p.Number), "")
}

// readPart reads a page of a thread or, if afterID is set, the posts that follow the post with this id.
func (c *call) readPart(id, page, afterID int64) (*posts.Reading, error) {
	if afterID > 0 {
		return c.Posts.ReadThread(c.Context(), c.actor, id, afterID, postsPerPage)
	}
	return c.Posts.ReadPage(c.Context(), c.actor, id, page, postsPerPage)
}

// pagePath returns the path of a page of a thread. The path of the first page contains no page number.
func pagePath(t content.ThreadInfo, page int64) string {
	path := pages.Slugged("/threads/", t.ID, t.Slug)
	if page > 1 {
		path += "?page=" + itoa(page)
	}
	return path
}

// toDate redirects to the first post of a thread that was written on or after a given day in the reader's time zone.
func (c *call) toDate(id int64) error {
	day, err := time.ParseInLocation(time.DateOnly, c.Query.Text("date"), c.Zone)
	if err != nil {
		return kernel.BadRequest("date", "date must be a day such as 2026-03-01")
	}
	place, err := c.Posts.PlaceAt(c.Context(), c.actor, id, kernel.MomentOf(day), postsPerPage)
	return c.toPlaceInThread(id, place, err)
}

// toPost redirects to the post with this id on the page of its thread.
func (c *call) toPost(id int64) error {
	return c.toPlace(c.Posts.PlaceOf(c.Context(), c.actor, id, postsPerPage))
}

// permalink redirects to the post in the path on the page of its thread.
func (c *call) permalink() error { return c.toPost(c.ID("postId")) }

// firstUnread redirects to the first post of a thread that is new to the actor.
func (c *call) firstUnread() error {
	place, err := c.Posts.FirstUnread(c.Context(), c.actor, c.ID("threadId"), postsPerPage)
	return c.toPlaceInThread(c.ID("threadId"), place, err)
}

// lastPage redirects to the last post of a thread.
func (c *call) lastPage() error {
	place, err := c.Posts.LastPlace(c.Context(), c.actor, c.ID("threadId"), postsPerPage)
	return c.toPlaceInThread(c.ID("threadId"), place, err)
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// unread shows the threads with posts that the member has not read, in all forums.
func (c *call) unread() error {
	list, err := c.Posts.Unread(c.Context(), c.actor, c.Query.Text("after"), threadsPerPage)
	if err != nil {
		return err
	}
	err = errors.Join(c.nameForums(), c.facesOfThreads(list.Followed, list.Others), c.readTags(list.Followed, list.Others))
	return c.ThenShow(err, "unread", c.T("What is new"), list)
}
