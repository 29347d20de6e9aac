package web_test

import (
	"net/http"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/web"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestPreviewFilters checks that a preview shows what the post will show, without the filtered words.
func TestPreviewFilters(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, web.Options{})
		s.exec("INSERT INTO board_word_filters (pattern, replacement, action) VALUES ('darn', 'dear', 'replace')")
		s.exec("UPDATE board_permission_version SET version = version + 1")
		b := s.as("bob")
		p := b.Get(at("/forums/%d/new", s.forum("public"))).Want(http.StatusOK)
		p = p.Send(p.Where(), "title", "A filtered thread", "message", "This **darn** word", "preview", "1")
		p.Want(http.StatusOK, "Preview", "This <strong>dear</strong> word", "This **darn** word</textarea>")
	})
}

// TestDeletePostError checks that a page does not say that a thread is deleted when the database has failed.
func TestDeletePostError(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), web.Options{})
	b := s.as("bob")
	p := b.Get(at("/forums/%d/new", s.forum("public"))).Want(http.StatusOK)
	p.Send(p.Where(), "title", "A thread that stays", "message", "It begins").Want(http.StatusOK)
	thread := s.thread("A thread that stays")
	b.Get(at("/threads/%d", thread)).Send(at("/threads/%d/reply", thread), "message", "It goes on").Want(http.StatusOK)
	p = b.Get(at("/threads/%d/posts/%d/delete", thread, s.post("It goes on"))).Want(http.StatusOK)
	// Once the post is deleted the mark of the reader cannot be read any more.
	s.exec("DELETE FROM board_thread_reads")
	s.exec("CREATE TRIGGER breaks AFTER UPDATE ON board_posts WHEN NEW.visibility = 2 BEGIN" +
		" INSERT INTO board_thread_reads (user_id, thread_id, last_read_post_id, read_at)" +
		" SELECT id, NEW.thread_id, 'broken', 0 FROM board_users WHERE username = 'bob'; END")
	p.Send(p.Where()).Want(http.StatusInternalServerError).Lacks("is deleted")
}
