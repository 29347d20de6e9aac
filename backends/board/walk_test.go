package board

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/seed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// threadPage is a response with a page of threads.
type threadPage struct {
	Data       []content.ThreadInfo `json:"data"`
	NextCursor *string              `json:"nextCursor"`
}

// fill seeds threads of one post each, or one thread of many posts.
func (s *site) fill(forum string, threads, posts int) {
	s.t.Helper()
	var b strings.Builder
	b.WriteString(`{"threads":[`)
	date := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range threads {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(path(`{"forum":%q,"title":"Walk %d","posts":[`, forum, i))
		for j := range posts {
			if j > 0 {
				b.WriteByte(',')
			}
			date = date.Add(time.Second)
			b.WriteString(path(`{"author":"alice","message":"walk %d %d","at":%q}`, i, j, date.Format(time.RFC3339)))
		}
		b.WriteString("]}")
	}
	b.WriteString("]}")
	if _, err := s.service.Seed(s.t.Context(), strings.NewReader(b.String()), seed.Options{}); err != nil {
		s.t.Fatal(err)
	}
}

// TestWalkThreads checks that a walk through a forum while others post shows no thread twice, and shows every thread
// that has no new reply.
func TestWalkThreads(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		const threads = 400
		s.fill("members", threads, 1)
		bumped := make(map[int64]bool)
		ids := make([]int64, threads)
		for i := range ids {
			ids[i] = s.threadOf(path("Walk %d", i))
		}
		seen := make(map[int64]bool)
		after := ""
		for page := 0; ; page++ {
			var p threadPage
			s.do("bob", "GET", path("/forums/%d/threads?limit=20%s", s.forum("members"), after), "").want(200).into(&p)
			for _, thread := range p.Data {
				if seen[thread.ID] {
					t.Errorf("thread %d twice", thread.ID)
				}
				seen[thread.ID] = true
			}
			if p.NextCursor == nil {
				break
			}
			after = "&after=" + *p.NextCursor
			for i := range 3 {
				id := ids[(page*37+i*101)%threads]
				s.clock.advance(time.Second)
				bumped[id] = true
				s.do("alice", "POST", path("/threads/%d/posts", id), path(`{"message":"bump %d %d"}`, page, i)).want(201)
			}
		}
		for _, id := range ids {
			if !seen[id] && !bumped[id] {
				t.Errorf("thread %d was missed", id)
			}
		}
		if len(bumped) < 20 {
			t.Errorf("only %d bumps", len(bumped))
		}
		s.exact()
	})
}

// TestWalkPosts checks that a client which polls from the last id on sees every post exactly once, in order, while
// others post.
func TestWalkPosts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		thread := s.threadOf("Members thread")
		const writers, perWriter = 4, 25
		var wait sync.WaitGroup
		var posted atomic.Int64
		for w := range writers {
			user := []string{"alice", "bob", "mod", "admin"}[w]
			a, err := s.service.Accounts.Authenticate(t.Context(), s.tokens[user])
			if err != nil {
				t.Fatal(err)
			}
			wait.Go(func() {
				for i := range perWriter {
					if _, err := s.service.Posts.Reply(t.Context(), a, thread, posts.NewReply{Message: path("walk %d %d", w, i)}, posts.Once{}); err != nil {
						t.Error(err)
						return
					}
					posted.Add(1)
				}
			})
		}
		done := make(chan struct{})
		go func() { wait.Wait(); close(done) }()
		var after, next int64 = 0, 1
		for last := false; ; {
			var p api.PostPage
			s.do("bob", "GET", path("/threads/%d/posts?limit=7&after=%d", thread, after), "").want(200).into(&p)
			for _, post := range p.Data {
				if post.Number != next || post.ID <= after {
					t.Fatalf("post %d has number %d, want %d", post.ID, post.Number, next)
				}
				next, after = next+1, post.ID
			}
			if last && len(p.Data) == 0 {
				break
			}
			select {
			case <-done:
				last = true
			default:
			}
		}
		if want := posted.Load() + 2; next-1 != want {
			t.Errorf("%d posts seen, want %d", next-1, want)
		}
	})
}
