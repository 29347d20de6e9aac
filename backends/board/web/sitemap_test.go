package web_test

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestRobots checks that crawlers are kept from every page that is not worth reading, and from no other.
func TestRobots(t *testing.T) {
	t.Parallel()
	readable := []string{
		"/{$}", "/forums/{forumId}", "/feed.atom", "/forums/{forumId}/feed.atom", "/robots.txt", "/sitemap.xml", "/threads/{threadId}", "/posts/{postId}",
		"/attachments/{attachmentId}", "/posts/{postId}/files/{name}", "/viewtopic.php", "/viewforum.php", "/download/file.php", "/showthread.php", "/forumdisplay.php", "/attachment.php", "/tags/{tagId}",
	}
	for _, base := range []string{"", "https://forum.example.com"} {
		s := newSite(t, databases.SQLite(t), web.Options{BaseURL: base})
		p := s.guest().Get("/robots.txt").Want(200)
		if got := p.Header.Get("Content-Type"); got != "text/plain; charset=utf-8" {
			t.Errorf("the type is %s", got)
		}
		address := base
		if base == "" {
			address = s.server.URL
		}
		if !strings.HasPrefix(p.Text, "User-agent: *\nDisallow: ") || !strings.Contains(p.Text, "\n\nSitemap: "+address+"/sitemap.xml\n") {
			t.Errorf("%s: robots.txt is\n%s", base, p.Text)
		}
		var closed []*regexp.Regexp
		for line := range strings.SplitSeq(p.Text, "\n") {
			if path, ok := strings.CutPrefix(line, "Disallow: "); ok {
				closed = append(closed, regexp.MustCompile("^"+strings.ReplaceAll(regexp.QuoteMeta(path), `\*`, ".*")))
			}
		}
		allowed := func(path string) bool {
			return !slices.ContainsFunc(closed, func(r *regexp.Regexp) bool { return r.MatchString(path) })
		}
		for _, route := range web.AllRoutes {
			path := regexp.MustCompile(`\{[^}$]+\}`).ReplaceAllString(strings.TrimSuffix(route.Path, "{$}"), "7-words")
			// URLs of an imported forum redirect to the new pages.
			old := strings.Contains(route.Path, "{old") && !strings.HasPrefix(route.Path, "/members/")
			if want := old || slices.Contains(readable, route.Path); route.Method == http.MethodGet && allowed(path) != want {
				t.Errorf("%s%s: crawlers may ask: %t", base, path, !want)
			}
		}
		if allowed("/api/v1/forums") {
			t.Error("crawlers may ask the API")
		}
	}
}

// addresses returns the addresses of a sitemap, with the times of their last changes.
func addresses(t *testing.T, b *browser, path string) (list []string) {
	t.Helper()
	p := b.Get(path).Want(200)
	if got := p.Header.Get("Content-Type"); got != "application/xml; charset=utf-8" {
		t.Errorf("%s: the type is %s", path, got)
	}
	var read struct {
		Parts []string `xml:"sitemap>loc"`
		Pages []struct {
			Loc     string `xml:"loc"`
			LastMod string `xml:"lastmod"`
		} `xml:"url"`
	}
	if err := xml.Unmarshal([]byte(p.Text), &read); err != nil {
		t.Fatalf("%s: %v in\n%s", path, err, p.Text)
	}
	for _, page := range read.Pages {
		list = append(list, strings.TrimSpace(strings.TrimPrefix(page.Loc, "https://forum.example.com")+" "+page.LastMod))
	}
	return append(list, read.Parts...)
}

// TestSitemap checks that the sitemap lists what guests can read and nothing else, in parts.
func TestSitemap(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		const base = "https://forum.example.com"
		s := newSite(t, db, web.Options{BaseURL: base})
		root, public, tickets := s.forum("root"), s.forum("public"), s.forum("tickets")
		parts := func(n int) (list []string) {
			for part := range n + 1 {
				list = append(list, fmt.Sprintf("%s/sitemap.xml?part=%d", base, part))
			}
			return list
		}
		want := func(path string, want []string) {
			t.Helper()
			for _, name := range []string{"", "ada"} {
				if got := addresses(t, s.as(name), path); !slices.Equal(got, want) {
					t.Errorf("%s of %q is %q, want %q", path, name, got, want)
				}
			}
		}
		open, sticky := s.thread("Open thread"), s.thread("Sticky thread")
		threads := make([]string, 0, 1004)
		threads = append(threads, at("/threads/%d-open-thread 2026-01-01T00:01:00Z", open), at("/threads/%d-sticky-thread 2026-01-01T00:05:30Z", sticky))
		want("/sitemap.xml", parts(1))
		want("/sitemap.xml?part=1", threads)
		forums := addresses(t, s.guest(), "/sitemap.xml?part=0")
		if !slices.Contains(forums, "/") || !slices.Contains(forums, at("/forums/%d-public 2026-01-01T00:05:30Z", public)) || !slices.Contains(forums, at("/forums/%d-root", root)) ||
			!slices.Contains(forums, at("/forums/%d-tickets", tickets)) || strings.Contains(fmt.Sprint(forums), "members") || strings.Contains(fmt.Sprint(forums), "link") {
			t.Errorf("the forums are %q", forums)
		}
		for _, part := range []string{"-1", "2", "x", "99999999999999999999", ""} {
			s.guest().Get("/sitemap.xml?part=" + part).Want(404)
		}

		// More threads than one read returns, and one in the next part.
		for i := range 1002 {
			s.exec(at("INSERT INTO board_threads (id, forum_id, title, slug, author_name, visibility, last_poster_name, created_at, last_post_at) VALUES (%d, %d, 'x', 'x', 'x', 0, 'x', 1, 1767225600000000)", 48_000+i, public))
			threads = append(threads, at("/threads/%d-x 2026-01-01T00:00:00Z", 48_000+i))
		}
		s.exec(at("INSERT INTO board_threads (id, forum_id, title, slug, author_name, visibility, last_poster_name, created_at, last_post_at) VALUES (50001, %d, 'x', '', 'x', 0, 'x', 1, 1767225600000000)", public))
		want("/sitemap.xml", parts(2))
		want("/sitemap.xml?part=1", threads)
		want("/sitemap.xml?part=2", []string{"/threads/50001 2026-01-01T00:00:00Z"})

		// If guests cannot read anything there is no sitemap.
		s.exec("DELETE FROM board_forum_overrides")
		s.exec("UPDATE board_groups SET allow_mask = 0 WHERE kind = 'guest'")
		s.exec("UPDATE board_permission_version SET version = version + 1")
		s.as("ada").Get("/sitemap.xml").Want(404)
		s.as("ada").Get("/sitemap.xml?part=1").Want(404)
		s.as("ada").Get("/robots.txt").Want(200, "Disallow: /\n").Lacks("Sitemap").Lacks("/login")
	})
}

// TestCanonical checks that a page has one address for search engines, and that a later page of a list has its own.
func TestCanonical(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), web.Options{BaseURL: "https://forum.example.com"})
	b, forum, thread := s.guest(), s.forum("public"), s.thread("Open thread")
	for range web.ThreadsPerPage {
		s.exec(at("INSERT INTO board_threads (forum_id, title, slug, author_name, visibility, last_poster_name, created_at, last_post_at) VALUES (%d, 'x', 'x', 'x', 0, 'x', 1, 2)", forum))
	}
	canonical := func(path string) string {
		p := b.Get(path).Want(200)
		_, after, _ := strings.Cut(p.Text, `<link rel="canonical" href="`)
		place, _, _ := strings.Cut(after, `"`)
		return place
	}
	older := regexp.MustCompile(`/forums/[^"?]*\?after=[^"]+`).FindString(b.Get(at("/forums/%d", forum)).Text)
	if older == "" {
		t.Fatal("there is one page of threads")
	}
	for path, want := range map[string]string{
		"/":                               "/",
		at("/forums/%d", forum):           at("/forums/%d-public", forum),
		older:                             at("/forums/%d-public", forum) + older[strings.Index(older, "?"):],
		at("/threads/%d-renamed", thread): at("/threads/%d-open-thread", thread),
		at("/threads/%d?after=1", thread): at("/threads/%d-open-thread?after=1", thread),
		"/search?q=common":                "",
		"/login":                          "",
	} {
		if want != "" {
			want = "https://forum.example.com" + want
		}
		if got := canonical(path); got != want {
			t.Errorf("%s is known as %q, want %q", path, got, want)
		}
	}
}
