package web_test

import (
	"cmp"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/pages/pagestest"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

func rowInto(query string, n *int64) func(store.Conn) error {
	return func(c store.Conn) error { return c.Row(query).Scan(n) }
}

// TestJourney lets a person join, write, edit, search and leave.
func TestJourney(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		b := s.guest()
		p := b.Get("/register").Want(200)
		p = s.join(p, "username", "carol", "email", "not an address", "password", "short").Want(422, "at least 10", "not a mail address", `value="carol"`, `aria-invalid="true"`)
		p = s.join(p, "username", "carol", "email", "carol@example.com", "password", "a long password").Want(200, "on its way to carol@example.com", "carol")
		p = p.Get("/email?token="+s.mailed("carol", accounts.LinkJoin).Link.Secret).Want(200, "carol@example.com")
		p = p.Send("/email", "secret", p.Hidden("secret")).Want(200, "carol@example.com is confirmed", "Welcome!", "<h1>Board</h1>")
		p = p.Get(at("/forums/%d/new", s.forum("public"))).Want(200, "Question")
		p = p.Send(p.Where(), "title", "My *first* thread", "message", "Hello **all**", "subscribe", "1", "preview", "1").Want(200, "Preview", "<strong>all</strong>", `value="My *first* thread"`, "Hello **all**</textarea>")
		p = p.Send(p.Where(), "title", "x", "message", "Hello **all**").Want(422, "at least 3", "Hello **all**</textarea>")
		p = p.Send(p.Where(), "title", "My *first* thread", "message", "Hello **all**", "subscribe", "1").Want(200, "<h1>My *first* thread</h1>", "<strong>all</strong>", "Stop following")
		id := s.thread("My *first* thread")
		p = p.Send(at("/threads/%d/reply", id), "message", "A quick answer", "preview", "1").Want(200, "Preview")
		p = p.Send(at("/threads/%d/reply", id), "message", "A quick answer").Want(200, "A quick answer", `id="post-2"`)
		if !strings.HasPrefix(p.Where(), at("/threads/%d-my-first-thread", id)) {
			t.Errorf("the answer leads to %s", p.Where())
		}
		post := s.post("A quick answer")
		p = p.Get(at("/threads/%d/reply?quote=%d", id, post)).Want(200, "&gt; **carol** wrote")
		p = p.Get(at("/threads/%d/posts/%d/edit", id, post)).Want(200, "A quick answer</textarea>")
		p = p.Send(p.Where(), "message", "", "reason", "why").Want(422, `value="why"`)
		p = p.Send(p.Where(), "message", "A better answer", "reason", "why").Want(200, "A better answer").Lacks("A quick answer")
		p.Get(at("/threads/%d/posts/%d/history", id, post)).Want(200, "<del>A quick answer", "<ins>A better answer")
		p.Get("/search?q=better").Want(200, at("/posts/%d", post))
		p.Get("/search?q=neverwritten").Want(200, "Nothing was found")
		p = p.Get(at("/threads/%d/posts/%d/delete", id, post)).Want(200)
		p = p.Send(p.Where()).Want(200, "The post is deleted").Lacks("A better answer")

		// Bob replies, and carol is notified.
		bob := s.as("bob")
		bob.Get(at("/threads/%d", id)).Send(at("/threads/%d/reply", id), "message", "Bob was here").Want(200)
		p = p.Get("/").Want(200, `1<span class="hidden"> new`)
		p = p.Get("/account/notifications").Want(200, "bob", "My *first* thread")
		p.Get(at("/threads/%d", id)).Want(200, "Bob was here")
		p = p.Get("/").Want(200).Lacks(`<span class="hidden"> new`) // everything is read
		p = p.Get("/account/notifications").Want(200).Lacks(`<span class="new">`)
		s.exec("UPDATE board_notifications SET read_at = NULL") // as if the post had been held until now
		p.Get(at("/threads/%d", id)).Want(200, "Bob was here")
		p = p.Get("/").Want(200).Lacks(`<span class="hidden"> new`)
		p = p.Get("/account/notifications").Want(200)
		p = p.Send("/account/notifications", "upTo", at("%d", s.number("SELECT max(id) FROM board_notifications"))).Want(200, "marked as read").Lacks(`<span class="new">`)
		p = p.Get(at("/threads/%d/unread", id)).Want(200, "Bob was here")
		p = p.Get("/account/subscriptions").Want(200, "My *first* thread")
		p = p.Send(at("/threads/%d/subscription", id), "mode", "daily", "list", "1").Want(200, `value="daily" selected`)
		p.Send(at("/threads/%d/subscription", id), "mode", "off", "list", "1").Want(200, "You do not follow any threads")

		p = p.Get("/account").Send("/account", "title", "Tester", "bio", "I <b>test</b>").Want(200, "Saved")
		p.Get(at("/members/%d", s.number("SELECT id FROM board_users WHERE username = 'carol'"))).Want(200, "Tester", "I &lt;b&gt;test&lt;/b&gt;")
		p = p.Get("/account").Send("/logout").Want(200, "signed out", "Sign in")
		p.Get("/account").Want(200, `<h1>Sign in</h1>`)
	})
}

// ownWords matches the texts in a file of what a member has.
var ownWords = regexp.MustCompile(`"message":"(?:[^"\\]|\\.)*"`)

// TestHiddenPages requests every page that needs no form as each kind of person, and looks for what that person must
// not see.
func TestHiddenPages(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		all := []string{"secretheld", "secretdeleted", "secretmember", "secretstaff", "secretticket"}
		pages := s.everyPage()
		for _, person := range []struct {
			name string
			sees []string
		}{
			{"", nil},
			{"eve", []string{"secretmember"}},
			{"bob", []string{"secretmember", "secretheld", "secretticket"}},
			{"mod", []string{"secretmember", "secretheld", "secretdeleted", "secretticket"}},
			{"ada", all},
		} {
			t.Run(cmp.Or(person.name, "guest"), func(t *testing.T) {
				t.Parallel()
				b := s.in(t).as(person.name)
				seen := make(map[string]bool)
				for _, page := range pages {
					p := b.Get(page)
					if p.StatusCode >= 500 {
						t.Errorf("%s: %d", page, p.StatusCode)
					}
					if strings.HasPrefix(page, "/search") {
						continue // the page shows the query
					}
					text := p.Text
					if page == "/account/data" { // it has the member's own words, wherever they are now
						text = ownWords.ReplaceAllString(text, "")
					}
					for _, secret := range all {
						if strings.Contains(text, secret) {
							seen[secret] = true
							if !slices.Contains(person.sees, secret) {
								t.Errorf("sees %s on %s", secret, page)
							}
						}
					}
				}
				for _, secret := range person.sees {
					if !seen[secret] {
						t.Errorf("does not see %s anywhere", secret)
					}
				}
				if found := b.Get("/search?q=common").Text; person.name == "" && strings.Contains(found, "secret") {
					t.Errorf("finds what is hidden:\n%s", found)
				}
			})
		}
	})
}

// everyPage returns the GET routes with every id that exists, and one that does not.
func (s *site) everyPage() (list []string) {
	s.t.Helper()
	ids := func(table string) (all []string) {
		for id := int64(1); id <= s.number("SELECT max(id) FROM "+table)+1; id++ {
			all = append(all, itoa(id))
		}
		return all
	}
	replacements := map[string][]string{
		"{forumId}": ids("board_forums"), "{threadId}": ids("board_threads"), "{postId}": ids("board_post_ids"), "{userId}": ids("board_users"),
		"{$}": {""}, "{file}": {"board.css"},
	}
	pairs := s.postsByThread()
	wildcard := regexp.MustCompile(`\{[^}]+\}`)
	for _, rt := range web.AllRoutes {
		if rt.Method != http.MethodGet || rt.Path == "/feed.atom" {
			continue
		}
		pages := []string{rt.Path}
		if before, after, ok := strings.Cut(rt.Path, "/threads/{threadId}/posts/{postId}"); ok {
			pages = make([]string, 0, len(pairs))
			for _, pair := range pairs {
				pages = append(pages, before+pair+after)
			}
		}
		for wildcard.MatchString(pages[0]) {
			name := wildcard.FindString(pages[0])
			values := replacements[name]
			if values == nil {
				values = []string{"1", "2", "3"}
			}
			next := make([]string, 0, len(pages)*len(values))
			for _, page := range pages {
				for _, value := range values {
					next = append(next, strings.Replace(page, name, value, 1))
				}
			}
			pages = next
		}
		list = append(list, pages...)
	}
	return append(list, "/feed.atom", "/sitemap.xml?part=0", "/sitemap.xml?part=1", "/search?q=secretstaff", "/threads/1?after=1", "/threads/1?post=3", "/threads/1/reply?quote=3")
}

// postsByThread returns the paths of all posts, and of one that is not in its thread.
func (s *site) postsByThread() []string {
	s.t.Helper()
	paths := []string{"/threads/1/posts/5"}
	err := s.db.Read(s.t.Context(), func(c store.Conn) error {
		rows, err := c.Rows("SELECT thread_id, id FROM board_posts")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var thread, post int64
			if err := rows.Scan(&thread, &post); err != nil {
				return err
			}
			paths = append(paths, at("/threads/%d/posts/%d", thread, post))
		}
		return rows.Err()
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return paths
}

// TestFeeds checks that a feed contains what guests see, whoever asks.
func TestFeeds(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), web.Options{})
	for _, name := range []string{"", "ada"} {
		b := s.as(name)
		p := b.Get("/feed.atom").Want(200, "Open thread", "common first", "<feed xmlns").Lacks("secret")
		if kind := p.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/atom+xml") {
			t.Errorf("type %s", kind)
		}
		tag := p.Header.Get("ETag")
		if p := b.Do(http.MethodGet, "/feed.atom", "", "If-None-Match", `"other", W/`+tag).Want(304); p.Text != "" || tag == "" || p.Header.Get("ETag") != tag {
			t.Errorf("the feed with the tag %s is not the same as before: %s", tag, p.Text)
		}
		b.Do(http.MethodGet, "/feed.atom", "", "If-None-Match", `"other"`).Want(200, "Open thread")
		b.Get(at("/forums/%d/feed.atom", s.forum("public"))).Want(200, "Open thread").Lacks("secret")
		b.Get(at("/forums/%d/feed.atom", s.forum("members"))).Want(404)
	}
}

// TestScripts sends the corpus through every form and looks in every page for what a browser would execute.
func TestScripts(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), web.Options{})
	ada, public := s.as("ada"), s.forum("public")
	inParts(s, testenv.Scripts(), func(s *site, lines []string) {
		b := &browser{s, ada.In(s.t)}
		p := b.Get("/account")
		for _, line := range lines {
			title := string([]rune(line)[:min(len([]rune(line)), 110)])
			inert(p.Send(at("/forums/%d/new", public), "title", title, "message", line, "preview", "1"))
			inert(p.Send(at("/forums/%d/new", public), "title", title+" words", "message", line+" words").Want(200))
			inert(p.Send("/account", "title", title[:min(len(title), 60)], "bio", line))
			inert(p.Send("/account", "title", strings.Repeat(title, 20), "bio", line))
			inert(p.Send("/posts/1/report", "reason", line))
			inert(s.join(p, "username", line, "email", line, "password", line))
			inert(p.Send("/account/tokens", "name", line, "scope", line, "days", "1", "password", line))
			inert(p.Send("/threads/1/posts/2/edit", "message", line, "reason", line+line, "preview", "1"))
			inert(b.Do(http.MethodGet, "/search?"+values("q", line, "author", line), ""))
			inert(b.Do(http.MethodGet, "/login?"+values("next", line), ""))
			inert(s.guest().Get("/login").Send("/login", "name", line, "password", line, "next", line))
			inert(p.Get("/"))
			inert(p.Get(at("/forums/%d", public)))
		}
	})
	inParts(s, s.everyPage(), func(s *site, pages []string) {
		b := &browser{s, ada.In(s.t)}
		for _, page := range pages {
			inert(b.Get(page))
		}
	})
}

// dangers are elements and attributes that could run something.
var dangers = regexp.MustCompile(`(?i)<(script|iframe|object|embed|svg|math|style|base|video|audio|source|noscript|template)\b|<[a-z][^<>]*\s(on[a-z]+|style|srcdoc|formaction|http-equiv)\s*=`)

// unquoted removes the values of attributes from a page and passes each on with its name. html/template quotes all
// of them.
func unquoted(page string, attribute func(name, value string)) string {
	var rest strings.Builder
	for {
		before, behind, found := strings.Cut(page, `="`)
		value, after, closed := strings.Cut(behind, `"`)
		if !found || !closed {
			rest.WriteString(page)
			return rest.String()
		}
		name := before[strings.LastIndexFunc(before, func(r rune) bool { return r != '-' && (r < 'a' || r > 'z') })+1:]
		if start := len(before) - len(name); name == "" || start == 0 || !strings.ContainsRune(" \t\n\f\r", rune(before[start-1])) {
			rest.WriteString(before + `="`) // not an attribute, but one may follow
			page = behind
			continue
		}
		attribute(name, value)
		rest.WriteString(before + `=""`)
		page = after
	}
}

// ourScripts are what every page loads, and pages with a form for a text.
var ourScripts = regexp.MustCompile(`<script type="module" src="/assets/(?:look|compose)\.js\?v=[0-9a-f]{24}"></script>`)

// inert fails if a page has something that a browser could execute, or an address that is not safe to follow.
func inert(p *pagestest.Page) {
	p.T.Helper()
	if policy := p.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") {
		p.T.Errorf("%s has the policy %q", p.Where(), policy)
	}
	if !strings.HasPrefix(p.Header.Get("Content-Type"), "text/html") {
		return
	}
	rest := unquoted(ourScripts.ReplaceAllString(p.Text, ""), func(name, value string) {
		if name != "href" && name != "src" && name != "action" {
			return
		}
		value = html.UnescapeString(value)
		u, err := url.Parse(strings.TrimSpace(value))
		if err != nil || !slices.Contains([]string{"", "http", "https", "mailto"}, u.Scheme) || name == "action" && (u.Host != "" || u.Path == "") {
			p.T.Errorf("%s has the address %s=%q", p.Where(), name, value)
		}
	})
	if found := dangers.FindString(rest); found != "" {
		p.T.Errorf("%s has %q", p.Where(), found)
	}
}

// TestPaging walks through a long thread and a long forum by their links, and finds a post by its own link.
func TestPaging(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), web.Options{})
	bob, err := s.service.Rights.Member(t.Context(), s.number("SELECT id FROM board_users WHERE username = 'bob'"))
	if err != nil {
		t.Fatal(err)
	}
	const posts = 61
	thread := s.start(bob, "Long", posts)
	b := s.guest()
	next := regexp.MustCompile(`rel="next" href="([^"]+)"`)
	number := regexp.MustCompile(`id="post-(\d+)"`)
	seen := 0
	page := at("/threads/%d", thread)
	pages := 0
	for page != "" {
		p := b.Get(page).Want(200)
		for _, match := range number.FindAllStringSubmatch(p.Text, -1) {
			if seen++; match[1] != at("%d", seen) {
				t.Fatalf("post %s comes as number %d", match[1], seen)
			}
		}
		page = ""
		if match := next.FindStringSubmatch(p.Text); match != nil {
			page = strings.ReplaceAll(match[1], "&amp;", "&")
		}
		pages++
	}
	if seen != posts || pages != 3 {
		t.Errorf("%d posts on %d pages", seen, pages)
	}
	id := s.post("line 30")
	if p := b.Get(at("/threads/%d?post=%d", thread, id)).Want(200, `id="post-30"`, `id="post-26"`, `id="post-50"`).Lacks(`id="post-25"`, `id="post-51"`); !strings.Contains(p.Where(), "page=2") {
		t.Errorf("the post is on %s", p.Where())
	}
	b.Get(at("/threads/%d/last", thread)).Want(200, `id="post-61"`, `id="post-51"`, `rel="prev"`).Lacks(`id="post-50"`)

	// The first unread post, after one page was read.
	eve := s.as("eve")
	eve.Get(at("/threads/%d", thread))
	eve.Get(at("/threads/%d/unread", thread)).Want(200, `id="post-26"`).Lacks(`id="post-25"`)

	// The first unread post of a member who has marked the forum as read, and of one who was away for long.
	ada := s.as("ada")
	ada.Get(at("/threads/%d/unread", thread)).Want(200, `id="post-1"`)
	s.exec("DELETE FROM board_thread_reads")
	s.clock.advance(time.Second)
	ada.Get("/").Send("/read").Want(200)
	ada.Get(at("/threads/%d/unread", thread)).Want(200, `id="post-61"`).Lacks(`id="post-50"`)
	s.clock.advance(time.Second)
	s.reply(bob, thread, "since then")
	s.exec("DELETE FROM board_thread_reads")
	if p := ada.Get(at("/threads/%d/unread", thread)).Want(200, "since then"); p.Request.URL.Fragment != "post-62" {
		t.Errorf("the first new post is %s", p.Request.URL)
	}

	for i := range 40 {
		s.start(bob, at("Filler %d", i), 1)
	}
	forum := at("/forums/%d", s.forum("public"))
	p := b.Get(forum).Want(200, "Filler 39", `id="sticky"`).Lacks(">Filler 5<")
	match := next.FindStringSubmatch(p.Text)
	if match == nil {
		t.Fatal("there is no older page")
	}
	b.Get(strings.ReplaceAll(match[1], "&amp;", "&")).Want(200, "Filler 5<", "Open thread", "Newest").Lacks("Filler 39")
	b.Get(forum + "?after=broken").Want(400)
	eve.Get(forum).Want(200, `class="new"`)

	// The unread threads of all forums are listed page by page.
	all := eve.Get("/new").Want(200, "<h1>What is new</h1>", "Filler 39", ", in <a href=\"/forums/", `class="new"`, "Mark all as read").Lacks(">Filler 5<", "Threads you follow")
	older := next.FindStringSubmatch(all.Text)
	if older == nil {
		t.Fatal("there is no older page of unread threads")
	}
	eve.Get(strings.ReplaceAll(older[1], "&amp;", "&")).Want(200, "Filler 5<").Lacks("Filler 39")
	eve.Get("/new?after=broken").Want(400)
	s.as("bob").Get("/new").Want(200, "What is new")
	s.guest().Get("/new").Want(200, "Sign in")
	eve.Get("/").Send(at("/forums/%d/read", s.forum("public"))).Want(200).Lacks(`class="new"`)
}

// TestPlaceOfHeld checks that the page of a post takes into account the member's own held posts before it, as the
// pages of a thread do.
func TestPlaceOfHeld(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		bob, err := s.service.Rights.Member(t.Context(), s.number("SELECT id FROM board_users WHERE username = 'bob'"))
		if err != nil {
			t.Fatal(err)
		}
		thread := s.start(bob, "Long", 48)
		s.exec("UPDATE board_users SET moderated = 1 WHERE username = 'eve'")
		eve := s.as("eve")
		p := eve.Get(at("/threads/%d", thread)).Send(at("/threads/%d/reply", thread), "message", "held one").Want(200, `id="post-49"`)
		p.Send(at("/threads/%d/reply", thread), "message", "held two").Want(200, "held two", `id="post-50"`, `id="post-26"`).Lacks(`id="post-25"`)
		eve.Get(at("/threads/%d?after=%d", thread, s.post("held two"))).Want(200, `id="post-48"`)
	})
}

// start makes a thread with its posts.
func (s *site) start(a *rights.Actor, title string, list int) int64 {
	s.t.Helper()
	done, err := s.service.Posts.StartThread(s.t.Context(), a, s.forum("public"), posts.NewThread{Title: title, Message: "line 1 of " + title}, posts.Once{})
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 2; i <= list; i++ {
		s.reply(a, done.Thread, at("line %d", i))
	}
	return done.Thread
}

func (s *site) reply(a *rights.Actor, thread int64, message string) {
	s.t.Helper()
	if _, err := s.service.Posts.Reply(s.t.Context(), a, thread, posts.NewReply{Message: message}, posts.Once{}); err != nil {
		s.t.Fatal(err)
	}
}

// values returns the parameters of an address.
func values(pairs ...string) string {
	v := make(url.Values)
	for i := 0; i+1 < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return v.Encode()
}
