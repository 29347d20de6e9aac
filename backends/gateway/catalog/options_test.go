package catalog

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestWithEnablesAndDisables(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		opts Options
		want []string
	}{
		{"nothing", Options{}, []string{"one", "two"}},
		{"an alternate", Options{Enable: []string{"alt"}, Overrides: filled}, []string{"one", "two", "alt"}},
		{"what is on already", Options{Enable: []string{"two"}}, []string{"one", "two"}},
		{"without one", Options{Disable: []string{"one"}}, []string{"two"}},
		{"without an alternate that is off", Options{Disable: []string{"alt"}}, []string{"one", "two"}},
		{"without any", Options{Disable: []string{"one", "two"}}, nil},
		{"an override of one that is off", Options{Overrides: filled}, []string{"one", "two"}},
	} {
		c, err := parseSample(t).With(tt.opts)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := codes(c); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
		for _, tier := range Tiers() {
			for _, m := range c.Tier(tier) {
				if !slices.Contains(tt.want, m.Provider) {
					t.Errorf("%s: tier %s offers %s", tt.name, tier, m.EntryID())
				}
			}
		}
	}
}

var filled = map[string]Override{"alt": {Params: map[string]string{"account_id": "acc-1"}}}

func TestWithReplacesEarlierOptions(t *testing.T) {
	t.Parallel()
	c := parseSample(t)
	changed, err := c.With(Options{Disable: []string{"one"}, Overrides: map[string]Override{"two": {BaseURL: "http://localhost:1"}}})
	if err != nil {
		t.Fatal(err)
	}
	restored, err := changed.With(Options{})
	if err != nil {
		t.Fatal(err)
	}
	two, _ := restored.Provider("two")
	if !slices.Equal(codes(restored), codes(c)) || two.BaseURL != "http://two.example" {
		t.Errorf("providers %v, two at %s", codes(restored), two.BaseURL)
	}
}

func TestOverride(t *testing.T) {
	t.Parallel()
	base := parseSample(t)
	c, err := base.With(Options{
		Enable: []string{"alt"},
		Overrides: map[string]Override{
			"one": {
				BaseURL:  "http://127.0.0.1:8080/v1//",
				Headers:  map[string]string{"X-Version": "2", "X-Team": "red"},
				Timeouts: Timeouts{Connect: time.Second, FirstContent: PerTier{Medium: 3 * time.Second}, Answer: PerTier{Low: time.Minute}},
			},
			"two": {Headers: map[string]string{"x-none": ""}},
			"alt": {Params: map[string]string{"account_id": "acc-1"}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	provider, _ := c.Provider("one")
	if got := provider.ChatURL(); got != "http://127.0.0.1:8080/v1/chat/completions" {
		t.Errorf("chat at %s", got)
	}
	if got := provider.PrefillURL(); got != provider.ChatURL() {
		t.Errorf("prefill goes around the proxy to %s", got)
	}
	if got, ok := provider.WireURL(WireMessages); ok {
		t.Errorf("messages go around the proxy to %s", got)
	}
	if got, _ := provider.WireURL(WireResponses); got != "http://127.0.0.1:8080/v1/responses" {
		t.Errorf("responses at %s", got)
	}
	if len(provider.Headers) != 2 || provider.Headers["X-Version"] != "2" || provider.Headers["X-Team"] != "red" {
		t.Errorf("headers %v", provider.Headers)
	}
	want := Timeouts{
		Connect: time.Second, FirstContent: PerTier{Low: 10 * time.Second, Medium: 3 * time.Second, High: 2 * time.Minute},
		Answer: PerTier{Low: time.Minute, High: 7 * time.Minute}, Idle: 90 * time.Second,
	}
	if provider.Timeouts != want {
		t.Errorf("timeouts %+v", provider.Timeouts)
	}
	if two, _ := c.Provider("two"); len(two.Headers) != 0 {
		t.Errorf("headers %v", two.Headers)
	}
	if alt, _ := c.Provider("alt"); alt.BaseURL != "https://alt.example/acc-1/v1" {
		t.Errorf("alternate at %s", alt.BaseURL)
	}

	before, _ := base.Provider("one")
	if before.BaseURL != "https://one.example/v1" || len(before.Wires) != 2 || before.Headers["x-version"] != "1" ||
		before.Shape.PrefillBaseURL == "" || len(before.WireBaseURLs) != 1 {
		t.Errorf("the override changed the catalog it was made from: %+v", before)
	}
}

func TestOverrideRemovesHeader(t *testing.T) {
	t.Parallel()
	c, err := parseSample(t).With(Options{Overrides: map[string]Override{"one": {Headers: map[string]string{"X-VERSION": ""}}}})
	if err != nil {
		t.Fatal(err)
	}
	if provider, _ := c.Provider("one"); len(provider.Headers) != 0 {
		t.Errorf("headers %v", provider.Headers)
	}
}

func TestWithErrors(t *testing.T) {
	t.Parallel()
	override := func(code string, o Override) Options { return Options{Overrides: map[string]Override{code: o}} }
	for _, tt := range []struct {
		name string
		opts Options
		want string
	}{
		{"enable unknown", Options{Enable: []string{"three"}}, `enable: unknown provider "three", known are one, two, alt`},
		{"disable unknown", Options{Disable: []string{"three"}}, `disable: unknown provider "three", known are one, two, alt`},
		{"override unknown", override("three", Override{}), `override: unknown provider "three", known are one, two, alt`},
		{"on and off", Options{Enable: []string{"one"}, Disable: []string{"one"}}, "provider one: both enabled and disabled"},
		{"part not filled", Options{Enable: []string{"alt"}}, "provider alt: base_url: {account_id} is not filled in"},
		{"part of an own base not filled", override("one", Override{BaseURL: "http://a/{team}"}), "provider one: base_url: {team} is not filled in"},
		{"configuration placeholder left", override("one", Override{BaseURL: "http://a/{env.TEAM}"}), "provider one: base_url:"},
		{"relative", override("one", Override{BaseURL: "localhost:8080"}), "provider one: base_url: must be an absolute"},
		{"no host", override("one", Override{BaseURL: "http://"}), "provider one: base_url: must be an absolute"},
		{"port alone", override("one", Override{BaseURL: "http://:8080"}), "provider one: base_url: must be an absolute"},
		{"query", override("one", Override{BaseURL: "http://a/?key=secret"}), "provider one: base_url: must have no query"},
		{"empty query", override("one", Override{BaseURL: "http://a/?"}), "provider one: base_url: must have no query"},
		{"password", override("one", Override{BaseURL: "http://a:secret@b/"}), "provider one: base_url: must not contain a user"},
		{"unknown parameter", override("one", Override{Params: map[string]string{"team": "a"}}), "params.team: no base URL or path has the part {team}"},
		{"parameter leaves its place", override("alt", Override{Params: map[string]string{"account_id": "a/../b"}}), "params.account_id: must be"},
		{"header of the gateway", override("one", Override{Headers: map[string]string{"X-Api-Key": "secret"}}), "headers: X-Api-Key is set by the gateway"},
		{"header value", override("one", Override{Headers: map[string]string{"x-a": "secret\n"}}), "headers: the value of x-a"},
		{"timeout", override("one", Override{Timeouts: Timeouts{Idle: -time.Second}}), "timeouts.idle: -1s is not between"},
		{"checked though off", override("alt", Override{BaseURL: "nowhere"}), "provider alt: base_url: must be an absolute"},
	} {
		_, err := parseSample(t).With(tt.opts)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q in it", tt.name, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error shows a secret: %v", tt.name, err)
		}
	}
}

func TestEmbeddedAlternates(t *testing.T) {
	t.Parallel()
	for _, code := range alternates {
		opts := Options{Enable: []string{code}}
		if code == "cf" {
			if _, err := Embedded().With(opts); err == nil {
				t.Error("cf works without an account")
			}
			opts.Overrides = map[string]Override{"cf": {Params: map[string]string{"account_id": "0123abc"}}}
		}
		c, err := Embedded().With(opts)
		if err != nil {
			t.Errorf("%s: %v", code, err)
			continue
		}
		if got := codes(c); !slices.Equal(got, append(slices.Clone(twelve), code)) {
			t.Errorf("%s: providers %v", code, got)
		}
		if len(c.Models(code)) == 0 {
			t.Errorf("%s has no models", code)
		}
	}
}

// TestOperatorKeys checks that a configured key takes precedence over the environment, and that the id of a key
// contains no part of it.
func TestOperatorKeys(t *testing.T) {
	t.Parallel()
	environment := map[string]string{"ONE_API_KEY": " sk-environment\n", "TWO_API_KEY": "sk-nobody-reads-it"}
	load := func(o Options) *Provider {
		t.Helper()
		c, err := parseSample(t).With(o)
		if err != nil {
			t.Fatal(err)
		}
		p, _ := c.Provider("one")
		return p
	}
	read := func(name string) string { return environment[name] }
	if p := load(Options{}); p.APIKey != "" || p.KeyID != "" {
		t.Errorf("by default %+v", p)
	}
	fromEnvironment := load(Options{Environment: read})
	if fromEnvironment.APIKey != "sk-environment" {
		t.Errorf("of the environment: %q", fromEnvironment.APIKey)
	}
	configured := load(Options{Environment: read, Overrides: map[string]Override{"one": {APIKey: "sk-configured"}}})
	if configured.APIKey != "sk-configured" || configured.KeyID == fromEnvironment.KeyID || strings.Contains(configured.KeyID, "configured") {
		t.Errorf("configured: %q %q", configured.APIKey, configured.KeyID)
	}
	if reloaded := load(Options{Overrides: map[string]Override{"one": {APIKey: "sk-configured"}}}); reloaded.KeyID != configured.KeyID {
		t.Error("the same key has another name after a reload")
	}
	two, _ := func() (*Provider, bool) {
		c, err := parseSample(t).With(Options{Environment: read})
		if err != nil {
			t.Fatal(err)
		}
		return c.Provider("two")
	}()
	if two.APIKey != "" {
		t.Errorf("the provider two, without a variable, has the key %q", two.APIKey)
	}
	for _, bad := range []string{"with space", "line\nbreak", "ü", strings.Repeat("x", maxText+1)} {
		_, err := parseSample(t).With(Options{Overrides: map[string]Override{"one": {APIKey: bad}}})
		if err == nil || !strings.Contains(err.Error(), "api_key") || strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestEnvironmentKeyOfBase checks that a key with a base URL in the environment is used only at that URL.
func TestEnvironmentKeyOfBase(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		provider, key, base string // variables that are set
		at                  string // base URL in the catalog; empty: the provider's own
		variable, want      string // base URL of the key
		used                bool
	}{
		{"openai", "OPENAI_API_KEY", "", "", "OPENAI_BASE_URL", "", true},
		{"openai", "OPENAI_API_KEY", "http://proxy.test/v1/", "", "OPENAI_BASE_URL", "http://proxy.test/v1", false},
		{"openai", "OPENAI_API_KEY", "http://proxy.test/v1", "http://proxy.test/v1", "OPENAI_BASE_URL", "http://proxy.test/v1", true},
		{"openai", "OPENAI_API_KEY", "https://api.openai.com/v1", "", "OPENAI_BASE_URL", "https://api.openai.com/v1", true},
		{"anthropic", "ANTHROPIC_API_KEY", "https://api.anthropic.com", "", "ANTHROPIC_BASE_URL", "https://api.anthropic.com/v1", true},
		{"anthropic", "ANTHROPIC_API_KEY", "http://proxy.test", "", "ANTHROPIC_BASE_URL", "http://proxy.test/v1", false},
		{"gemini", "GOOGLE_API_KEY", "http://proxy.test", "", "GOOGLE_BASE_URL", "http://proxy.test", false},
		{"groq", "GROQ_API_KEY", "http://proxy.test", "", "GROQ_BASE_URL", "http://proxy.test", false},
	} {
		environment := map[string]string{test.key: "sk-1", test.variable: test.base}
		options := Options{Environment: func(name string) string { return environment[name] }}
		if test.at != "" {
			options.Overrides = map[string]Override{test.provider: {BaseURL: test.at}}
		}
		cat, err := Embedded().With(options)
		if err != nil {
			t.Fatal(err)
		}
		p, _ := cat.Provider(test.provider)
		key, ok := p.EnvironmentKey(options.Environment)
		if !ok || key.Variable != test.key || key.BaseVariable != test.variable || key.BaseURL != test.want || key.BelongsTo(p.BaseURL) != test.used {
			t.Errorf("%+v: %+v", test, key)
		}
		if (p.APIKey == "sk-1") != test.used {
			t.Errorf("%+v: the provider has %q", test, p.APIKey)
		}
	}
}
