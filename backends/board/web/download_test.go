package web_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/owndata"
	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestOwnData checks that a member gets all that it has, in more rows than are read at once, and nothing of others.
func TestOwnData(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		p := s.as("bob").Get("/conversations/new").Send("/conversations/new", "recipients", "eve", "title", "Only for you", "message", "Hello eve").Want(200)
		talk := p.Where()
		s.as("eve").Get(talk).Send(talk, "message", "Hello bob").Want(200)
		s.as("mod").Get("/conversations/new").Send("/conversations/new", "recipients", "eve", "title", "About bob", "message", "a secret").Want(200)
		reply := at("/threads/%d/reply", s.thread("Open thread"))
		p.Get(reply).Send(reply, "message", "half a thought", "draft", "1").Want(200)
		const reactions = 450
		bob := s.number("SELECT id FROM board_users WHERE username = 'bob'")
		err := db.Write(t.Context(), func(c store.Conn) error {
			for post := range reactions {
				if _, err := c.Exec("INSERT INTO board_reactions (post_id, user_id, kind, created_at) VALUES (?, ?, ?, 0)", post+1, bob, "👍 Like"); err != nil {
					return err
				}
			}
			_, err := c.Exec("INSERT INTO board_bookmarks (user_id, post_id, note, created_at) VALUES (?, 1, 'try this', 0)", bob)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}

		s.exec("UPDATE board_threads SET visibility = 2 WHERE title = 'Sticky thread'") // its title no longer belongs to anybody
		archived := s.post("common first")
		s.exec(at("INSERT INTO board_posts_archive (thread_id, id, number, author_id, author_name, visibility, message, message_html, render_version, body_hash, created_at, edit_count)"+
			" SELECT thread_id, id, number, author_id, author_name, 2, message, message_html, render_version, body_hash, created_at, edit_count FROM board_posts WHERE id = %d", archived))
		s.exec(at("DELETE FROM board_posts WHERE id = %d", archived))

		page := s.as("bob").Get("/account").Want(200, `href="/account/data"`).Get("/account/data").Want(200)
		if got := page.Header.Get("Content-Disposition"); got != `attachment; filename="board-data.json"` || page.Header.Get("Cache-Control") != "private, no-store" {
			t.Errorf("the header is %v", page.Header)
		}
		var got struct {
			Member               struct{ Username, Email string }
			Posts                []owndata.Post
			Messages             []owndata.Message
			Bookmarks, Reactions []owndata.Note
			Drafts               []owndata.Draft
		}
		if err := json.Unmarshal([]byte(page.Text), &got); err != nil {
			t.Fatalf("%v in %s", err, page.Text)
		}
		posts := s.number("SELECT count(*) FROM board_post_ids WHERE visibility < 3 AND author_id = " + at("%d", bob))
		for _, post := range got.Posts {
			if post.Thread == "Sticky thread" || post.ID == archived && (post.State != "deleted" || post.Message != "common first") {
				t.Errorf("post %+v", post)
			}
		}
		if got.Member.Username != "bob" || got.Member.Email == "" || int64(len(got.Posts)) != posts || posts == 0 || len(got.Reactions) != reactions || got.Reactions[reactions-1].PostID != reactions {
			t.Errorf("%+v, %d posts of %d, %d reactions", got.Member, len(got.Posts), posts, len(got.Reactions))
		}
		if len(got.Messages) != 2 || got.Messages[0].Author != "bob" || got.Messages[1].Message != "Hello bob" || got.Messages[1].Conversation != "Only for you" {
			t.Errorf("messages %+v", got.Messages)
		}
		if len(got.Bookmarks) != 1 || got.Bookmarks[0].Text != "try this" || len(got.Drafts) != 1 || got.Drafts[0].Message != "half a thought" {
			t.Errorf("bookmarks %+v, drafts %+v", got.Bookmarks, got.Drafts)
		}
		if strings.Contains(page.Text, "a secret") || strings.Contains(page.Text, "About bob") {
			t.Error("a conversation of others is in it")
		}
		s.guest().Get("/account/data").Want(200, "<h1>Sign in</h1>")
	})
}
