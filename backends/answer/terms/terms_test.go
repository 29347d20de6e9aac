package terms

import (
	"slices"
	"strings"
	"testing"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"What was the Company’s net revenue in 2019?":      "net revenu 2019",
		"R&D of $1,577.00 million, (3.1)% and 2.50":        "r&d 1577 million 3.1 2.50",
		"relational hopping caresses ponies":               "relat hop caress poni",
		"Sales grew; selling, general & other":             "sale grew sell gener other",
		"Überschüsse 株式 x̄":                                "überschüsse 株式 x̄",
		strings.Repeat("x", 100) + " y":                    "y",
		"goodwill, controlled generalizations oscillators": "goodwil control gener oscil",
	} {
		var got []string
		for _, term := range Of(text) {
			got = append(got, string(term))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q is %q, not %q", text, got, want)
		}
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "net sales": 2, "1,577": 3, "amortization": 2, "| 2019 | 2018 |": 7, "株式": 2} {
		if got := Tokens(text); got != want {
			t.Errorf("%q has %d tokens, not %d", text, got, want)
		}
	}
}

func TestVector(t *testing.T) {
	t.Parallel()
	var b Builder
	b.Add(Text, "Net sales rose. Sales of services fell."+strings.Repeat(" cost", 20))
	b.Add(Label, "Sales")
	b.Add(Section, "Services")
	b.Add(Title, "Annual report")
	v := b.Vector(HasTable, 7)
	if !v.Valid() || v.Words() != 26 || v.Flags() != HasTable || v.Topic() != 7 {
		t.Errorf("got %d words, flags %d, topic %d, want 26, %d, 7", v.Words(), v.Flags(), v.Topic(), HasTable)
	}
	find := func(word string) Counts { return v.Find(Stem(word).Hash()) }
	if c := find("sale"); c.Text() != 2 || c.Label() != 1 || c.Section() || c.Title() {
		t.Errorf("counts of sale: %b, want 2 in the text and 1 in labels", c)
	}
	if c := find("service"); c.Text() != 1 || !c.Section() {
		t.Errorf("counts of service: %b, want 1 in the text and the section", c)
	}
	if c := find("reports"); c.Text() != 0 || !c.Title() {
		t.Errorf("counts of report: %b, want the title only", c)
	}
	other := &b // v is a copy of what it has counted
	other.Reset()
	other.Add(Text, "net sales rose")
	if o := other.Vector(0, 0); v.Overlap(v) != 1 || o.Overlap(v) != 0 || o.Overlap(o) != 1 {
		t.Errorf("overlaps are %v, %v and %v, want 1, 0 and 1", v.Overlap(v), o.Overlap(v), o.Overlap(o))
	}
	if find("costs").Text() != 15 || find("profit") != 0 {
		t.Errorf("counts of costs: %b, of profit: %b, want 15 in the text and 0", find("costs"), find("profit"))
	}
}

func FuzzOf(f *testing.F) {
	f.Add("Net sales of $1,577.5 million; R&D's share’s 3.1.2 & \xff\xfe’")
	f.Fuzz(func(t *testing.T, text string) {
		list := Of(text)
		if slices.Contains(list, "") {
			t.Errorf("Of(%q) has an empty term", text)
		}
		var b Builder
		b.Add(Text, text)
		v := b.Vector(0, 0)
		if !v.Valid() {
			t.Errorf("the vector of %q is not valid", text)
		}
		for _, term := range list {
			if v.Find(term.Hash()).Text() == 0 {
				t.Errorf("the vector of %q does not have the term %q", text, term)
			}
		}
		if Tokens(text) > len(text) {
			t.Errorf("Tokens(%q) = %d, which is more than its bytes", text, Tokens(text))
		}
	})
}
