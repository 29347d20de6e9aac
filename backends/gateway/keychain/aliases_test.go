package keychain

import (
	"errors"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// TestAliases checks which alias applies to which user, and which names are refused as aliases.
func TestAliases(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		cat := testCatalog(t)
		for _, user := range []string{"alice", "bob"} {
			n.user(t, user)
			if _, err := n.AddProviderKey(t.Context(), user, "alpha", "sk-"+user, "", anyProvider); err != nil {
				t.Fatal(err)
			}
		}
		red := n.team(t, "red", "alice").ID
		entry := cat.Models("alpha")[0].EntryID()
		id := cat.Models("alpha")[0].ID
		set := func(owner Owner, name, target string) {
			t.Helper()
			if _, err := n.SetAlias(t.Context(), cat, owner, name, target); err != nil {
				t.Fatal(err)
			}
		}
		resolve := func(user, team, name string) string {
			t.Helper()
			account, err := n.Account(t.Context(), user)
			if err != nil {
				t.Fatal(err)
			}
			return account.RoutingFor(cat, team).Resolve(name)
		}
		set(TheOrganisation, "gpt-4o", "low")
		set(TheOrganisation, "fast", "keychain-low")
		set(Owner{OnTeam, red}, "gpt-4o", "medium")
		set(Owner{OnUser, "alice"}, "fast", entry)
		set(Owner{OnUser, "alice"}, "loop", id)
		for _, c := range []struct{ user, team, name, want string }{
			{"bob", "", "gpt-4o", "keychain-low"},
			{"alice", "", "gpt-4o", "keychain-low"},
			{"alice", red, "gpt-4o", "keychain-medium"},
			{"bob", red, "gpt-4o", "keychain-low"}, // bob is not a member
			{"alice", red, "fast", entry},
			{"alice", red, "fast[1m]", entry},
			{"bob", "", "fast", "keychain-low"},
			{"alice", "", "claude-fast", entry},
			{"alice", "", "claude-keychain-high", "keychain-high"},
			{"alice", "", "claude-" + entry, entry},
			{"alice", "", "claude-sonnet-4-6", "claude-sonnet-4-6"},
			{"alice", "", "loop", id},
			{"alice", "", entry, entry},
			{"bob", "", "loop", "loop"},
		} {
			if got := resolve(c.user, c.team, c.name); got != c.want {
				t.Errorf("%s of %q resolves %s to %s, want %s", c.user, c.team, c.name, got, c.want)
			}
		}

		for _, c := range []struct{ name, target, code string }{
			{"keychain-top", "high", "invalid_value"},
			{entry, "high", "invalid_value"}, // an exact name of the catalog
			{"a b", "high", "invalid_value"},
			{"x", "nowhere/at-all", "invalid_value"},
			{"x", "fast", "invalid_value"}, // an alias cannot name another alias
			{strings.Repeat("x", 101), "high", "invalid_value"},
		} {
			_, err := n.SetAlias(t.Context(), cat, TheOrganisation, c.name, c.target)
			var refusal *apierror.Error
			if !errors.As(err, &refusal) || refusal.Code != c.code {
				t.Errorf("%s for %s: %v", c.name, c.target, err)
			}
		}

		if err := n.RemoveAlias(t.Context(), Owner{OnUser, "alice"}, "fast"); err != nil {
			t.Fatal(err)
		}
		if got := resolve("alice", red, "fast"); got != "keychain-low" {
			t.Error("the organisation's alias does not apply again:", got)
		}
		if err := n.RemoveAlias(t.Context(), Owner{OnUser, "alice"}, "fast"); err == nil {
			t.Error("removed twice")
		}
		list, err := n.Aliases(t.Context(), TheOrganisation)
		if err != nil || len(list) != 2 || list[0].Name != "fast" || list[1].Target != "keychain-low" {
			t.Error(list, err)
		}
	})
}
