package catalog

import (
	"slices"
	"strings"
	"testing"
)

// TestDeployments checks that a configured deployment has the abilities of the catalog's model that it runs.
func TestDeployments(t *testing.T) {
	t.Parallel()
	azure := Override{Params: map[string]string{"resource": "contoso"}, Models: map[string]string{"prod-mini": "openai/gpt-5.4-mini"}}
	c, err := Embedded().With(Options{Enable: []string{"azure"}, Overrides: map[string]Override{"azure": azure}})
	if err != nil {
		t.Fatal(err)
	}
	base, _ := c.Model("openai", "gpt-5.4-mini")
	m, ok := c.Model("azure", "prod-mini")
	if !ok || m.EntryID() != "azure/prod-mini" || !slices.Equal(m.Tiers, base.Tiers) || m.ContextWindow != base.ContextWindow || m.Price.Known || m.Family == base.Family {
		t.Fatalf("the deployment is %+v of %+v", m, base)
	}
	if !slices.Contains(ids(c.Tier(base.Tiers[0])), "azure/prod-mini") {
		t.Error("the deployment is not in the tier of its model")
	}
	if p, _ := c.Provider("azure"); p.ChatURL() != "https://contoso.openai.azure.com/openai/v1/chat/completions" {
		t.Errorf("asked at %s", p.ChatURL())
	}
	priced, err := Embedded().With(Options{
		Enable: []string{"azure"}, Overrides: map[string]Override{"azure": azure}, Prices: Prices{"azure/prod-mini": {Discount: 0, Price: base.Price}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if m, _ := priced.Model("azure", "prod-mini"); m.Price.Input != base.Price.Input {
		t.Errorf("its own price is %+v", m.Price)
	}
	for _, c := range []struct{ name, entry, want string }{
		{"prod", "openai/gpt-none", "is not a model of the catalog"},
		{"prod mini", "openai/gpt-5.4-mini", "printable characters without spaces"},
	} {
		azure.Models = map[string]string{c.name: c.entry}
		_, err := Embedded().With(Options{Enable: []string{"azure"}, Overrides: map[string]Override{"azure": azure}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %s: %v, want %q", c.name, c.entry, err, c.want)
		}
	}
	if _, err := Embedded().With(Options{Overrides: map[string]Override{"openai": {Models: map[string]string{"gpt-5.4-mini": "openai/gpt-5.4-nano"}}}}); err == nil ||
		!strings.Contains(err.Error(), "already") {
		t.Errorf("a model that there is: %v", err)
	}
}

func TestModelURL(t *testing.T) {
	t.Parallel()
	c, err := Embedded().With(Options{
		Enable: []string{"azure-dated", "vertex-claude"},
		Overrides: map[string]Override{
			"azure-dated":   {Params: map[string]string{"resource": "contoso", "api_version": "2024-10-21"}},
			"vertex-claude": {Params: map[string]string{"project": "acme", "location": "europe-west1"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	dated, _ := c.Provider("azure-dated")
	vertex, _ := c.Provider("vertex-claude")
	messages, _ := vertex.WireURL(WireMessages)
	for _, u := range []struct{ got, want string }{
		{dated.ModelURL(dated.ChatURL(), WireChat, "a b", true), "https://contoso.openai.azure.com/openai/deployments/a%20b/chat/completions?api-version=2024-10-21"},
		{dated.ModelURL(dated.EmbeddingsURL(), "embeddings", "e", false), "https://contoso.openai.azure.com/openai/deployments/e/embeddings?api-version=2024-10-21"},
		{vertex.ModelURL(messages, WireMessages, "c", false), "https://europe-west1-aiplatform.googleapis.com/v1/projects/acme/locations/europe-west1/publishers/anthropic/models/c:rawPredict"},
		{vertex.ModelURL(messages, WireMessages, "c", true), "https://europe-west1-aiplatform.googleapis.com/v1/projects/acme/locations/europe-west1/publishers/anthropic/models/c:streamRawPredict"},
	} {
		if u.got != u.want {
			t.Errorf("got  %s\nwant %s", u.got, u.want)
		}
	}
	if _, err := Embedded().With(Options{Enable: []string{"azure-dated"}, Overrides: map[string]Override{"azure-dated": {Params: map[string]string{"resource": "r"}}}}); err == nil ||
		!strings.Contains(err.Error(), "api_version") {
		t.Errorf("a path that is not filled in: %v", err)
	}
}
