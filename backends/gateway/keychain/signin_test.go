package keychain

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
)

// signIn calls SignIn and returns only the key and the error.
func (n *node) signIn(t *testing.T, arrival Arrival, policy NewUsers) (*NewKey, error) {
	t.Helper()
	_, key, created, err := n.SignIn(t.Context(), arrival, policy)
	if created != (key != nil) {
		t.Errorf("created is %t, and the key %v", created, key)
	}
	return key, err
}

// teamNames returns the teams of a user, the default one first.
func (n *node) teamNames(t *testing.T, user string) string {
	t.Helper()
	teams, err := n.TeamsOf(t.Context(), user)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(teams))
	for i := range teams {
		names[i] = teams[i].Name
	}
	return strings.Join(names, " ")
}

// TestApproval checks that new users have to wait until an operator approves them.
func TestApproval(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		limits, _ := tightLimits(n.now())
		policy := NewUsers{Approve: true, Team: "newcomers", Limits: limits}
		n.user(t, "alice")
		if key, err := n.signIn(t, Arrival{ID: "alice"}, policy); err != nil || key != nil {
			t.Errorf("a known user: %v, error %v", key, err)
		}
		bob := Arrival{ID: "bob", Profile: Profile{Email: "bob@example.com"}}
		for range 2 {
			_, err := n.signIn(t, bob, policy)
			wantRefusal(t, err, http.StatusForbidden, "user_waiting", "")
		}
		wantRefusal(t, n.Active(t.Context(), "bob"), http.StatusForbidden, "user_waiting", "")
		if _, err := n.Keyless(t.Context(), "bob"); err == nil {
			t.Error("a request in the name of a waiting user is admitted")
		}
		forced, err := n.CreateKey(t.Context(), "bob", KeyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		wantUnknownKey(t, n, forced.Key)
		if user, err := n.UserBy(t.Context(), "bob@example.com"); err != nil || user.WaitingSince == nil {
			t.Errorf("%+v, error %v", user, err)
		}

		// A user who had to wait gets the first key only after the approval.
		carol := Arrival{ID: "carol"}
		_, err = n.signIn(t, carol, policy)
		wantRefusal(t, err, http.StatusForbidden, "user_waiting", "")
		if err := n.ResumeUser(t.Context(), "carol"); err != nil {
			t.Fatal(err)
		}
		if err := n.Active(t.Context(), "carol"); err != nil {
			t.Error(err)
		}
		key, err := n.signIn(t, carol, policy)
		if err != nil || key == nil || !key.IsPrimary || len(key.Imposed) != 1 {
			t.Fatalf("%+v, error %v", key, err)
		}
		if key, err := n.signIn(t, carol, policy); err != nil || key != nil {
			t.Errorf("another first key %v, error %v", key, err)
		}
		if names := n.teamNames(t, "carol"); names != "newcomers" {
			t.Errorf("she is in %s", names)
		}
	})
}

// TestTeamsByRule checks that team memberships follow the identity provider's groups, except memberships that somebody
// has set by hand.
func TestTeamsByRule(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		n.team(t, "red")
		blue := n.team(t, "blue")
		policy := NewUsers{Refuse: true, Team: "newcomers"}
		_, err := n.signIn(t, Arrival{ID: "eve", Groups: []string{"green", "a\x00b"}}, policy)
		wantRefusal(t, err, http.StatusForbidden, "new_users_refused", "")
		if _, err := n.Team(t.Context(), "green"); err == nil {
			t.Error("a group has made a team")
		}
		for _, step := range []struct {
			who   Arrival
			teams string
		}{
			{Arrival{Groups: []string{"red", "green"}}, "red"},
			{Arrival{Groups: []string{"red"}, Teams: []string{"violet"}}, "red violet"},
			{Arrival{Teams: []string{"violet"}}, "violet"},
			{Arrival{Teams: []string{"violet"}}, "violet"},
			{Arrival{}, ""},
			{Arrival{Groups: []string{"blue"}}, "blue"},
		} {
			// Neither a token without the claims nor InitUser removes a user from a team.
			if before := n.teamNames(t, "ada"); before != "" {
				if _, err := n.signIn(t, Arrival{ID: "ada"}, policy); err != nil {
					t.Fatal(err)
				}
				if _, _, _, err := n.InitUser(t.Context(), "ada"); err != nil {
					t.Fatal(err)
				}
				if names := n.teamNames(t, "ada"); names != before {
					t.Errorf("without claims she is in %q, and was in %q", names, before)
				}
			}
			step.who.ID, step.who.Complete = "ada", true
			if _, err := n.signIn(t, step.who, policy); err != nil {
				t.Fatal(err)
			}
			if names := n.teamNames(t, "ada"); names != step.teams {
				t.Errorf("with %+v she is in %q", step.who, names)
			}
		}

		// A membership that was set by hand stays.
		if err := n.SetMember(t.Context(), blue.ID, "ada", Membership{Role: RoleAdmin}); err != nil {
			t.Fatal(err)
		}
		if _, err := n.signIn(t, Arrival{ID: "ada"}, policy); err != nil {
			t.Fatal(err)
		}
		if names := n.teamNames(t, "ada"); names != "blue" {
			t.Errorf("she is in %q", names)
		}
		audit, err := n.Audit(t.Context(), 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		actors := make(map[string]int)
		for _, e := range audit {
			actors[e.Actor]++
		}
		if actors[SignInRule] != 5 {
			t.Errorf("changes by actor: %v", actors)
		}
	})
}

// TestInvitations checks that an invited person may sign in, and that each invitation works once.
func TestInvitations(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		red := n.team(t, "red")
		refuse := NewUsers{Refuse: true}
		invite := func(in Invitation) (Invitation, string) {
			t.Helper()
			invitation, token, err := n.Invite(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			return invitation, token
		}
		_, token := invite(Invitation{Email: " Ada@Example.com ", TeamID: red.ID, Role: RoleAdmin})
		other := Arrival{ID: "eve", Invitation: token, Profile: Profile{Email: "eve@example.com"}}
		_, err := n.signIn(t, other, refuse)
		wantRefusal(t, err, http.StatusForbidden, "invitation_for_another", "")
		ada := Arrival{ID: "ada", Invitation: token, Profile: Profile{Email: "ada@example.com"}}
		if key, err := n.signIn(t, ada, refuse); err != nil || key == nil || key.TeamID != red.ID {
			t.Fatalf("%+v, error %v", key, err)
		}
		if key, err := n.signIn(t, ada, refuse); err != nil || key != nil {
			t.Errorf("the second time: %v, error %v", key, err)
		}
		if admin, err := n.Administers(t.Context(), "ada", red.ID); err != nil || !admin {
			t.Errorf("she administers it: %t, error %v", admin, err)
		}
		_, err = n.signIn(t, Arrival{ID: "eve", Invitation: token}, refuse)
		wantRefusal(t, err, http.StatusForbidden, "invitation_invalid", "")

		// An invitation also lets a user in who is waiting for approval.
		_, err = n.signIn(t, Arrival{ID: "bob"}, NewUsers{Approve: true})
		wantRefusal(t, err, http.StatusForbidden, "user_waiting", "")
		_, token = invite(Invitation{Email: "bob@example.com"})
		if key, err := n.signIn(t, Arrival{ID: "bob", Invitation: token}, NewUsers{Approve: true}); err != nil || key == nil {
			t.Errorf("%v, error %v", key, err)
		}

		withdrawn, token := invite(Invitation{Email: "carol@example.com"})
		if err := n.Withdraw(t.Context(), withdrawn.ID); err != nil {
			t.Fatal(err)
		}
		wantRefusal(t, n.Withdraw(t.Context(), withdrawn.ID), http.StatusNotFound, "not_found", "")
		_, late := invite(Invitation{Email: "carol@example.com", ExpiresAt: n.now().Add(time.Hour)})
		n.clock.Offset.Add(int64(2 * time.Hour))
		for _, bad := range []string{token, late, "no token", strings.Repeat("a", 43)} {
			_, err = n.signIn(t, Arrival{ID: "carol", Invitation: bad}, NewUsers{})
			wantRefusal(t, err, http.StatusForbidden, "invitation_invalid", "")
		}
		for _, bad := range []Invitation{
			{Email: "carol"},
			{Email: "c@example.com", Role: "king"},
			{Email: "c@example.com", ExpiresAt: n.now()},
			{Email: "c@example.com", ExpiresAt: n.now().AddDate(1, 0, 0)},
		} {
			if _, _, err := n.Invite(t.Context(), bad); err == nil {
				t.Errorf("%+v is made", bad)
			}
		}
		_, _, err = n.Invite(t.Context(), Invitation{Email: "c@example.com", TeamID: "team_none"})
		wantRefusal(t, err, http.StatusNotFound, "not_found", "")
		if list, err := n.Invitations(t.Context(), "", 10); err != nil || len(list) != 3 {
			t.Errorf("%+v, error %v", list, err)
		}
	})
}

// TestTeamKeys checks keys that belong to a team: their usage counts for the team, nobody can sign in as their owner,
// and they end with the team.
func TestTeamKeys(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		red := n.team(t, "red")
		tokens := int64(100)
		if _, err := n.SetLimits(t.Context(), OnTeam, red.ID, Limits{Budgets: Budgets{TokensPerDay: &tokens}}, nil); err != nil {
			t.Fatal(err)
		}
		_, err := n.CreateTeamKey(t.Context(), "team_none", KeyOptions{})
		wantRefusal(t, err, http.StatusNotFound, "not_found", "")
		rate := int64(60)
		var key *NewKey
		for range 2 {
			if key, err = n.CreateTeamKey(t.Context(), red.ID, KeyOptions{Label: "ci", Limits: Limits{RateLimitPerMinute: &rate}}); err != nil {
				t.Fatal(err)
			}
		}
		id, err := n.Authenticate(t.Context(), key.Key)
		if err != nil || id.TeamID != red.ID || id.UserID != red.ID || len(id.Imposed) != 2 {
			t.Fatalf("%+v, error %v", id, err)
		}
		for _, name := range []string{"crimson", "red"} {
			if err := n.RenameTeam(t.Context(), red.ID, name); err != nil {
				t.Fatal(err)
			}
			if held, err := n.AllKeys(t.Context(), "", "", false, 10); err != nil || len(held) != 2 || held[0].User != name {
				t.Errorf("keys of the renamed team: %+v, %v", held, err)
			}
		}
		wantRefusal(t, n.Active(t.Context(), red.ID), http.StatusForbidden, "team_account", "")
		green := n.team(t, "green") // green has no keys yet
		_, err = n.signIn(t, Arrival{ID: green.ID}, NewUsers{})
		wantRefusal(t, err, http.StatusForbidden, "team_account", "")
		shared, err := n.AddKeyOf(t.Context(), Owner{OnTeam, red.ID}, "alpha", "sk-of-the-team", "", func(string) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		account, err := n.Account(t.Context(), id.UserID)
		if err != nil {
			t.Fatal(err)
		}
		if keys := account.KeysFor(testCatalog(t), id.TeamID)["alpha"]; len(keys) != 1 || keys[0].ID != shared.ID {
			t.Errorf("its provider keys are %+v", keys)
		}
		if err := n.SuspendUser(t.Context(), red.ID); err != nil {
			t.Fatal(err)
		}
		if suspended, err := n.SuspendedUsers(t.Context(), "", 10); err != nil || len(suspended) != 0 {
			t.Errorf("among the people who are suspended there are %+v, error %v", suspended, err)
		}
		if err := n.ResumeUser(t.Context(), red.ID); err != nil {
			t.Fatal(err)
		}
		_, err = n.signIn(t, Arrival{ID: red.ID}, NewUsers{})
		wantRefusal(t, err, http.StatusForbidden, "team_account", "")
		_, err = n.Keyless(t.Context(), red.ID)
		wantRefusal(t, err, http.StatusForbidden, "team_account", "")
		wantRefusal(t, n.SetMember(context.Background(), n.team(t, "blue").ID, red.ID, Membership{}), http.StatusNotFound, "not_found", "")
		if users, err := n.Users(t.Context(), "", "", 10); err != nil || len(users) != 0 {
			t.Errorf("among the people there are %+v, error %v", users, err)
		}
		if team, err := n.Team(t.Context(), red.ID); err != nil || team.Members != 0 {
			t.Errorf("%+v, error %v", team, err)
		}
		if keys, err := n.Keys(t.Context(), red.ID); err != nil || len(keys) != 2 {
			t.Errorf("%+v, error %v", keys, err)
		}
		if err := n.RemoveTeam(t.Context(), red.ID); err != nil {
			t.Fatal(err)
		}
		wantUnknownKey(t, n, key.Key)
	})
}
