package web

import (
	"bytes"
	"encoding/xml"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/internal/sitemap"
)

// This file serves programs: robots.txt and sitemaps to search engines, and feeds to their readers. The routes are
// public, so the actor is always the guest.

// forRobots lists paths for robots.txt (RFC 9309) that are not worth reading: they lead to a form or to another
// page, or belong to one member.
var forRobots = []string{
	"/login", "/register", "/forgot", "/reset", "/email", "/confirm", "/unsubscribe", "/account", "/member.php", "/members/",
	"/moderation", "/admin", "/search", "/new", "/memberlist.php", "/conversations", "/avatars/",
	kernel.Mount + "/", "/forums/*/new", "/threads/*/reply", "/threads/*/manage", "/threads/*/choose",
	"/threads/*/unread", "/threads/*/last",
	"/threads/*/posts/", "/posts/*/report", "/posts/*/warn", "/posts/*/reactions", "/posts/*/bookmark",
}

// open reports whether guests can read anything.
func (c *call) open() bool { return !c.options.MembersOnly && c.Posts.Listed(c.actor) }

// robots serves robots.txt, which keeps search engines to what there is to read, or out of a board that guests
// cannot read.
func (c *call) robots() error {
	var out strings.Builder
	out.WriteString("User-agent: *\n")
	if c.open() {
		for _, path := range forRobots {
			out.WriteString("Disallow: " + c.options.path + path + "\n")
		}
		out.WriteString("\nSitemap: " + c.Base() + "/sitemap.xml\n")
	} else {
		out.WriteString("Disallow: /\n")
	}
	c.machines("text/plain; charset=utf-8")
	_, _ = io.WriteString(c.W, out.String()) // the client may be gone
	return nil
}

// machines sets the headers of answers that programs read and caches keep.
func (c *call) machines(mediaType string) {
	c.W.Header().Set("Content-Type", mediaType)
	c.W.Header().Set("Cache-Control", "public, max-age=300")
	c.W.Header().Del("Vary")
}

// sitemap serves the index of the parts, or one part. Part 0 lists the forums, and the others list the threads by
// their ids, so each request does bounded work and an old part changes only when its threads do.
func (c *call) sitemap() error {
	if !c.open() {
		return pages.NotFound()
	}
	parts, err := c.Posts.SitemapParts(c.Context())
	if err != nil {
		return err
	}
	base := c.Base()
	if !c.Query.Has("part") {
		return c.writeSitemap(sitemap.Parts, func(w *sitemap.Writer) error {
			for part := range parts + 1 {
				w.Add(base+"/sitemap.xml?part="+strconv.Itoa(part), time.Time{})
			}
			return nil
		})
	}
	part, err := strconv.Atoi(c.Query.Text("part"))
	switch {
	case err != nil || part < 0 || part > parts:
		return pages.NotFound()
	case part == 0:
		return c.forumsOfSitemap(base)
	}
	return c.longFile(func() error {
		return c.writeSitemap(sitemap.Pages, func(w *sitemap.Writer) error {
			return c.Posts.SitemapThreads(c.Context(), c.actor, part, func(t posts.ListedThread) {
				w.Add(base+pages.Slugged("/threads/", t.ID, t.Slug), t.Changed)
			})
		})
	})
}

// forumsOfSitemap writes the part with the first page and the pages of the forums, which lead to the threads.
func (c *call) forumsOfSitemap(base string) error {
	forums, err := c.Posts.Forums(c.Context(), c.actor)
	if err != nil {
		return err
	}
	return c.writeSitemap(sitemap.Pages, func(w *sitemap.Writer) error {
		w.Add(base+"/", time.Time{})
		for _, f := range forums {
			var changed time.Time
			if f.LastPostAt != nil {
				changed = f.LastPostAt.Time()
			}
			if f.Type != "link" {
				w.Add(base+pages.Slugged("/forums/", f.ID, f.Slug), changed)
			}
		}
		return nil
	})
}

// writeSitemap writes a file while its content is read. If that fails halfway, the connection is aborted, so that
// the client notices that the file is incomplete.
func (c *call) writeSitemap(begin func(io.Writer) *sitemap.Writer, fill func(*sitemap.Writer) error) error {
	const mediaType = "application/xml; charset=utf-8"
	if c.R.Method == http.MethodHead {
		c.machines(mediaType)
		return nil
	}
	out := &begun{Writer: c.W, begin: func() { c.machines(mediaType) }}
	w := begin(out)
	if err := fill(w); err != nil {
		if out.begin == nil {
			panic(http.ErrAbortHandler)
		}
		return err
	}
	_ = w.Close() // the client may be gone
	return nil
}

// feedEntries is the number of threads in a feed.
const feedEntries = 25

// feed is an Atom feed (RFC 4287).
type feed struct {
	XMLName xml.Name      `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string        `xml:"id"`
	Title   string        `xml:"title"`
	Updated kernel.Moment `xml:"updated"`
	Links   []feedLink    `xml:"link"`
	Author  string        `xml:"author>name"`
	Entries []feedEntry   `xml:"entry"`
}

type feedLink struct {
	Rel  string `xml:"rel,attr"`
	Type string `xml:"type,attr"`
	Href string `xml:"href,attr"`
}

type feedEntry struct {
	ID        string        `xml:"id"`
	Title     string        `xml:"title"`
	Link      feedLink      `xml:"link"`
	Updated   kernel.Moment `xml:"updated"`
	Published kernel.Moment `xml:"published"`
	Author    string        `xml:"author>name"`
	Content   feedContent   `xml:"content"`
}

type feedContent struct {
	Type string `xml:"type,attr"`
	Text string `xml:",chardata"`
}

func (c *call) boardFeed() error {
	return c.feed(0, "/feed.atom", "/", c.actor.Settings().Name)
}

func (c *call) forumFeed() error {
	id := c.ID("forumId")
	f, _, _, err := c.Posts.Forum(c.Context(), c.actor, id)
	if err != nil {
		return err
	}
	return c.feed(id, "/forums/"+itoa(id)+"/feed.atom", pages.Slugged("/forums/", id, f.Slug), f.Title+" – "+
		c.actor.Settings().Name)
}

// feed writes the newest threads that guests see, whoever asks, since feed readers keep and pass on what they
// fetch. The routes of feeds are public, so the actor is always the guest. Forum 0 stands for all forums.
func (c *call) feed(forumID int64, self, page, title string) error {
	if c.options.MembersOnly {
		return pages.NotFound()
	}
	threads, first, err := c.Posts.Recent(c.Context(), c.actor, forumID, feedEntries)
	if e, ok := apierror.From(err); ok && e.Status == http.StatusForbidden {
		return pages.NotFound()
	}
	if err != nil {
		return err
	}
	base := c.Base()
	f := feed{
		ID: base + self, Title: title, Author: title,
		Links: []feedLink{{"self", "application/atom+xml", base + self}, {"alternate", "text/html", base + page}},
	}
	for i, t := range threads {
		f.Entries = append(f.Entries, entryOf(base, t, first[i]))
		f.Updated = max(f.Updated, t.LastPostAt)
	}
	var out bytes.Buffer
	out.WriteString(xml.Header)
	if err := xml.NewEncoder(&out).Encode(f); err != nil {
		return err
	}
	c.W.Header().Set("Content-Type", "application/atom+xml; charset=utf-8")
	c.W.Header().Set("Cache-Control", "public, max-age=300")
	c.W.Header().Del("Vary")
	c.W.Header().Set("ETag", rest.ETag(out.Bytes()))
	http.ServeContent(c.W, c.R, "", time.Time{}, bytes.NewReader(out.Bytes())) // also answers If-None-Match
	return nil
}

func entryOf(base string, t content.ThreadInfo, first content.PostInfo) feedEntry {
	return feedEntry{
		ID: base + "/threads/" + itoa(t.ID), Title: t.Title, Updated: t.LastPostAt, Published: t.CreatedAt,
		Author:  t.AuthorUsername,
		Link:    feedLink{"alternate", "text/html", base + pages.Slugged("/threads/", t.ID, t.Slug)},
		Content: feedContent{"html", absolute(base, first.MessageHTML)},
	}
}

// absolute completes the paths in HTML to addresses, since feed readers show it elsewhere.
func absolute(base, html string) string {
	return strings.NewReplacer(` src="//`, ` src="//`, ` href="//`, ` href="//`, // names of hosts
		` src="/`, ` src="`+base+"/", ` href="/`, ` href="`+base+"/").Replace(html)
}
