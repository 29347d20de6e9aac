package board

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/board/api"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/warnings"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestWarnings checks that the points of warnings hold posts and suspend a member while they count, and that a
// warning that is withdrawn has no consequences.
func TestWarnings(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		const day = 24 * time.Hour
		post, thread, bob := s.postOf("public second"), s.threadOf("Public thread"), s.user("bob")
		warn := func(user string, points, days int64) (warnings.Warning, error) {
			return s.service.Warnings.Warn(t.Context(), s.actor(user), warnings.Request{Post: post, Reason: "be kind", Points: points, Days: days})
		}
		n := 0
		reply := func(want string) {
			t.Helper()
			n++
			if got := data[api.Replied](s.do("bob", "POST", path("/threads/%d/posts", thread), `{"message":`+quoted(path("reply number %d", n))+`}`).want(201)); got.Visibility != want {
				t.Errorf("the reply is %s, want %s", got.Visibility, want)
			}
		}

		_, err := warn("alice", 1, 1)
		refused(t, "by a member", err, http.StatusForbidden, "no_permission")
		_, err = warn("bob", 1, 1)
		refused(t, "oneself", err, http.StatusForbidden, "")
		_, err = warn("mod", 101, 1)
		refused(t, "too many points", err, http.StatusUnprocessableEntity, "range")
		_, err = warn("mod", 1, 4000)
		refused(t, "for too long", err, http.StatusUnprocessableEntity, "range")
		_, err = s.service.Warnings.Warn(t.Context(), s.actor("mod"), warnings.Request{Post: post, Points: 1})
		refused(t, "without a reason", err, http.StatusUnprocessableEntity, "required")
		_, err = s.service.Warnings.Warn(t.Context(), s.actor("mod"), warnings.Request{Post: s.postOf("staff first"), Reason: "hidden"})
		refused(t, "for a post that the moderator does not see, or of a moderator", err, map[bool]int{true: 404, false: 403}[!s.actor("mod").In(s.forum("staff")).Visible], "")

		_, err = warn("mod", 2, 10)
		must(t, err)
		if entry := s.lastLog(); entry.Action != "member.warn" || entry.Post != post || !strings.Contains(entry.Detail, "be kind") {
			t.Errorf("logged %+v", entry)
		}
		reply("visible")
		_, err = warn("mod", 1, 5)
		must(t, err)
		reply("unapproved") // 3 points
		if unseen, err := s.service.Following.Unseen(t.Context(), s.actor("bob")); unseen != 2 || err != nil {
			t.Errorf("%d unseen notifications: %v", unseen, err)
		}
		s.clock.advance(5*day + time.Minute)
		reply("visible") // 2 points
		last, err := warn("mod", 4, 0)
		must(t, err)
		if last.Suspended == 0 {
			t.Error("the member is not suspended")
		}
		s.do("bob", "POST", path("/threads/%d/posts", thread), `{"message":"suspended"}`).want(403, "forbidden", "suspended")
		if r, err := s.service.Warnings.Of(t.Context(), s.actor("mod"), bob); err != nil || r.Points != 6 || len(r.Warnings) != 3 {
			t.Errorf("record %+v: %v", r, err)
		}
		refused(t, "withdrawn by a member", s.service.Warnings.Withdraw(t.Context(), s.actor("alice"), bob, last.ID), http.StatusNotFound, "")
		refused(t, "of another member", s.service.Warnings.Withdraw(t.Context(), s.actor("mod"), s.user("alice"), last.ID), http.StatusNotFound, "")
		must(t, s.service.Warnings.Withdraw(t.Context(), s.actor("mod"), bob, last.ID))
		refused(t, "withdrawn twice", s.service.Warnings.Withdraw(t.Context(), s.actor("mod"), bob, last.ID), http.StatusConflict, "")
		reply("visible")
		if list, err := s.service.Warnings.Own(t.Context(), s.actor("bob")); err != nil || len(list) != 3 || list[0].Withdrawn == 0 || list[0].WithdrawnBy != "mod" {
			t.Errorf("own warnings %+v: %v", list, err)
		}
		s.do("mod", "DELETE", path("/threads/%d/posts/%d", thread, post), "").want(200)
		if list, _, err := s.service.Following.Notifications(t.Context(), s.actor("bob"), 0, 10); err != nil || len(list) != 3 {
			t.Errorf("the member does not see warnings for a deleted post: %+v %v", list, err)
		}
		must(t, s.service.Admin.DeleteMember(t.Context(), s.actor("admin"), bob))
		if n := s.number("SELECT count(*) FROM board_warnings"); n != 0 {
			t.Errorf("%d warnings of a deleted member", n)
		}
		s.exact()
	})
}

// TestMemberNotes checks who sees, writes and deletes notes about members.
func TestMemberNotes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{})
		w, mod, bob := s.service.Warnings, s.actor("mod"), s.user("bob")
		refused(t, "by a member", w.AddNote(t.Context(), s.actor("alice"), bob, "a note"), http.StatusNotFound, "")
		refused(t, "empty", w.AddNote(t.Context(), mod, bob, " "), http.StatusUnprocessableEntity, "length")
		refused(t, "of nobody", w.AddNote(t.Context(), mod, 9999, "a note"), http.StatusNotFound, "")
		must(t, w.AddNote(t.Context(), mod, bob, "a note"))
		must(t, w.AddNote(t.Context(), s.actor("admin"), bob, "another note"))
		must(t, w.AddNote(t.Context(), s.actor("admin"), s.user("mod"), "about the moderator"))
		r, err := w.Of(t.Context(), mod, bob)
		if err != nil || len(r.Notes) != 2 || r.Notes[1].Message != "a note" {
			t.Fatalf("record %+v: %v", r, err)
		}
		for _, name := range []string{"", "alice", "bob"} {
			_, err := w.Of(t.Context(), s.actor(name), bob)
			refused(t, "seen by "+name, err, http.StatusNotFound, "")
		}
		_, err = w.Of(t.Context(), mod, s.user("mod"))
		refused(t, "the own record", err, http.StatusNotFound, "")
		refused(t, "another's", w.DeleteNote(t.Context(), mod, bob, r.Notes[0].ID), http.StatusForbidden, "no_permission")
		refused(t, "of another member", w.DeleteNote(t.Context(), mod, s.user("alice"), r.Notes[1].ID), http.StatusNotFound, "")
		must(t, w.DeleteNote(t.Context(), s.actor("admin"), bob, r.Notes[1].ID))
		if entry := s.lastLog(); entry.Action != "note.delete" || strings.Contains(entry.Detail, "a note") {
			t.Errorf("logged %+v", entry)
		}
	})
}

// TestDuplicatesOfNewMembers checks that a new member who repeats a text that is on the board waits for approval.
func TestDuplicatesOfNewMembers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, kernel.Options{NoFlood: true})
		first, other := s.threadOf("Public thread"), s.threadOf("Members thread")
		for _, test := range []struct {
			as, message string
			thread      int64
			want        string
		}{
			{"newbie", "Cheap watches are sold here.", first, "visible"},
			{"newbie", "Cheap watches are sold here.", other, "unapproved"},
			{"newbie", "Thank you!", first, "visible"},
			{"newbie", "Thank you!", other, "visible"},
			{"bob", "Cheap watches are sold here.", other, "visible"}, // is not new
		} {
			got := data[api.Replied](s.do(test.as, "POST", path("/threads/%d/posts", test.thread), `{"message":`+quoted(test.message)+`}`).want(201))
			if got.Visibility != test.want {
				t.Errorf("%s posts %q: %s, want %s", test.as, test.message, got.Visibility, test.want)
			}
		}
		s.exact()
	})
}
