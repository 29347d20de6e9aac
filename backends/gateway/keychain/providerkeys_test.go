package keychain

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema/schematest"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
)

const secret = "sk-0123456789-abcdefghijklmnopqrstuvwxyz-ABCD"

func TestProviderKeys(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		n.user(t, "alice")
		ctx := t.Context()
		first, err := n.AddProviderKey(ctx, "alice", "alpha", "  "+secret+"\n", "home", anyProvider)
		if err != nil {
			t.Fatal(err)
		}
		if first.Masked != "sk-012…ABCD" || first.Label != "home" || first.Provider != "alpha" || first.ID == "" {
			t.Errorf("%+v", first)
		}
		second := n.providerKey(t, "alice", "alpha", secret+"2")
		keys, err := n.ProviderKeys(ctx, "alice")
		if err != nil || len(keys) != 2 || keys[0] != *first || keys[1] != *second {
			t.Errorf("%+v, error %v", keys, err)
		}
		c := n.account(t, "alice").RoutingFor(testCatalog(t), "").Tier(3)[0]
		if len(c.Keys) != 2 || c.Keys[0] != ownKey(first.ID, secret) || c.Keys[1] != ownKey(second.ID, secret+"2") {
			t.Errorf("keys of %s: %+v", c.Entry, c.Keys)
		}
		if err := n.DeleteProviderKey(ctx, "alice", first.ID); err != nil {
			t.Fatal(err)
		}
		if c = n.account(t, "alice").RoutingFor(testCatalog(t), "").Tier(3)[0]; len(c.Keys) != 1 {
			t.Errorf("keys after removal: %+v", c.Keys)
		}
		wantRefusal(t, n.DeleteProviderKey(ctx, "alice", first.ID), 404, "not_found", "")
	})
}

func TestProviderKeyRefusals(t *testing.T) {
	t.Parallel()
	n := cluster{schematest.Place{Location: t.TempDir() + "/test.db"}}.start(t)
	n.user(t, "alice")
	for name, test := range map[string]struct {
		user, provider, key, label string
		status                     int
		param                      string
	}{
		"provider":      {"alice", "delta", secret, "", 400, "provider"},
		"empty":         {"alice", "alpha", " \n", "", 400, "api_key"},
		"long":          {"alice", "alpha", strings.Repeat("x", 1001), "", 400, "api_key"},
		"space inside":  {"alice", "alpha", "sk a", "", 400, "api_key"},
		"line inside":   {"alice", "alpha", "sk\r\nX-Evil: 1", "", 400, "api_key"},
		"not ASCII":     {"alice", "alpha", "sk-é", "", 400, "api_key"},
		"zero byte":     {"alice", "alpha", "sk-\x00x", "", 400, "api_key"},
		"broken UTF-8":  {"alice", "alpha", "sk-\xff", "", 400, "api_key"},
		"label":         {"alice", "alpha", secret, "a\x1bb", 400, "key_label"},
		"long label":    {"alice", "alpha", secret, strings.Repeat("x", 101), 400, "key_label"},
		"unknown user":  {"nobody", "alpha", secret, "", 404, ""},
		"secret hidden": {"alice", "alpha", secret + "é", "", 400, "api_key"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := n.AddProviderKey(t.Context(), test.user, test.provider, test.key, test.label, func(c string) bool { return c == "alpha" })
			code := map[int]string{400: "invalid_value", 404: "not_found"}[test.status]
			wantRefusal(t, err, test.status, code, test.param)
			if strings.Contains(fmt.Sprint(err), "sk-") {
				t.Errorf("the error shows the key: %v", err)
			}
		})
	}
	if keys, err := n.ProviderKeys(t.Context(), "alice"); err != nil || len(keys) != 0 {
		t.Errorf("%v, error %v", keys, err)
	}
}

func TestProviderKeysAreBounded(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		n.user(t, "alice")
		n.user(t, "bob")
		for range maxProviderKeys {
			n.providerKey(t, "alice", "alpha", secret)
		}
		_, err := n.AddProviderKey(t.Context(), "alice", "alpha", secret, "", anyProvider)
		wantRefusal(t, err, 409, "too_many", "")
		n.providerKey(t, "bob", "alpha", secret)
	})
}

// TestSealedKeysAreBoundToTheirRow moves ciphertexts between database rows, and checks that they cannot be decrypted
// there.
func TestSealedKeysAreBoundToTheirRow(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		n.user(t, "alice")
		n.user(t, "mallory")
		a := n.providerKey(t, "alice", "alpha", secret)
		n.providerKey(t, "alice", "beta", secret+"-beta")
		m := n.providerKey(t, "mallory", "alpha", secret+"-mallory")
		rows, err := n.keysOf(t.Context(), Owner{OnUser, "alice"})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(rows[0].sealed, secret) {
			t.Error("the key is not sealed")
		}
		if plain, err := n.ring.Open(t.Context(), rows[0].sealed, rows[0].associated()); err != nil || string(plain) != secret {
			t.Errorf("%s, error %v", plain, err)
		}
		if _, err := n.ring.Open(t.Context(), rows[0].sealed, rows[1].associated()); !errors.Is(err, keyring.ErrOpen) {
			t.Errorf("opened for another row: error %v", err)
		}

		// Mallory's row gets the ciphertext of Alice's key, and Alice's own ciphertext is damaged.
		n.sql(t, "UPDATE gateway_provider_keys SET sealed = ? WHERE id = ?", rows[0].sealed, m.ID)
		n.sql(t, "UPDATE gateway_provider_keys SET sealed = ? WHERE id = ?", "aes1.AAAA", a.ID)
		cat := testCatalog(t)
		if r := n.account(t, "mallory").RoutingFor(cat, ""); r.Connected || len(r.Entries()) != 0 {
			t.Errorf("mallory reaches %v", r.Entries())
		}
		r := n.account(t, "alice").RoutingFor(cat, "")
		equal(t, r.Entries(), []string{"beta/large", "beta/mid", "beta/small"})
		if c, _ := r.Entry("beta/large"); c.Keys[0].Secret != secret+"-beta" {
			t.Errorf("keys %+v", c.Keys)
		}
		lines := n.logs.FilterMessageSnippet("cannot be decrypted").All()
		if len(lines) != 2 || strings.Contains(fmt.Sprint(lines), secret) {
			t.Errorf("logged %+v", lines)
		}
	})
}

// TestUsersAreIsolated passes one user's name and another user's objects to every method.
func TestUsersAreIsolated(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n, ctx, cat := p.start(t), t.Context(), testCatalog(t)
		gk := n.user(t, "alice")
		n.user(t, "bob")
		pk := n.providerKey(t, "alice", "alpha", secret)
		custom, err := n.AddModel(ctx, "alice", CustomModel{Entry: "local/x", BaseURL: "http://h/v1", Model: "x", Tier: 1, APIKey: "k"})
		if err != nil {
			t.Fatal(err)
		}
		changed, err := n.ChangeModel(ctx, cat, "alice", "alpha/large", ModelChange{Priority: new(int64(3))})
		if err != nil {
			t.Fatal(err)
		}
		if err := n.SetPreferences(ctx, cat, "alice", Preferences{ExcludedModels: []string{"local/x"}}); err != nil {
			t.Fatal(err)
		}
		log := spending.NewLog(n.ledger, n.KeyUses(), n.logger).Start()
		log.Add(spending.Record{At: start, UserID: "alice", RequestID: "r"})
		if err := log.Close(ctx); err != nil {
			t.Fatal(err)
		}
		before := n.dump(t)

		_, update := n.UpdateKey(ctx, "bob", gk.ID, KeyChange{Label: new("x")})
		_, change := n.ChangeModel(ctx, cat, "bob", custom.ID, ModelChange{Enabled: new(false)})
		_, changeName := n.ChangeModel(ctx, cat, "bob", "local/x", ModelChange{Enabled: new(false)})
		_, changeOverride := n.ChangeModel(ctx, cat, "bob", changed.ID, ModelChange{Enabled: new(false)})
		for name, err := range map[string]error{
			"UpdateKey": update, "RevokeKey": n.RevokeKey(ctx, "bob", gk.ID), "DeleteProviderKey": n.DeleteProviderKey(ctx, "bob", pk.ID),
			"ChangeModel": change, "ChangeModel by name": changeName, "ChangeModel override": changeOverride,
			"RemoveModel": n.RemoveModel(ctx, "bob", custom.ID), "RemoveModel by name": n.RemoveModel(ctx, "bob", "local/x"),
			"RemoveModel override": n.RemoveModel(ctx, "bob", "alpha/large"),
		} {
			if err == nil {
				t.Errorf("%s: no error", name)
				continue
			}
			wantRefusal(t, err, 404, "not_found", "")
		}
		wantRefusal(t, n.SetPreferences(ctx, cat, "bob", Preferences{ExcludedModels: []string{"local/x"}}), 400, "invalid_value", "excluded_models")
		if got := n.dump(t); got != before {
			t.Errorf("the database has changed:\n%s\nwas\n%s", got, before)
		}

		keys, err1 := n.Keys(ctx, "bob")
		provider, err2 := n.ProviderKeys(ctx, "bob")
		models, err3 := n.Models(ctx, cat, "bob")
		preferences, err4 := n.Preferences(ctx, "bob")
		recent, err5 := n.ledger.Recent(ctx, "bob", 0, 10)
		if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
			t.Fatal(err)
		}
		if len(keys) != 1 || keys[0].ID == gk.ID || len(provider) != 0 || len(preferences.ExcludedModels) != 0 || len(recent) != 0 {
			t.Errorf("bob sees %v %v %v %v", keys, provider, preferences, recent)
		}
		for _, e := range models {
			if e.IsCustom || e.ProviderConnected || e.Priority != 0 {
				t.Errorf("bob sees %+v", e)
			}
		}
		if r := n.account(t, "bob").RoutingFor(cat, ""); r.Connected || len(r.Entries()) != 0 {
			t.Errorf("bob reaches %v", r.Entries())
		}
	})
}
