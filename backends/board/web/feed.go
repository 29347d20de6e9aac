package web

import (
	"bytes"
	"encoding/xml"
	"net/http"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

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

// boardFeed serves the feed of all forums.
func (c *call) boardFeed() error {
	return c.feed(0, "/feed.atom", "/", c.actor.Settings().Name)
}

// forumFeed serves the feed of a forum.
func (c *call) forumFeed() error {
	id := c.ID("forumId")
	f, _, _, err := c.Posts.Forum(c.Context(), c.actor, id)
	if err != nil {
		return err
	}
	return c.feed(id, "/forums/"+itoa(id)+"/feed.atom", pages.Slugged("/forums/", id, f.Slug), f.Title+" – "+
		c.actor.Settings().Name)
}

// feed writes a feed of the newest threads that guests see. self is the path of the feed, and page is the path of the
// page that it belongs to. Forum 0 stands for all forums. Every reader gets the same feed, since feed readers store and
// pass on feeds. The routes of feeds are public, so the actor is always the guest.
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

// entryOf returns the feed entry of a thread. base is the URL of the board, and first is the thread's first post.
func entryOf(base string, t content.ThreadInfo, first content.PostInfo) feedEntry {
	return feedEntry{
		ID: base + "/threads/" + itoa(t.ID), Title: t.Title, Updated: t.LastPostAt, Published: t.CreatedAt,
		Author:  t.AuthorUsername,
		Link:    feedLink{"alternate", "text/html", base + pages.Slugged("/threads/", t.ID, t.Slug)},
		Content: feedContent{"html", absolute(base, first.MessageHTML)},
	}
}

// absolute replaces the paths in HTML by absolute URLs, since feed readers show the HTML outside of the board.
func absolute(base, html string) string {
	return strings.NewReplacer(` src="//`, ` src="//`, ` href="//`, ` href="//`, // URLs with a host stay unchanged
		` src="/`, ` src="`+base+"/", ` href="/`, ` href="`+base+"/").Replace(html)
}
