package declared

import (
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestAliases checks that a file sets, changes and removes aliases of the organisation and of a team, and that an
// export returns them unchanged.
func TestAliases(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		s := newService(t, db)
		o := Options{Catalog: catalog.Embedded()}
		const file = `
organisation:
  aliases: {house: openai/gpt-5.4-mini, old-name: low}
teams:
  - name: red
    aliases: {house: openai/gpt-5.4-nano}
`
		want := []string{
			`+ organisation: alias house: openai/gpt-5.4-mini`, `+ organisation: alias old-name: keychain-low`,
			`+ team red`, `+ team red: alias house: openai/gpt-5.4-nano`,
		}
		dry := o
		dry.DryRun = true
		equal(t, "a dry run", apply(t, s, file, dry), want)
		equal(t, "the first time", apply(t, s, file, o), want)
		equal(t, "the second time", apply(t, s, file, o), nil)
		text := export(t, s)
		for _, line := range []string{"house: openai/gpt-5.4-mini", "old-name: keychain-low", "house: openai/gpt-5.4-nano"} {
			if !strings.Contains(text, line) {
				t.Errorf("the export lacks %s: %s", line, text)
			}
		}
		equal(t, "the export", apply(t, s, text, Options{Catalog: catalog.Embedded(), Prune: true}), nil)
		equal(t, "another target", apply(t, s, "organisation:\n  aliases: {house: openai/gpt-6-luna}\n", o),
			[]string{`~ organisation: alias house: openai/gpt-5.4-mini -> openai/gpt-6-luna`})
		pruning := o
		pruning.Prune = true
		equal(t, "fewer", apply(t, s, "organisation:\n  aliases: {house: openai/gpt-6-luna}\nteams:\n  - name: red\n    aliases: {}\n", pruning),
			[]string{`- organisation: alias old-name: keychain-low`, `- team red: alias house: openai/gpt-5.4-nano`})

		for text, fault := range map[string]string{
			"organisation:\n  aliases: {house: openai/none}\n":  "line 2: organisation: alias house: ",
			"organisation:\n  aliases: {h: low, h: medium}\n":   `line 2: aliases has the field "h" twice`,
			"organisation:\n  aliases: [house]\n":               "line 2: aliases must be an object",
			"organisation:\n  aliases: {house: [low]}\n":        "line 2: the target of an alias must be a string",
			"organisation:\n  aliases: {house: !!str low}\n":    "line 2: the target of an alias: YAML tags are not supported",
			"teams:\n  - name: red\n    aliases: {house: null}": "line 3: the target of an alias must be a string",
		} {
			f, err := Read([]byte(text))
			if err == nil {
				_, err = Apply(t.Context(), s, f, o)
			}
			if err == nil || !strings.Contains(err.Error(), fault) {
				t.Errorf("%s: error %v, want %s", text, err, fault)
			}
		}
	})
}
