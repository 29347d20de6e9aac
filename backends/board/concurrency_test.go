package board

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestRepliesDoNotWait checks that a reply whose transaction takes long does not delay replies to other threads of
// the forum.
func TestRepliesDoNotWait(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		if db.Dialect() == store.SQLite {
			return // has one writer, and all writes share a commit
		}
		s := newSite(t, db, kernel.Options{NoFlood: true})
		forum := path("/forums/%d/threads", s.forum("public"))
		slow := data[api.Created](s.do("alice", "POST", forum, `{"title":"Slow thread","message":"the first post"}`).want(201)).ID
		fast := data[api.Created](s.do("bob", "POST", forum, `{"title":"Fast thread","message":"the first post"}`).want(201)).ID
		held, release := make(chan struct{}), make(chan struct{})
		var running sync.WaitGroup
		running.Go(func() {
			err := s.service.kernel.Write(t.Context(), func(c store.Conn) error {
				// A reply writes this row last, except for counts.
				_, err := c.Exec("UPDATE board_thread_reads SET read_at = read_at WHERE user_id = (SELECT id FROM board_users WHERE username = 'alice') AND thread_id = ?", slow)
				close(held)
				<-release
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
		<-held
		running.Go(func() { s.do("alice", "POST", path("/threads/%d/posts", slow), `{"message":"held up"}`) })
		for s.number("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") == 0 {
			time.Sleep(time.Millisecond) // wait until the reply waits for the lock
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		bob, err := s.service.Accounts.Authenticate(ctx, s.tokens["bob"])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.service.Posts.Reply(ctx, bob, fast, posts.NewReply{Message: "not held up"}, posts.Once{}); errors.Is(err, context.DeadlineExceeded) || err != nil {
			t.Error(err)
		}
		close(release)
		running.Wait()
		s.exact()
	})
}

// TestIdempotencyInParallel checks that of parallel requests with the same idempotency key one is carried out, and all
// get the same response.
func TestIdempotencyInParallel(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		bob, err := s.service.Accounts.Authenticate(t.Context(), s.tokens["bob"])
		if err != nil {
			t.Fatal(err)
		}
		thread := data[api.Created](s.do("bob", "POST", path("/forums/%d/threads", s.forum("public")), `{"title":"Once","message":"the first post"}`).want(201)).ID
		const clients = 8
		var got [clients]posts.Posted
		var running sync.WaitGroup
		for i := range clients {
			running.Go(func() {
				var err error
				if got[i], err = s.service.Posts.Reply(t.Context(), bob, thread, posts.NewReply{Message: "only once"}, posts.Once{Key: "key", Hash: "hash"}); err != nil {
					t.Error(err)
				}
			})
		}
		running.Wait()
		for _, posted := range got {
			if posted.Post != got[0].Post || posted.Post == 0 {
				t.Errorf("answers %+v", got)
				break
			}
		}
		if n := s.number("SELECT reply_count FROM board_threads WHERE id = ?", thread); n != 1 {
			t.Errorf("%d replies", n)
		}
		if _, err := s.service.Posts.Reply(t.Context(), bob, thread, posts.NewReply{Message: "another"}, posts.Once{Key: "key", Hash: "other"}); err == nil {
			t.Error("another request of that key was taken")
		}
		s.clock.advance(posts.IdempotencyTTL + time.Minute)
		if reply, err := s.service.Posts.Reply(t.Context(), bob, thread, posts.NewReply{Message: "a day later"}, posts.Once{Key: "key", Hash: "other"}); err != nil || reply.Post == got[0].Post {
			t.Errorf("a day later: %+v %v", reply, err)
		}
		s.exact()
	})
}
