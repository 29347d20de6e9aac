package declared

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// vault has the secrets of keys by their references.
type vault map[string]string

func (k vault) resolve(reference string) (string, error) {
	text, ok := k[reference]
	if !ok {
		return "", errors.New(reference + " is not set")
	}
	return text, nil
}

const keys = `
organisation:
  provider_keys:
    - {provider: openai, label: company, key: "{env.OPENAI}", limits: {usd_per_month: 500, rate_limit_per_minute: 60}}
    - {provider: groq, key: "{file./run/groq}"}
teams:
  - name: Research
    provider_keys:
      - {provider: openai, label: research, key: "{env.OTHER}"}
`

// TestProviderKeys checks that a file adds, replaces, limits and removes keys. The file has references to the secrets,
// which are in no list of changes and no export.
func TestProviderKeys(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		s := newService(t, db)
		texts := vault{
			"{env.OPENAI}":     "sk-company-0123456789\n",
			"{file./run/groq}": "gsk-0123456789abcdef",
			"{env.OTHER}":      "sk-research-0123456789",
		}
		o := Options{Catalog: catalog.Embedded(), Resolve: texts.resolve}
		dry := o
		dry.DryRun = true
		added := []string{
			"+ organisation: provider key openai \"company\": sk…89",
			"~ organisation: provider key openai \"company\": limits: usd_per_month none -> 500, rate_limit_per_minute none -> 60",
			"+ organisation: provider key groq: gs…ef",
			"+ team Research",
			"+ team Research: provider key openai \"research\": sk…89",
		}
		stored := func() (all []string) {
			t.Helper()
			list, err := s.StoredKeys(t.Context(), keychain.TheOrganisation)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range list {
				usd := ""
				if k.Limits.Budgets.USDPerMonth != nil {
					usd = k.Limits.Budgets.USDPerMonth.String()
				}
				all = append(all, strings.TrimSpace(fmt.Sprint(k.Provider, " ", k.Label, " ", k.Masked, " ", usd)))
			}
			return all
		}
		for _, step := range []struct {
			name, file string
			o          Options
			want       []string
		}{
			{"a dry run", keys, dry, added},
			{"the first time", keys, o, added},
			{"the second time", keys, o, nil},
		} {
			equal(t, step.name, apply(t, s, step.file, step.o), step.want)
		}
		if got := stored(); len(got) != 2 || got[0] != "openai company sk…89 500" {
			t.Errorf("stored are %q", got)
		}

		text := export(t, s)
		want := "organisation:\n    provider_keys:\n        - provider: openai\n          label: company\n          limits:\n            usd_per_month: 500\n            rate_limit_per_minute: 60\n" +
			"        - provider: groq\nteams:\n    - name: Research\n      provider_keys:\n        - provider: openai\n          label: research\n      members: []\nusers: []\n"
		if text != want {
			t.Errorf("the export is\n%s\nwant\n%s", text, want)
		}
		o.Prune = true
		equal(t, "its own export", apply(t, s, text, o), nil)

		// A new secret replaces the key. The limits stay.
		texts["{env.OPENAI}"] = "sk-rotated-9876543210"
		equal(
			t,
			"rotated",
			apply(
				t,
				s,
				`organisation: {provider_keys: [{provider: openai, label: company, key: "{env.OPENAI}"}, {provider: groq}]}
teams: [{name: Research}]`,
				o,
			),
			[]string{`~ organisation: provider key openai "company": sk…89 -> sk…10`},
		)
		if got := stored(); len(got) != 2 || got[1] != "openai company sk…10 500" {
			t.Errorf("stored are %q", got)
		}
		equal(
			t,
			"limited",
			apply(
				t,
				s,
				"organisation: {provider_keys: [{provider: openai, label: company, limits: {usd_per_month: 400}}, {provider: groq}]}\nteams: [{name: Research}]",
				o,
			),
			[]string{
				`~ organisation: provider key openai "company": limits: usd_per_month 500 -> 400, rate_limit_per_minute 60 -> none`,
			},
		)

		equal(
			t,
			"pruned",
			apply(t, s, "organisation: {provider_keys: [{provider: groq}]}\nteams: [{name: Research, provider_keys: }]", o),
			[]string{`- organisation: provider key openai "company": sk…10`},
		)
		equal(t, "of which nothing is said", apply(t, s, "teams: [{name: Research}]", o), nil)
		equal(
			t,
			"all of a team",
			apply(t, s, "teams: [{name: Research, provider_keys: []}]", o),
			[]string{`- team Research: provider key openai "research": sk…89`},
		)
		if actions := strings.Join(
			auditedActions(t, s),
			" ",
		); strings.Count(actions, "provider_key.added") != 4 ||
			strings.Count(actions, "provider_key.removed") != 3 {
			t.Errorf("audited is %s", actions)
		}
	})
}

// TestProviderKeysRefused checks the errors for wrong keys, which never contain a secret.
func TestProviderKeysRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"organisation: {provider_keys: [{provider: openai, key: sk-secret-1}]}":                             "line 1: key must be a reference to the text",
		"organisation: {provider_keys: [{provider: openai, key: {env.OPENAI}}]}":                            "line 1: key: write it in quotes",
		"organisation: {provider_keys: [{provider: openai, key: \"sk-secret-1{env.A}\"}]}":                  "line 1: key must be a reference to the text",
		"organisation: {provider_keys: [{label: a}]}":                                                       "line 1: a provider key must have a provider",
		"organisation: {provider_keys: [{provider: a, color: red}]}":                                        `a provider key has no field "color"; its fields are: key, label, limits, provider`,
		"organisation: {provider_keys: {}}":                                                                 "provider_keys must be a list",
		"teams: [{name: a, provider_keys: [{provider: b},\n {provider: b}]}]":                               "line 2: the provider key b is already declared in line 1",
		"teams: [{name: a, provider_keys: [{provider: b, limits: {allowed_models: [a], usd_per_day: 1}}]}]": "a provider key cannot have the limit allowed_models",
	} {
		if _, err := Read(
			[]byte(text),
		); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "sk-secret") {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		s := newService(t, db)
		texts := vault{"{env.A}": "sk-secret-1", "{env.SPACES}": "sk secret", "{env.EMPTY}": " "}
		o := Options{Catalog: catalog.Embedded(), Resolve: texts.resolve}
		for entry, want := range map[string]string{
			`{provider: nobody, key: "{env.A}"}`:                                             `line 1: organisation: provider key nobody: provider "nobody" is not one of`,
			`{provider: openai}`:                                                             "line 1: organisation: provider key openai: the key is not stored yet",
			`{provider: openai, key: "{env.NONE}"}`:                                          "line 1: organisation: provider key openai: {env.NONE} is not set",
			`{provider: openai, key: "{env.EMPTY}"}`:                                         "{env.EMPTY} is empty",
			`{provider: openai, key: "{env.SPACES}"}`:                                        "line 1: organisation: provider key openai: api_key must be",
			`{provider: openai, key: "{env.A}", limits: {expires_at: 2020-01-01T00:00:00Z}}`: "line 1: organisation: provider key openai: expires_at",
		} {
			f, err := Read([]byte("organisation: {provider_keys: [" + entry + "]}"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err = Apply(
				t.Context(),
				s,
				f,
				o,
			); err == nil || !strings.Contains(err.Error(), want) ||
				strings.Contains(err.Error(), "sk-secret") {
				t.Errorf("%s: error %v, want %q", entry, err, want)
			}
		}
		if _, err := s.AddKeyOf(
			t.Context(),
			keychain.TheOrganisation,
			"openai",
			"sk-one-0123456789",
			"",
			func(string) bool { return true },
		); err != nil {
			t.Fatal(err)
		}
		if _, err := s.AddKeyOf(
			t.Context(),
			keychain.TheOrganisation,
			"openai",
			"sk-two-0123456789",
			"",
			func(string) bool { return true },
		); err != nil {
			t.Fatal(err)
		}
		f, err := Read([]byte("organisation: {provider_keys: [{provider: openai}]}"))
		if err == nil {
			_, err = Apply(t.Context(), s, f, o)
		}
		if err == nil || !strings.Contains(err.Error(), "2 stored keys have this provider and label") {
			t.Errorf("two of a name: %v", err)
		}
	})
}

// TestPruneMakesRoom checks that the keys of a file can replace as many other keys as an owner can have.
func TestPruneMakesRoom(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		s := newService(t, db)
		const maxKeys = 200
		o := Options{
			Catalog: catalog.Embedded(), Prune: true,
			Resolve: func(string) (string, error) { return "sk-company-0123456789", nil },
		}
		file := func(label string) string {
			var text strings.Builder
			text.WriteString("organisation:\n  provider_keys:\n")
			for i := range maxKeys {
				fmt.Fprintf(&text, "    - {provider: openai, label: %s %d, key: '{env.KEY}'}\n", label, i)
			}
			return text.String()
		}
		if got := apply(t, s, file("old"), o); len(got) != maxKeys {
			t.Fatalf("the old keys made %d changes, want %d", len(got), maxKeys)
		}
		if got := apply(t, s, file("new"), o); len(got) != 2*maxKeys {
			t.Errorf("the new keys made %d changes, want %d", len(got), 2*maxKeys)
		}
	})
}
