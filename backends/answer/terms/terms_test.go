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
		for _, one := range Of(text) {
			got = append(got, string(one))
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
		t.Errorf("%d words, flags %d, topic %d", v.Words(), v.Flags(), v.Topic())
	}
	find := func(word string) Counts { return v.Find(Stem(word).Hash()) }
	if c := find("sale"); c.Text() != 2 || c.Label() != 1 || c.Section() || c.Title() {
		t.Errorf("sales: %b", c)
	}
	if c := find("service"); c.Text() != 1 || !c.Section() {
		t.Errorf("services: %b", c)
	}
	if c := find("reports"); c.Text() != 0 || !c.Title() {
		t.Errorf("report: %b", c)
	}
	other := &b // what it has gathered is in v
	other.Reset()
	other.Add(Text, "net sales rose")
	if o := other.Vector(0, 0); v.Overlap(v) != 1 || o.Overlap(v) != 0 || o.Overlap(o) != 1 {
		t.Error("overlap")
	}
	if find("costs").Text() != 15 || find("profit") != 0 {
		t.Error("costs or profit")
	}
}

func FuzzOf(f *testing.F) {
	f.Add("Net sales of $1,577.5 million; R&D's share’s 3.1.2 & \xff\xfe’")
	f.Fuzz(func(t *testing.T, text string) {
		list := Of(text)
		if slices.Contains(list, "") {
			t.Error("an empty term")
		}
		var b Builder
		b.Add(Text, text)
		v := b.Vector(0, 0)
		if !v.Valid() {
			t.Error("a bad vector")
		}
		for _, one := range list {
			if v.Find(one.Hash()).Text() == 0 {
				t.Errorf("%q is not found", one)
			}
		}
		if Tokens(text) > len(text) {
			t.Error("more tokens than bytes")
		}
	})
}
