package confusable

import (
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

func TestSkeleton(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"paypal", "раураl"},   // Cyrillic р, а, у
		{"scope", "ѕсоре"},     // all Cyrillic
		{"Bob", "Воb"},         // Cyrillic В, о
		{"modern", "rnodern"},  // two letters for one
		{"Il1|", "llll"},       // strokes
		{"O0", "ОО"},           // a digit, and Cyrillic
		{"ﬁsh", "fish"},        // a ligature
		{"é", "e\u0301"},       // one form or the other
		{"ⅷ", "viii"},          // a numeral
		{"αlpha", "alpha"},     // Greek
		{"o\u0337", "o\u0338"}, // overlays
		{"a\u00a0b", "a b"},    // spaces
	} {
		if a, b := Skeleton(pair[0]), Skeleton(pair[1]); a != b {
			t.Errorf("%q and %q: %q, %q", pair[0], pair[1], a, b)
		}
	}
	for _, pair := range [][2]string{{"bob", "rob"}, {"e", "é"}, {"ali", "all"}, {"дом", "dom"}, {"李", "季"}} {
		if a, b := Skeleton(pair[0]), Skeleton(pair[1]); a == b {
			t.Errorf("%q and %q: both %q", pair[0], pair[1], a)
		}
	}
	if n := len(prototypes()); n < 5000 {
		t.Errorf("the table has %d lines", n)
	}
}

// TestPrototypes checks that the keys of the table are in the form in which texts are looked up, and that repeated
// replacement ends and does not make a text grow without bound.
func TestPrototypes(t *testing.T) {
	t.Parallel()
	for r, prototype := range prototypes() {
		passes, text := 0, string(r)
		for next := pass(text); next != text; next = pass(text) {
			if text, passes = next, passes+1; passes > 3 {
				t.Fatalf("replacing U+%04X does not end", r)
			}
		}
		if got := Skeleton(string(r)); got != text {
			t.Errorf("U+%04X: %q, want %q", r, got, text)
		}
		if !norm.NFD.IsNormalString(string(r)) || len(prototype) == 0 || len([]rune(text)) > 18 {
			t.Errorf("U+%04X: %q", r, text)
		}
	}
}

func FuzzSkeleton(f *testing.F) {
	for _, seed := range []string{"", "Bob", "раураl", "e\u0301\u0327", "ﷺ", "\xff", "각"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if once := Skeleton(text); Skeleton(once) != once {
			t.Errorf("%q: %q, then %q", text, once, Skeleton(once))
		}
		MixesScripts(text)
		MixesDigits(text)
	})
}

func TestMixesScripts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": false, "Bob": false, "bob_1 🙂": false, "Łukasz": false, "Анна": false, "Ελένη 2": false, "日本のひと": false, "山田タロウ Jr": false, "한국인 Kim": false, "韓國 한국": false,
		"漢字ㄅㄆ abc": false, "שלום": false, "e\u0301": false, "ไทย": false,
		"Аdmin": true, "раураl": true, "Αlpha": true, "АлΑ": true, "Bob и": true, "ひと한국": true, "ㄅひ": true, "日Я": true, "Я日": true, "กa": true, "日本กa": true,
	} {
		if got := MixesScripts(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestMixesDigits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": false, "a19": false, "٠٩": false, "1٢": true, "٣۳": true, "৪8": true, "𝟎9": true, "x७": false} {
		if got := MixesDigits(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	for r := range unicode.MaxRune {
		if zero := zeroOf(r); unicode.IsDigit(r) && (!unicode.IsDigit(zero) || r-zero > 9) {
			t.Errorf("the zero of U+%04X is U+%04X", r, zero)
		}
	}
}

func BenchmarkSkeleton(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Skeleton("Constantine the 3rd")
	}
}
