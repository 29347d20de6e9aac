package web

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/sitemap"
)

// This file serves search engines: robots.txt and sitemaps. The routes are public, so the actor is always the guest.

// forRobots lists paths that robots.txt (RFC 9309) excludes: they lead to a form or to another page, or belong to a
// single member.
var forRobots = []string{
	"/login", "/register", "/forgot", "/reset", "/email", "/confirm", "/unsubscribe", "/account", "/member.php", "/members/",
	"/moderation", "/admin", "/search", "/new", "/memberlist.php", "/conversations", "/avatars/",
	kernel.Mount + "/", "/forums/*/new", "/threads/*/reply", "/threads/*/manage", "/threads/*/choose",
	"/threads/*/unread", "/threads/*/last",
	"/threads/*/posts/", "/posts/*/report", "/posts/*/warn", "/posts/*/reactions", "/posts/*/bookmark",
}

// readableByGuests reports whether guests can read anything.
func (c *call) readableByGuests() bool { return !c.options.MembersOnly && c.Posts.Listed(c.actor) }

// robots serves robots.txt. It limits search engines to the readable pages, or excludes them from a board that guests
// cannot read.
func (c *call) robots() error {
	var out strings.Builder
	out.WriteString("User-agent: *\n")
	if c.readableByGuests() {
		for _, path := range forRobots {
			out.WriteString("Disallow: " + c.options.path + path + "\n")
		}
		out.WriteString("\nSitemap: " + c.Base() + "/sitemap.xml\n")
	} else {
		out.WriteString("Disallow: /\n")
	}
	c.setFileHeaders("text/plain; charset=utf-8")
	_, _ = io.WriteString(c.W, out.String()) // the client may be gone
	return nil
}

// setFileHeaders sets the headers of responses that programs read and caches may store.
func (c *call) setFileHeaders(mediaType string) {
	c.W.Header().Set("Content-Type", mediaType)
	c.W.Header().Set("Cache-Control", "public, max-age=300")
	c.W.Header().Del("Vary")
}

// sitemap serves the index of the parts, or one part. Part 0 lists the forums, and each other part lists the threads in
// a range of ids. So each request does limited work, and an old part changes only when its threads do.
func (c *call) sitemap() error {
	if !c.readableByGuests() {
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

// forumsOfSitemap writes part 0: the first page and the pages of the forums, which link to the threads.
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

// writeSitemap writes a file while its content is being read. newWriter writes the beginning of the file, and fill
// writes its entries. If reading fails halfway, the connection is aborted, so that the client notices that the file is
// incomplete.
func (c *call) writeSitemap(newWriter func(io.Writer) *sitemap.Writer, fill func(*sitemap.Writer) error) error {
	const mediaType = "application/xml; charset=utf-8"
	if c.R.Method == http.MethodHead {
		c.setFileHeaders(mediaType)
		return nil
	}
	out := &firstWriteHook{Writer: c.W, begin: func() { c.setFileHeaders(mediaType) }}
	w := newWriter(out)
	if err := fill(w); err != nil {
		if out.begin == nil {
			panic(http.ErrAbortHandler)
		}
		return err
	}
	_ = w.Close() // the client may be gone
	return nil
}
