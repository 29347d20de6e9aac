package wordfilter

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// plainly applies the filters one after the other, comparing letter by letter.
func plainly(filters []Filter, text string) (replaced string, holds bool) {
	replaced = text
	for _, f := range filters {
		switch {
		case f.Pattern == "":
		case f.Hold:
			holds = holds || strings.Contains(caseless(text), caseless(f.Pattern))
		case len(replaced) <= maxReplaced:
			replaced = replaceBytewise(replaced, f.Pattern, f.Replacement)
		}
	}
	return replaced, holds
}

// TestHoldsAnyCase checks which words hold a text, whatever the case of their letters.
func TestHoldsAnyCase(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		pattern, text string
		want          bool
	}{
		{"darn", "DARNED", true},
		{"darn", "dar n", false},
		{"οδος", "ΟΔΟΣ", true}, // the last letter has a form of its own in lower case alone
		{"ΟΔΟΣ", "η οδος", true},
		{"οδοσ", "η οδος", true},
		{"οδός", "ΟΔΟΣ", false},
		{"kiss", "\u212Aiss", true},
		{"kiss", "ki\u017Fs", true},
		{"kim", "KİM", true},
		{"слово", "СЛОВО", true},
		{"a\xff", "A\xff", true},
	} {
		if got := New([]Filter{{Pattern: test.pattern, Hold: true}}).Holds(test.text); got != test.want {
			t.Errorf("%q holds %q: %t", test.pattern, test.text, got)
		}
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		filters []string // pattern=replacement
		text    string
		want    string
	}{
		{nil, "text", "text"},
		{[]string{"darn=d***"}, "Darn, DARNED and dar n", "d***, d***ED and dar n"},
		{[]string{"darn="}, "darndarn", ""},
		{[]string{"ab=b", "bb=c"}, "abab", "c"},  // in their order, each in the result of those before it
		{[]string{"bb=c", "ab=b"}, "abab", "bb"}, // and not a second time
		{[]string{"aa=a"}, "aaaaa", "aaa"},       // the replacement is not searched again
		{[]string{"ünïcode=x"}, "ÜNÏCODE Ünïcode", "x x"},
		{[]string{"слово=x", "ς=s"}, "СЛОВО σλΣ", "x sλs"},
		{[]string{"kiss=x"}, "\u212Aiss KI\u017Fs", "\u212Aiss KI\u017Fs"}, // not the same number of bytes as in the filter
		{[]string{"k\u017F=x"}, "\u212A KS \u017Fk K\u017F", "\u212A KS \u017Fk x"},
		{[]string{"\u017Fs=x", "xb=\u017Fy", "\u017Fy=z"}, "S\u017Fb", "z"},
		{[]string{"\u017Fs=\u1E9E"}, "a\u017F\u017FSb\u017Fs", "a\u017F\u1E9Eb\u1E9E"},
		{[]string{"\uFFFDkk=x"}, "\u20ACk\u212A", "\xe2\x82x"},
		{[]string{"\xff=x", "b=c"}, "a\xffb", "axc"},
		{[]string{"long=" + strings.Repeat("long", 100), "long=" + strings.Repeat("long", 100), "long=" + strings.Repeat("long", 100), "long=x"}, "long", ""},
	} {
		filters := make([]Filter, 0, len(test.filters))
		for _, f := range test.filters {
			pattern, repl, _ := strings.Cut(f, "=")
			filters = append(filters, Filter{Pattern: pattern, Replacement: repl})
		}
		plain, _ := plainly(filters, test.text)
		if len(plain) > maxReplaced {
			test.want = plain
		}
		if got := New(filters).Replace(test.text); got != test.want || got != plain {
			t.Errorf("%q in %q: %.99q, want %.99q, letter by letter %.99q", test.filters, test.text, got, test.want, plain)
		}
	}
}

func TestHolds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		words []string
		text  string
		want  bool
	}{
		{nil, "text", false},
		{[]string{""}, "text", false},
		{[]string{"casino"}, "The CASINOS", true},
		{[]string{"casino"}, "The casin o", false},
		{[]string{"not", "ca"}, "Cat", true},
		{[]string{"straße"}, "STRASSE", false},
		{[]string{"СЛОВО"}, "словом", true},
		{[]string{"i"}, "\u0130", true}, // its lower case contains it
	} {
		filters := make([]Filter, 0, 2*len(test.words))
		for _, word := range test.words {
			filters = append(filters, Filter{Pattern: word, Hold: true}, Filter{Pattern: "t", Replacement: "u"})
		}
		if got := New(filters).Holds(test.text); got != test.want {
			t.Errorf("%q in %q: %v", test.words, test.text, got)
		}
	}
}

// FuzzFilters checks that prepared filters do what each of them would do letter by letter.
func FuzzFilters(f *testing.F) {
	for _, seed := range []string{
		"darn=d***\ncasino!\nb=\xff\n\nThe Darn CASINO b", "k=\u212A\n\u017Fs=x\n\nKi\u017FS \u1E9E", "aa=a\na=aa\n\naaaa", "\uFFFDkk=x\n\n\u20ACk\u212A", "\u2126=\u03C9\n\u0345=\u1FBE\n\n\u03A9\u0399",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input string) {
		words, text, _ := strings.Cut(input, "\n\n")
		var filters []Filter
		for line := range strings.SplitSeq(words, "\n") {
			pattern, repl, replaces := strings.Cut(line, "=")
			filters = append(filters, Filter{Pattern: strings.TrimSuffix(pattern, "!"), Replacement: repl, Hold: !replaces})
		}
		if len(filters) > 20 || len(text) > 1000 || slices.ContainsFunc(filters, func(f Filter) bool { return len(f.Replacement) > 10 }) {
			return
		}
		l := New(filters)
		replaced, holds := plainly(filters, text)
		if got := l.Replace(text); got != replaced {
			t.Errorf("replaced %q, want %q", got, replaced)
		}
		if got := l.Holds(text); got != holds {
			t.Errorf("holds: %v, want %v", got, holds)
		}
	})
}

// BenchmarkFilters applies as many filters as a board may have to the longest text that it may have.
func BenchmarkFilters(b *testing.B) {
	const letters = "etaoinshrdlucmfwygpbvk"
	random := rand.New(rand.NewPCG(1, 2))
	word := func(alphabet string) string {
		all := []rune(alphabet)
		var w strings.Builder
		for range 3 + random.IntN(8) {
			w.WriteRune(all[min(random.IntN(len(all)), random.IntN(len(all)))])
		}
		return w.String()
	}
	for script, alphabet := range map[string]string{"latin": letters, "cyrillic": "оеаинтсрвлкмдпуя", "long s": letters + "\u017F"} {
		filters := make([]Filter, 0, 500)
		for i := range 500 {
			filters = append(filters, Filter{Pattern: word(alphabet) + "x", Replacement: "***", Hold: i%2 == 0})
		}
		var text strings.Builder
		for size := 0; size < 30_000; {
			w := word(alphabet) + " "
			size += utf8.RuneCountInString(w)
			text.WriteString(w)
		}
		all := text.String()
		for i := range filters {
			all += filters[i].Pattern + " "
		}
		l := New(filters)
		for label, text := range map[string]string{"none": text.String(), "all": all} {
			name := script + "/" + label
			b.Run(name+"/prepared", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					l.Replace(text)
					l.Holds(text)
				}
			})
			b.Run(name+"/plainly", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					plainly(filters, text)
				}
			})
		}
	}
}
