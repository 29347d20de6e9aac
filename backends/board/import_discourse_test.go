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

const discourseHidden = "only some groups may read it; it is hidden from guests, and from members unless all may read it"

var discourseLines = []string{
	`changed: forum 4 "Team": ` + discourseHidden,
	`changed: forum 5 "Below the team": ` + discourseHidden,
	`changed: forum 6 "Members": ` + discourseHidden,
	`changed: thread 23 "Held": it was not listed; it waits for approval`,
	`left out: member 7 "Passer-by": the account was never activated`,
	`changed: member 4 "Sleeper": the hash of the password has an unknown form; the member must set a new password by mail`,
	`left out: file 2 "passwd.txt": its content is not in the folder`,
}

// TestImportDiscourse imports what only Discourse has, and checks that importing the same again adds no posts.
func TestImportDiscourse(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		options := moving.Options{From: "discourse", Dump: "testdata/discourse/dump.sql", Attachments: "testdata/discourse/uploads"}
		report, err := s.service.Import(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		s.exact()
		if got := lines(report); !slices.Equal(got, discourseLines) {
			t.Errorf("the report is\n%s", strings.Join(got, "\n"))
		}
		if got, want := fmt.Sprint(report.Done, report.LeftOut), "map[conversations:1 files:2 forums:6 members:4 pictures:1 posts:11 threads:7]"+
			" map[file:1 member:1 polls:1 posts of other kinds:2]"; got != want {
			t.Errorf("done and left out %s, want %s", got, want)
		}
		idOf := func(kind string, oldID int64) int64 {
			return s.number("SELECT COALESCE(max(new_id), 0) FROM board_moved WHERE program = 'discourse' AND kind = ? AND old_id = ?", kind, oldID)
		}
		hello := idOf("thread", 20)
		if n := s.number("SELECT count(*) FROM board_thread_tags g JOIN board_tags t ON t.id = g.tag_id WHERE t.name IN ('garden', 'help-wanted') AND g.thread_id = ?", hello); n != 2 || s.number("SELECT count(*) FROM board_tags WHERE name LIKE 'secret%'") != 0 {
			t.Errorf("the thread has %d tags", n)
		}
		edited := data[content.PostInfo](s.do("", "GET", path("/threads/%d/posts/%d", hello, idOf("post", 11)), "").want(200))
		if edited.EditReason == nil || *edited.EditReason != "typo" || !strings.HasSuffix(edited.Message, "and gone :smile:") {
			t.Errorf("edited %+v", edited)
		}
		together := data[content.ThreadInfo](s.do("", "GET", path("/threads/%d", idOf("thread", 29)), "").want(200))
		if !together.IsLocked || together.AuthorUsername != "Ann" {
			t.Errorf("thread %+v", together)
		}
		for number, want := range map[int64]int64{1: 10, 2: 11, 4: 12, 5: 13} {
			var got int64
			if err := s.service.Posts.Read(t.Context(), func(c store.Conn) (err error) {
				got, err = content.MovedPostByNumber(c, "discourse", 20, number)
				return err
			}); err != nil || got != idOf("post", want) {
				t.Errorf("post %d of the thread is %d, %v", number, got, err)
			}
		}
		if n := idOf(content.MovedSum, content.MovedSumID("2732f12a8f18d27cf0fa78ef41091bfa1ccec9ce", false)); n == 0 || n != idOf("file", 1) {
			t.Errorf("the sum of the file leads to %d", n)
		}
		if got := s.talks("Bert"); got != "A question (Ann, Bert): Ann: secret of <strong>two</strong>, Bert: answer" {
			t.Errorf("Bert has %s", got)
		}
		second, err := s.service.Import(t.Context(), options)
		if err != nil || s.number("SELECT count(*) FROM board_moved WHERE kind = 'post'") != 11 {
			t.Errorf("imported twice: %v, %v", second, err)
		}
	})
}
