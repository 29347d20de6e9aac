package board

import (
	"context"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestThreadColumns checks that a thread is read as it was stored, whatever its texts contain.
func TestThreadColumns(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{}).service
		for _, want := range []content.Thread{
			{Forum: 2, Title: "plain", Slug: "plain", AuthorName: "alice", LastPoster: "bob", Next: 1},
			{
				Forum: 2, Title: "1 2 3 ", Slug: "", AuthorName: " ä é ", Visibility: 2, Sticky: true, Locked: true, Replies: 1 << 40, Views: 3, First: 4, Last: 5,
				LastPoster: "名 \x1f\n", Created: 1_700_000_000_000_000, LastAt: -1, Next: math.MaxInt64, Answer: 5,
			},
			{Forum: 1, Title: "", Slug: "", AuthorName: "", LastPoster: "", Next: 7},
		} {
			err := s.kernel.Write(t.Context(), func(c store.Conn) error {
				return c.Row("INSERT INTO board_threads (forum_id, title, slug, author_name, visibility, is_sticky, is_locked, reply_count, view_count, first_post_id, last_post_id,"+
					" last_poster_name, created_at, last_post_at, next_number, answer_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
					want.Forum, want.Title, want.Slug, want.AuthorName, want.Visibility, kernel.Bool(want.Sticky), kernel.Bool(want.Locked), want.Replies, want.Views, want.First, want.Last,
					want.LastPoster, want.Created, want.LastAt, want.Next, want.Answer).Scan(&want.ID)
			})
			if err != nil {
				t.Fatal(err)
			}
			err = s.kernel.Read(t.Context(), func(c store.Conn) error {
				got, err := content.ScanThread(c.Row("SELECT "+content.ThreadColumns+" FROM board_threads t WHERE t.id = ?", want.ID))
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

// TestScanThreadRejectsMalformed checks that a text with too few or broken numbers, or lengths that do not fit, is no
// thread.
func TestScanThreadRejectsMalformed(t *testing.T) {
	t.Parallel()
	numbers := strings.Repeat("0 ", 16)
	for _, value := range []any{
		nil, int64(1), "", "1 2 3", numbers + "1 1 1 a b", numbers + "1 1 1 a b ", numbers + "-1 1 1 a b c d", numbers + "1 1 x a b c d", numbers + "1 1  a b c d",
		numbers + "1 1 - a b c d", numbers + "1 1 1x a b c d", numbers + "1 1 9223372036854775807 a b c d", numbers + "9223372036854775807 1 1 a b c d",
		numbers + "1 1 9999999999999999999 a b c d", numbers + "1 1 10000000000000000001 a b c d", numbers + "1 1 18446744073709551617 a b c d", numbers + "1 1 1",
	} {
		if err := new(content.Thread).Scan(value); err == nil {
			t.Errorf("%v was taken for a thread", value)
		}
	}
	var got content.Thread
	if err := got.Scan(numbers + "1 1 1 a b c d"); err != nil || got.Title != "a" || got.Slug != "b" || got.AuthorName != "c" || got.LastPoster != "d" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestRepliesToLockedThread checks that while a transaction locks a thread, replies to it wait, and replies to
// other threads do not.
func TestRepliesToLockedThread(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		if db.Dialect() == store.SQLite {
			return // SQLite has one writer
		}
		s := newSite(t, db, kernel.Options{NoFlood: true})
		thread, other := s.threadOf("Public thread"), s.threadOf("Members thread")
		alice, err := s.service.Accounts.Authenticate(t.Context(), s.tokens["alice"])
		if err != nil {
			t.Fatal(err)
		}
		reply := func(ctx context.Context, thread int64, text string) error {
			_, err := s.service.Posts.Reply(ctx, alice, thread, posts.NewReply{Message: text}, posts.Once{})
			return err
		}
		const replies = 20 // more than there are connections
		held, release, ended := make(chan struct{}), make(chan struct{}), make(chan error, replies+1)
		go func() {
			ended <- db.Write(store.ReadCommitted(t.Context()), func(c store.Conn) error {
				_, err := c.Exec("UPDATE board_threads SET view_count = view_count WHERE id = ?", thread)
				close(held)
				<-release
				return err
			})
		}()
		<-held
		letGo := sync.OnceFunc(func() { close(release) })
		defer letGo()
		for i := range replies {
			go func() { ended <- reply(t.Context(), thread, "held up "+kernel.Itoa(int64(i))) }()
		}
		waiting := func() (n int) {
			err := db.Read(t.Context(), func(c store.Conn) error {
				return c.Row("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&n)
			})
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		for waiting() == 0 {
			time.Sleep(time.Millisecond)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for i := range replies { // while the replies to the locked thread arrive
			if err := reply(ctx, other, "beside them "+kernel.Itoa(int64(i))); err != nil {
				t.Fatalf("a reply to another thread: %v", err)
			}
		}
		if n := waiting(); n != 1 {
			t.Errorf("%d wait for the thread on connections, want 1", n)
		}
		letGo()
		for range replies + 1 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}
