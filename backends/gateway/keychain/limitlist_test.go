package keychain

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
)

// TestLimited checks that all holders of limits are listed page by page, with the rest of their budgets.
func TestLimited(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		n.user(t, "alice")
		n.user(t, "bob")
		team, log := n.team(t, "red"), quietLog(n)
		if err := n.SetMember(t.Context(), team.ID, "alice", Membership{}); err != nil {
			t.Fatal(err)
		}
		for _, h := range [][2]string{{OnUser, "alice"}, {OnUser, "bob"}, {OnTeam, team.ID}, {OnTeamOwn, team.ID}, {OnOrganisation, Organisation}} {
			if _, err := n.SetLimits(t.Context(), h[0], h[1], Limits{Budgets: Budgets{TokensPerDay: new(int64(100))}}, nil); err != nil {
				t.Fatal(err)
			}
		}
		raise := Raise{Until: n.now().Add(time.Hour), Limits: Limits{Budgets: Budgets{TokensPerDay: new(int64(500))}}}
		if err := n.SetRaise(t.Context(), OnUser, "bob", &raise, nil); err != nil {
			t.Fatal(err)
		}
		key, err := n.CreateKey(t.Context(), "alice", KeyOptions{Label: "ci", Impose: true, Limits: Limits{
			RateLimitPerMinute: new(int64(7)), Budgets: Budgets{USDPerMonth: new(spending.MicroUSD(1_500_000))},
		}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.CreateTeamKey(t.Context(), team.ID, KeyOptions{Label: "of the team"}); err != nil {
			t.Fatal(err)
		}
		id, err := n.Authenticate(t.Context(), key.Key)
		if err != nil {
			t.Fatal(err)
		}
		record := spend(id, n.now(), 30, 250_000)
		record.TeamID = team.ID
		log.Add(record)
		if err := log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		lines := func(list []Limited) (text []string) {
			for i := range list {
				l := &list[i]
				for _, b := range l.Budgets {
					text = append(text, fmt.Sprintf("%s %s %q %s %s/%s by %s", l.On, l.UserID, l.Name, b.Name, b.Spent, b.Limit, b.By))
				}
			}
			return text
		}
		want := []string{
			`organisation  "" tokens_per_day 30/100 by operator`, `team  "red" tokens_per_day 30/100 by operator`, `team_own  "red" tokens_per_day 30/100 by team`,
			`user alice "" tokens_per_day 30/100 by operator`, `user bob "" tokens_per_day 0/500 by operator`, `key alice "ci" usd_per_month 0.25/1.5 by operator`,
		}
		for _, size := range []int{1, 2, 100} {
			var got []Limited
			for after := ""; ; after = got[len(got)-1].Place() {
				page, err := n.Limited(t.Context(), "", after, size)
				if err != nil {
					t.Fatal(err)
				}
				if got = append(got, page...); len(page) < size {
					break
				}
			}
			if text := lines(got); !slices.Equal(text, want) {
				t.Errorf("by pages of %d: %q, want %q", size, text, want)
			}
		}
		if err := n.RevokeKey(t.Context(), "alice", key.ID); err != nil {
			t.Fatal(err)
		}
		if keys, err := n.Limited(t.Context(), OnKey, "", 5); err != nil || len(keys) != 0 {
			t.Errorf("once the key is revoked: %+v, error %v", keys, err)
		}
		users, err := n.Limited(t.Context(), OnUser, OnUser+"/alice", 5)
		if err != nil || len(users) != 1 || users[0].Holder != "bob" || users[0].RaisedUntil == nil {
			t.Errorf("users after alice: %+v, error %v", users, err)
		}
		if list, err := n.Limited(t.Context(), "", "user/\x00", 5); err != nil || len(list) != 0 {
			t.Errorf("after an impossible id: %+v, error %v", list, err)
		}
	})
}

// TestSharedKeys checks that the list has the provider keys of the organisation and of teams with their owners, but not
// those of users.
func TestSharedKeys(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		n.user(t, "alice")
		red, blue := n.team(t, "red"), n.team(t, "blue")
		for i, owner := range []Owner{{OnTeam, red.ID}, {OnUser, "alice"}, {OnTeam, blue.ID}, TheOrganisation, {OnTeam, red.ID}} {
			n.ownedKeyFor(t, owner, fmt.Sprintf("sk-%d-0123456789", i))
		}
		keys, err := n.SharedKeys(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		text := make([]string, 0, len(keys))
		for i := range keys {
			text = append(text, keys[i].Owner.Kind+" "+keys[i].Team+" "+keys[i].Key.Provider)
		}
		want := []string{"organisation  alpha", "team blue alpha", "team red alpha", "team red alpha"}
		if !slices.Equal(text, want) || !keys[2].Key.CreatedAt.Before(keys[3].Key.CreatedAt) {
			t.Errorf("the keys are %q, want %q", text, want)
		}
	})
}
