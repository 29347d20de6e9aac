package text

import (
	"strings"
	"testing"
	"unicode"
)

func TestTerms(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", maxTerm)
	for in, want := range map[string]string{
		"":                                "",
		" , ":                             "",
		"See https://Docs.example.com/a?": "see https docs example com a",
		"a-b_c v1.2.3 <i>x&amp;y":         "a b c v1 2 3 i x amp y",
		"Café CAFE\u0301 ﬁx ＡＢ":           "cafe cafe fix ab",
		"Straße İstanbul ΣΊΣΥΦΟΣ":         "strasse istanbul σίσυφοσ",
		"й и":                             "й и",
		"東京タワー go":                        "東+京+タ+ワ+ー go",
		"C東 2東x":                          "c+東 2+東+x",
		"บิน":                             "บิ+น",
		"학교에서 go":                         "학+교+에+서 go",
		"\u1112\u1161\u11a8\u1100\u116d":  "학+교", // decomposed
		"Łódź Ørsted Đuro Æsir Œuvre":     "lodz orsted duro aesir oeuvre",
		"þing ħaġa ŋ ǿ Ǽ ı":               "thing haga n o ae i",
		"हिन्दी":                          "हिन्दी",
		"\u0301a":                         "\u0301a",
		long + "é":                        strings.Repeat("e", maxTerm),
		strings.Repeat("A", 2*maxTerm):    strings.Repeat("a", maxTerm),
	} {
		var b strings.Builder
		for i, term := range Terms(in) {
			switch {
			case term.Behind:
				b.WriteByte('+')
			case i > 0:
				b.WriteByte(' ')
			}
			b.WriteString(term.Text)
		}
		if b.String() != want {
			t.Errorf("%q: %q, want %q", in, b.String(), want)
		}
	}
}

// TestTermsNeedNoQuotes checks that terms contain nothing that ends a quotation, since the database engines get them
// between quotes.
func TestTermsNeedNoQuotes(t *testing.T) {
	t.Parallel()
	for r := range rune(unicode.MaxRune) {
		for _, term := range Terms(string(r)) {
			if term.Text == "" || strings.ContainsAny(term.Text, "'\"\\\x00") {
				t.Errorf("%U: %q", r, term.Text)
			}
		}
	}
}
