package web

import (
	"net/url"

	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/search"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

const (
	// hitsPerPage is the number of found posts on a page of results, which groups them by thread.
	hitsPerPage = 100
	// hitsShown is the maximum number of posts of a thread in a page of results. The newest one is shown with its text.
	hitsShown = 4
)

// searchPage shows a query and the posts that it finds, grouped by thread. In a search of a single thread, each post is
// a separate group.
type searchPage struct {
	Query, Author string
	Tag           string
	Forum, Thread int64               // 0 for all
	Forums        []content.ForumInfo // the forums to choose from
	Asked         bool                // there is a query
	Found         []foundThread
	Older         string // the address of the next page; empty on the last page
}

// foundThread is a thread and its posts in a page of results, newest first.
type foundThread struct {
	api.FoundInfo                 // the newest post
	More          []api.FoundInfo // further posts
	Count         int64           // the number of the thread's found posts on this page, also beyond those in More
	All           string          // the path of a search in this thread; empty if Count is 1
}

// address returns the path of a page of results of the same query. thread limits the search to a thread, unless it is
// 0. The page begins after the post with the id afterID; 0 stands for the first page.
func (p *searchPage) address(thread, afterID int64) string {
	q := url.Values{"q": {p.Query}, "author": {p.Author}, "tag": {p.Tag}, "forum": {itoa(p.Forum)}}
	if thread != 0 {
		q.Set("thread", itoa(thread))
	}
	if afterID != 0 {
		q.Set("after", itoa(afterID))
	}
	return "/search?" + q.Encode()
}

// Everywhere returns the path of the same search in all threads.
func (p searchPage) Everywhere() string { return p.address(0, 0) }

// search shows the search form and, if there is a query, the posts that it finds.
func (c *call) search() error {
	forums, err := c.Posts.Forums(c.Context(), c.actor)
	if err != nil {
		return err
	}
	page := searchPage{
		Query: c.Query.Text("q"), Author: c.Query.Text("author"), Forum: c.Query.Number("forum"),
		Tag: text.Normal(c.Query.Text("tag")), Thread: c.Query.Number("thread"), Forums: forums,
	}
	page.Asked = page.Query != ""
	cursor := c.Query.Number("after")
	if err := c.Query.Err(); err != nil {
		return err
	}
	if !page.Asked {
		return c.Show("search", c.T("Search"), page)
	}
	limit := hitsPerPage
	if page.Thread != 0 {
		limit = postsPerPage
	}
	found, next, refusal := c.Search.Find(c.Context(), c.actor, search.Query{
		Text: page.Query, Forum: page.Forum, Thread: page.Thread, Author: page.Author, Tag: page.Tag,
		After: cursor, Limit: limit,
	})
	page.group(found)
	if next != 0 {
		page.Older = page.address(page.Thread, next)
	}
	if err := readFaces(c, page.Found, func(f foundThread) *int64 { return f.Post.AuthorUserID }); err != nil {
		return err
	}
	return c.ShowForm(refusal, "search", c.T("Search"), page)
}

// group sets p.Found to groups of the found posts, which are sorted by age, newest first. All posts of a thread are in
// one group, and the groups are in the order of their newest posts. In a search of a single thread, each post is a
// separate group.
func (p *searchPage) group(found []search.Found) {
	groups := make(map[int64]int) // the index in p.Found of each thread's group
	for _, post := range found {
		i, hasGroup := groups[post.Thread.ID]
		if !hasGroup || p.Thread != 0 {
			groups[post.Thread.ID] = len(p.Found)
			p.Found = append(p.Found, foundThread{FoundInfo: api.ViewFound(post), Count: 1})
			continue
		}
		group := &p.Found[i]
		group.Count++
		group.All = p.address(post.Thread.ID, 0)
		if len(group.More) < hitsShown-1 {
			group.More = append(group.More, api.ViewFound(post))
		}
	}
}
