package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestFormsWithForeignIDs checks that a form with ids of things that the sender does not see, or that belong to
// somebody else, changes and reveals nothing.
func TestFormsWithForeignIDs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		bob := s.as("bob")
		bob.Get("/account/tokens").Send("/account/tokens", "name", "mine", "scope", "posts:read", "days", "1", "password", "correct horse").Want(200)
		ada := s.as("ada") // bob may not edit these posts any more
		tickets := at("/threads/%d", s.thread("secretticket thread"))
		sendFile(ada.Get(tickets), at("%s/posts/%d/attachments", tickets, s.post("common secretticket")), ada.Get(tickets).Hidden("token"), "notes.txt", "secretticket notes").Want(200)
		own := s.post("common first")
		sendFile(ada.Get(tickets), at("/threads/%d/posts/%d/attachments", s.thread("Open thread"), own), ada.Get(tickets).Hidden("token"), "notes.txt", "some notes").Want(200)
		s.exec(at("INSERT INTO board_reports (post_id, forum_id, user_id, reason, created_at) VALUES (%d, %d, %d, 'secretstaff reason', 1)", s.post("common secretstaff"), s.forum("staff"), s.user("ada")))
		state := func() string {
			t.Helper()
			var all strings.Builder
			for _, query := range []string{
				"SELECT COALESCE(sum(id * (1 + visibility + 3 * is_sticky + 5 * is_locked + 7 * forum_id + 11 * length(title) + 13 * reply_count)), 0) FROM board_threads",
				"SELECT COALESCE(sum(id * (1 + visibility + 3 * length(message))), 0) FROM board_posts",
				"SELECT count(*) FROM board_subscriptions", "SELECT count(*) FROM board_forum_reads WHERE forum_id = " + itoa(s.forum("staff")), "SELECT count(*) FROM board_thread_reads",
				"SELECT count(*) FROM board_reports WHERE closed_at IS NULL", "SELECT count(*) FROM board_api_tokens WHERE revoked_at IS NULL", "SELECT count(*) FROM board_attachments WHERE removed_at IS NULL",
				"SELECT count(*) FROM board_moderation_log", "SELECT count(*) FROM board_webhooks", "SELECT count(*) FROM board_groups", "SELECT count(*) FROM board_forums", "SELECT count(*) FROM board_users",
				"SELECT COALESCE(sum(id * (1 + moderated + length(state))), 0) FROM board_users", "SELECT count(*) FROM board_user_groups",
			} {
				all.WriteString(itoa(s.number(query)) + " ")
			}
			return all.String()
		}
		for _, user := range []string{"", "eve"} {
			b := s.as(user)
			token := b.Get("/login").Hidden("token")
			before, count := state(), 0
			for _, hidden := range []struct {
				thread, post string
				attachment   int64
			}{
				{"secretstaff thread", "common secretstaff", 1},
				{"secretheld thread", "common secretheld", 1},
				{"secretdeleted thread", "common secretdeleted", 1},
				{"secretticket thread", "common secretticket", 1},
				{"Open thread", "common secretheld post", 2},
				{"Open thread", "common secretdeleted post", 2},
				{"secretstaff thread", "common first", 2}, // the post of another thread
			} {
				thread, post := itoa(s.thread(hidden.thread)), itoa(s.post(hidden.post))
				ids := strings.NewReplacer("{forumId}", itoa(s.forum("staff")), "{threadId}", thread, "{postId}", post, "{attachmentId}", itoa(hidden.attachment), "{tokenId}", "1", "{userId}", itoa(s.user("bob")),
					"{groupId}", "2", "{moderatorId}", "1", "{prefixId}", "1", "{wordId}", "1", "{webhookId}", "1")
				for _, page := range web.AllRoutes {
					if page.Method != http.MethodPost || !strings.Contains(page.Path, "{") && !strings.HasPrefix(page.Path, "/moderation") && !strings.HasPrefix(page.Path, "/admin") {
						continue
					}
					if hidden.thread == "Open thread" && !strings.Contains(page.Path, "{postId}") || hidden.post == "common first" && (strings.HasPrefix(page.Path, "/posts/{postId}/report") || page.Path == "/posts/{postId}/reaction" || page.Path == "/posts/{postId}/bookmark") {
						continue // the member sees this one
					}
					dos := []string{"delete"}
					if strings.Contains(page.Path, "manage") || strings.HasPrefix(page.Path, "/moderation") || strings.HasSuffix(page.Path, "/members/{userId}") {
						dos = []string{"lock", "approve", "delete", "move", "groups", "title"}
					}
					for _, action := range dos {
						count++
						form := url.Values{
							"token": {token}, "do": {action}, "message": {"a new text"}, "title": {"A new title"}, "mode": {"instant"}, "reason": {"bad"}, "note": {"x"}, "post": {post}, "which": {""},
							"forumId": {itoa(s.forum("public"))}, "group": {"1"}, "name": {"Eve's"}, "type": {"forum"}, "url": {"https://example.com/"}, "topics": {"post.created"}, "user": {"eve"}, "rights": {"forum.view"}, "label": {"x"}, "pattern": {"common"},
						}
						p := b.Post(ids.Replace(page.Path), form)
						if p.StatusCode < 400 && p.Where() != "/login?next="+url.QueryEscape(p.Where()) || p.StatusCode >= 500 {
							t.Errorf("%q %s of %s: %d at %s", user, ids.Replace(page.Path), hidden.post, p.StatusCode, p.Where())
						}
						for _, secret := range []string{"secretstaff", "secretheld", "secretdeleted", "secretticket"} {
							if strings.Contains(p.Text, secret) {
								t.Errorf("%q %s tells %s", user, ids.Replace(page.Path), secret)
							}
						}
					}
				}
			}
			if after := state(); after != before {
				t.Errorf("%q has changed something: %s, before %s", user, after, before)
			}
			if count < 200 {
				t.Errorf("only %d forms", count)
			}
		}
	})
}
