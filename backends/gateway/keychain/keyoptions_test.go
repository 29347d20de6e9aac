package keychain

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema/schematest"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
)

func fullOptions() KeyOptions {
	limits := Limits{
		RateLimitPerMinute: new(int64(60)), ExpiresAt: new(start.Add(time.Hour)), AllowedModels: []string{"alpha/*", "beta/mid"},
		Budgets: Budgets{
			TokensPerDay: new(int64(1)), TokensPerMonth: new(int64(maxBudgetTokens)),
			USDPerDay: new(spending.MicroUSD(1)), USDPerMonth: new(spending.MicroUSD(spending.MaxUSD * spending.MicrosPerUSD)),
		},
	}
	return KeyOptions{Label: "ci", Limits: limits, EffortMode: EffortMax}
}

// TestKeyOptions makes a key with all options, reads it back in every way there
// is, changes it and replaces it.
func TestKeyOptions(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		first := n.user(t, "alice")
		want := fullOptions()
		key, err := n.CreateKey(t.Context(), "alice", want)
		if err != nil {
			t.Fatal(err)
		}
		if got := key.options(); !reflect.DeepEqual(got, want) || key.Status != StatusActive {
			t.Errorf("made %s with %+v, want %+v", key.Status, got, want)
		}
		keys, err := n.Keys(t.Context(), "alice")
		if err != nil || len(keys) != 2 || !reflect.DeepEqual(keys[1], key.GatewayKey) {
			t.Fatalf("read %+v, error %v\nwant %+v", keys, err, key.GatewayKey)
		}
		id, err := n.Authenticate(t.Context(), key.Key)
		if err != nil || !reflect.DeepEqual(id.Budgets, want.Budgets) || !reflect.DeepEqual(id.AllowedModels, want.AllowedModels) {
			t.Errorf("identity %+v, error %v", id, err)
		}

		// Options that the change leaves out stay.
		changed, err := n.UpdateKey(t.Context(), "alice", key.ID, KeyChange{Label: new("build")})
		want.Label = "build"
		if err != nil || !reflect.DeepEqual(changed.options(), want) {
			t.Errorf("changed %+v, error %v", changed, err)
		}
		changed, err = n.UpdateKey(t.Context(), "alice", key.ID, KeyChange{
			EffortMode: new(EffortOverride), Limits: limitsTo(Limits{Budgets: Budgets{TokensPerDay: new(int64(5))}}),
		})
		open := KeyOptions{Label: "build", Limits: Limits{Budgets: Budgets{TokensPerDay: new(int64(5))}}, EffortMode: EffortOverride}
		if err != nil || !reflect.DeepEqual(changed.options(), open) {
			t.Errorf("opened %+v, error %v", changed, err)
		}
		if keys, err = n.Keys(t.Context(), "alice"); err != nil || !reflect.DeepEqual(keys[1].options(), open) {
			t.Errorf("read %+v, error %v", keys, err)
		}

		// The new primary key takes over the options of the one that it replaces.
		change := fullOptions()
		_, err = n.UpdateKey(t.Context(), "alice", first.ID, KeyChange{
			Label: &change.Label, EffortMode: &change.EffortMode, Limits: limitsTo(change.Limits),
		})
		if err != nil {
			t.Fatal(err)
		}
		rotated, err := n.RegenerateKey(t.Context(), "alice")
		if err != nil || !rotated.IsPrimary || !reflect.DeepEqual(rotated.options(), change) {
			t.Errorf("rotated %+v, error %v", rotated, err)
		}

		// An expired primary key cannot be replaced.
		n.clock.Offset.Store(int64(2 * time.Hour))
		_, err = n.RegenerateKey(t.Context(), "alice")
		wantRefusal(t, err, 409, "expired", "")
		if keys, err = n.Keys(t.Context(), "alice"); err != nil || len(keys) != 3 || keys[2].Status != StatusExpired || keys[0].Status != StatusRevoked {
			t.Errorf("keys %+v, error %v", keys, err)
		}
	})
}

// TestExpiry checks that keys expire while they are in the cache, and that their expiry can be put off.
func TestExpiry(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		n.user(t, "alice")
		key, err := n.CreateKey(t.Context(), "alice", KeyOptions{Limits: Limits{ExpiresAt: new(start.Add(time.Minute))}})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := n.Authenticate(t.Context(), key.Key); err != nil {
				t.Fatal(err)
			}
		}
		n.keys.Wait()
		n.clock.Offset.Store(int64(time.Minute - time.Millisecond)) // the next reading of the clock is the minute
		_, ended := n.Authenticate(t.Context(), key.Key)
		_, unknown := n.Authenticate(t.Context(), "ak-unknown")
		if ended == nil || ended.Error() != unknown.Error() {
			t.Errorf("expired: %v, unknown: %v", ended, unknown)
		}
		n.keys.Del(hashKey(key.Key))
		wantUnknownKey(t, n, key.Key)
		if _, err := n.UpdateKey(t.Context(), "alice", key.ID, KeyChange{Limits: func(l *Limits) { l.ExpiresAt = new(start.Add(time.Hour)) }}); err != nil {
			t.Fatal(err)
		}
		if _, err := n.Authenticate(t.Context(), key.Key); err != nil {
			t.Error(err)
		}
	})
}

func TestKeyOptionRefusals(t *testing.T) {
	t.Parallel()
	n := cluster{schematest.Place{Location: t.TempDir() + "/test.db"}}.start(t)
	key := n.user(t, "alice")
	for param, options := range map[string]KeyOptions{
		"expires_at":               {Limits: Limits{ExpiresAt: new(start)}},
		"allowed_models":           {Limits: Limits{AllowedModels: make([]string, 101)}},
		"allowed_models[0]":        {Limits: Limits{AllowedModels: []string{""}}},
		"allowed_models[1]":        {Limits: Limits{AllowedModels: []string{"a/b", strings.Repeat("x", 200) + "/"}}},
		"allowed_models[2]":        {Limits: Limits{AllowedModels: []string{"a/*", "*", "model"}}},
		"allowed_models[3]":        {Limits: Limits{AllowedModels: []string{"a/*", "*", "ab*", "a*b/c"}}},
		"budgets.tokens_per_day":   {Limits: Limits{Budgets: Budgets{TokensPerDay: new(int64(0))}}},
		"budgets.tokens_per_month": {Limits: Limits{Budgets: Budgets{TokensPerMonth: new(int64(maxBudgetTokens + 1))}}},
		"budgets.usd_per_day":      {Limits: Limits{Budgets: Budgets{USDPerDay: new(spending.MicroUSD(0))}}},
		"budgets.usd_per_month":    {Limits: Limits{Budgets: Budgets{USDPerMonth: new(spending.MicroUSD(-1))}}},
		"effort_mode":              {EffortMode: "most"},
	} {
		_, err := n.CreateKey(t.Context(), "alice", options)
		wantRefusal(t, err, 400, "invalid_value", param)
		change := KeyChange{Limits: limitsTo(options.Limits)}
		if options.EffortMode != "" {
			change.EffortMode = &options.EffortMode
		}
		_, err = n.UpdateKey(t.Context(), "alice", key.ID, change)
		wantRefusal(t, err, 400, "invalid_value", param)
	}
	_, err := n.CreateKey(t.Context(), "alice", KeyOptions{Limits: Limits{AllowedModels: []string{}}})
	wantRefusal(t, err, 400, "invalid_value", "allowed_models")
	_, err = n.UpdateKey(t.Context(), "alice", key.ID, KeyChange{Limits: func(l *Limits) { l.AllowedModels = []string{} }})
	wantRefusal(t, err, 400, "invalid_value", "allowed_models")
	_, err = n.CreateKey(t.Context(), "alice", KeyOptions{Limits: Limits{ExpiresAt: new(start.AddDate(9000, 0, 0))}})
	wantRefusal(t, err, 400, "invalid_value", "expires_at")
	keys, err := n.Keys(t.Context(), "alice")
	want := KeyOptions{Label: "primary", EffortMode: EffortOverride}
	if err != nil || len(keys) != 1 || !reflect.DeepEqual(keys[0].options(), want) {
		t.Errorf("after all that: %+v, error %v", keys, err)
	}
}

func TestAllows(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		patterns, yes, no string
	}{
		{"", "a/b x/y", ""},
		{"a/b", "a/b", "a/bc a/ a"},
		{"a/*", "a/b a/b/c a/", "a ab/c"},
		{"a/b* c/d", "a/b a/bc c/d", "a/c c/dd"},
		{"*", "a/b", ""},
		{"keychain-low", "a/b", ""},
		{"keychain-medium keychain-lowest c/d", "c/d", "a/b"},
	} {
		id := Identity{Limits: Limits{AllowedModels: strings.Fields(test.patterns)}}
		for want, entries := range map[bool]string{true: test.yes, false: test.no} {
			for entry := range strings.FieldsSeq(entries) {
				if id.allow(&Candidate{Entry: entry, Model: &catalog.Model{Tiers: []catalog.Tier{catalog.Low}}}) != want {
					t.Errorf("%q allows %q: %t", test.patterns, entry, !want)
				}
			}
		}
	}
}

func TestMicroUSD(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]spending.MicroUSD{
		"0": 0, "1": 1_000_000, "0.000001": 1, "12.5": 12_500_000, "-0.25": -250_000, "1e3": 1_000_000_000, "0.0000004": 0,
		"1000000000": spending.MaxUSD * spending.MicrosPerUSD, "123456789.654321": 123_456_789_654_321,
	} {
		var got spending.MicroUSD
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: %d, error %v, want %d", text, got, err, want)
		}
		encoded, err := json.Marshal(want)
		var decoded spending.MicroUSD
		if err != nil || json.Unmarshal(encoded, &decoded) != nil || decoded != want {
			t.Errorf("%s: back and forth %s, %d, error %v", text, encoded, decoded, err)
		}
	}
	for want, m := range map[string]spending.MicroUSD{"0.1": 100_000, "-0.000001": -1, "7": 7_000_000, "-9223372036854.775808": math.MinInt64} {
		if got := m.String(); got != want {
			t.Errorf("%d: %s, want %s", int64(m), got, want)
		}
	}
	for _, text := range []string{`"1"`, `true`, `{}`, `[1]`, `1e10`, `1e400`, `-2000000000`} {
		if err := json.Unmarshal([]byte(text), new(spending.MicroUSD)); err == nil {
			t.Errorf("%s is read", text)
		}
	}
	for _, text := range []string{"", "NaN", "Inf", "1_0x", "1 USD"} {
		if m, err := spending.ParseUSD(text); err == nil {
			t.Errorf("%s is %d", text, m)
		}
	}
}

func TestKeyJSON(t *testing.T) {
	t.Parallel()
	k := GatewayKey{ID: "gk_1", UserID: "alice", CreatedAt: start, Imposed: []Imposed{}}
	k.setOptions(KeyOptions{Limits: Limits{Budgets: Budgets{USDPerDay: new(spending.MicroUSD(2_500_000))}, AllowedModels: []string{}}, EffortMode: EffortOverride}, start)
	got, err := json.Marshal(k)
	want := `{"id":"gk_1","user_id":"alice","label":"","masked":"","is_primary":false,"status":"active","revoked":false,"rate_limit_per_minute":null,` +
		`"expires_at":null,"allowed_models":null,"budgets":{"tokens_per_day":null,"tokens_per_month":null,"usd_per_day":2.5,"usd_per_month":null},` +
		`"effort_mode":"override","created_at":"2026-03-01T10:20:00Z","last_used_at":null,"imposed":[]}`
	if err != nil || string(got) != want {
		t.Errorf("got  %s, error %v\nwant %s", got, err, want)
	}
}

// hostileIDs cannot be in any row. PostgreSQL returns an error for the first two.
var hostileIDs = []string{"a\x00b", "\xff", strings.Repeat("x", schema.MaxID+1), strings.Repeat("\x00", 1<<20)}

func TestHostileIDs(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		n.user(t, "alice")
		cat, ctx := testCatalog(t), t.Context()
		for _, id := range append(hostileIDs, "gk_unknown") {
			_, user := n.User(ctx, id)
			_, create := n.CreateKey(ctx, id, KeyOptions{})
			_, update := n.UpdateKey(ctx, "alice", id, KeyChange{})
			_, updateOf := n.UpdateKey(ctx, id, "gk", KeyChange{})
			_, rotate := n.RegenerateKey(ctx, id)
			_, provider := n.AddProviderKey(ctx, id, "alpha", secret, "", anyProvider)
			_, model := n.AddModel(ctx, id, CustomModel{Entry: "local/x", BaseURL: "http://h/v1", Model: "x", Tier: 1})
			_, change := n.ChangeModel(ctx, cat, "alice", id, ModelChange{})
			_, changeOf := n.ChangeModel(ctx, cat, id, "alpha/large", ModelChange{})
			for name, err := range map[string]error{
				"user": user, "create": create, "update": update, "update of": updateOf, "rotate": rotate, "provider key": provider, "model": model,
				"change": change, "change of": changeOf, "preferences": n.SetPreferences(ctx, cat, id, Preferences{}),
				"revoke": n.RevokeKey(ctx, "alice", id), "revoke of": n.RevokeKey(ctx, id, "gk"),
				"remove key": n.DeleteProviderKey(ctx, "alice", id), "remove key of": n.DeleteProviderKey(ctx, id, "pk"),
				"remove model": n.RemoveModel(ctx, "alice", id), "remove model of": n.RemoveModel(ctx, id, "me"),
			} {
				t.Run(name, func(t *testing.T) {
					wantRefusal(t, err, 404, "not_found", "")
					if err != nil && len(err.Error()) > 1000 {
						t.Errorf("%d bytes of error", len(err.Error()))
					}
				})
			}
			var none int
			for name, read := range map[string]func() (int, error){
				"users":         func() (int, error) { u, err := n.Users(ctx, "", id, 5); return min(len(u), none), err },
				"keys":          func() (int, error) { k, err := n.Keys(ctx, id); return len(k), err },
				"provider keys": func() (int, error) { k, err := n.ProviderKeys(ctx, id); return len(k), err },
				"recent":        func() (int, error) { r, err := n.ledger.Recent(ctx, id, 0, 5); return len(r), err },
				"account":       func() (int, error) { a, err := n.Account(ctx, id); return len(a.models), err },
				"preferences":   func() (int, error) { p, err := n.Preferences(ctx, id); return len(p.ExcludedModels), err },
				"usage": func() (int, error) {
					u, err := n.ledger.Usage(ctx, id, spending.UsageQuery{})
					return len(u.ByDay), err
				},
			} {
				if got, err := read(); err != nil || got != 0 {
					t.Errorf("%s: %d, error %v", name, got, err)
				}
			}
		}
	})
}

func BenchmarkAllows(b *testing.B) {
	id := Identity{Limits: Limits{AllowedModels: make([]string, 0, maxAllowedModels)}}
	for i := range maxAllowedModels {
		id.AllowedModels = append(id.AllowedModels, fmt.Sprintf("provider-%d/*", i))
	}
	c := &Candidate{Entry: "provider-99/model"}
	b.ReportAllocs()
	for b.Loop() {
		if !id.allow(c) {
			b.Fatal("refused")
		}
	}
}

// TestUnknownModels checks that allowed_models refuses unknown models, because a key bound to a misspelt name would be
// useless.
func TestUnknownModels(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n, cat := p.start(t), testCatalog(t)
		n.user(t, "alice")
		if _, err := n.AddModel(t.Context(), "alice", CustomModel{Entry: "own/one", BaseURL: "http://a.test", Model: "m", Tier: catalog.Low}); err != nil {
			t.Fatal(err)
		}
		known := []string{"alpha/large", "gamma/by/name", "own/one", "nobody/*", "own/t*"}
		key, err := n.CreateKey(t.Context(), "alice", KeyOptions{Limits: Limits{AllowedModels: known}, Catalog: cat})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"nope/x", "alpha/larg", "own/two", "gamma/by"} {
			_, err = n.CreateKey(t.Context(), "alice", KeyOptions{Limits: Limits{AllowedModels: []string{"own/one", name}}, Catalog: cat})
			wantRefusal(t, err, 400, "invalid_value", "allowed_models[1]")
			_, err = n.UpdateKey(t.Context(), "alice", key.ID, KeyChange{Catalog: cat, Limits: func(l *Limits) { l.AllowedModels = []string{name} }})
			wantRefusal(t, err, 400, "invalid_value", "allowed_models[0]")
		}
		// A name that the key already allows may stay in the list, even if the model has been removed.
		if err := n.RemoveModel(t.Context(), "alice", "own/one"); err != nil {
			t.Fatal(err)
		}
		changed, err := n.UpdateKey(t.Context(), "alice", key.ID, KeyChange{Catalog: cat, Limits: func(l *Limits) { l.AllowedModels = known }})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, changed.AllowedModels, known)
		var all []string
		if changed, err = n.UpdateKey(t.Context(), "alice", key.ID, KeyChange{Catalog: cat, Limits: func(l *Limits) { l.AllowedModels = all }}); err != nil || changed.AllowedModels != nil {
			t.Errorf("%+v, error %v", changed, err)
		}
	})
}
