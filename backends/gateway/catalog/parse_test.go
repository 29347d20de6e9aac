package catalog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// sample is a small file that uses every member.
const sample = `{
	"updated": "2026-01-31",
	"note": "a sample",
	"providers": [
		{
			"code": "one",
			"name": "One",
			"base_url": "https://one.example/v1/",
			"env": ["ONE_API_KEY"],
			"headers": {"x-version": "1"},
			"wires": ["responses", "messages"],
			"wire_base_urls": {"messages": "https://one.example/other"},
			"shape": {"drop": ["seed"], "prefill_base_url": "https://one.example/beta", "reasoning_efforts": ["low", "high"]},
			"timeouts": {"connect": "5s", "first_content": {"low": "10s", "high": "2m"}, "answer": {"high": "7m"}, "idle": "1m30s"}
		},
		{"code": "two", "name": "Two", "base_url": "http://two.example", "auth": "x-api-key"},
		{"code": "alt", "name": "Alternate", "base_url": "https://alt.example/{account_id}/v1", "alternate": true}
	],
	"models": [
		{
			"provider": "one", "id": "small", "tiers": ["low"], "context_window": 1000, "max_output": 100,
			"price": {"input": 0.5, "output": 1.5}, "created": "2025-12-31"
		},
		{"provider": "one", "id": "big", "name": "Big", "family": "b", "tiers": ["medium", "high"], "reasoning": true, "reasoning_efforts": []},
		{"provider": "one", "id": "gone", "tiers": ["low"], "retired": true},
		{"provider": "two", "id": "vendor/x", "tiers": ["low"], "modalities": ["text", "image"]},
		{"provider": "alt", "id": "m", "tiers": ["low"]}
	]
}`

func TestParseFillsDefaults(t *testing.T) {
	t.Parallel()
	c := parseSample(t)
	if c.Updated != "2026-01-31" {
		t.Errorf("updated %q", c.Updated)
	}
	provider, _ := c.Provider("one")
	if provider.BaseURL != "https://one.example/v1" || provider.Auth != AuthBearer ||
		provider.Shape.MaxTokensField != FieldMaxTokens || provider.Shape.EffortField != EffortFlat {
		t.Errorf("provider %+v", provider)
	}
	want := Timeouts{Connect: 5 * time.Second, FirstContent: PerTier{Low: 10 * time.Second, High: 2 * time.Minute}, Answer: PerTier{High: 7 * time.Minute}, Idle: 90 * time.Second}
	if provider.Timeouts != want {
		t.Errorf("timeouts %+v", provider.Timeouts)
	}
	small, _ := c.Model("one", "small")
	if small.Name != "small" || small.Family != "small" || !small.Accepts(ModalityText) || small.Accepts(ModalityImage) ||
		!small.Price.Known || !small.Created.Equal(time.Date(2025, 12, 31, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("model %+v", small)
	}
	big, _ := c.Model("one", "big")
	if big.Price.Known || big.ReasoningEfforts == nil || len(big.ReasoningEfforts) != 0 || !big.Created.IsZero() {
		t.Errorf("model %+v", big)
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, old, new, want string }{
		{"not json", `"updated"`, `updated`, "line 2 is not JSON"},
		{"cut off", "\n}", "", "ends in the middle"},
		{"trailing text", "\n}", "\n} {}", "more text after"},
		{"unknown top member", `"note"`, `"nota"`, `unknown field "nota"`},
		{"no date", "2026-01-31", "31.1.2026", `updated: "31.1.2026" is not a date`},
		{"unknown provider member", `"env"`, `"envs"`, `providers[0] "one": unknown field "envs"`},
		{"unknown shape member", `"drop"`, `"dropp"`, `providers[0] "one": unknown field "dropp"`},
		{"provider twice", `"code": "two"`, `"code": "one"`, `providers[1] "one": code: used twice`},
		{"bad code", `"code": "two"`, `"code": "T/wo"`, `providers[1] "T/wo": code: must be`},
		{"no name", `"name": "Two"`, `"name": " "`, `providers[1] "two": name: is missing`},
		{"control character", `"name": "Two"`, `"name": "T\u0000"`, `name: has a control character`},
		{"relative base", "http://two.example", "/v1", `providers[1] "two": base_url: must be an absolute`},
		{"other scheme", "http://two.example", "ftp://two.example", "base_url: must be an absolute"},
		{"base with query", "http://two.example", "http://two.example?a=1", "base_url: must have no query"},
		{"base with fragment", "http://two.example", "http://two.example#a", "base_url: must have no query"},
		{"base with password", "http://two.example", "http://me:secret@two.example", "base_url: must not contain a user"},
		{"base with odd part", "{account_id}", "{Account}", "base_url: "},
		{"bad env", "ONE_API_KEY", "one-key", `env: "one-key" is not allowed`},
		{"bad auth", `"auth": "x-api-key"`, `"auth": "basic"`, `auth: "basic" is not one of`},
		{"header name", `"x-version": "1"`, `"x version": "1"`, `headers: "x version"`},
		{"header value", `"x-version": "1"`, `"x-version": "1\r\nHost: a"`, "headers: the value of x-version"},
		{"credential header", `"x-version": "1"`, `"Authorization": "1"`, "headers: Authorization is set by the gateway"},
		{"unknown wire", `"wires": ["responses",`, `"wires": ["telegraph",`, `wires: "telegraph" is not allowed`},
		{"wire twice", `"wires": ["responses",`, `"wires": ["messages",`, `wires: "messages" is listed twice`},
		{"base of no wire", `"wires": ["responses", "messages"]`, `"wires": ["responses"]`, `wire_base_urls: "messages"`},
		{"drops the model", `"drop": ["seed"]`, `"drop": ["model"]`, `shape.drop: "model" is not allowed`},
		{"renames what it drops", `"drop": ["seed"]`, `"drop": ["seed"], "rename": {"seed": "random_seed"}`, `shape.rename: "seed" is also in shape.drop`},
		{"unknown limit field", `"drop": ["seed"]`, `"max_tokens_field": "limit"`, `shape.max_tokens_field: unknown value "limit"`},
		{"unknown effort", `["low", "high"]}`, `["low", "huge"]}`, `shape.reasoning_efforts: "huge" is not allowed`},
		{"not a duration", `"5s"`, `"5"`, `timeouts.connect: "5" is not a duration`},
		{"negative duration", `"2m"`, `"-2m"`, "timeouts.first_content.high: -2m0s is not between"},
		{"negative answer", `"7m"`, `"-7m"`, "timeouts.answer.high: -7m0s is not between"},
		{"duration as number", `"5s"`, `5`, `providers[0] "one": timeouts.connect: is a JSON number`},
		{"model of nobody", `"provider": "two", "id"`, `"provider": "three", "id"`, `models[3] "three/vendor/x": provider: not among`},
		{"model twice", `"id": "gone"`, `"id": "big"`, `models[2] "one/big": id: used twice`},
		{"no id", `"id": "small", `, ``, `models[0]: id: must be`},
		{"id with space", `"id": "small"`, `"id": "sm all"`, `models[0] "one/sm all": id: must be`},
		{"unknown tier", `"tiers": ["medium", "high"]`, `"tiers": ["best"]`, `models[1] "one/big": unknown tier "best"`},
		{"tier twice", `"tiers": ["medium", "high"]`, `"tiers": ["high", "high"]`, `models[1] "one/big": tiers:`},
		{"tier null", `"tiers": ["medium", "high"]`, `"tiers": [null]`, `models[1] "one/big": tiers:`},
		{"context as text", `"context_window": 1000`, `"context_window": "1000"`, `models[0] "one/small": context_window: is a JSON string`},
		{"negative context", `"context_window": 1000`, `"context_window": -1`, "context_window: -1 is not between"},
		{"output above context", `"max_output": 100`, `"max_output": 1001`, "max_output: larger than"},
		{"unknown modality", `["text", "image"]`, `["text", "smell"]`, `modalities: "smell" is not allowed`},
		{"no text", `["text", "image"]`, `["image"]`, "modalities: text is missing"},
		{"effort without reasoning", `"retired": true`, `"reasoning_efforts": ["low"]`, `models[2] "one/gone": reasoning_efforts: given for`},
		{"half a price", `"input": 0.5, `, ``, `models[0] "one/small": price: must have input and output`},
		{"negative price", `"input": 0.5`, `"input": -1`, "price.input: -1 is not between"},
		{"price too fine", `"input": 0.5`, `"input": 0.0000005`, "price.input: 5e-07 has more than six decimals"},
		{"price too high", `"output": 1.5`, `"output": 1e9`, "price.output: 1e+09 is not between"},
		{"price as text", `"input": 0.5`, `"input": "0.5"`, `models[0] "one/small": price.input: is a JSON string`},
		{"long without limit", `"output": 1.5`, `"output": 1.5, "long": {"input": 1, "output": 2}`, "price.long.above: must be"},
		{"factor without a name", `"output": 1.5`, `"output": 1.5, "factors": {"": 2}`, `price.factors: "" must be 1 to 32`},
		{"factor of a name that no answer has", `"output": 1.5`, `"output": 1.5, "factors": {"Flex": 2}`, `price.factors: "Flex" must be 1 to 32`},
		{"negative factor", `"output": 1.5`, `"output": 1.5, "factors": {"flex": -1}`, "price.factors.flex: -1 is not between 0 and 1000"},
		{"call too fine", `"output": 1.5`, `"output": 1.5, "calls": {"web_search": 0.0000001}`, "price.calls.web_search: 1e-07 has more than six decimals"},
		{"call too dear", `"output": 1.5`, `"output": 1.5, "calls": {"web_search": 1001}`, "price.calls.web_search: 1001 is not between 0 and 1000"},
		{"long half", `"output": 1.5`, `"output": 1.5, "long": {"above": 5, "input": 1}`, "price.long: must have input and output"},
		{"bad created", "2025-12-31", "2025-13-31", `created: "2025-13-31" is not a date`},
		{"entry of another kind", `{"provider": "alt", "id": "m", "tiers": ["low"]}`, `7`, "models[4]: is a JSON number"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(sample, tt.old) {
				t.Fatalf("the sample has no %s", tt.old)
			}
			i := strings.LastIndex(sample, tt.old)
			if tt.old != "\n}" {
				i = strings.Index(sample, tt.old)
			}
			_, err := Parse([]byte(sample[:i] + tt.new + sample[i+len(tt.old):]))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q in it", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("error shows a password: %v", err)
			}
		})
	}
}

func TestParseWithoutProviders(t *testing.T) {
	t.Parallel()
	if _, err := Parse([]byte(`{"updated":"2026-01-31"}`)); err == nil || !strings.Contains(err.Error(), "providers: 0 entries") {
		t.Errorf("error %v", err)
	}
	if _, err := Parse(make([]byte, maxFileBytes+1)); err == nil || !strings.Contains(err.Error(), "larger than 16 MB") {
		t.Errorf("error %v", err)
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good, broken, big := filepath.Join(dir, "good.json"), filepath.Join(dir, "broken.json"), filepath.Join(dir, "big.json")
	write(t, good, sample)
	write(t, broken, "{")
	write(t, big, "")
	if err := os.Truncate(big, maxFileBytes+1); err != nil {
		t.Fatal(err)
	}
	if c, _, err := load(good); err != nil || len(c.Providers()) != 2 {
		t.Errorf("good file: %v", err)
	}
	for path, want := range map[string]string{
		broken:                         broken + ": ends in the middle",
		big:                            "larger than 16 MB",
		dir:                            "not a regular file",
		filepath.Join(dir, "not.json"): "no such file",
	} {
		if _, _, err := load(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte(`{"updated":"2026-01-31","providers":[null],"models":[{}]}`))
	f.Add([]byte(`{"updated":"2026-01-31","providers":[{"code":"a","name":"a","base_url":"http://a/{b}"}],"models":[]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := Parse(raw)
		if err != nil {
			if len(err.Error()) > 1000 {
				t.Errorf("error of %d bytes", len(err.Error()))
			}
			return
		}
		for _, p := range c.Providers() {
			if strings.ContainsAny(p.BaseURL, "{}?#") || strings.HasSuffix(p.BaseURL, "/") {
				t.Errorf("base URL %q", p.BaseURL)
			}
			for _, m := range c.Models(p.Code) {
				if got, ok := c.Model(p.Code, m.ID); !ok || got != m || m.Retired {
					t.Errorf("model %s", m.EntryID())
				}
				if cost, known := m.Cost(Tokens{Input: 1 << 62, Cached: 1 << 62, Written: 1 << 62, WrittenHour: 1 << 62, Output: 1 << 62}); cost < 0 || known != m.Price.Known {
					t.Errorf("%s costs %d", m.EntryID(), cost)
				}
			}
		}
		if _, err := c.With(Options{}); err != nil {
			t.Errorf("options that change nothing: %v", err)
		}
	})
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
