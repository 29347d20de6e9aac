package text

import (
	"strings"
	"testing"
)

func TestSlug(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{
		"Hello, World!": "hello-world", "Größe ß": "grosse-ss", "Łódź æ ø": "lodz-ae-o", "日本": "", "---": "",
		"a  b": "a-b", strings.Repeat("ab ", 40): strings.TrimRight(strings.Repeat("ab-", 20), "-"), "ﬁne": "fine",
	} {
		if got := Slug(title, 60); got != want {
			t.Errorf("%q: %q, want %q", title, got, want)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "*** --- ###": 0, "one": 1, "one-two 3": 3, "e\u0301a b": 2, "日本 語": 2} {
		if got := Words(text); got != want {
			t.Errorf("%q: %d words, want %d", text, got, want)
		}
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for limit, want := range []struct{ bytes, characters string }{
		{"", ""},
		{"a", "a"},
		{"a", "aä"},
		{"aä", "aä€"},
		{"aä", "aä€b"},
		{"aä", "aä€b"},
		{"aä€", "aä€b"},
		{"aä€b", "aä€b"},
		{"aä€b", "aä€b"},
	} {
		if got := CutBytes("aä€b", limit); got != want.bytes {
			t.Errorf("%d bytes: %q, want %q", limit, got, want.bytes)
		}
		if got := Cut("aä€b", limit); got != want.characters {
			t.Errorf("%d characters: %q, want %q", limit, got, want.characters)
		}
	}
	if got := CutBytes("\x80\x80\x80", 2); got != "" {
		t.Errorf("invalid text: %q", got)
	}
}

func TestShort(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", " a\n b ": "a b", "aä€b": "aä€b", "aä€bc": "aä€b…", "a\xe4": "a\uFFFD", "abcd\xe4": "abcd…",
	} {
		if got := Short(text, 4); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]bool{
		"": {true, true}, "a b": {true, true}, "a\tb\nc": {false, true}, "a\x00": {false, false}, "a\u2028b": {false, true}, "a\u202eb": {false, true}, "a\x7f": {false, false},
	} {
		if IsLine(text) != want[0] || IsPlain(text) != want[1] {
			t.Errorf("%q: a line %v, plain %v", text, IsLine(text), IsPlain(text))
		}
	}
	if got := Lines(" e\u0301\r\nb \r\n"); got != "\u00e9\nb" {
		t.Errorf("%q", got)
	}
	if Fold(" Ａlice\x00") != Fold("alice\uFFFD") || Fold("alice") == Fold("alicе") {
		t.Error("names are compared by more than case and width, or less")
	}
	if got := Short(" one\n two  three", 7); got != "one two…" || Short("äöü", 3) != "äöü" {
		t.Errorf("%q", got)
	}
	if n := Links("see https://a.example www.b.example [c](mailto:c@example.com) d"); n != 3 {
		t.Errorf("%d links", n)
	}
}
