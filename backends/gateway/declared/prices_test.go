package declared

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/ownprices"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestOwnPrices checks that a file sets, changes and removes prices, and that an export returns them unchanged.
func TestOwnPrices(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		s := newService(t, db)
		o := Options{Catalog: catalog.Embedded()}
		const file = `
prices:
  openai/*: {discount: 15}
  openai/gpt-5.4-nano: {output: 0.30, input: 0.04, cached_input: 0.004, calls: {web_search: 0.01}, long: {above: 200000, input: 1, output: 2}}
`
		want := []string{
			`+ price of openai/*: {"discount":15}`,
			`+ price of openai/gpt-5.4-nano: {"cached_input":0.004,"calls":{"web_search":0.01},"input":0.04,"long":{"above":200000,"input":1,"output":2},"output":0.3}`,
		}
		dry := o
		dry.DryRun = true
		equal(t, "a dry run", apply(t, s, file, dry), want)
		equal(t, "the first time", apply(t, s, file, o), want)
		equal(t, "the second time", apply(t, s, file, o), nil)
		prices, version, err := ownprices.Read(t.Context(), db)
		if err != nil || len(prices) != 2 || prices["openai/*"].Discount != 15 ||
			prices["openai/gpt-5.4-nano"].Price.Output != 0.3 ||
			version == "" {
			t.Errorf("%+v, version %q, error %v", prices, version, err)
		}
		text := export(t, s)
		if !strings.Contains(
			text,
			"prices:\n    openai/*:\n        discount: 15\n    openai/gpt-5.4-nano:\n        cached_input: 0.004\n",
		) {
			t.Errorf("the export is\n%s", text)
		}
		o.Prune = true
		equal(t, "its own export", apply(t, s, text, o), nil)
		equal(t, "of which nothing is said", apply(t, s, "teams: []", o), nil)
		equal(t, "another one", apply(t, s, "prices: {openai/*: {discount: 20}}", o), []string{
			strings.Replace(want[1], "+", "-", 1), `~ price of openai/*: {"discount":15} -> {"discount":20}`,
		})
		equal(t, "none", apply(t, s, "prices: {}", o), []string{`- price of openai/*: {"discount":20}`})
		if all := strings.Join(
			auditedActions(t, s),
			" ",
		); strings.Count(all, "price.set") != 3 ||
			strings.Count(all, "price.removed") != 2 {
			t.Errorf("audited is %s", all)
		}
		f, err := Read([]byte("teams: []\nprices: {openai/gpt-nothing: {discount: 5}}"))
		if err == nil {
			_, err = Apply(t.Context(), s, f, o)
		}
		if err == nil || !strings.Contains(err.Error(), `line 2: prices: there is no model "openai/gpt-nothing"`) {
			t.Errorf("error %v", err)
		}
	})
}

// TestPruneMakesRoomForPrices checks that the number of prices is bounded for files too, and that the prices of a file
// can replace as many others as there can be.
func TestPruneMakesRoomForPrices(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		s := newService(t, db)
		file := func(model string) string {
			var text strings.Builder
			text.WriteString("prices:\n")
			for i := range ownprices.MaxPrices {
				fmt.Fprintf(&text, "  openai/%s%d*: {discount: 5}\n", model, i)
			}
			return text.String()
		}
		apply(t, s, file("old"), Options{})
		more, err := Read([]byte("prices: {openai/new*: {discount: 5}}"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = Apply(t.Context(), s, more, Options{})
		if err == nil || !strings.Contains(err.Error(), "there are already 1000 prices") {
			t.Errorf("one price more: error %v", err)
		}
		if got := apply(t, s, file("new"), Options{Prune: true}); len(got) != 2*ownprices.MaxPrices {
			t.Errorf("the new prices made %d changes, want %d", len(got), 2*ownprices.MaxPrices)
		}
	})
}

// TestReadPrices checks that each wrong price is reported with its line.
func TestReadPrices(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"prices: &x {a/*: {discount: 5}}\nusers: [{id: *x}]": "YAML aliases are not supported",
		"prices: {a/*: {input: 1, output: 2, colour: red}}":  "colour",
		"prices: {a/*: {discount: 5}, a/*: {discount: 6}}":   "is already set in line 1",
		"prices: {a/*: {a: {b: {c: {d: {e: {f: 1}}}}}}}":     "objects that are nested too deeply",
		"prices: {a/*: {discount: 5, discount: 6}}":          "twice",
		"prices: {a/*: {[discount]: 5}}":                     "a field whose name is not a string",
		"prices: {openai: {discount: 5}}":                    `line 1: prices: "openai" is not a name such as`,
		"prices:\n  a/*: {discount: 500}":                    `line 2: the price of "a/*": discount: 500 is not a percentage`,
		"prices: {a/*: {input: 1}}":                          "must have input and output",
		"prices: {a/*: 5}":                                   `the price of "a/*"`,
		"prices: []":                                         "line 1: prices must be an object",
	} {
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	var many strings.Builder
	many.WriteString("prices:\n")
	for i := range ownprices.MaxPrices + 1 {
		fmt.Fprintf(&many, "  a/%d: {discount: 5}\n", i)
	}
	if _, err := Read([]byte(many.String())); err == nil || !strings.Contains(err.Error(), "more than 1000 prices") {
		t.Errorf("so many prices: error %v", err)
	}
}

// TestObjectNames checks that an exported object is valid JSON whatever characters its names contain.
func TestObjectNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"openai/*", "a\x01/\a", "a\"/\u2028\U000e0001"} {
		text, err := json.Marshal(object{{name, 1}})
		var got map[string]int
		if err != nil || json.Unmarshal(text, &got) != nil || got[name] != 1 {
			t.Errorf("%q: %s, %v", name, text, err)
		}
	}
}
