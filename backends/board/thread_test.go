package board

import (
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestThreadColumns: what a thread's text is made of comes out of it, whatever is
// in it.
func TestThreadColumns(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{}).service
		for _, want := range []thread{
			{forum: 2, title: "plain", slug: "plain", authorName: "alice", lastPoster: "bob", next: 1},
			{
				forum: 2, title: "1 2 3 ", slug: "", authorName: " ä é ", visibility: 2, sticky: true, locked: true, replies: 1 << 40, views: 3, first: 4, last: 5,
				lastPoster: "名 \x1f\n", created: 1_700_000_000_000_000, lastAt: -1, next: 1 << 60,
			},
			{forum: 1, title: "", slug: "", authorName: "", lastPoster: "", next: 7},
		} {
			err := s.Write(t.Context(), func(c store.Conn) error {
				return c.Row("INSERT INTO board_threads (forum_id, title, slug, author_name, visibility, is_sticky, is_locked, reply_count, view_count, first_post_id, last_post_id,"+
					" last_poster_name, created_at, last_post_at, next_number) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
					want.forum, want.title, want.slug, want.authorName, want.visibility, kernel.Bool(want.sticky), kernel.Bool(want.locked), want.replies, want.views, want.first, want.last,
					want.lastPoster, want.created, want.lastAt, want.next).Scan(&want.id)
			})
			if err != nil {
				t.Fatal(err)
			}
			err = s.Read(t.Context(), func(c store.Conn) error {
				got, err := scanThread(c.Row("SELECT "+threadColumns+" FROM board_threads t WHERE t.id = ?", want.id))
				if err == nil && *got != want {
					t.Errorf("got %+v, want %+v", *got, want)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
	})
}

func TestThreadTextThatIsNone(t *testing.T) {
	t.Parallel()
	numbers := strings.Repeat("0 ", 14)
	for _, value := range []any{nil, int64(1), "", "1 2 3", numbers + "1 1 1 ab", numbers + "-1 1 1 abc", numbers + "1 1 x abc", numbers + "9223372036854775807 1 1 abc"} {
		if err := new(thread).Scan(value); err == nil {
			t.Errorf("%v was taken for a thread", value)
		}
	}
	var got thread
	if err := got.Scan(numbers + "1 1 1 abcd"); err != nil || got.title != "a" || got.lastPoster != "d" {
		t.Errorf("got %+v, %v", got, err)
	}
}
