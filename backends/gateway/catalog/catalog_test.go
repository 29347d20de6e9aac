package catalog

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var twelve = []string{
	"openai", "anthropic", "gemini", "mistral", "groq", "together",
	"fireworks", "deepseek", "xai", "openrouter", "cerebras", "cohere",
}

var alternates = []string{"perplexity", "nim", "sambanova", "hf", "cf"}

func codes(c *Catalog) []string {
	out := make([]string, 0, len(c.Providers()))
	for _, p := range c.Providers() {
		out = append(out, p.Code)
	}
	return out
}

func ids(models []*Model) []string {
	out := make([]string, 0, len(models))
	for _, m := range models {
		out = append(out, m.EntryID())
	}
	return out
}

func TestEmbeddedProviders(t *testing.T) {
	t.Parallel()
	c := Embedded()
	if got := codes(c); !slices.Equal(got, twelve) {
		t.Fatalf("providers %v, want %v", got, twelve)
	}
	for _, code := range alternates {
		if _, ok := c.Provider(code); ok {
			t.Errorf("alternate %s is listed by default", code)
		}
		if len(c.Models(code)) != 0 {
			t.Errorf("alternate %s has models by default", code)
		}
	}
	for _, p := range c.Providers() {
		for _, tier := range Tiers() {
			if !slices.ContainsFunc(c.Models(p.Code), func(m *Model) bool { return slices.Contains(m.Tiers, tier) }) {
				t.Errorf("%s serves nothing in tier %s", p.Code, tier)
			}
		}
		if len(p.Env) == 0 || p.DocsURL == "" || p.KeyURL == "" {
			t.Errorf("%s lacks env, docs_url or key_url", p.Code)
		}
	}
}

// TestEmbeddedHasTheDocumentedModels checks that the file has all models of the specification's table of examples.
func TestEmbeddedHasTheDocumentedModels(t *testing.T) {
	t.Parallel()
	for _, w := range []struct {
		provider, id string
		tiers        []Tier
	}{
		{"openai", "gpt-5.4-nano", []Tier{Low}},
		{"openai", "gpt-6-luna", []Tier{Low}},
		{"openai", "gpt-5.4-mini", []Tier{Medium}},
		{"openai", "gpt-6.1-terra", []Tier{Medium}},
		{"openai", "gpt-6.1-sol", []Tier{High}},
		{"anthropic", "claude-haiku-5-5", []Tier{Low}},
		{"anthropic", "claude-sonnet-5-5", []Tier{Medium}},
		{"anthropic", "claude-opus-5-5", []Tier{High}},
		{"gemini", "gemini-3.5-flash-lite", []Tier{Low}},
		{"gemini", "gemini-3.8-flash", []Tier{Medium}},
		{"gemini", "gemini-pro-latest", []Tier{High}},
		{"mistral", "ministral-8b-latest", []Tier{Low}},
		{"mistral", "mistral-small-latest", []Tier{Medium}},
		{"mistral", "mistral-large-latest", []Tier{High}},
		{"groq", "llama-3.1-8b-instant", []Tier{Low}},
		{"groq", "openai/gpt-oss-20b", []Tier{Low}},
		{"groq", "llama-3.3-70b-versatile", []Tier{Medium}},
		{"groq", "openai/gpt-oss-120b", []Tier{High}},
		{"together", "meta-llama/Meta-Llama-3.1-8B-Instruct-Turbo", []Tier{Low}},
		{"together", "meta-llama/Llama-3.3-70B-Instruct-Turbo", []Tier{Medium}},
		{"together", "deepseek-ai/DeepSeek-V3", []Tier{High}},
		{"fireworks", "accounts/fireworks/models/llama-v3p1-8b-instruct", []Tier{Low}},
		{"fireworks", "accounts/fireworks/models/llama-v3p3-70b-instruct", []Tier{Medium}},
		{"fireworks", "accounts/fireworks/models/kimi-k2p6", []Tier{High}},
		{"deepseek", "deepseek-v4-flash", []Tier{Low, Medium}},
		{"deepseek", "deepseek-v4-pro", []Tier{High}},
		{"xai", "grok-build-0.1", []Tier{Low}},
		{"xai", "grok-4.3", []Tier{Medium}},
		{"xai", "grok-4.7", []Tier{High}},
		{"openrouter", "openai/gpt-oss-20b", []Tier{Low}},
		{"openrouter", "openai/gpt-oss-120b", []Tier{Medium}},
		{"openrouter", "anthropic/claude-sonnet-4.6", []Tier{High}},
		{"cerebras", "llama3.1-8b", []Tier{Low}},
		{"cerebras", "gpt-oss-120b", []Tier{Medium, High}},
		{"cerebras", "zai-glm-4.6", []Tier{High}},
		{"cohere", "command-r7b-12-2024", []Tier{Low}},
		{"cohere", "command-a-03-2025", []Tier{Medium}},
		{"cohere", "command-a-reasoning-08-2025", []Tier{High}},
	} {
		m, ok := Embedded().Model(w.provider, w.id)
		if !ok {
			t.Errorf("%s/%s is missing", w.provider, w.id)
			continue
		}
		if !slices.Equal(m.Tiers, w.tiers) {
			t.Errorf("%s tiers %v, want %v", m.EntryID(), m.Tiers, w.tiers)
		}
	}
}

func TestEmbeddedShapes(t *testing.T) {
	t.Parallel()
	c, err := Embedded().With(Options{
		Enable:    alternates,
		Overrides: map[string]Override{"cf": {Params: map[string]string{"account_id": "acc1"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	newLimit := []string{"openai", "groq", "cerebras", "xai", "openrouter", "gemini", "together", "fireworks"}
	noParallel := []string{"cohere", "perplexity", "gemini", "cf"}
	noUsageOption := []string{"cohere", "mistral"}
	noSampling := []string{"openai", "xai"}
	tagged := []string{"groq", "together", "perplexity", "nim", "sambanova", "hf", "cf"} // hosts of open models that write <think>
	alternating := []string{"perplexity", "nim", "hf", "mistral"}
	answered := []string{"openai", "gemini", "groq", "deepseek", "openrouter", "cohere"}
	for _, p := range c.Providers() {
		s := p.Shape
		want := FieldMaxTokens
		if slices.Contains(newLimit, p.Code) {
			want = FieldMaxCompletionTokens
		}
		if s.MaxTokensField != want {
			t.Errorf("%s: limit field %s, want %s", p.Code, s.MaxTokensField, want)
		}
		if got := slices.Contains(s.Drop, "parallel_tool_calls"); got != slices.Contains(noParallel, p.Code) {
			t.Errorf("%s: drops parallel_tool_calls: %v", p.Code, got)
		}
		if got := slices.Contains(s.Drop, "stream_options"); got == s.StreamUsage || got != slices.Contains(noUsageOption, p.Code) {
			t.Errorf("%s: drops stream_options: %v, stream_usage: %v", p.Code, got, s.StreamUsage)
		}
		if got := slices.Contains(s.DropForReasoning, "temperature"); got != slices.Contains(noSampling, p.Code) {
			t.Errorf("%s: drops temperature for reasoning: %v", p.Code, got)
		}
		if got := s.SystemFirst && s.Alternation; got != slices.Contains(alternating, p.Code) {
			t.Errorf("%s: alternation %v", p.Code, got)
		}
		if s.CallsAnswered != slices.Contains(answered, p.Code) {
			t.Errorf("%s: calls_answered: %v", p.Code, s.CallsAnswered)
		}
		if s.ThinkTags != slices.Contains(tagged, p.Code) {
			t.Errorf("%s: think_tags: %v", p.Code, s.ThinkTags)
		}
		if got := len(s.CacheMarks) > 0; got != (p.Code == "openrouter") {
			t.Errorf("%s: cache_marks: %v", p.Code, s.CacheMarks)
		}
		for _, member := range []string{"metadata", "service_tier", "prompt_cache_key", "verbosity", "store"} {
			if got := slices.Contains(s.Drop, member); got != (p.Code != "openai") {
				t.Errorf("%s: drops %s: %v", p.Code, member, got)
			}
		}
	}
	mistral, _ := c.Provider("mistral")
	if s := mistral.Shape; s.Rename["seed"] != "random_seed" || s.ToolChoiceRequired != "any" || !s.ToolCallID9 || s.PrefillField != "prefix" {
		t.Errorf("mistral shape %+v", s)
	}
}

func TestModelsOmitsRetired(t *testing.T) {
	t.Parallel()
	c := parseSample(t)
	if got := ids(c.Models("one")); !slices.Equal(got, []string{"one/small", "one/big"}) {
		t.Errorf("models %v", got)
	}
	if m, ok := c.Model("one", "gone"); !ok || !m.Retired {
		t.Errorf("retired model: %v %v", m, ok)
	}
	if got := ids(c.Tier(Low)); !slices.Equal(got, []string{"one/small", "two/vendor/x"}) {
		t.Errorf("low tier %v", got)
	}
	if got := ids(c.Tier(High)); !slices.Equal(got, []string{"one/big"}) {
		t.Errorf("high tier %v", got)
	}
	if c.Tier(0) != nil || c.Tier(9) != nil {
		t.Error("a tier that is none has models")
	}
	if _, ok := c.Model("two", "x"); ok {
		t.Error("found a model by half of its id")
	}
	if _, ok := c.Model("alt", "m"); ok {
		t.Error("found a model of an alternate that is not enabled")
	}
}

func TestURLs(t *testing.T) {
	t.Parallel()
	c := Embedded()
	for _, w := range []struct{ provider, wire, want string }{
		{"openai", WireChat, "https://api.openai.com/v1/chat/completions"},
		{"openai", WireResponses, "https://api.openai.com/v1/responses"},
		{"openai", WireMessages, ""},
		{"anthropic", WireMessages, "https://api.anthropic.com/v1/messages"},
		{"fireworks", WireMessages, "https://api.fireworks.ai/inference/v1/messages"},
		{"deepseek", WireMessages, "https://api.deepseek.com/anthropic/v1/messages"},
		{"gemini", WireChat, "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions"},
		{"cohere", "telegraph", ""},
	} {
		p, _ := c.Provider(w.provider)
		if got, ok := p.WireURL(w.wire); got != w.want || ok != (w.want != "") {
			t.Errorf("%s %s: %q %v, want %q", w.provider, w.wire, got, ok, w.want)
		}
	}
	deepseek, _ := c.Provider("deepseek")
	if got := deepseek.PrefillURL(); got != "https://api.deepseek.com/beta/chat/completions" {
		t.Errorf("prefill of deepseek goes to %s", got)
	}
	mistral, _ := c.Provider("mistral")
	if got := mistral.PrefillURL(); got != mistral.ChatURL() {
		t.Errorf("prefill of mistral goes to %s", got)
	}
}

func TestTierText(t *testing.T) {
	t.Parallel()
	for _, tier := range Tiers() {
		text, err := json.Marshal(tier)
		if err != nil {
			t.Fatal(err)
		}
		var decoded Tier
		if err := json.Unmarshal(text, &decoded); err != nil || decoded != tier {
			t.Errorf("%s came back as %v, %v", text, decoded, err)
		}
	}
	if _, err := ParseTier("Low"); err == nil {
		t.Error("parsed Low with a capital")
	}
	if _, err := json.Marshal(Tier(0)); err == nil {
		t.Error("no tier has a JSON form")
	}
	if got := Tier(7).String(); got != "" {
		t.Errorf("text %q of no tier", got)
	}
}

// TestCodeNamesNoModel checks that the code contains no model ids. They become outdated, so they are only in the data
// file.
func TestCodeNamesNoModel(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		checked++
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range Embedded().all.models {
			if strings.Contains(string(source), `"`+m.ID+`"`) {
				t.Errorf("%s mentions model %s", file, m.ID)
			}
		}
	}
	if checked == 0 {
		t.Fatal("no source file was checked")
	}
}

func parseSample(t *testing.T) *Catalog {
	t.Helper()
	c, err := Parse([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	return c
}
