package web

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/board"
)

const (
	threadsPerPage = 30
	postsPerPage   = 25
)

// indexPage is the tree of forums.
type indexPage struct{ Forums []board.ForumEntry }

func (indexPage) feed() string { return "/feed.atom" }

func (c *call) index() error {
	tree, err := c.service.Tree(c.ctx(), c.actor)
	if err != nil {
		return err
	}
	return c.page("index", "", indexPage{tree})
}

// forumPage is a forum with its threads.
type forumPage struct {
	board.ForumEntry
	Above   []board.ForumInfo
	Below   []board.ForumEntry
	Sticky  []board.ThreadInfo
	Threads []board.ThreadInfo
	First   bool
	Older   string // cursor

	Mode      string // in which the forum is followed
	MayFollow bool
}

func (p forumPage) feed() string  { return "/forums/" + itoa(p.ID) + "/feed.atom" }
func (p forumPage) place() string { return slugged("/forums/", p.ID, p.Slug) }

func (c *call) forum() error {
	id, err := c.id("forumId")
	if err != nil {
		return err
	}
	page := forumPage{}
	if page.ForumEntry, page.Above, page.Below, err = c.service.Forum(c.ctx(), c.actor, id); err != nil {
		return err
	}
	if page.Type == "link" && page.LinkURL != nil {
		c.w.Header().Set("Referrer-Policy", "no-referrer")
		http.Redirect(c.w, c.r, *page.LinkURL, http.StatusFound)
		return nil
	}
	after := c.query("after")
	page.First = after == ""
	if page.Type == "forum" {
		if page.Threads, page.Older, err = c.service.Threads(c.ctx(), c.actor, id, after, threadsPerPage); err != nil {
			return err
		}
		if page.First {
			if page.Sticky, err = c.service.Sticky(c.ctx(), c.actor, id); err != nil {
				return err
			}
		}
		page.Threads = slices.DeleteFunc(page.Threads, func(t board.ThreadInfo) bool { return t.IsSticky })
		if page.Mode, page.MayFollow, err = c.service.ForumSubscription(c.ctx(), c.actor, id); err != nil {
			return err
		}
	}
	return c.page("forum", page.Title, page)
}

func (c *call) readForum() error {
	id, err := c.id("forumId")
	if err != nil {
		return err
	}
	if err := c.service.MarkForumRead(c.ctx(), c.actor, id); err != nil {
		return err
	}
	return c.redirect("/forums/"+itoa(id), "All threads here are marked as read.")
}

func (c *call) readAll() error {
	if err := c.service.MarkForumRead(c.ctx(), c.actor, 0); err != nil {
		return err
	}
	return c.redirect("/", "All forums are marked as read.")
}

// threadPage is a page of a thread.
type threadPage struct {
	*board.Reading
	from int64 // the post that the page begins after
}

func (p threadPage) place() string {
	path := slugged("/threads/", p.Thread.ID, p.Thread.Slug)
	if p.from > 0 {
		path += "?after=" + itoa(p.from)
	}
	return path
}

func (c *call) thread() error {
	id, err := c.id("threadId")
	if err != nil {
		return err
	}
	if post, err := c.queryNumber("post"); err != nil || post != 0 {
		if err != nil {
			return err
		}
		return c.toPost(post)
	}
	after, err := c.queryNumber("after")
	if err != nil {
		return err
	}
	reading, err := c.service.ReadThread(c.ctx(), c.actor, id, after, postsPerPage)
	if err != nil {
		return err
	}
	if len(reading.Posts) == 0 && after > 0 {
		return c.redirect("/threads/"+itoa(id)+"/last", "")
	}
	if last := lastOf(reading.Posts); c.actor.User != nil && last > reading.LastRead {
		if err := c.service.MarkRead(c.ctx(), c.actor, id, last); err != nil {
			return err
		}
	}
	return c.page("thread", reading.Thread.Title, threadPage{reading, after})
}

func lastOf(posts []board.PostView) int64 {
	if len(posts) == 0 {
		return 0
	}
	return posts[len(posts)-1].ID
}

// toPlace leads to a post.
func (c *call) toPlace(p board.Place, err error) error {
	if err != nil {
		return err
	}
	path := slugged("/threads/", p.Thread.ID, p.Thread.Slug)
	if p.After > 0 {
		path += "?after=" + itoa(p.After)
	}
	return c.redirect(path+"#post-"+itoa(p.Number), "")
}

func (c *call) toPost(id int64) error {
	return c.toPlace(c.service.PlaceOf(c.ctx(), c.actor, id, postsPerPage))
}

func (c *call) permalink() error {
	id, err := c.id("postId")
	if err != nil {
		return err
	}
	return c.toPost(id)
}

func (c *call) firstUnread() error {
	id, err := c.id("threadId")
	if err != nil {
		return err
	}
	return c.toPlace(c.service.FirstUnread(c.ctx(), c.actor, id, postsPerPage))
}

func (c *call) lastPage() error {
	id, err := c.id("threadId")
	if err != nil {
		return err
	}
	return c.toPlace(c.service.LastPlace(c.ctx(), c.actor, id, postsPerPage))
}

func (c *call) member() error {
	id, err := c.id("userId")
	if err != nil {
		return err
	}
	user, err := c.service.Profile(c.ctx(), c.actor, id)
	if err != nil {
		return err
	}
	return c.page("member", user.Name, user.Info())
}

// searchPage is what was looked for, and what was found.
type searchPage struct {
	Query, Author string
	Forum         int64
	Forums        []board.ForumInfo
	Asked         bool
	Found         []board.FoundInfo
	Older         string // address of the next page
}

func (c *call) search() error {
	forums, err := c.service.Forums(c.ctx(), c.actor)
	if err != nil {
		return err
	}
	page := searchPage{Query: c.query("q"), Author: c.query("author"), Forums: forums}
	page.Asked = page.Query != ""
	if page.Forum, err = c.queryNumber("forum"); err != nil {
		return err
	}
	after, err := c.queryNumber("after")
	if err != nil {
		return err
	}
	if !page.Asked {
		return c.page("search", "Search", page)
	}
	found, next, err := c.service.Search(c.ctx(), c.actor, board.SearchQuery{Text: page.Query, Forum: page.Forum, Author: page.Author, After: after, Limit: postsPerPage})
	for _, f := range found {
		page.Found = append(page.Found, f.Info())
	}
	if next != 0 {
		page.Older = "/search?" + url.Values{"q": {page.Query}, "author": {page.Author}, "forum": {itoa(page.Forum)}, "after": {itoa(next)}}.Encode()
	}
	return c.form(err, "search", "Search", page)
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
