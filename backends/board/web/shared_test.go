package web_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// structured returns the JSON-LD of a page, or nil if it has none.
func structured(t *testing.T, page string) map[string]any {
	t.Helper()
	_, after, ok := strings.Cut(page, `<script type="application/ld+json">`)
	if !ok {
		return nil
	}
	text, _, _ := strings.Cut(after, "</script>")
	var value map[string]any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return value
}

// TestPageDescriptions checks that pages which guests see have descriptions and full addresses, and all others noindex.
func TestPageDescriptions(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"https://forum.example.com", "https://example.com/forum/", ""} {
		s := newSite(t, databases.SQLite(t), web.Options{BaseURL: base})
		if base = strings.TrimSuffix(base, "/"); base == "" {
			base = s.server.URL
		}
		guest, id := s.guest(), s.thread("Open thread")
		thread := at("/threads/%d", id)
		p := guest.Get(thread).Want(200, `<meta name="description" content="common first">`, `<meta property="og:title" content="Open thread">`,
			`<link rel="canonical" href="`+base+thread+`-open-thread">`, `<meta property="og:url" content="`+base+thread+`-open-thread">`).Lacks("noindex")
		data := structured(t, p.Text)
		author, _ := data["author"].(map[string]any)
		comments, _ := data["comment"].([]any)
		if data["@type"] != "DiscussionForumPosting" || data["headline"] != "Open thread" || data["text"] != "common first" || author["name"] != "bob" || len(comments) != 1 ||
			data["url"] != base+thread+"-open-thread" || data["datePublished"] != "2026-01-01T00:00:00.000Z" {
			t.Errorf("structured data %v", data)
		}
		if comment, _ := comments[0].(map[string]any); comment["@type"] != "Comment" || comment["text"] != "common second" || !strings.HasPrefix(comment["url"].(string), base+"/posts/") {
			t.Errorf("comment %v", comments[0])
		}
		guest.Get("/").Want(200, "og:title").Lacks("noindex")
		guest.Get(at("/forums/%d", s.forum("public"))).Want(200, "og:title").Lacks("noindex")
		for _, path := range []string{"/search?q=common", "/login", at("/members/%d", s.number("SELECT id FROM board_users WHERE username = 'bob'"))} {
			guest.Get(path).Want(200, `content="noindex"`).Lacks("og:")
		}
		// A moderator sees what guests do not, and gets no description of it.
		s.as("mod").Get(thread).Want(200, "secretheld", `content="noindex"`).Lacks("og:", "ld+json")
		s.as("eve").Get(at("/threads/%d", s.thread("secretmember thread"))).Want(200, `content="noindex"`).Lacks("og:")
	}
	s := newSite(t, databases.SQLite(t), web.Options{MembersOnly: true})
	s.guest().Get("/").Want(200, `content="noindex"`).Lacks("og:")
}

// TestStructuredIsSafe checks that no text of a member ends the element of the structured data.
func TestStructuredIsSafe(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), web.Options{})
	id := s.thread("Open thread")
	const evil = `</script><script>alert(1)</script><!--<script>]]>{{.}}" ' \u2028` + "\u2028"
	err := s.db.Write(t.Context(), func(c store.Conn) error {
		_, err := c.Exec("UPDATE board_threads SET title = ?, author_name = ? WHERE id = ?", evil, evil, id)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	p := s.guest().Get(at("/threads/%d", id)).Want(200)
	if n := strings.Count(p.Text, "<script"); n > strings.Count(s.guest().Get(at("/threads/%d", s.thread("Sticky thread"))).Text, "<script") {
		t.Errorf("the page has %d scripts", n)
	}
	if data := structured(t, p.Text); data["headline"] != evil {
		t.Errorf("the headline is %q", data["headline"])
	}
}

// TestExcerpt checks the bounds of excerpts.
func TestExcerpt(t *testing.T) {
	t.Parallel()
	for html, want := range map[string]string{
		"":                               "",
		"<p>one</p>\n<p>two</p>":         "one two",
		"<p>a &lt; b &amp; c</p>":        "a < b & c",
		strings.Repeat("<p>ä</p>", 5000): "",
		`<p>x</p><a href="` + strings.Repeat("long", 900) + `">y`: "x",
	} {
		got := web.Excerpt(html, 20)
		if utf8.RuneCountInString(got) > 21 || !utf8.ValidString(got) || want != "" && got != want {
			t.Errorf("%.40q gives %q", html, got)
		}
	}
}
