package keychain

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
)

// team creates a team with the given users as members.
func (n *node) team(t *testing.T, name string, users ...string) Team {
	t.Helper()
	team, err := n.AddTeam(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range users {
		if err := n.SetMember(t.Context(), team.ID, user, Membership{}); err != nil {
			t.Fatal(err)
		}
	}
	return team
}

// teamOf returns the team that a key counts for.
func (n *node) teamOf(t *testing.T, key string) string {
	t.Helper()
	id, err := n.Authenticate(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return id.TeamID
}

// TestTeamOfKey checks which team a key counts for through all changes of membership.
func TestTeamOfKey(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		key := n.user(t, "alice")
		if team := n.teamOf(t, key.Key); team != "" || key.TeamID != "" {
			t.Errorf("without a team, the key's team is %q, %q", team, key.TeamID)
		}
		red, blue := n.team(t, "red", "alice"), n.team(t, "blue")
		_, err := n.CreateKey(t.Context(), "alice", KeyOptions{TeamID: blue.ID})
		wantRefusal(t, err, http.StatusNotFound, "not_found", "")
		if err := n.SetMember(t.Context(), blue.ID, "alice", Membership{}); err != nil {
			t.Fatal(err)
		}
		forBlue, err := n.CreateKey(t.Context(), "alice", KeyOptions{TeamID: blue.ID})
		if err != nil || forBlue.TeamID != blue.ID {
			t.Fatalf("%+v, error %v", forBlue, err)
		}
		want := func(state, ofKey, ofBlue string) {
			t.Helper()
			if got := n.teamOf(t, key.Key); got != ofKey {
				t.Errorf("%s: the first key counts for %q, want %q", state, got, ofKey)
			}
			if got := n.teamOf(t, forBlue.Key); got != ofBlue {
				t.Errorf("%s: the key for blue counts for %q, want %q", state, got, ofBlue)
			}
		}
		check := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		want("red by default", red.ID, blue.ID)
		check(n.SetMember(t.Context(), blue.ID, "alice", Membership{Default: true}))
		want("blue by default", blue.ID, blue.ID)
		check(n.SetMember(t.Context(), red.ID, "alice", Membership{Default: true}))
		check(n.RemoveMember(t.Context(), blue.ID, "alice", true))
		want("out of blue", red.ID, red.ID)
		check(n.SetMember(t.Context(), blue.ID, "alice", Membership{}))
		check(n.RemoveTeam(t.Context(), red.ID))
		want("red is gone", blue.ID, blue.ID)
		wantRefusal(t, n.RemoveMember(t.Context(), blue.ID, "alice", false), http.StatusForbidden, "only_team", "")
		check(n.RemoveMember(t.Context(), blue.ID, "alice", true))
		want("in no team", "", "")
		wantRefusal(t, n.RemoveMember(t.Context(), blue.ID, "alice", true), http.StatusNotFound, "not_found", "")
		if newKey, err := n.RegenerateKey(t.Context(), "alice"); err != nil || newKey.TeamID != "" {
			t.Errorf("%+v, error %v", newKey, err)
		}
	})
}

// TestTeamBudget uses up a team's budget through two members, and the organisation's budget through a third user. It
// checks both from another node and after the team is removed.
func TestTeamBudget(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n, other := p.start(t), p.start(t)
		log := quietLog(n)
		ids := map[string]*Identity{}
		team := n.team(t, "red")
		for _, user := range []string{"alice", "bob", "carol"} {
			key := n.user(t, user)
			if user != "carol" {
				if err := n.SetMember(t.Context(), team.ID, user, Membership{}); err != nil {
					t.Fatal(err)
				}
			}
			ids[user] = &Identity{UserID: user, KeyID: key.ID}
			ids[key.Key] = ids[user]
		}
		if _, err := n.Impose(t.Context(), OnTeam, team.ID, KeyChange{Limits: func(l *Limits) { l.Budgets = Budgets{TokensPerMonth: new(int64(100))} }}); err != nil {
			t.Fatal(err)
		}
		if _, err := n.Impose(t.Context(), OnOrganisation, Organisation, KeyChange{Limits: func(l *Limits) { l.Budgets = Budgets{USDTotal: new(spending.MicroUSD(3000))} }}); err != nil {
			t.Fatal(err)
		}
		for key := range ids {
			if !strings.HasPrefix(key, KeyPrefix) {
				continue
			}
			id, err := n.Authenticate(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			*ids[key] = *id
			wantAdmitted(t, n, id)
			wantAdmitted(t, other, id)
		}
		add := func(id *Identity, tokens, cost int64) {
			t.Helper()
			r := spend(id, n.now(), tokens, cost)
			r.TeamID = id.TeamID
			log.Add(r)
		}
		add(ids["alice"], 60, 500)
		add(ids["carol"], 1000, 500) // carol is in no team
		wantAdmitted(t, n, ids["bob"])
		add(ids["bob"], 40, 500)
		for _, user := range []string{"alice", "bob"} {
			wantSpent(t, n, ids[user], "tokens_per_month", nextMonth)
		}
		wantAdmitted(t, n, ids["carol"])
		if err := log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		other.clock.Offset.Add(int64(CacheTTL))
		wantSpent(t, other, ids["alice"], "tokens_per_month", nextMonth)
		wantAdmitted(t, other, ids["carol"])

		add(ids["carol"], 1, 1500)
		for _, id := range ids { // the error names the budget that is never renewed
			wantSpent(t, n, id, "usd_total", time.Time{})
		}
		if err := log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := n.RemoveTeam(t.Context(), team.ID); err != nil {
			t.Fatal(err)
		}
		n.clock.Offset.Add(int64(CacheTTL))
		wantSpent(t, n, ids["carol"], "usd_total", time.Time{})
	})
}

// TestTeams creates, renames, lists and removes teams.
func TestTeams(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		n.user(t, "alice")
		n.user(t, "bob")
		red := n.team(t, "red", "alice", "bob")
		blue := n.team(t, "blue", "bob")
		_, err := n.AddTeam(t.Context(), "red")
		wantRefusal(t, err, http.StatusConflict, "already_exists", "")
		wantRefusal(t, n.RenameTeam(t.Context(), blue.ID, "red"), http.StatusConflict, "already_exists", "")
		for _, name := range []string{"", " red", "team_1", "a\x00", strings.Repeat("a", maxTeamName+1)} {
			_, err := n.AddTeam(t.Context(), name)
			wantRefusal(t, err, http.StatusBadRequest, "invalid_value", "name")
		}
		if err := n.RenameTeam(t.Context(), blue.ID, "green"); err != nil {
			t.Fatal(err)
		}
		teams, err := n.Teams(t.Context(), "", 10)
		if err != nil || len(teams) != 2 || teams[0].Name != "green" || teams[0].Members != 1 || teams[1].ID != red.ID || teams[1].Members != 2 {
			t.Errorf("%+v, error %v", teams, err)
		}
		if next, err := n.Teams(t.Context(), "green", 10); err != nil || len(next) != 1 {
			t.Errorf("%+v, error %v", next, err)
		}
		for _, name := range []string{red.ID, "red"} {
			if team, err := n.Team(t.Context(), name); err != nil || team.ID != red.ID {
				t.Errorf("%+v, error %v", team, err)
			}
		}
		members, err := n.Members(t.Context(), red.ID, "", 10)
		if err != nil || len(members) != 2 || members[0].UserID != "alice" || !members[0].Default || members[1].UserID != "bob" {
			t.Errorf("%+v, error %v", members, err)
		}
		if joined, err := n.TeamsOf(t.Context(), "bob"); err != nil || len(joined) != 2 || joined[0].ID != red.ID {
			t.Errorf("%+v, error %v", joined, err)
		}
		if err := n.RemoveTeam(t.Context(), red.ID); err != nil {
			t.Fatal(err)
		}
		if joined, err := n.TeamsOf(t.Context(), "alice"); err != nil || len(joined) != 0 {
			t.Errorf("%+v, error %v", joined, err)
		}
		for _, unknown := range []string{"red", red.ID, "no\x00team"} {
			_, err := n.Team(t.Context(), unknown)
			wantRefusal(t, err, http.StatusNotFound, "not_found", "")
			wantRefusal(t, n.SetMember(t.Context(), unknown, "alice", Membership{}), http.StatusNotFound, "not_found", "")
			_, err = n.Impose(t.Context(), OnTeam, unknown, KeyChange{})
			wantRefusal(t, err, http.StatusNotFound, "not_found", "")
		}
		wantRefusal(t, n.SetMember(t.Context(), blue.ID, "nobody", Membership{}), http.StatusNotFound, "not_found", "")
	})
}

// TestKeylessOfTeam checks that a team's limits bind requests made in a member's name without a key.
func TestKeylessOfTeam(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		n.user(t, "guest")
		team := n.team(t, "red", "guest")
		_, change := tightLimits(n.now())
		if _, err := n.Impose(t.Context(), OnTeam, team.ID, change); err != nil {
			t.Fatal(err)
		}
		usage := spending.NewLog(n.ledger, n.KeyUses(), zap.NewNop()).Start()
		defer func() { _ = usage.Close(t.Context()) }()
		id, err := n.Keyless(t.Context(), "guest")
		if err != nil || id.TeamID != team.ID || !id.Restricted() || operatorLimits(id.Imposed, OnTeam) == nil {
			t.Fatalf("%+v, error %v", id, err)
		}
	})
}

// TestNewUsersOfTeam checks that a user who signs in for the first time is added to the policy's team.
func TestNewUsersOfTeam(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		n.user(t, "alice")
		policy := NewUsers{Team: "research"}
		for _, user := range []string{"alice", "bob", "carol", "bob"} {
			if _, _, _, err := n.SignIn(t.Context(), Arrival{ID: user}, policy); err != nil {
				t.Fatal(err)
			}
		}
		team, err := n.Team(t.Context(), "research")
		if err != nil || team.Members != 2 {
			t.Errorf("%+v, error %v", team, err)
		}
		if joined, err := n.TeamsOf(t.Context(), "alice"); err != nil || len(joined) != 0 {
			t.Errorf("a known user is in %+v, error %v", joined, err)
		}
		if (&NewUsers{Team: " "}).Check() == nil {
			t.Error("a team without a name passes")
		}
	})
}

// TestSpendingByTeam checks the sums of spending by team.
func TestSpendingByTeam(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		log := quietLog(n)
		red, blue := n.team(t, "red"), n.team(t, "blue")
		for i, r := range []spending.Record{
			{TeamID: red.ID, Provider: "alpha", Model: "large", InputTokens: 10, OutputTokens: 5, CachedTokens: 2, CostMicroUSD: 100, CostKnown: true},
			{TeamID: red.ID, Provider: "alpha", Model: "small", InputTokens: 1},
			{TeamID: blue.ID, Provider: "alpha", Model: "large", InputTokens: 7, CostMicroUSD: 300, CostKnown: true},
			{Provider: "beta", Model: "large", InputTokens: 3, Code: "server_error"},
			{TeamID: red.ID, Provider: "alpha", Model: "large", InputTokens: 10, CostMicroUSD: 50, CostKnown: true},
		} {
			r.At, r.UserID, r.KeyID = start.AddDate(0, 0, i/4), "alice", "gk_1"
			log.Add(r)
		}
		if err := log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := n.RemoveTeam(t.Context(), blue.ID); err != nil {
			t.Fatal(err)
		}
		text := func(groups ...string) string {
			t.Helper()
			lines, err := n.ledger.Spending(t.Context(), spending.Query{From: start, To: start.AddDate(0, 0, 2), By: groups})
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for _, l := range lines {
				for _, part := range []*string{l.Team, l.Provider, l.Model} {
					if part != nil {
						b.WriteString(*part + " ")
					}
				}
				fmt.Fprintf(&b, "%s %d %d %s; ", l.Day, l.Requests, l.TotalTokens, l.CostUSD)
			}
			return b.String()
		}
		for _, test := range []struct {
			by   []string
			want string
		}{
			{nil, " alpha large  1 7 0.0003; red alpha large  2 25 0.00015;  beta large  1 3 0; red alpha small  1 1 0; "},
			{[]string{"team"}, " 1 7 0.0003; red  3 26 0.00015;  1 3 0; "},
			{[]string{"day"}, "2026-03-01 4 26 0.0004; 2026-03-02 1 10 0.00005; "},
			{[]string{"provider"}, "alpha  4 33 0.00045; beta  1 3 0; "},
		} {
			if got := text(test.by...); strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(test.want, " ", "") {
				t.Errorf("by %v: %s", test.by, got)
			}
		}
		_, err := n.ledger.Spending(t.Context(), spending.Query{By: []string{"key_id"}})
		wantRefusal(t, err, http.StatusBadRequest, "invalid_value", "by")
		_, err = n.ledger.Spending(t.Context(), spending.Query{From: start, To: start})
		wantRefusal(t, err, http.StatusBadRequest, "invalid_value", "from")
	})
}
