package board

import (
	"fmt"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/accounts"
	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

func TestContract(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{BaseURL: "https://forum.example.com"})
		public := s.forum("public")

		me := data[api.Identity](s.do("alice", "GET", "/me", "").want(200))
		if me.Username != "alice" || len(me.Scopes) != 6 || me.TokenName != "alice" || me.ExpiresAt == nil || me.ExpiresAt.String() != "2026-04-02T03:04:05.000Z" || len(me.Groups) != 1 {
			t.Errorf("me: %+v", me)
		}

		forums := data[[]content.ForumInfo](s.do("", "GET", "/forums", "").want(200))
		order := make([]string, 0, len(forums))
		for _, f := range forums {
			order = append(order, f.Slug)
		}
		if got := strings.Join(order, " "); got != "general discussion root public tickets held closed prefixed wordy link" {
			t.Errorf("forums of the guest: %s", got)
		}

		resp := data[api.Created](s.do("alice", "POST", path("/forums/%d/threads", public), `{"title":"  Größe: Łódź & Co  ","message":"Hello *world*","subscribe":true}`).want(201))
		if resp.Slug != "grosse-lodz-co" || resp.Visibility != "visible" {
			t.Errorf("created: %+v", resp)
		}
		s.clock.advance(time.Minute)
		a := s.do("bob", "POST", path("/threads/%d/posts", resp.ID), `{"message":"A reply"}`).want(201)
		reply := data[api.Replied](a)
		if want := path("https://forum.example.com/api/v1/threads/%d/posts/%d", resp.ID, reply.ID); a.header.Get("Location") != want {
			t.Errorf("location %q, want %q", a.header.Get("Location"), want)
		}
		for header, want := range map[string]string{"Content-Type": api.JsonType, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Vary": "Authorization"} {
			if got := a.header.Get(header); got != want {
				t.Errorf("%s: %q, want %q", header, got, want)
			}
		}

		thread := data[content.ThreadInfo](s.do("alice", "GET", path("/threads/%d", resp.ID), "").want(200))
		if thread.ReplyCount != 1 || thread.LastPostID != reply.ID || thread.LastPosterUsername != "bob" || !*thread.IsSubscribed || !*thread.Unread {
			t.Errorf("thread: %+v", thread)
		}
		s.do("alice", "POST", path("/threads/%d/read", resp.ID), path(`{"postId":%d}`, reply.ID)).want(200)
		if thread = data[content.ThreadInfo](s.do("alice", "GET", path("/threads/%d", resp.ID), "")); *thread.Unread {
			t.Error("a read thread is unread")
		}
		if thread = data[content.ThreadInfo](s.do("", "GET", path("/threads/%d", resp.ID), "")); thread.IsSubscribed != nil || thread.Unread != nil {
			t.Errorf("the guest's thread: %+v", thread)
		}
		if notifications := data[[]api.NotificationInfo](s.do("alice", "GET", "/notifications", "").want(200)); len(notifications) != 1 || notifications[0].PostID != reply.ID {
			t.Errorf("notifications: %+v", notifications)
		}

		list := data[[]content.PostInfo](s.do("", "GET", path("/threads/%d/posts", resp.ID), "").want(200))
		if len(list) != 2 || list[0].Number != 1 || list[1].Number != 2 || list[0].MessageHTML != "<p>Hello <em>world</em></p>\n" {
			t.Errorf("posts: %+v", list)
		}

		edit := path("/threads/%d/posts/%d", resp.ID, reply.ID)
		same := data[api.Edited](s.do("bob", "PATCH", edit, `{"message":"  A reply "}`).want(200))
		if same.Changed {
			t.Error("the same text counts as a change")
		}
		s.clock.advance(time.Hour)
		if e := data[api.Edited](s.do("bob", "PATCH", edit, `{"message":"Better","reason":"typo"}`).want(200)); !e.Changed || e.HeldForApproval {
			t.Errorf("edit: %+v", e)
		}
		p := data[content.PostInfo](s.do("", "GET", edit, "").want(200))
		if p.Message != "Better" || p.EditCount != 1 || p.EditReason == nil || *p.EditReason != "typo" || *p.EditedByUsername != "bob" {
			t.Errorf("edited post: %+v", p)
		}
		if r := data[[]api.RevisionInfo](s.do("bob", "GET", edit+"/revisions", "").want(200)); len(r) != 1 || r[0].Message != "A reply" {
			t.Errorf("revisions: %+v", r)
		}
		s.do("alice", "GET", edit+"/revisions", "").want(403, "forbidden")
		s.clock.advance(25 * time.Hour)
		s.do("bob", "PATCH", edit, `{"message":"Too late"}`).want(403, "forbidden", "edit_window_closed")
		s.do("mod", "PATCH", edit, `{"message":"By a moderator"}`).want(200)
		s.exact()
	})
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		public := path("/forums/%d/threads", s.forum("public"))
		thread := path("/threads/%d", s.threadOf("Public thread"))
		good := `{"title":"A title","message":"A message"}`
		for i, test := range []struct {
			as, method, path, body string
			status                 int
			codes                  []string
		}{
			{"", "GET", "/nothing", "", 404, []string{"no_such_route"}},
			{"", "DELETE", "/forums", "", 405, []string{"method_not_allowed"}},
			{"", "GET", "/me", "", 401, []string{"unauthenticated"}},
			{"", "POST", public, good, 401, []string{"unauthenticated"}},
			{"brd_pat_bad", "GET", "/forums", "", 401, []string{"unauthenticated"}},
			{"narrow", "GET", thread, "", 403, []string{"missing_scope"}},
			{"narrow", "GET", "/me", "", 403, []string{"missing_scope"}},
			{"narrow", "GET", "/forums", "", 200, nil},
			{"banned", "GET", "/forums", "", 403, []string{"owner_unavailable"}},
			{"awaiting", "GET", "/forums", "", 403, []string{"owner_unavailable"}},
			{"alice", "POST", public, "", 400, []string{"invalid_body", "missing"}},
			{"alice", "POST", public, "{", 400, []string{"invalid_body", "syntax"}},
			{"alice", "POST", public, "[]", 400, []string{"invalid_body", "not_an_object"}},
			{"alice", "POST", public, "null", 400, []string{"invalid_body", "not_an_object"}},
			{"alice", "POST", public, good + "{}", 400, []string{"invalid_body", "trailing"}},
			{"alice", "POST", public, `{"title":"A","title":"B","message":"x"}`, 400, []string{"invalid_body", "duplicate"}},
			{"alice", "POST", public, `{"Title":"A title","title":"A title","message":"A message"}`, 400, []string{"invalid_body", "unknown"}},
			{"alice", "POST", public, `{"title":"A title"}`, 400, []string{"invalid_body", "required"}},
			{"alice", "POST", public, `{"title":1,"message":"A message"}`, 400, []string{"invalid_body", "type"}},
			{"alice", "POST", public, `{"title":null,"message":"A message"}`, 400, []string{"invalid_body", "type"}},
			{"alice", "POST", public, `{"title":"A title","message":"` + "\xff" + `"}`, 400, []string{"invalid_body", "encoding"}},
			{"alice", "POST", public, `{"title":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`, 400, []string{"invalid_body", "nesting"}},
			{"alice", "POST", public, `{"title":"A title","message":"` + strings.Repeat("x", int(kernel.Objects.MaxBytes)) + `"}`, 413, []string{"payload_too_large"}},
			{"alice", "POST", public, `{"title":"ab","message":"A message"}`, 422, []string{"validation_failed", "too_short"}},
			{"alice", "POST", public, `{"title":"` + strings.Repeat("a", 121) + `","message":"A message"}`, 422, []string{"validation_failed", "too_long"}},
			{"alice", "POST", public, `{"title":"a\nb title","message":"A message"}`, 422, []string{"validation_failed", "control_character"}},
			{"alice", "POST", public, `{"title":"!!! ???","message":"A message"}`, 422, []string{"validation_failed", "no_words"}},
			{"alice", "POST", public, `{"title":"A title","message":"A\u0000b"}`, 422, []string{"validation_failed", "control_character"}},
			{"alice", "POST", public, `{"title":"A title","message":"*** ---"}`, 422, []string{"validation_failed", "too_few_words"}},
			{"alice", "POST", public, `{"title":"A title","message":"` + strings.Repeat("a", 30001) + `"}`, 422, []string{"validation_failed", "too_long"}},
			{"alice", "POST", public, `{"title":"A title","message":"` + strings.Repeat("a ", 5001) + `"}`, 422, []string{"validation_failed", "too_many_words"}},
			{"alice", "POST", public, `{"title":"A title","message":"A message","prefixId":999}`, 422, []string{"validation_failed", "unknown"}},
			{"alice", "POST", path("/forums/%d/threads", s.forum("prefixed")), good, 422, []string{"validation_failed", "required"}},
			{"alice", "POST", path("/forums/%d/threads", s.forum("wordy")), good, 422, []string{"validation_failed", "too_few_words"}},
			{"alice", "POST", path("/forums/%d/threads", s.forum("closed")), good, 403, []string{"forbidden", "forum_closed"}},
			{"alice", "POST", path("/forums/%d/threads", s.forum("root")), good, 403, []string{"forbidden", "not_a_forum"}},
			{"alice", "GET", path("/forums/%d/threads", s.forum("link")), "", 404, []string{"not_found"}},
			{"alice", "POST", path("/forums/%d/threads", s.forum("staff")), good, 404, []string{"not_found"}},
			{"alice", "POST", path("/threads/%d/posts", s.threadOf("Locked thread")), `{"message":"A message"}`, 403, []string{"forbidden", "thread_locked"}},
			{"alice", "PATCH", path("%s/posts/%d", thread, s.postOf("public second")), `{"message":"Mine now"}`, 403, []string{"forbidden", "no_permission"}},
			{"alice", "PATCH", path("/threads/%d/posts/%d", s.threadOf("Locked thread"), s.postOf("public first")), `{"message":"Other thread"}`, 404, []string{"not_found"}},
			{"", "GET", public + "?limit=0", "", 400, []string{"bad_request"}},
			{"", "GET", public + "?limit=x", "", 400, []string{"bad_request"}},
			{"", "GET", public + "?limit=1&limit=2", "", 400, []string{"bad_request"}},
			{"", "GET", public + "?limit=99999999999999999999", "", 200, nil},
			{"", "GET", public + "?unknown=1&unknown=2", "", 200, nil},
			{"", "GET", public + "?after=abc", "", 400, []string{"bad_request"}},
			{"", "GET", thread + "/posts?after=-1", "", 400, []string{"bad_request"}},
			{"", "GET", thread + "/posts?after=999999", "", 200, nil},
			{"", "GET", "/threads/x", "", 404, []string{"not_found"}},
			{"", "GET", "/threads/0", "", 404, []string{"not_found"}},
			{"", "GET", "/threads/-1", "", 404, []string{"not_found"}},
			{"", "GET", "/threads/99999999999999999999", "", 404, []string{"not_found"}},
			{"", "GET", "/search?q=", "", 400, []string{"bad_request"}},
			{"alice", "GET", "/moderation/queue", "", 403, []string{"forbidden"}},
		} {
			t.Logf("%d: %s %s %s", i, test.as, test.method, test.path)
			s.do(test.as, test.method, test.path, test.body).want(test.status, test.codes...)
			s.clock.advance(time.Minute)
		}
		r := httptest.NewRequest("POST", kernel.Mount+public, strings.NewReader("title=x"))
		r.Header.Set("Authorization", "Bearer "+s.tokens["alice"])
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		s.send(r).want(400, "invalid_body", "content_type")
		s.exact()
	})
}

func TestCursorsBelongToTheirForum(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		public := path("/forums/%d/threads", s.forum("public"))
		for i := range 30 {
			s.clock.advance(time.Second)
			s.do("alice", "POST", public, path(`{"title":"Thread %d","message":"Message %d"}`, i, i)).want(201)
		}
		seen := make(map[int64]bool)
		after, last := "", kernel.Moment(0)
		for pages := 0; ; pages++ {
			var page threadPage
			s.do("bob", "GET", public+"?limit=7"+after, "").want(200).into(&page)
			for _, thread := range page.Data {
				if seen[thread.ID] {
					t.Errorf("thread %d twice", thread.ID)
				}
				if last != 0 && thread.LastPostAt > last {
					t.Errorf("thread %d is newer than the one before", thread.ID)
				}
				seen[thread.ID], last = true, thread.LastPostAt
			}
			if page.NextCursor == nil {
				break
			}
			after = "&after=" + *page.NextCursor
			if pages == 0 {
				s.do("bob", "GET", path("/forums/%d/threads?after=%s", s.forum("held"), *page.NextCursor), "").want(400, "bad_request")
				s.do("bob", "GET", public+"?after=A"+(*page.NextCursor)[1:], "").want(200)
				s.do("bob", "GET", public+"?after="+(*page.NextCursor)[:40]+"AAAAA", "").want(400, "bad_request")
			}
		}
		if len(seen) != 33 { // the 30, two visible threads of the fixture, and bob's own held thread
			t.Errorf("%d threads, want 33", len(seen))
		}
	})
}

func TestParallelReplies(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		const writers = 200
		s.exec("UPDATE board_users SET post_count = 10")
		thread := s.threadOf("Members thread")
		var wait sync.WaitGroup
		var mu sync.Mutex
		statuses := make(map[string]map[int]int)
		for i := range writers {
			user := []string{"mod", "alice"}[i%2]
			wait.Go(func() {
				w := httptest.NewRecorder()
				r := httptest.NewRequest("POST", path("%s/threads/%d/posts", kernel.Mount, thread), strings.NewReader(fmt.Sprintf(`{"message":"parallel %d"}`, i)))
				r.Header.Set("Authorization", "Bearer "+s.tokens[user])
				s.ServeHTTP(w, r)
				mu.Lock()
				defer mu.Unlock()
				if statuses[user] == nil {
					statuses[user] = make(map[int]int)
				}
				statuses[user][w.Code]++
			})
		}
		wait.Wait()
		// The flood control does not limit a moderator; a member has a bucket of 5.
		if got := statuses["mod"]; got[201] != writers/2 {
			t.Errorf("mod: %v", got)
		}
		if got := statuses["alice"]; got[201] != 5 || got[429] != writers/2-5 {
			t.Errorf("alice: %v", got)
		}
		if n := s.number("SELECT reply_count FROM board_threads WHERE id = ?", thread); n != writers/2+5+1 {
			t.Errorf("reply_count %d", n)
		}
		if n := s.number(`SELECT count(*) FROM board_posts a JOIN board_posts b ON a.thread_id = b.thread_id AND a.id < b.id AND a.number >= b.number WHERE a.thread_id = ?`, thread); n != 0 {
			t.Errorf("%d pairs of numbers against the order of ids", n)
		}
		s.exact()
	})
}

func TestFlood(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		thread := path("/threads/%d/posts", s.threadOf("Public thread"))
		reply := func(user string, i int) *answer { return s.do(user, "POST", thread, path(`{"message":"flood %d"}`, i)) }
		for i := range 5 {
			reply("alice", i).want(201)
		}
		reply("alice", 5).want(429, "flood_limited")
		s.clock.advance(15 * time.Second)
		reply("alice", 6).want(201)
		reply("alice", 7).want(429, "flood_limited")
		s.do("alice", "POST", thread, `{"message":"flood 6"}`).want(422, "validation_failed", "duplicate") // checked before the flood control
		reply("newbie", 0).want(201)
		reply("newbie", 1).want(201)
		reply("newbie", 2).want(429, "flood_limited")
		s.clock.advance(15 * time.Second)
		s.do("alice", "POST", thread, `{"message":"flood 6"}`).want(422, "validation_failed", "duplicate")
		reply("alice", 8).want(201) // refused posts have taken no tokens
	})
}

// TestFloodOfForum checks that a forum with its own flood time has its own buckets: a post in a slow forum does not
// keep its author from posting in others.
func TestFloodOfForum(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		s.exec("UPDATE board_forums SET flood_seconds = 600 WHERE slug IN ('members', 'tickets')")
		slow, other := path("/threads/%d/posts", s.threadOf("Members thread")), path("/threads/%d/posts", s.threadOf("Alice ticket"))
		usual := path("/threads/%d/posts", s.threadOf("Public thread"))
		count := 0
		reply := func(thread string) *answer {
			count++
			return s.do("alice", "POST", thread, path(`{"message":"flood %d"}`, count))
		}
		for range 5 {
			reply(slow).want(201)
		}
		reply(slow).want(429, "flood_limited")
		for range 5 {
			reply(usual).want(201)
		}
		reply(usual).want(429, "flood_limited")
		reply(other).want(201)
		s.clock.advance(15 * time.Second)
		reply(usual).want(201)
		reply(slow).want(429, "flood_limited")
		s.clock.advance(585 * time.Second)
		reply(slow).want(201)
		reply(slow).want(429, "flood_limited")

		if n := s.number("SELECT count(*) FROM board_forum_floods"); n != 2 {
			t.Errorf("%d rows", n)
		}
		s.clock.advance(50*time.Minute - time.Second)
		must(t, purged(s))
		if n := s.number("SELECT count(*) FROM board_forum_floods"); n != 1 {
			t.Errorf("%d rows of a bucket that is full", n)
		}
		s.clock.advance(time.Second)
		must(t, purged(s))
		if n := s.number("SELECT count(*) FROM board_forum_floods"); n != 0 {
			t.Errorf("%d rows of buckets that are full", n)
		}
		reply(slow).want(201)
		must(t, s.service.Admin.DeleteMember(t.Context(), s.actor("admin"), s.user("alice")))
		if n := s.number("SELECT count(*) FROM board_forum_floods"); n != 0 {
			t.Errorf("%d rows of a member who is deleted", n)
		}
	})
}

func purged(s *site) error {
	_, err := s.service.Purge(s.t.Context())
	return err
}

func TestIdempotency(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		send := func(body, key string) *answer {
			r := httptest.NewRequest("POST", path("%s/forums/%d/threads", kernel.Mount, s.forum("public")), strings.NewReader(body))
			r.Header.Set("Authorization", "Bearer "+s.tokens["alice"])
			r.Header.Set("Idempotency-Key", key)
			return s.send(r)
		}
		first := send(`{"title":"Once only","message":"A message"}`, "k1").want(201)
		if second := send(`{"title":"Once only","message":"A message"}`, "k1").want(201); second.body != first.body {
			t.Errorf("replayed %s, want %s", second.body, first.body)
		}
		send(`{"title":"Another","message":"A message"}`, "k1").want(422, "validation_failed", "idempotency_mismatch")
		send(`{"title":"Another","message":"A message"}`, strings.Repeat("k", 65)).want(400, "bad_request")
		if n := s.number("SELECT count(*) FROM board_threads WHERE title = 'Once only'"); n != 1 {
			t.Errorf("%d threads", n)
		}
		s.clock.advance(25 * time.Hour)
		send(`{"title":"Another","message":"A message"}`, "k1").want(201)
	})
}

func TestModeration(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		held := data[api.Created](s.do("alice", "POST", path("/forums/%d/threads", s.forum("held")), `{"title":"Please approve","message":"Held message"}`).want(201))
		if held.Visibility != "unapproved" {
			t.Fatalf("created %+v", held)
		}
		thread := path("/threads/%d", held.ID)
		s.do("alice", "GET", thread, "").want(200)
		s.do("bob", "GET", thread, "").want(404)
		s.do("alice", "POST", thread+"/posts", `{"message":"My own reply"}`).want(201)
		s.do("bob", "POST", thread+"/posts", `{"message":"Not my thread"}`).want(404)

		queue := data[[]api.HeldInfo](s.do("mod", "GET", "/moderation/queue", "").want(200))
		if len(queue) != 4 { // two of the fixture, the thread, the reply
			t.Errorf("queue: %+v", queue)
		}
		s.do("alice", "POST", path("/moderation/queue/%d/approve", held.PostID), "").want(403, "forbidden")
		s.do("bob", "POST", path("/moderation/queue/%d/approve", held.PostID), "").want(404)
		s.do("mod", "POST", path("/moderation/queue/%d/approve", held.PostID), "").want(200)
		s.do("mod", "POST", path("/moderation/queue/%d/approve", held.PostID), "").want(409, "conflict")
		s.do("bob", "GET", thread, "").want(200)
		s.exact()
		second := s.postOf("My own reply")
		s.do("mod", "POST", path("/moderation/queue/%d/reject", second), `{"reason":"spam"}`).want(200)
		s.do("alice", "GET", path("%s/posts/%d", thread, second), "").want(404)
		s.do("mod", "POST", path("/posts/%d/restore", second), "").want(200)
		s.do("bob", "GET", path("%s/posts/%d", thread, second), "").want(200)
		s.exact()

		s.do("alice", "DELETE", path("%s/posts/%d", thread, held.PostID), "").want(403, "forbidden") // others have replied already
		if r := data[api.Removed](s.do("mod", "DELETE", path("%s/posts/%d", thread, held.PostID), "").want(200)); !r.Changed {
			t.Error("nothing deleted")
		}
		s.do("bob", "GET", thread, "").want(404)
		s.exact()
		s.do("mod", "POST", path("/posts/%d/restore", held.PostID), "").want(200)
		s.do("mod", "PATCH", thread, path(`{"forumId":%d,"isLocked":true,"isSticky":true,"title":"Moved"}`, s.forum("public"))).want(200)
		s.exact()
		s.do("alice", "PATCH", thread, `{"isLocked":false}`).want(403, "forbidden")
		if n := s.number("SELECT count(*) FROM board_moderation_log"); n < 7 {
			t.Errorf("%d lines in the log", n)
		}
		if r := s.do("watched", "POST", path("/threads/%d/posts", s.threadOf("Public thread")), `{"message":"I am watched"}`).want(201); !strings.Contains(r.body, "unapproved") {
			t.Errorf("a moderated member's post is %s", r.body)
		}
		if r := s.do("newbie", "POST", path("/threads/%d/posts", s.threadOf("Public thread")), `{"message":"http://a.b http://c.d http://e.f"}`).want(201); !strings.Contains(r.body, "unapproved") {
			t.Errorf("a new member's links are %s", r.body)
		}
		s.exact()
	})
}

func TestOffline(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		s.exec("INSERT INTO board_settings (name, value) VALUES ('offline', '1')")
		s.do("", "GET", "/forums", "").want(503, "board_offline")
		s.do("alice", "GET", "/forums", "").want(503, "board_offline")
		s.do("mod", "GET", "/forums", "").want(200)
		s.do("", "GET", "/openapi.json", "").want(200)
	})
}

func TestTokens(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		token, err := s.service.Accounts.IssueToken(t.Context(), accounts.TokenRequest{User: "bob", Name: "short", Scopes: []string{"members:read"}, Days: 1})
		if err != nil {
			t.Fatal(err)
		}
		s.do(token, "GET", "/me", "").want(200)
		wrong := token[:len(token)-2] + "AA"
		s.do(wrong, "GET", "/me", "").want(401)
		s.clock.advance(24 * time.Hour)
		s.do(token, "GET", "/me", "").want(401)
		s.do("alice", "GET", "/me", "").want(200)
		if err := s.service.Accounts.RevokeToken(t.Context(), s.tokens["alice"]); err != nil {
			t.Fatal(err)
		}
		s.do("alice", "GET", "/me", "").want(401)
		if n := s.number("SELECT count(*) FROM board_api_tokens WHERE secret_hash LIKE '%' || ? || '%'", token[len(accounts.TokenPrefix)+accounts.LookupSize+1:]); n != 0 {
			t.Error("a secret is stored")
		}
		if err := s.service.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := s.number("SELECT count(*) FROM board_api_tokens WHERE last_used_at IS NOT NULL"); n != 2 {
			t.Errorf("%d tokens were used", n)
		}
	})
}

// TestFlushWaits checks that Flush returns only after writes that an earlier Flush has begun are done, too.
func TestFlushWaits(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), kernel.Options{})
	begun, end := make(chan struct{}), make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		must(t, s.service.kernel.Write(t.Context(), func(store.Conn) error {
			close(begun)
			<-end
			return nil
		}))
	})
	<-begun
	s.do("alice", "GET", "/me", "").want(200) // only now, as the first run of the job could have written it
	work.Go(func() { must(t, s.service.Flush(t.Context())) })
	for s.service.shared.flushes.TryAcquire(1) { // wait until the Flush above has begun
		s.service.shared.flushes.Release(1)
		runtime.Gosched()
	}
	work.Go(func() {
		must(t, s.service.Flush(t.Context()))
		if n := s.number("SELECT count(*) FROM board_api_tokens WHERE last_used_at IS NOT NULL"); n != 1 {
			t.Errorf("%d tokens were used", n)
		}
	})
	close(end)
	work.Wait()
}

func TestWordFilters(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		s.exec("INSERT INTO board_word_filters (pattern, replacement, action) VALUES ('darn', 'd***', 'replace'), ('casino', '', 'hold')")
		resp := data[api.Created](s.do("alice", "POST", path("/forums/%d/threads", s.forum("public")), `{"title":"The Darn title","message":"A DARN message"}`).want(201))
		if resp.Slug != "the-d-title" || resp.Visibility != "visible" {
			t.Errorf("created %+v", resp)
		}
		p := data[content.PostInfo](s.do("alice", "GET", path("/threads/%d/posts/%d", resp.ID, resp.PostID), "").want(200))
		if p.Message != "A d*** message" || p.MessageHTML != "<p>A d*** message</p>\n" {
			t.Errorf("post %+v", p)
		}
		for _, body := range []string{`{"title":"Best Casino ever","message":"A message"}`, `{"title":"A title","message":"the casino"}`} {
			if held := data[api.Created](s.do("alice", "POST", path("/forums/%d/threads", s.forum("public")), body).want(201)); held.Visibility != "unapproved" {
				t.Errorf("%s: %+v", body, held)
			}
		}
		if free := data[api.Created](s.do("mod", "POST", path("/forums/%d/threads", s.forum("public")), `{"title":"A title","message":"the casino"}`).want(201)); free.Visibility != "visible" {
			t.Errorf("a moderator's: %+v", free)
		}
		s.exact()
	})
}
