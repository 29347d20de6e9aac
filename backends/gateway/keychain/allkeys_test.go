package keychain

import (
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// TestAllKeys checks that a search by words finds the gateway keys of users and teams, page by page.
func TestAllKeys(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		n.user(t, "alice")
		n.user(t, "b_b")
		red := n.team(t, "red")
		add := func(user, label string) string {
			t.Helper()
			key, err := n.CreateKey(t.Context(), user, KeyOptions{Label: label})
			if err != nil {
				t.Fatal(err)
			}
			return key.ID
		}
		add("alice", "ci 100%")
		revokedID := add("b_b", "old")
		if _, err := n.CreateTeamKey(t.Context(), red.ID, KeyOptions{Label: "service"}); err != nil {
			t.Fatal(err)
		}
		if err := n.RevokeKey(t.Context(), "b_b", revokedID); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			words   string
			revoked bool
			want    []string
		}{
			{"", false, []string{"service of red", "ci 100% of alice", "primary of b_b", "primary of alice"}},
			{"", true, []string{"service of red", "old of b_b", "ci 100% of alice", "primary of b_b", "primary of alice"}},
			{"ALICE", false, []string{"ci 100% of alice", "primary of alice"}},
			{"0%", false, []string{"ci 100% of alice"}},
			{"b_b", true, []string{"old of b_b", "primary of b_b"}},
			{"red", false, []string{"service of red"}},
			{"\x00", false, nil},
		} {
			for _, size := range []int{1, 3, 100} {
				var got []string
				for after := ""; ; {
					page, err := n.AllKeys(t.Context(), c.words, after, c.revoked, size)
					if err != nil {
						t.Fatal(err)
					}
					for i := range page {
						k := &page[i]
						holder := k.User
						if holder == "" {
							holder = k.Key.UserID
						}
						if k.OfTeam != (holder == "red") {
							t.Errorf("%s: of a team is %t", holder, k.OfTeam)
						}
						got = append(got, k.Key.Label+" of "+holder)
					}
					if len(page) < size {
						break
					}
					after = page[len(page)-1].Place()
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("%q by %d: %s, want %s", c.words, size, strings.Join(got, ", "), strings.Join(c.want, ", "))
				}
			}
		}
		_, err := n.AllKeys(t.Context(), "", "yesterday", false, 1)
		if e, ok := apierror.From(err); !ok || e.Status != 400 {
			t.Errorf("an invalid place: %v", err)
		}
	})
}
