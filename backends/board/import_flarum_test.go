package board

import (
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/moving"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

func TestImportFlarum(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		report, err := s.service.Import(t.Context(), moving.Options{
			From: "flarum", Dump: "testdata/flarum/dump.sql", Attachments: "testdata/flarum/files", Avatars: "testdata/flarum/avatars",
		})
		if err != nil {
			t.Fatal(err)
		}
		s.exact()
		if got, want := lines(report), []string{
			`left out: file 2 "remote.txt": it is not stored on the server itself`, `left out: file 3 "gone.txt": its content is not in the folder`,
		}; !slices.Equal(got, want) {
			t.Errorf("the report is\n%s", strings.Join(got, "\n"))
		}
		if report.LeftOut["private discussions and posts"] != 2 || report.LeftOut["files"] != 1 {
			t.Errorf("left out are %v", report.LeftOut)
		}
		idOf := func(kind string, oldID int64) int64 {
			return s.number("SELECT COALESCE(max(new_id), 0) FROM board_moved WHERE program = 'flarum' AND kind = ? AND old_id = ?", kind, oldID)
		}
		hello := data[content.ThreadInfo](s.do("", "GET", path("/threads/%d", idOf("thread", 20)), "").want(200))
		if hello.Title != `Hello "world"` || !hello.IsSticky || hello.IsLocked || hello.ReplyCount != 2 || hello.ForumID != idOf("forum", 2) {
			t.Errorf("thread %+v", hello)
		}
		s.pictured("Ann")
		posts := data[[]content.PostInfo](s.do("", "GET", path("/threads/%d/posts", hello.ID), "").want(200))
		list := make([]string, 0, len(posts))
		for _, p := range posts {
			list = append(list, p.AuthorUsername+": "+p.Message)
		}
		if want := []string{
			"Ann: Hello **everybody**, 3 \\< 4\nsee [this](https://example.com/a)",
			"Bert: > **Ann:**\n> \n> Hello\n\n@Ann Hi ![dot.png](<attachment:dot.png>) and",
			"Guest: of a member who left",
		}; !slices.Equal(list, want) {
			t.Errorf("the posts are %q, want %q", list, want)
		}
		for label, test := range map[string]struct {
			query string
			want  int64
		}{
			"files":   {"SELECT count(*) FROM board_attachments WHERE removed_at IS NULL AND post_id = ?", 1},
			"likes":   {"SELECT n FROM board_reaction_counts WHERE kind = '👍 Like' AND post_id = ?", 1},
			"parents": {"SELECT count(*) FROM board_post_ids p JOIN board_forums f ON f.id = p.forum_id JOIN board_forums up ON up.id = f.parent_id WHERE up.slug LIKE 'general%' AND p.id = ?", 1},
			"tags":    {"SELECT count(*) FROM board_thread_tags l JOIN board_tags t ON t.id = l.tag_id JOIN board_post_ids p ON p.thread_id = l.thread_id WHERE t.name = 'Question' AND p.id = ?", 1},
		} {
			if n := s.number(test.query, idOf("post", 11)); n != test.want {
				t.Errorf("the post has %d %s", n, label)
			}
		}
		for _, test := range []struct{ thread, guest, member int64 }{
			{21, 404, 404}, {22, 404, 404}, {23, 404, 404}, {24, 404, 200}, {25, 200, 200}, {26, 404, 404}, {27, 404, 404},
		} {
			target := path("/threads/%d", idOf("thread", test.thread))
			if guest, member := s.do("", "GET", target, "").status, s.do("alice", "GET", target, "").status; int64(guest) != test.guest || int64(member) != test.member {
				t.Errorf("thread %d: guests %d, members %d", test.thread, guest, member)
			}
		}
		s.do("alice", "POST", path("/forums/%d/threads", idOf("forum", 3)), `{"title":"Not allowed","message":"not here"}`).want(403)
		for name, want := range map[string]string{"Ann": "active", "Spammer": "banned", "Sleeper": "awaiting"} {
			if state, _, _, _ := s.member(name); state != want {
				t.Errorf("%s is %s, want %s", name, state, want)
			}
		}
		if _, err := s.service.Accounts.Login(t.Context(), "Ann", "xenforo's password", "192.0.2.1", ""); err != nil {
			t.Errorf("Ann cannot sign in: %v", err)
		}
	})
}
