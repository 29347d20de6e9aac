package board

import (
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/attachments"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestMissingFilesStoredLater checks that when a request with files is repeated, files which the first request did not
// store are stored only if the current rules allow it.
func TestMissingFilesStoredLater(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		thread := data[api.Created](s.do("bob", "POST", path("/forums/%d/threads", s.forum("public")), `{"title":"With files","message":"the first post"}`).want(201)).ID
		reply := func(missing int) {
			t.Helper()
			bob, err := s.service.Accounts.Authenticate(t.Context(), s.tokens["bob"])
			must(t, err)
			f, err := s.service.Attachments.Receive(bob, "a.txt", strings.NewReader("some text"))
			must(t, err)
			defer f.Close()
			done, err := s.service.Posts.Reply(t.Context(), bob, thread, posts.NewReply{Message: "with a file", Files: []*attachments.Received{f}}, posts.Once{Key: "key", Hash: "hash"})
			if err != nil || len(done.Missing) != missing {
				t.Errorf("%+v, %v; want %d missing", done, err, missing)
			}
		}
		reply(0)
		late := func() { s.exec("UPDATE board_attachments SET removed_at = created_at") } // as if the first request had ended before it stored the file
		for _, rule := range []struct{ set, unset string }{
			{"UPDATE board_threads SET is_locked = 1", "UPDATE board_threads SET is_locked = 0"},
			{"UPDATE board_users SET suspended_until = 9000000000000000 WHERE username = 'bob'", "UPDATE board_users SET suspended_until = NULL"},
			{"INSERT INTO board_settings (name, value) VALUES ('attachments_max', '0')", "DELETE FROM board_settings WHERE name = 'attachments_max'"},
		} {
			late()
			s.exec(rule.set)
			reply(1)
			s.exec(rule.unset)
		}
		reply(0)
		if n := s.number("SELECT count(*) FROM board_attachments WHERE removed_at IS NULL"); n != 1 {
			t.Errorf("%d files", n)
		}
		s.exact()
	})
}
