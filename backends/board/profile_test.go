package board

import (
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestProfileIsNoRight: a new profile leaves what is kept of the rights, and its
// member sees it at once.
func TestProfileIsNoRight(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, Options{})
		ctx := t.Context()
		const current = "SELECT version FROM board_permission_version"
		before := s.number(current)
		for _, title := range []string{"Old hand", "Older hand"} {
			a, err := s.service.Authenticate(ctx, s.tokens["bob"]) // now it is kept
			must(t, err)
			must(t, s.service.SetProfile(ctx, a, Profile{Title: title, Bio: "Hello"}))
			a, err = s.service.Authenticate(ctx, s.tokens["bob"])
			must(t, err)
			if a.User.Title != title {
				t.Errorf("the title is %q, want %q", a.User.Title, title)
			}
		}
		if after := s.number(current); after != before {
			t.Errorf("the version of the rights went from %d to %d", before, after)
		}
	})
}

// TestProfileHidden: who may not see members learns of none.
func TestProfileHidden(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *store.DB) {
		s := newSite(t, db, Options{})
		alice, bob := path("/members/%d", s.user("alice")), path("/members/%d", s.user("bob"))
		s.do("", "GET", alice, "").want(200)
		s.exec("UPDATE board_groups SET allow_mask = allow_mask - ? WHERE kind IN ('guest', 'registered')", int64(ProfileView))
		for _, as := range []string{"", "bob"} {
			got, absent := s.do(as, "GET", alice, "").want(404), s.do(as, "GET", "/members/987654", "").want(404)
			if got.body != absent.body {
				t.Errorf("%q: %s, want as for nobody: %s", as, got.body, absent.body)
			}
		}
		s.do("bob", "GET", bob, "").want(200) // oneself
		s.do("admin", "GET", alice, "").want(200)
	})
}
