package keychain

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/counters"
)

// ownedKeyFor stores an alpha key that belongs to an owner.
func (n *node) ownedKeyFor(t *testing.T, owner Owner, text string) *ProviderKey {
	t.Helper()
	key, err := n.AddKeyOf(t.Context(), owner, "alpha", text, "", anyProvider)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// secrets returns the alpha keys in plaintext, in the order in which they are tried.
func secrets(a *Account, cat *catalog.Catalog, team string) string {
	keys := a.KeysFor(cat, team)["alpha"]
	list := make([]string, 0, len(keys))
	for _, k := range keys {
		list = append(list, k.Secret)
	}
	return strings.Join(list, " ")
}

// TestKeysOfOwners checks which owners' keys serve a user, and in which order, under each policy.
func TestKeysOfOwners(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		for _, user := range []string{"alice", "bob"} {
			n.user(t, user)
		}
		red := n.team(t, "red", "alice")
		blue := n.team(t, "blue", "alice")
		n.ownedKeyFor(t, TheOrganisation, "sk-org")
		inRed := n.ownedKeyFor(t, Owner{OnTeam, red.ID}, "sk-red")
		n.ownedKeyFor(t, Owner{OnTeam, red.ID}, "sk-red-2")
		n.ownedKeyFor(t, Owner{OnTeam, blue.ID}, "sk-blue")
		n.providerKey(t, "alice", "alpha", "sk-own")
		for policy, want := range map[catalog.OwnKeys]struct{ red, blue, none, bob string }{
			"":                   {"sk-own sk-red sk-red-2 sk-org sk-op", "sk-own sk-blue sk-org sk-op", "sk-own sk-org sk-op", "sk-org sk-op"},
			catalog.OwnKeysFirst: {"sk-own sk-red sk-red-2 sk-org sk-op", "sk-own sk-blue sk-org sk-op", "sk-own sk-org sk-op", "sk-org sk-op"},
			catalog.OwnKeysOnly:  {"sk-own", "sk-own", "sk-own", ""},
			catalog.OwnKeysNever: {"sk-red sk-red-2 sk-org sk-op", "sk-blue sk-org sk-op", "sk-org sk-op", "sk-org sk-op"},
		} {
			cat, err := testCatalog(t).With(catalog.Options{OwnKeys: policy, Overrides: map[string]catalog.Override{"alpha": {APIKey: "sk-op"}}})
			if err != nil {
				t.Fatal(err)
			}
			alice, bob := n.account(t, "alice"), n.account(t, "bob")
			got := struct{ red, blue, none, bob string }{
				secrets(alice, cat, red.ID), secrets(alice, cat, blue.ID), secrets(alice, cat, ""), secrets(bob, cat, red.ID),
			}
			if bobs := bob.RoutingFor(cat, red.ID); want.bob != "" && len(bobs.entries["alpha/small"].Keys) != 2 {
				t.Errorf("%s: a user outside of the team has its keys", policy)
			}
			got.bob = secrets(bob, cat, "")
			if got != want {
				t.Errorf("%q: %+v, want %+v", policy, got, want)
			}
			if err := RefuseOwnKeys(cat); (err != nil) != (policy == catalog.OwnKeysNever) {
				t.Errorf("%q: error %v", policy, err)
			}
			if policy == catalog.OwnKeysFirst && alice.RoutingFor(cat, red.ID).entries["alpha/small"].Group(1) != 2 {
				t.Error("the keys of the team are not one group")
			}
		}
		// Nobody reaches keys of another owner.
		wantRefusal(t, n.DeleteProviderKey(t.Context(), "alice", inRed.ID), http.StatusNotFound, "not_found", "")
		wantRefusal(t, n.DeleteKeyOf(t.Context(), Owner{OnTeam, blue.ID}, inRed.ID), http.StatusNotFound, "not_found", "")
		_, err := n.LimitKey(t.Context(), TheOrganisation, inRed.ID, KeyLimits{})
		wantRefusal(t, err, http.StatusNotFound, "not_found", "")
		_, err = n.AddKeyOf(t.Context(), Owner{OnTeam, "team_none"}, "alpha", secret, "", anyProvider)
		wantRefusal(t, err, http.StatusNotFound, "not_found", "")
		if _, _, err := n.account(t, "alice").Probe(testCatalog(t), inRed.ID); err == nil {
			t.Error("a member tries the key of the team")
		}
		if dump := n.dump(t); strings.Contains(dump, "sk-red") {
			t.Error("the key of a team is not sealed")
		}
		// A change takes effect at once, and a team's keys are removed with the team.
		if err := n.DeleteKeyOf(t.Context(), Owner{OnTeam, red.ID}, inRed.ID); err != nil {
			t.Fatal(err)
		}
		if got := secrets(n.account(t, "alice"), testCatalog(t), red.ID); got != "sk-own sk-red-2 sk-org" {
			t.Errorf("after a removal %q", got)
		}
		if err := n.RemoveTeam(t.Context(), red.ID); err != nil {
			t.Fatal(err)
		}
		if rows, err := n.keysOf(t.Context(), Owner{OnTeam, red.ID}); err != nil || len(rows) != 0 {
			t.Errorf("the team left %+v, error %v", rows, err)
		}
	})
}

// TestLimitsOfProviderKey uses up a provider key's budget, its requests and its time.
func TestLimitsOfProviderKey(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		n.user(t, "alice")
		key := n.ownedKeyFor(t, TheOrganisation, "sk-org")
		count := counters.NewMemory(n.clock.Now)
		log := spending.NewLog(n.ledger, n.KeyUses(), zap.NewNop()).Start()
		defer func() { _ = log.Close(t.Context()) }()
		limit := func(l KeyLimits) {
			t.Helper()
			if _, err := n.LimitKey(t.Context(), TheOrganisation, key.ID, l); err != nil {
				t.Fatal(err)
			}
		}
		want := func(name, reason string) *KeyRefusal {
			t.Helper()
			serving := n.account(t, "alice").KeysFor(testCatalog(t), "")["alpha"][0]
			refusal, err := n.AdmitKey(t.Context(), count, &serving, 1)
			if err != nil || (refusal == nil) != (reason == "") || refusal != nil && refusal.Reason != reason {
				t.Errorf("%s: %+v, error %v, want %q", name, refusal, err, reason)
			}
			return refusal
		}
		want("without limits", "")
		limit(KeyLimits{Budgets: Budgets{TokensPerDay: new(int64(100))}})
		want("with all of its budget", "")
		log.Add(spending.Record{At: n.clock.Now(), UserID: "alice", Provider: "alpha", Model: "m", ProviderKey: key.ID, Status: 200, InputTokens: 60, OutputTokens: 40, CostMicroUSD: 5, CostKnown: true})
		if refusal := want("spent", KeySpent); refusal != nil && !refusal.Until.Equal(spending.StartOfDay(start).AddDate(0, 0, 1)) {
			t.Errorf("until %s", refusal.Until)
		}
		if err := log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		n.clock.Offset.Add(int64(2 * CacheTTL))
		want("spent, as the database has it", KeySpent)
		keys, err := n.KeysOf(t.Context(), TheOrganisation)
		if err != nil || len(keys) != 1 || keys[0].Today != (KeySpend{100, 5}) || keys[0].Month != (KeySpend{100, 5}) || *keys[0].Limits.Budgets.TokensPerDay != 100 {
			t.Errorf("%+v, error %v", keys, err)
		}
		limit(KeyLimits{RateLimitPerMinute: new(int64(1))})
		want("the one request", "")
		want("another", KeyBusy)
		limit(KeyLimits{ExpiresAt: new(n.clock.Now().Add(time.Hour))})
		want("before the end", "")
		n.clock.Offset.Add(int64(2 * time.Hour))
		want("after the end", KeyExpired)
		limit(KeyLimits{})
		want("without limits again", "")
		_, err = n.LimitKey(t.Context(), TheOrganisation, key.ID, KeyLimits{RateLimitPerMinute: new(int64(0))})
		wantRefusal(t, err, http.StatusBadRequest, "invalid_value", "rate_limit_per_minute")
	})
}
