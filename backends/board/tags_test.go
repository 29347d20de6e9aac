package board

import (
	"slices"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/moderation"
	"github.com/tollgate-gateway/tollgate/backends/board/posts"
	"github.com/tollgate-gateway/tollgate/backends/board/tags"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// made is the answer to a new thread.
type made struct {
	Data struct{ ID, PostID int64 }
}

// tagged returns the names of the tags of a thread.
func (s *site) tagged(thread int64) (names []string) {
	s.t.Helper()
	byThread, err := s.service.Tags.Of(s.t.Context(), content.ThreadInfo{ID: thread})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, t := range byThread[thread] {
		names = append(names, t.Name)
	}
	return names
}

// tag returns the id of a tag.
func (s *site) tag(name string) int64 {
	s.t.Helper()
	return s.number("SELECT id FROM board_tags WHERE name = ?", name)
}

// free lets authors write what tags they like.
func (s *site) free() {
	s.exec("INSERT INTO board_settings (name, value) VALUES ('tags', 'free')")
	s.exec("UPDATE board_permission_version SET version = version + 1")
}

// TestTags checks who may give a thread which tags.
func TestTags(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		var answer made
		s.do("bob", "POST", path("/forums/%d/threads", s.forum("public")), `{"title":"About cats","message":"They are fine"}`).want(201).into(&answer)
		thread := answer.Data.ID
		set := func(user string, names ...string) error {
			return s.service.Tags.Set(t.Context(), s.actor(user), thread, names)
		}
		refused(t, "an unknown tag", set("bob", "cats"), 422, "unknown")
		refused(t, "tags of a member", s.service.Tags.Save(t.Context(), s.actor("mod"), tags.Tag{Name: "cats"}), 403, "no_permission")
		for _, name := range []string{"Cats", "dogs"} {
			if err := s.service.Tags.Save(t.Context(), s.actor("admin"), tags.Tag{Name: name}); err != nil {
				t.Fatal(err)
			}
		}
		refused(t, "the same tag again", s.service.Tags.Save(t.Context(), s.actor("admin"), tags.Tag{Name: "CATS"}), 422, "taken")
		if err := set("bob", "cats", "CATS"); err != nil || !slices.Equal(s.tagged(thread), []string{"Cats"}) {
			t.Errorf("%v, %q", err, s.tagged(thread))
		}
		refused(t, "another's thread", set("alice", "dogs"), 403, "no_permission")
		if err := set("mod", "dogs"); err != nil || !slices.Equal(s.tagged(thread), []string{"dogs"}) {
			t.Errorf("%v, %q", err, s.tagged(thread))
		}

		s.free()
		for _, wrong := range [][]string{{"a", "b", "c", "d", "e", "f"}} {
			refused(t, "too many", set("bob", wrong...), 422, "too_many")
		}
		for _, wrong := range []string{"", "a,b", "two\nlines", "a tag of more than thirty characters"} {
			refused(t, wrong, set("bob", wrong), 422, "length")
		}
		s.exec("INSERT INTO board_word_filters (pattern, replacement, action) VALUES ('heck', 'h', 'replace')")
		s.exec("UPDATE board_permission_version SET version = version + 1")
		refused(t, "a filtered word", set("bob", "heck"), 422, "word_filter")
		if err := set("bob", "Übung", "cats", "new one"); err != nil || !slices.Equal(s.tagged(thread), []string{"Cats", "new one", "Übung"}) {
			t.Errorf("%v, %q", err, s.tagged(thread))
		}
		if err := set("bob"); err != nil || s.tagged(thread) != nil {
			t.Errorf("%v, %q", err, s.tagged(thread))
		}
	})
}

// TestTagPage checks that a page of a tag has what its reader may see, newest first, and that the place of a thread
// changes with its last post.
func TestTagPage(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		s.free()
		start := func(user, forum, title string) int64 {
			t.Helper()
			var answer made
			s.do(user, "POST", path("/forums/%d/threads", s.forum(forum)), `{"title":"`+title+`","message":"About it"}`).want(201).into(&answer)
			if err := s.service.Tags.Set(t.Context(), s.actor(user), answer.Data.ID, []string{"pets"}); err != nil {
				t.Fatal(err)
			}
			return answer.Data.ID
		}
		clock := time.Now()
		s.service.kernel.Now = func() time.Time { clock = clock.Add(time.Second); return clock }
		hidden := start("mod", "staff", "Hidden one")
		tag := s.tag("pets")
		list := func(user string, limit int) (pages [][]int64) {
			t.Helper()
			after := ""
			for {
				page, err := s.service.Tags.Threads(t.Context(), s.actor(user), tag, after, limit)
				if kernel.IsNotFound(err) {
					return nil
				}
				if err != nil {
					t.Fatal(err)
				}
				var ids []int64
				for _, thread := range page.Threads {
					ids = append(ids, thread.ID)
				}
				if pages, after = append(pages, ids), page.Next; after == "" {
					return pages
				}
			}
		}
		want := func(user string, limit int, want ...[]int64) {
			t.Helper()
			if got := list(user, limit); !slices.EqualFunc(got, want, slices.Equal[[]int64]) {
				t.Errorf("%s sees %v, want %v", user, got, want)
			}
		}
		want("bob", 10) // as if there were no such tag
		first, second, third := start("bob", "public", "First one"), start("bob", "public", "Second one"), start("bob", "public", "Third one")
		want("bob", 2, []int64{third, second}, []int64{first})
		want("mod", 10, []int64{third, second, first, hidden})
		s.do("mod", "POST", path("/threads/%d/posts", first), `{"message":"A reply"}`).want(201)
		want("bob", 10, []int64{first, third, second})
		reply := s.number("SELECT last_post_id FROM board_threads WHERE id = ?", first)
		s.do("mod", "DELETE", path("/threads/%d/posts/%d", first, reply), "").want(200)
		want("bob", 10, []int64{third, second, first})
		s.do("mod", "DELETE", path("/threads/%d/posts/%d", third, s.number("SELECT first_post_id FROM board_threads WHERE id = ?", third)), "").want(200)
		want("bob", 10, []int64{second, first})
		if n := s.number("SELECT count(*) FROM board_thread_tags g JOIN board_threads t ON t.id = g.thread_id WHERE g.last_post_at <> t.last_post_at"); n != 0 {
			t.Errorf("%d places are wrong", n)
		}
		if _, err := s.service.Tags.Threads(t.Context(), s.actor("bob"), tag, s.service.Posts.Cursor(1, posts.Position{}), 2); err == nil {
			t.Error("the cursor of a forum is taken")
		}

		// A thread without tags gets those of the thread that is merged into it, or from which it is split.
		for thread, names := range map[int64][]string{first: nil, second: {"dogs", "pets"}} {
			if err := s.service.Tags.Set(t.Context(), s.actor("bob"), thread, names); err != nil {
				t.Fatal(err)
			}
		}
		s.do("bob", "POST", path("/threads/%d/posts", second), `{"message":"To be split off"}`).want(201)
		if _, err := s.service.Moderation.Merge(t.Context(), s.actor("mod"), first, second, ""); err != nil {
			t.Fatal(err)
		}
		if got := s.tagged(first); !slices.Equal(got, []string{"dogs", "pets"}) || s.tagged(second) != nil {
			t.Errorf("merged: %q, %q", got, s.tagged(second))
		}
		newThread, err := s.service.Moderation.Split(t.Context(), s.actor("mod"), first, moderation.Split{
			Posts: []int64{s.postOf("To be split off")}, Title: "Split off", Forum: s.forum("public"),
		})
		if err != nil || !slices.Equal(s.tagged(newThread), []string{"dogs", "pets"}) {
			t.Errorf("split: %v, %q", err, s.tagged(newThread))
		}

		admin := s.actor("admin")
		refused(t, "merged with itself", s.service.Tags.Merge(t.Context(), admin, tag, "Pets"), 422, "unknown")
		if err := s.service.Tags.Merge(t.Context(), admin, tag, "DOGS"); err != nil || !slices.Equal(s.tagged(first), []string{"dogs"}) {
			t.Errorf("merged: %v, %q", err, s.tagged(first))
		}
		tag = s.tag("dogs")
		if err := s.service.Tags.Save(t.Context(), admin, tags.Tag{ID: tag, Name: "Hounds"}); err != nil || !slices.Equal(s.tagged(first), []string{"Hounds"}) {
			t.Errorf("renamed: %v, %q", err, s.tagged(first))
		}
		want("bob", 10, []int64{newThread, first})
		if err := s.service.Tags.Delete(t.Context(), admin, tag); err != nil || s.tagged(first) != nil || list("bob", 10) != nil {
			t.Errorf("deleted: %v, %q", err, s.tagged(first))
		}
	})
}
