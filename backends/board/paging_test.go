package board

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// walkPages reads all pages of a thread by their numbers, follows parts that do not fit on their page, and returns the
// ids of the posts in the order in which they were shown. The link of each post must lead to a part with that post. If
// ordered is true, which means that numbers have the same order as ids, it must lead to the page that showed the post.
func (s *site) walkPages(user string, thread int64, size int, ordered bool) (ids []int64) {
	s.t.Helper()
	a, ctx := s.actor(user), s.t.Context()
	for number := int64(1); ; number++ {
		page, err := s.service.Posts.ReadPage(ctx, a, thread, number, size)
		must(s.t, err)
		if number > page.Pages {
			if len(page.Posts) > 0 {
				s.t.Errorf("page %d of %d has %d posts", number, page.Pages, len(page.Posts))
			}
			return ids
		}
		last := number == page.Pages
		for {
			for _, p := range page.Posts {
				ids = append(ids, p.ID)
				place, err := s.service.Posts.PlaceOf(ctx, a, p.ID, size)
				must(s.t, err)
				if ordered && place.Page != page.Page {
					s.t.Errorf("post %d is on page %d, and its link leads to %+v", p.ID, page.Page, place)
				}
				shown, err := s.service.Posts.ReadThread(ctx, a, thread, place.After, size)
				if place.Page != 0 {
					shown, err = s.service.Posts.ReadPage(ctx, a, thread, place.Page, size)
				}
				must(s.t, err)
				if !slices.ContainsFunc(shown.Posts, func(q posts.PostView) bool { return q.ID == p.ID }) {
					s.t.Errorf("the link of post %d leads to %+v, where it is not", p.ID, place)
				}
			}
			if page.After == nil {
				break
			}
			// The rest of a page that is too long ends where the next page with posts begins.
			var next *posts.Reading
			for following := number + 1; next == nil || len(next.Posts) == 0 && following <= next.Pages; following++ {
				next, err = s.service.Posts.ReadPage(ctx, a, thread, following, size)
				must(s.t, err)
			}
			after := *page.After
			page, err = s.service.Posts.ReadThread(ctx, a, thread, after, size)
			must(s.t, err)
			if !last && len(next.Posts) > 0 {
				end := slices.IndexFunc(page.Posts, func(p posts.PostView) bool { return p.ID == next.Posts[0].ID })
				if end >= 0 {
					page.Posts, page.After = page.Posts[:end], nil
				}
			}
		}
	}
}

// visible returns the ids of the posts of a thread that everybody sees.
func (s *site) visible(thread int64) (ids []int64) {
	s.t.Helper()
	must(s.t, s.service.kernel.DB.Read(s.t.Context(), func(c store.Conn) error {
		ids = nil
		return c.All("SELECT id FROM board_posts WHERE thread_id = ? AND visibility = 0 ORDER BY id", []any{thread}, func(r store.Row) error {
			var id int64
			err := r.Scan(&id)
			ids = append(ids, id)
			return err
		})
	}))
	return ids
}

// TestPageNumbers checks that the pages of a thread show every post once, also with gaps and after a merge, and that a
// page stays the same when posts before it are deleted.
func TestPageNumbers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		other, _ := s.started("public", "Earlier thread", 5)
		thread, ids := s.started("public", "Long thread", 16)
		if got := s.walkPages("alice", thread, 4, true); !slices.Equal(got, ids) {
			t.Fatalf("pages have %v, not %v", got, ids)
		}
		second := func() (numbers []int64) {
			page, err := s.service.Posts.ReadPage(t.Context(), s.actor(""), thread, 2, 4)
			must(t, err)
			for _, p := range page.Posts {
				numbers = append(numbers, p.Number)
			}
			return numbers
		}
		for _, id := range []int64{ids[1], ids[2], ids[5], ids[8], ids[9], ids[10], ids[11], ids[16]} {
			s.do("mod", "DELETE", path("/threads/%d/posts/%d", thread, id), "").want(200)
		}
		if got := second(); !slices.Equal(got, []int64{5, 7, 8}) {
			t.Errorf("page 2 has the posts %v", got)
		}
		if got := s.walkPages("alice", thread, 4, true); !slices.Equal(got, s.visible(thread)) {
			t.Errorf("with gaps pages have %v, not %v", got, s.visible(thread))
		}
		if got := s.walkPages("mod", thread, 4, true); !slices.Equal(got, ids) {
			t.Errorf("a moderator's pages have %v", got)
		}
		empty, err := s.service.Posts.ReadPage(t.Context(), s.actor(""), thread, 3, 4)
		if err != nil || len(empty.Posts) != 0 || empty.Pages != 4 || empty.Page != 3 {
			t.Errorf("a page without posts: %+v, %v", empty, err)
		}
		// A merged thread has its numbers in another order than its ids.
		latest, _ := s.started("public", "Yet another thread", 3)
		for range 6 {
			s.do("bob", "POST", path("/threads/%d/posts", other), path(`{"message":"more in %d"}`, latest)).want(201)
			s.do("bob", "POST", path("/threads/%d/posts", latest), path(`{"message":"also more in %d"}`, other)).want(201)
			s.clock.advance(2 * time.Minute)
		}
		merged, err := s.service.Moderation.Merge(t.Context(), s.actor("mod"), latest, other, "")
		must(t, err)
		for _, size := range []int{2, 3, 4, 7, 50} {
			if got := s.walkPages("alice", merged, size, false); !slices.Equal(got, s.visible(merged)) {
				t.Errorf("after the merge pages of %d have %v, not %v", size, got, s.visible(merged))
			}
		}
	})
}

// TestPageOfHeld checks that a held post does not add a page for others, and is on a page for its author.
func TestPageOfHeld(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		thread, ids := s.started("public", "Held thread", 4)
		s.exec("UPDATE board_posts SET visibility = 1 WHERE id = ?", ids[4])
		s.exec("UPDATE board_post_ids SET visibility = 1 WHERE id = ?", ids[4])
		s.exec("UPDATE board_threads SET last_post_id = ?, reply_count = 3 WHERE id = ?", ids[3], thread)
		for user, want := range map[string][]int64{"": ids[:4], "alice": ids[:4], "mod": ids, "bob": ids} {
			if got := s.walkPages(user, thread, 2, true); !slices.Equal(got, want) {
				t.Errorf("%q sees %v, not %v", user, got, want)
			}
		}
		page, err := s.service.Posts.ReadPage(t.Context(), s.actor("alice"), thread, 1, 2)
		if err != nil || page.Pages != 2 {
			t.Errorf("%d pages, %v", page.Pages, err)
		}
	})
}

// TestPlaceAt checks that PlaceAt finds the first post from a time on.
func TestPlaceAt(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		thread, ids := s.started("public", "Long thread", 9)
		start := kernel.MomentOf(s.clock.now())
		for i, id := range ids {
			createdAt := start.Add(time.Duration(i) * time.Hour)
			s.exec("UPDATE board_posts SET created_at = ? WHERE id = ?", createdAt, id)
		}
		s.do("mod", "DELETE", path("/threads/%d/posts/%d", thread, ids[4]), "").want(200)
		for after, want := range map[time.Duration]int64{
			-1000 * time.Hour: 1, 0: 1, time.Minute: 2, 3*time.Hour + time.Minute: 6, 9 * time.Hour: 10, 10000 * time.Hour: 10,
		} {
			place, err := s.service.Posts.PlaceAt(t.Context(), s.actor("alice"), thread, start.Add(after), 3)
			if err != nil || place.Number != want || place.Page != (want-1)/3+1 {
				t.Errorf("after %s: %+v, %v", after, place, err)
			}
		}
		_, err := s.service.Posts.PlaceAt(t.Context(), s.actor(""), s.threadOf("Staff thread"), start, 3)
		if !kernel.IsNotFound(err) {
			t.Errorf("of a thread that is not seen: %v", err)
		}
	})
}

// TestBoundPlan checks that the search for the beginning of a page only looks up posts by the primary key. For
// PostgreSQL, whose plan does not show what is done for each step, TestPlans has the look-up alone.
func TestBoundPlan(t *testing.T) {
	t.Parallel()
	s := newSite(t, databases.SQLite(t), kernel.Options{})
	for _, column := range []string{"number", "created_at"} {
		plan, err := s.plan(posts.BoundOf(column))
		if err != nil || strings.Contains(plan, "SCAN p") || strings.Contains(plan, "TEMP B-TREE") || !strings.Contains(plan, "SEARCH p USING PRIMARY KEY (thread_id=? AND id>?)") {
			t.Errorf("%s: %v\n%s", column, err, plan)
		}
	}
}
