package board

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/moving"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// otherForums are dumps of other programs than phpBB. They have the same forum.
var otherForums = map[string]struct {
	attachments string
	passwords   map[string]string // by name
	lines       []string
	hidden      []int64 // threads that guests do not see
	members     string  // what registered members see of the hidden threads
	unread      string  // what is at a conversation that Ann has not read, if the dump tells that
}{
	"discourse": {
		"uploads",
		map[string]string{"Ann": "an old password", "Bert": "an older password"},
		discourseLines,
		[]int64{21, 22, 23, 26, 28},
		"26 ",
		"",
	},
	"mybb": {
		"uploads",
		map[string]string{"Ann": "an old password", "Bert": "a bcrypt password"},
		[]string{
			`changed: forum 6 "Secret word": the forum has a password or is not active; it is hidden from guests and members`,
			`changed: member 4 "Sleeper": the hash of the password has an unknown form; the member must set a new password by mail`,
			`left out: file 2 "passwd.txt": its content is not in the folder`,
		},
		[]int64{21, 22, 23, 26},
		"",
		" unread",
	},
	"xenforo": {
		"attachments",
		map[string]string{"Ann": "an older password", "Bert": "xenforo's password"},
		[]string{
			`left out: forum 8 "A page": it is not a forum, category or link`,
			`left out: file 3 "": its content is not in the dump`,
		},
		[]int64{21, 22, 23, 24},
		"24 ",
		" unread",
	},
}

func TestImportOthers(t *testing.T) {
	t.Parallel()
	for program, test := range otherForums {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, db *store.DB) {
				s := newSite(t, db, kernel.Options{})
				folder := "testdata/" + program + "/"
				report, err := s.service.Import(t.Context(), moving.Options{
					From: program, Dump: folder + "dump.sql", Attachments: folder + test.attachments, Avatars: folder + "avatars",
				})
				if err != nil {
					t.Fatal(err)
				}
				s.exact()
				if got := lines(report); !slices.Equal(got, test.lines) {
					t.Errorf("the report is\n%s", strings.Join(got, "\n"))
				}
				idOf := func(kind string, oldID int64) int64 {
					return s.number("SELECT COALESCE(max(new_id), 0) FROM board_moved WHERE program = ? AND kind = ? AND old_id = ?",
						program, kind, oldID)
				}
				hello := data[content.ThreadInfo](s.do("", "GET", path("/threads/%d", idOf("thread", 20)), "").want(200))
				if hello.Title != `Hello "world"` || !hello.IsSticky || hello.IsLocked || hello.ViewCount != 42 || hello.ReplyCount != 2 {
					t.Errorf("thread %+v", hello)
				}
				var list []string
				for _, p := range data[[]content.PostInfo](s.do("", "GET", path("/threads/%d/posts", hello.ID), "").want(200)) {
					list = append(list, p.AuthorUsername+": "+strings.ReplaceAll(p.Message, "  \n", "\\\n"))
				}
				want := []string{
					"Ann: Hello **everybody**, 3 \\< 4\\\nsee [this](https://example.com/a)",
					"Bert: > **Ann:**\n>\n> Hello\n\nHi ![dot.png](<attachment:dot.png>) and",
					"Passer-by: of a guest",
				}
				for i := range want {
					if i >= len(list) || !strings.HasPrefix(list[i], want[i]) {
						t.Errorf("the posts are %q, want %q", list, want)
						break
					}
				}
				if n := s.number("SELECT count(*) FROM board_attachments WHERE removed_at IS NULL AND post_id = ?", idOf("post", 11)); n != 1 {
					t.Errorf("the post has %d files", n)
				}
				s.pictured("Ann")
				seen := ""
				for _, hidden := range test.hidden {
					thread := idOf("thread", hidden)
					if thread == 0 {
						t.Errorf("thread %d was not imported", hidden)
					}
					s.do("", "GET", path("/threads/%d", thread), "").want(404)
					if s.do("alice", "GET", path("/threads/%d", thread), "").status == 200 {
						seen += fmt.Sprint(hidden, " ")
					}
				}
				if seen != test.members {
					t.Errorf("members see the threads %q, want %q", seen, test.members)
				}
				s.do("alice", "POST", path("/forums/%d/threads", idOf("forum", 3)), `{"title":"Not allowed","message":"not here"}`).want(403)
				for name, want := range map[string]string{"Ann": "active", "Spammer": "banned", "Sleeper": "awaiting"} {
					if state, _, _, _ := s.member(name); state != want {
						t.Errorf("%s is %s, want %s", name, state, want)
					}
				}
				for name, want := range map[string]string{
					"Ann":   "A question (Ann, Bert)" + test.unread + ": Ann: secret of <strong>two</strong>, Bert: answer",
					"Bert":  "A question (Ann, Bert): Ann: secret of <strong>two</strong>, Bert: answer",
					"alice": "",
				} {
					if got := s.talks(name); got != want {
						t.Errorf("%s has\n%s, want\n%s", name, got, want)
					}
				}
				for name, password := range test.passwords {
					if _, err := s.service.Accounts.Login(t.Context(), name, password+"!", "192.0.2.1", ""); err == nil {
						t.Errorf("%s signs in with another password", name)
					}
					if _, err := s.service.Accounts.Login(t.Context(), name, password, "192.0.2.1", ""); err != nil {
						t.Errorf("%s cannot sign in: %v", name, err)
					}
				}
				if n := s.number("SELECT count(*) FROM board_users WHERE username IN ('Ann', 'Bert') AND password_hash LIKE '$argon2id$v=19$m=8,t=1,p=1$%'"); n != 2 {
					t.Errorf("%d passwords were hashed anew", n)
				}
			})
		})
	}
}
