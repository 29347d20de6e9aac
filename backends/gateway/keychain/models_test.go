package keychain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema/schematest"
)

// TestRouting makes one change after another and checks the order in which candidates are tried.
func TestRouting(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n, ctx, cat := p.start(t), t.Context(), testCatalog(t)
		n.user(t, "alice")
		custom := func(entry string, tier catalog.Tier, priority int64) func() error {
			return func() error {
				_, err := n.AddModel(ctx, "alice", CustomModel{Entry: entry, BaseURL: "http://h/v1", Model: "m", Tier: tier, Priority: priority})
				return err
			}
		}
		change := func(name string, c ModelChange) func() error {
			return func() error { _, err := n.ChangeModel(ctx, cat, "alice", name, c); return err }
		}
		prefer := func(p Preferences) func() error {
			return func() error { return n.SetPreferences(ctx, cat, "alice", p) }
		}
		connect := func(provider string) func() error {
			return func() error {
				_, err := n.AddProviderKey(ctx, "alice", provider, secret, "", anyProvider)
				return err
			}
		}
		for _, step := range []struct {
			name              string
			do                func() error
			high, medium, low string
		}{
			{"nothing", func() error { return nil }, "", "", ""},
			{"one provider", connect("beta"), "beta/large", "beta/mid", "beta/small"},
			{"in the order of the catalog", connect("alpha"), "alpha/large beta/large", "alpha/mid beta/mid alpha/both", "alpha/small beta/small alpha/both"},
			{"no tier, retired", connect("gamma"), "alpha/large beta/large", "alpha/mid beta/mid alpha/both", "alpha/small beta/small alpha/both"},
			{"an unknown provider", connect("delta"), "alpha/large beta/large", "alpha/mid beta/mid alpha/both", "alpha/small beta/small alpha/both"},
			{"priority", change("beta/large", ModelChange{Priority: new(int64(-1))}), "beta/large alpha/large", "alpha/mid beta/mid alpha/both", "alpha/small beta/small alpha/both"},
			{"priority of a model in two tiers", change("alpha/both", ModelChange{Priority: new(int64(-5))}), "beta/large alpha/large", "alpha/both alpha/mid beta/mid", "alpha/both alpha/small beta/small"},
			{"disabled", change("alpha/both", ModelChange{Enabled: new(false)}), "beta/large alpha/large", "alpha/mid beta/mid", "alpha/small beta/small"},
			{"enabled with its priority", change("alpha/both", ModelChange{Enabled: new(true)}), "beta/large alpha/large", "alpha/both alpha/mid beta/mid", "alpha/both alpha/small beta/small"},
			{"preferred before priority", prefer(Preferences{PreferredProviders: []string{"alpha"}}), "alpha/large beta/large", "alpha/both alpha/mid beta/mid", "alpha/both alpha/small beta/small"},
			{"preferred in order", prefer(Preferences{PreferredProviders: []string{"beta", "alpha"}}), "beta/large alpha/large", "beta/mid alpha/both alpha/mid", "beta/small alpha/both alpha/small"},
			{"own model behind", custom("local/a", catalog.High, 0), "beta/large alpha/large local/a", "beta/mid alpha/both alpha/mid", "beta/small alpha/both alpha/small"},
			{"own models in order", custom("local/b", catalog.High, 0), "beta/large alpha/large local/a local/b", "beta/mid alpha/both alpha/mid", "beta/small alpha/both alpha/small"},
			{"own model with priority", custom("local/c", catalog.High, -1), "beta/large alpha/large local/c local/a local/b", "beta/mid alpha/both alpha/mid", "beta/small alpha/both alpha/small"},
			{"own models preferred", prefer(Preferences{PreferredProviders: []string{CustomProvider}}), "local/c local/a local/b beta/large alpha/large", "alpha/both alpha/mid beta/mid", "alpha/both alpha/small beta/small"},
			{"excluded provider", prefer(Preferences{ExcludedProviders: []string{"alpha"}}), "beta/large local/c local/a local/b", "beta/mid", "beta/small"},
			{"excluded models", prefer(Preferences{ExcludedModels: []string{"beta/large", "local/a"}}), "local/c alpha/large local/b", "alpha/both alpha/mid beta/mid", "alpha/both alpha/small beta/small"},
			{"excluded own models", prefer(Preferences{ExcludedProviders: []string{CustomProvider}}), "beta/large alpha/large", "alpha/both alpha/mid beta/mid", "alpha/both alpha/small beta/small"},
			{"none", prefer(Preferences{}), "beta/large local/c alpha/large local/a local/b", "alpha/both alpha/mid beta/mid", "alpha/both alpha/small beta/small"},
			{"own model disabled", change("local/c", ModelChange{Enabled: new(false)}), "beta/large alpha/large local/a local/b", "alpha/both alpha/mid beta/mid", "alpha/both alpha/small beta/small"},
			{"own model hides", custom("beta/mid", catalog.Low, 0), "beta/large alpha/large local/a local/b", "alpha/both alpha/mid", "alpha/both alpha/small beta/small beta/mid"},
			{"override removed", func() error { return n.RemoveModel(ctx, "alice", "alpha/both") }, "beta/large alpha/large local/a local/b", "alpha/mid alpha/both", "alpha/small beta/small alpha/both beta/mid"},
		} {
			if err := step.do(); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			r := n.account(t, "alice").RoutingFor(cat, "")
			for tier, want := range map[catalog.Tier]string{catalog.High: step.high, catalog.Medium: step.medium, catalog.Low: step.low} {
				if got := order(r, tier); got != want {
					t.Errorf("%s, %s: %s\nwant %s", step.name, tier, got, want)
				}
				for _, c := range r.Tier(tier) {
					if c.Tier != tier || len(c.Keys) == 0 || c.Provider == nil || c.Model == nil {
						t.Errorf("%s: %+v in tier %s", step.name, c, tier)
					}
				}
			}
		}
		a := n.account(t, "alice")
		r := a.RoutingFor(cat, "")
		if r != a.RoutingFor(cat, "") {
			t.Error("the routing is computed twice for one catalog")
		}
		if r == a.RoutingFor(testCatalog(t), "") {
			t.Error("the routing of another catalog is kept")
		}
		equal(t, r.Entries(), []string{
			"alpha/both", "alpha/large", "alpha/mid", "alpha/small", "beta/large", "beta/mid", "beta/small", "gamma/by/name", "local/a", "local/b",
		})
		if c, ok := r.Entry("gamma/by/name"); !ok || c.Tier != catalog.High || c.Model.ID != "by/name" || c.Provider.Code != "gamma" {
			t.Errorf("by name: %+v", c)
		}
		if c, _ := r.Entry("beta/mid"); !c.Custom || c.Tier != catalog.Low || c.Provider.BaseURL != "http://h/v1" {
			t.Errorf("hidden: %+v", c)
		}
		for _, name := range []string{"local/c", "gamma/old", "delta/x", ""} {
			if c, ok := r.Entry(name); ok {
				t.Errorf("%s is %+v", name, c)
			}
		}
		if !r.Connected {
			t.Error("not connected")
		}
		if first := a.NextKey(); a.NextKey() != first+1 {
			t.Error("keys do not rotate")
		}
	})
}

// TestKeysRotateForSlowUsers checks that all keys are used even if the account is read anew for each request.
func TestKeysRotateForSlowUsers(t *testing.T) {
	t.Parallel()
	n := cluster{schematest.Place{Location: t.TempDir() + "/test.db"}}.start(t)
	n.user(t, "alice")
	seen := make(map[uint32]bool)
	for range 100 { // the chance that all begin with the same key is 2^-99
		n.forgetAccount("alice")
		seen[n.account(t, "alice").NextKey()%2] = true
	}
	if len(seen) != 2 {
		t.Errorf("the first turns are all the same: %v", seen)
	}
}

func TestConnected(t *testing.T) {
	t.Parallel()
	n, ctx, cat := cluster{schematest.Place{Location: t.TempDir() + "/test.db"}}.start(t), t.Context(), testCatalog(t)
	n.user(t, "alice")
	connected := func() bool { return n.account(t, "alice").RoutingFor(cat, "").Connected }
	if connected() {
		t.Error("connected without keys and models")
	}
	if _, err := n.AddModel(ctx, "alice", CustomModel{Entry: "a/b", BaseURL: "http://h", Model: "b", Tier: 1}); err != nil {
		t.Fatal(err)
	}
	if !connected() {
		t.Error("not connected with an own model")
	}
	if _, err := n.ChangeModel(ctx, cat, "alice", "a/b", ModelChange{Enabled: new(false)}); err != nil {
		t.Fatal(err)
	}
	if connected() {
		t.Error("connected with a disabled model")
	}
	if r := n.account(t, "nobody").RoutingFor(cat, ""); r.Connected || len(r.Entries()) != 0 {
		t.Error("nobody is connected")
	}
}

func TestCustomModels(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n, ctx, cat := p.start(t), t.Context(), testCatalog(t)
		n.user(t, "alice")
		entry, err := n.AddModel(ctx, "alice", CustomModel{
			Entry: "local/qwen", BaseURL: "http://127.0.0.1:8000/v1//", Model: "Qwen 3", Tier: catalog.Medium, APIKey: "sk-own", Priority: 4,
		})
		if err != nil {
			t.Fatal(err)
		}
		want := ModelEntry{
			ID: entry.ID, Entry: "local/qwen", Provider: "custom", Tier: catalog.Medium, Enabled: true, Priority: 4,
			IsCustom: true, ProviderConnected: true, BaseURL: "http://127.0.0.1:8000/v1", Model: "Qwen 3",
		}
		if *entry != want {
			t.Errorf("%+v, want %+v", *entry, want)
		}
		c := n.account(t, "alice").RoutingFor(cat, "").Tier(catalog.Medium)[0]
		if !c.Custom || c.Provider.BaseURL != want.BaseURL || c.Model.ID != "Qwen 3" || len(c.Keys) != 1 || c.Keys[0] != ownKey(entry.ID, "sk-own") ||
			!c.Model.Tools || !c.Model.Accepts(catalog.ModalityImage) {
			t.Errorf("%+v", c)
		}
		_, err = n.AddModel(ctx, "alice", CustomModel{Entry: "local/qwen", BaseURL: "http://h", Model: "x", Tier: 1})
		wantRefusal(t, err, 409, "already_exists", "")
		if e, err := n.ChangeModel(ctx, cat, "alice", entry.ID, ModelChange{Enabled: new(false), Priority: new(int64(-4))}); err != nil || e.Enabled || e.Priority != -4 || !e.IsCustom {
			t.Errorf("%+v, error %v", e, err)
		}

		// If the key of a model cannot be decrypted, the model stays a candidate without a key.
		if _, err := n.ChangeModel(ctx, cat, "alice", entry.ID, ModelChange{Enabled: new(true)}); err != nil {
			t.Fatal(err)
		}
		n.sql(t, "UPDATE gateway_models SET sealed = ?", "aes1.x")
		n.forgetAccount("alice")
		if c := n.account(t, "alice").RoutingFor(cat, "").Tier(catalog.Medium)[0]; c.Keys[0].Secret != "" {
			t.Errorf("%+v", c.Keys)
		}
		if n.logs.FilterMessageSnippet("cannot be decrypted").Len() != 1 {
			t.Error("it was not logged")
		}
		for _, name := range []string{entry.ID, "local/qwen"} {
			if err := n.RemoveModel(ctx, "alice", name); (err == nil) != (name == entry.ID) {
				t.Errorf("removing %s: %v", name, err)
			}
		}
	})
}

func TestModelRefusals(t *testing.T) {
	t.Parallel()
	n, ctx, cat := cluster{schematest.Place{Location: t.TempDir() + "/test.db"}}.start(t), t.Context(), testCatalog(t)
	n.user(t, "alice")
	good := CustomModel{Entry: "a/b", BaseURL: "https://h/v1", Model: "m", Tier: catalog.Low}
	for name, test := range map[string]struct {
		change func(m *CustomModel)
		param  string
	}{
		"no slash":         {func(m *CustomModel) { m.Entry = "keychain-low" }, "model_entry"},
		"nothing before":   {func(m *CustomModel) { m.Entry = "/bb" }, "model_entry"},
		"nothing behind":   {func(m *CustomModel) { m.Entry = "bb/" }, "model_entry"},
		"space":            {func(m *CustomModel) { m.Entry = "a/b c" }, "model_entry"},
		"short":            {func(m *CustomModel) { m.Entry = "/" }, "model_entry"},
		"long":             {func(m *CustomModel) { m.Entry = "a/" + strings.Repeat("b", 199) }, "model_entry"},
		"zero byte":        {func(m *CustomModel) { m.Entry = "a/b\x00" }, "model_entry"},
		"no model":         {func(m *CustomModel) { m.Model = "" }, "model"},
		"long model":       {func(m *CustomModel) { m.Model = strings.Repeat("m", 501) }, "model"},
		"no base":          {func(m *CustomModel) { m.BaseURL = "" }, "base_url"},
		"relative":         {func(m *CustomModel) { m.BaseURL = "//h/v1" }, "base_url"},
		"scheme":           {func(m *CustomModel) { m.BaseURL = "file:///etc/passwd" }, "base_url"},
		"no host":          {func(m *CustomModel) { m.BaseURL = "http:///v1" }, "base_url"},
		"user":             {func(m *CustomModel) { m.BaseURL = "http://u:p@h/v1" }, "base_url"},
		"query":            {func(m *CustomModel) { m.BaseURL = "http://h/v1?x=1" }, "base_url"},
		"fragment":         {func(m *CustomModel) { m.BaseURL = "http://h/v1#x" }, "base_url"},
		"empty query":      {func(m *CustomModel) { m.BaseURL = "https://h/v1?" }, "base_url"},
		"empty fragment":   {func(m *CustomModel) { m.BaseURL = "https://h/v1#" }, "base_url"},
		"query of a host":  {func(m *CustomModel) { m.BaseURL = "https://h?" }, "base_url"},
		"both, empty":      {func(m *CustomModel) { m.BaseURL = "https://h/v1?#/" }, "base_url"},
		"port alone":       {func(m *CustomModel) { m.BaseURL = "https://:443/v1" }, "base_url"},
		"control":          {func(m *CustomModel) { m.BaseURL = "http://h/\n" }, "base_url"},
		"long base":        {func(m *CustomModel) { m.BaseURL = "http://h/" + strings.Repeat("x", 500) }, "base_url"},
		"no tier":          {func(m *CustomModel) { m.Tier = 0 }, "tier"},
		"key with a break": {func(m *CustomModel) { m.APIKey = "a\r\nb" }, "api_key"},
		"long key":         {func(m *CustomModel) { m.APIKey = strings.Repeat("x", 1001) }, "api_key"},
	} {
		m := good
		test.change(&m)
		_, err := n.AddModel(ctx, "alice", m)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		wantRefusal(t, err, 400, "invalid_value", test.param)
	}
	_, err := n.AddModel(ctx, "nobody", good)
	wantRefusal(t, err, 404, "not_found", "")
	for _, priority := range []int64{-1_000_001, 1_000_001} {
		_, err = n.ChangeModel(ctx, cat, "alice", "alpha/large", ModelChange{Priority: &priority})
		wantRefusal(t, err, 400, "invalid_value", "priority")
	}
	for _, name := range []string{"alpha/none", "delta/x", "alpha", "", "gamma/old", "me_x"} {
		_, err = n.ChangeModel(ctx, cat, "alice", name, ModelChange{Enabled: new(true)})
		wantRefusal(t, err, 404, "not_found", "")
	}
	_, err = n.ChangeModel(ctx, cat, "nobody", "alpha/large", ModelChange{Enabled: new(true)})
	wantRefusal(t, err, 404, "not_found", "")
	wantRefusal(t, n.RemoveModel(ctx, "alice", "alpha/large"), 404, "not_found", "")
	if models := n.account(t, "alice").models; len(models) != 0 {
		t.Errorf("left behind: %+v", models)
	}
}

func TestModelRowsAreBounded(t *testing.T) {
	t.Parallel()
	n, ctx := cluster{schematest.Place{Location: t.TempDir() + "/test.db"}}.start(t), t.Context()
	n.user(t, "alice")
	for i := range maxModelRows {
		n.sql(t, `INSERT INTO gateway_models (id, user_id, model_entry, is_custom, enabled, created_at) VALUES (?, 'alice', ?, 0, 1, 0)`, i, fmt.Sprint("x/", i))
	}
	_, err := n.AddModel(ctx, "alice", CustomModel{Entry: "a/b", BaseURL: "http://h", Model: "b", Tier: 1})
	wantRefusal(t, err, 409, "too_many", "")
}

// TestModelTable checks the table of models that users see. It also has models that they cannot use.
func TestModelTable(t *testing.T) {
	t.Parallel()
	n, ctx, cat := cluster{schematest.Place{Location: t.TempDir() + "/test.db"}}.start(t), t.Context(), testCatalog(t)
	n.user(t, "alice")
	n.providerKey(t, "alice", "alpha", secret)
	if _, err := n.ChangeModel(ctx, cat, "alice", "beta/large", ModelChange{Enabled: new(false)}); err != nil {
		t.Fatal(err)
	}
	if e, err := n.ChangeModel(ctx, cat, "alice", "gamma/by/name", ModelChange{Priority: new(int64(2))}); err != nil || e.Tier != 0 || e.Priority != 2 {
		t.Errorf("%+v, error %v", e, err)
	}
	table, err := n.Models(ctx, cat, "alice")
	if err != nil {
		t.Fatal(err)
	}
	got := make([]string, 0, len(table))
	for _, e := range table {
		got = append(got, fmt.Sprintf("%s %s %t %t", e.Tier, e.Entry, e.Enabled, e.ProviderConnected))
	}
	equal(t, got, []string{
		"high alpha/large true true", "high beta/large false false",
		"medium alpha/mid true true", "medium beta/mid true false", "medium alpha/both true true",
		"low alpha/small true true", "low beta/small true false", "low alpha/both true true",
		" gamma/by/name true false",
	})
	text, err := json.Marshal(table[len(table)-1])
	if err != nil || strings.Contains(string(text), "tier") {
		t.Errorf("%s, error %v", text, err)
	}
}

func TestPreferences(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n, ctx, cat := p.start(t), t.Context(), testCatalog(t)
		n.user(t, "alice")
		if p, err := n.Preferences(ctx, "alice"); err != nil || len(p.PreferredProviders)+len(p.ExcludedProviders)+len(p.ExcludedModels) != 0 {
			t.Errorf("%+v, error %v", p, err)
		}
		for _, want := range []Preferences{
			{[]string{"beta", "custom"}, []string{"gamma"}, []string{"alpha/large", "gamma/old"}},
			{[]string{"alpha"}, []string{}, []string{}},
		} {
			if err := n.SetPreferences(ctx, cat, "alice", want); err != nil {
				t.Fatal(err)
			}
			got, err := n.Preferences(ctx, "alice")
			if err != nil {
				t.Fatal(err)
			}
			equal(t, got.PreferredProviders, want.PreferredProviders)
			equal(t, got.ExcludedProviders, want.ExcludedProviders)
			equal(t, got.ExcludedModels, want.ExcludedModels)
		}
		many := make([]string, maxModelRows+1)
		for i := range many {
			many[i] = "alpha"
		}
		for param, p := range map[string]Preferences{
			"preferred_providers": {PreferredProviders: []string{"alpha", "delta"}},
			"excluded_providers":  {ExcludedProviders: []string{""}},
			"excluded_models":     {ExcludedModels: []string{"alpha/none"}},
			"":                    {PreferredProviders: many},
		} {
			wantRefusal(t, n.SetPreferences(ctx, cat, "alice", p), 400, "invalid_value", param)
		}
		wantRefusal(t, n.SetPreferences(ctx, cat, "nobody", Preferences{}), 404, "not_found", "")
		if p, err := n.Preferences(ctx, "alice"); err != nil || len(p.PreferredProviders) != 1 {
			t.Errorf("%+v, error %v", p, err)
		}
	})
}

// TestModelAtForbiddenHost checks that an address which the gateway would not connect to is refused when it is entered.
// The error says which setting would allow it.
func TestModelAtForbiddenHost(t *testing.T) {
	t.Parallel()
	n, ctx := cluster{schematest.Place{Location: t.TempDir() + "/test.db"}}.start(t), t.Context()
	n.user(t, "alice")
	var hosts []string
	n.CheckHost = func(_ context.Context, host string) error {
		if hosts = append(hosts, host); host == "intern.test" || host == "fd00::1" {
			return errors.New("no")
		}
		return nil
	}
	for base, refused := range map[string]bool{
		"http://intern.test:8000/v1": true, "https://intern.test": true, "http://[fd00::1]:8000/v1": true, "https://public.test/v1": false, "http://[2606:4700::1]/v1": false,
	} {
		hosts = nil
		_, err := n.AddModel(ctx, "alice", CustomModel{Entry: "a/" + base, BaseURL: base, Model: "m", Tier: catalog.Low})
		if refused {
			wantRefusal(t, err, 400, "invalid_value", "base_url")
			if err == nil || !strings.Contains(err.Error(), "allow_networks") {
				t.Errorf("%s: %v", base, err)
			}
		} else if err != nil {
			t.Errorf("%s: %v", base, err)
		}
		if len(hosts) != 1 || strings.ContainsAny(hosts[0], "[]/") {
			t.Errorf("%s: asked for %q", base, hosts)
		}
	}
	models, err := n.selectModels(ctx, "alice")
	if err != nil || len(models) != 2 {
		t.Errorf("%d models, %v", len(models), err)
	}
}
