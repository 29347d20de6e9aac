package keychain

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema/schematest"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestSuspend checks that a suspension takes effect at once on both nodes, and that ResumeUser restores everything.
func TestSuspend(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		local, remote := p.start(t), p.start(t)
		key := local.user(t, "alice")
		if _, err := remote.Authenticate(t.Context(), key.Key); err != nil {
			t.Fatal(err)
		}
		if err := local.SuspendUser(ActedBy(t.Context(), "root"), "alice"); err != nil {
			t.Fatal(err)
		}
		wantUnknownKey(t, local, key.Key)
		schematest.Eventually(t, "the other node sees the suspension", func() bool {
			_, err := remote.Authenticate(t.Context(), key.Key)
			return err != nil
		})
		wantRefusal(t, local.Active(t.Context(), "alice"), http.StatusForbidden, "user_suspended", "")
		_, err := local.Keyless(t.Context(), "alice")
		wantRefusal(t, err, http.StatusForbidden, "user_suspended", "")
		if newKey, err := local.CreateKey(t.Context(), "alice", KeyOptions{}); err != nil { // as an operator could
			t.Error(err)
		} else {
			wantUnknownKey(t, local, newKey.Key)
		}
		if user, err := local.User(t.Context(), "alice"); err != nil || user.SuspendedAt == nil {
			t.Errorf("%+v, error %v", user, err)
		}
		if err := local.ResumeUser(t.Context(), "alice"); err != nil {
			t.Fatal(err)
		}
		if err := local.Active(t.Context(), "alice"); err != nil {
			t.Error(err)
		}
		if _, err := local.Authenticate(t.Context(), key.Key); err != nil {
			t.Error(err)
		}
		if err := local.Active(t.Context(), "nobody"); err != nil {
			t.Error(err)
		}
		wantRefusal(t, local.SuspendUser(t.Context(), "nobody"), http.StatusNotFound, "not_found", "")
		wantAudit(t, local, "root user.suspended alice", "command user.resumed alice")
	})
}

// wantAudit compares the audit log, from its beginning and without details, with want.
func wantAudit(t *testing.T, n *node, want ...string) {
	t.Helper()
	entries, err := n.Audit(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]string, len(entries))
	for i, e := range entries {
		got[len(entries)-1-i] = e.Actor + " " + e.Action + " " + e.Subject
	}
	if strings.Join(got, "; ") != strings.Join(want, "; ") {
		t.Errorf("the audit is %s, want %s", strings.Join(got, "; "), strings.Join(want, "; "))
	}
}

// TestRemoveUser checks that only the usage of a removed user remains.
func TestRemoveUser(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		key := n.user(t, "alice")
		n.team(t, "red", "alice")
		_, change := tightLimits(n.now())
		if _, err := n.UpdateKey(t.Context(), "alice", key.ID, change); err != nil {
			t.Fatal(err)
		}
		if _, err := n.Impose(t.Context(), OnUser, "alice", change); err != nil {
			t.Fatal(err)
		}
		if _, err := n.AddProviderKey(t.Context(), "alice", "alpha", "sk-1234567890", "", func(string) bool { return true }); err != nil {
			t.Fatal(err)
		}
		log := quietLog(n)
		log.Add(spend(key.Identity(), n.now(), 10, 10))
		if err := log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, owner := range []string{key.ID, "user alice", "user bob"} {
			n.sql(t, `INSERT INTO gateway_answer_items (id, owner, sealed, size, expires_at) VALUES (?, ?, '', 1, 0)`, owner+"/item", owner)
		}
		if err := n.RemoveUser(t.Context(), "alice"); err != nil {
			t.Fatal(err)
		}
		wantUnknownKey(t, n, key.Key)
		_, err := n.User(t.Context(), "alice")
		wantRefusal(t, err, http.StatusNotFound, "not_found", "")
		var left []string
		err = n.db.Read(t.Context(), func(c store.Conn) error {
			left, err = store.List(c, schema.Text, `SELECT owner FROM gateway_answer_items`)
			return err
		})
		if err != nil || !slices.Equal(left, []string{"user bob"}) {
			t.Errorf("items are left of %q, error %v", left, err)
		}
		if report, err := n.ledger.Usage(t.Context(), "alice", spending.UsageQuery{}); err != nil || report.Totals.Requests != 1 {
			t.Errorf("the usage is %+v, error %v", report, err)
		}
		newKey := n.user(t, "alice")
		if len(newKey.Imposed) != 0 || newKey.TeamID != "" {
			t.Errorf("%+v", newKey)
		}
		if keys, err := n.ProviderKeys(t.Context(), "alice"); err != nil || len(keys) != 0 {
			t.Errorf("%+v, error %v", keys, err)
		}
		wantRefusal(t, n.RemoveUser(t.Context(), "nobody"), http.StatusNotFound, "not_found", "")
	})
}

// TestFindUsers checks the search for users by id and profile.
func TestFindUsers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		for id, profile := range map[string]Profile{
			"u1": {"Ada@Example.com", "Ada Lovelace"}, "u2": {"grace@example.com", "Grace Hopper"}, "u3": {"ada@example.org", ""},
			"u4": {"grace@example.com", "100% Grace"}, "kim@example.com": {},
		} {
			n.user(t, id)
			if _, _, _, err := n.SignIn(t.Context(), Arrival{ID: id, Profile: profile}, NewUsers{}); err != nil {
				t.Fatal(err)
			}
		}
		odd := Arrival{ID: "u1", Profile: Profile{Email: "no address", Name: strings.Repeat("x", maxProfileText+1)}}
		if _, _, _, err := n.SignIn(t.Context(), odd, NewUsers{}); err != nil {
			t.Fatal(err)
		}
		for text, want := range map[string]string{"u2": "u2", "ADA@example.com": "u1", "kim@example.com": "kim@example.com"} {
			if user, err := n.UserBy(t.Context(), text); err != nil || user.ID != want {
				t.Errorf("%s is %+v, error %v", text, user, err)
			}
		}
		_, err := n.UserBy(t.Context(), "grace@example.com")
		wantRefusal(t, err, http.StatusConflict, "ambiguous", "")
		for _, unknown := range []string{"u9", "u9@example.com", "a\x00@example.com"} {
			_, err := n.UserBy(t.Context(), unknown)
			wantRefusal(t, err, http.StatusNotFound, "not_found", "")
		}
		for words, want := range map[string]string{
			"": "kim@example.com u1 u2 u3 u4", "ADA": "u1 u3", "hopper": "u2", "%": "u4", "example.com": "kim@example.com u1 u2 u4", "u_": "",
		} {
			users, err := n.Users(t.Context(), words, "", 10)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, u := range users {
				ids = append(ids, u.ID)
			}
			if got := strings.Join(ids, " "); got != want {
				t.Errorf("%q finds %s, want %s", words, got, want)
			}
		}
		if next, err := n.Users(t.Context(), "", "u2", 1); err != nil || len(next) != 1 || next[0].ID != "u3" {
			t.Errorf("%+v, error %v", next, err)
		}
	})
}

// TestTeamRoles checks which members administer a team.
func TestTeamRoles(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		n.user(t, "alice")
		team := n.team(t, "red", "alice")
		want := func(admin bool) {
			t.Helper()
			if got, err := n.Administers(t.Context(), "alice", team.ID); err != nil || got != admin {
				t.Errorf("alice administers: %t, error %v", got, err)
			}
		}
		want(false)
		if err := n.SetMember(t.Context(), team.ID, "alice", Membership{Role: RoleAdmin}); err != nil {
			t.Fatal(err)
		}
		want(true)
		if err := n.SetMember(t.Context(), team.ID, "alice", Membership{Default: true}); err != nil {
			t.Fatal(err)
		}
		want(true)
		wantRefusal(t, n.SetMember(t.Context(), team.ID, "alice", Membership{Role: "root"}), http.StatusBadRequest, "invalid_value", "role")
		if err := n.RemoveMember(t.Context(), team.ID, "alice", true); err != nil {
			t.Fatal(err)
		}
		want(false)
		wantAudit(t, n, "command team.created "+team.ID, "command member.set "+team.ID, "command member.set "+team.ID, "command member.set "+team.ID,
			"command member.removed "+team.ID)
	})
}
