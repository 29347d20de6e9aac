package eval

import (
	"encoding/json"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/pipeline"
)

func passage(text string) kernel.Passage {
	return kernel.Passage{URL: "https://filings.example.test/a", Page: 3, Title: "Report", Text: text}
}

func claim(text string, passages ...kernel.Passage) pipeline.Claim {
	return pipeline.Claim{Text: text, Passages: passages}
}

// TestCite checks that a mark is looked up in its passage by the value of its figures, and that a calculation
// is supported by its inputs.
func TestCite(t *testing.T) {
	t.Parallel()
	revenue := passage("| In millions | 2025 | 2024 |\n|---|---|---|\n| Revenue | $412.5 | $380.0 |\n")
	other := passage("It has 1,412.5 million shares.")
	for name, c := range map[string]struct {
		claims           []pipeline.Claim
		marks, supported int
	}{
		"supported":         {[]pipeline.Claim{claim("Revenue was $412.5 million in 2025.", revenue)}, 1, 1},
		"rounded":           {[]pipeline.Claim{claim("Revenue was $0.4 billion.", revenue)}, 1, 1},
		"part of a number":  {[]pipeline.Claim{claim("Revenue was $412.5 million.", other)}, 1, 0},
		"one of two marks":  {[]pipeline.Claim{claim("Revenue was $412.5 million.", revenue, other)}, 2, 1},
		"one of two found":  {[]pipeline.Claim{claim("Revenue was $412.5 million, and debt $77 million.", revenue)}, 1, 0},
		"asked with":        {[]pipeline.Claim{claim("Revenue was above $400 million: $412.5 million.", revenue)}, 1, 1},
		"no figure":         {[]pipeline.Claim{claim("Revenue rose in 2025.", revenue)}, 0, 0},
		"own line":          {[]pipeline.Claim{{Text: "This is 1 information.", Fixed: true}}, 0, 0},
		"computed":          {[]pipeline.Claim{claim("Growth: 8.55%.", revenue), claim("Calculation: (412.5 million - 380.0 million) / 380.0 million = 8.55%.", revenue)}, 2, 2},
		"of other inputs":   {[]pipeline.Claim{claim("Growth: 8.55%.", other), claim("Calculation: (412.5 million - 380.0 million) / 380.0 million = 8.55%.", other)}, 2, 0},
		"another beside it": {[]pipeline.Claim{claim("Growth: 8.55%.", revenue), claim("Calculation: (412.5 million - 380.0 million) / 380.0 million = 8.55%.", revenue), claim("Debt was $77 million.", revenue)}, 3, 2},
	} {
		if marks, supported := cite("In which years was it above $400 million?", c.claims); marks != c.marks || supported != c.supported {
			t.Errorf("%s: got %d of %d marks supported, want %d of %d", name, supported, marks, c.supported, c.marks)
		}
	}
}

// TestMatches checks that a rounding of the first sentence's result is exact, and not any number within 1 %.
func TestMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		gold   string
		claims []pipeline.Claim
		right  bool
	}{
		{`{"answer":412.5,"scale":1000000}`, []pipeline.Claim{claim("X: Revenue in 2025: $412.5 million.")}, true},
		{`{"answer":412.5,"scale":1000000}`, []pipeline.Claim{claim("X: Revenue in 2025: $413 million.")}, true},
		{`{"answer":412.5,"scale":1000000}`, []pipeline.Claim{claim("X: Revenue in 2025: $0.4 billion.")}, false},
		{`{"answer":412.5,"scale":1000000}`, []pipeline.Claim{claim("X: Revenue in 2025: $415.0 million.")}, false},
		{`{"answer":412.5,"scale":1000000}`, []pipeline.Claim{claim("X: Revenue (above $412.5 million) in 2025: $420.0 million.")}, false},
		{`{"answer":412.5,"scale":1000000}`, []pipeline.Claim{claim("Revenue rose."), claim("It was $412.5 million.")}, false},
		{`{"answer":14.16,"percent":true}`, []pipeline.Claim{claim("Growth: 14.158%."), claim("Calculation: a = 14.158%.")}, true},
		{`{"answer":14.16,"percent":true}`, []pipeline.Claim{claim("Growth: 14.2%.")}, true},
		{`{"answer":14.16,"percent":true}`, []pipeline.Claim{claim("Growth: 14.25%.")}, false},
		{`{"answer":"$87.4 million"}`, []pipeline.Claim{claim("Dividends: 87.4 million.")}, true},
		{`{"answer":["2.1","3.5"],"scale":1000000}`, []pipeline.Claim{{Text: "A: $2.1 million.", Break: true}, {Text: "B: $3.5 million.", Break: true}}, true},
		{`{"answer":["2.1","3.5"],"scale":1000000}`, []pipeline.Claim{{Text: "A: $2.1 million.", Break: true}, {Text: "B: $3.6 million.", Break: true}}, false},
		{`{"answer":"new plants in the north"}`, []pipeline.Claim{claim("It was driven by new plants in the North.")}, true},
		{`{"answer":["2019","2018"]}`, []pipeline.Claim{claim("Years: 2018 and 2019.")}, true},
	} {
		var g Gold
		if err := json.Unmarshal([]byte(c.gold), &g); err != nil {
			t.Fatal(err)
		}
		if Matches(c.claims, g) != c.right {
			t.Errorf("%s and %q: right is not %t", c.gold, c.claims[0].Text, c.right)
		}
	}
}

// TestNumeric checks that numbers are numeric even if a set writes them as text.
func TestNumeric(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]bool{
		`412.5`: true, `"$412.5 million"`: true, `"(87.4)"`: true, `["2.1","3.5"]`: true, `["412.5"]`: true, `"2019"`: false, `"412.5 million of new debt"`: false, `["2.1","north"]`: false, `null`: false,
	} {
		var g Gold
		if err := json.Unmarshal([]byte(answer), &g.Answer); err != nil {
			t.Fatal(err)
		}
		if g.isNumeric() != want {
			t.Errorf("%s: numeric is not %t", answer, want)
		}
	}
}

// TestRank checks that a gold page counts if the passage has the answer or its inputs, and that all gold
// passages count.
func TestRank(t *testing.T) {
	t.Parallel()
	empty, half := passage("Revenue is discussed here."), passage("| In millions | 2025 |\n|---|---|\n| Revenue | 412.5 |\n")
	whole := passage("| In millions | 2025 | 2024 |\n|---|---|---|\n| Revenue | 412.5 | 380.0 |\n")
	page := []Evidence{{URL: whole.URL, Page: 3}}
	for name, c := range map[string]struct {
		g    Gold
		rank int
	}{
		"answer":      {Gold{Answer: 412.5, Evidence: page}, 2},
		"derivation":  {Gold{Answer: 8.55, Derivation: "(412.5-380.0)/380.0", Evidence: page}, 3},
		"not there":   {Gold{Answer: 999.9, Evidence: page}, 0},
		"text":        {Gold{Answer: 8.55, Evidence: []Evidence{{URL: whole.URL, Text: "Revenue | 412.5 | 380.0"}}}, 3},
		"other page":  {Gold{Answer: 412.5, Evidence: []Evidence{{URL: whole.URL, Page: 4}}}, 0},
		"none":        {Gold{Answer: 412.5}, -1},
		"two of them": {Gold{Answer: 412.5, Evidence: []Evidence{page[0], {URL: whole.URL, Text: "380.0"}}}, 3},
	} {
		if got := rank(&c.g, [][]kernel.Passage{{empty, half, whole}, {empty}}); got != c.rank {
			t.Errorf("%s: %d, not %d", name, got, c.rank)
		}
	}
}
