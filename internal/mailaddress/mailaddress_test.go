package mailaddress

import (
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Bob@Example.com": "Bob@Example.com", "  bob@example.com\n": "bob@example.com", "u\u0308@example.com": "ü@example.com", "bob+tag@example.com": "bob+tag@example.com",
		"": "", "bob": "", "bob@": "", "@example.com": "", "Bob <bob@example.com>": "", "<bob@example.com>": "", "bob@example.com (Bob)": "", "a@example.com, b@example.com": "",
		"a@-b.com": "", "a@b-.com": "", "a@b_c.com": "", "a@b..com": "", "a@" + strings.Repeat("b", 64) + ".com": "", strings.Repeat("a", 65) + "@example.com": "",
		"a@bücher.example": "a@bücher.example", "a@[127.0.0.1]": "a@[127.0.0.1]", "a@xn--bcher-kva.example": "a@xn--bcher-kva.example",
		"b\x00b@example.com": "", "b\u202Eob@example.com": "", "b\rb@example.com": "", strings.Repeat("a", 64) + "@" + strings.Repeat("b", 190) + ".com": "",
	} {
		got, err := Parse(text)
		if got != want || (want == "") != errors.Is(err, ErrForm) {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func TestKey(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"ü@example.com", "Ü@Example.COM", "u\u0308@example.com", " ü@example.com "} {
		if got := Key(text); got != "ü@example.com" {
			t.Errorf("%q: %q", text, got)
		}
	}
	for _, other := range []string{"kİm@example.com", "kım@example.com", "kim@examp1e.com"} {
		if key := Key(other); key == Key("KIM@example.com") || Key(key) != key {
			t.Errorf("%q has the key %q", other, key)
		}
	}
	if Key("a@example.com") == Key("b@example.com") || strings.Contains(Key("a\x00"), "\x00") {
		t.Error("a key is not that of its address")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(" Bob@Example.com ")
	f.Add("\"a b\"@example.com")
	f.Add("u\u0308@[127.0.0.1]")
	f.Fuzz(func(t *testing.T, text string) {
		address, err := Parse(text)
		if err != nil {
			return
		}
		if reparsed, err := Parse(address); err != nil || reparsed != address || Key(address) != Key(text) || len(address) > maxSize {
			t.Errorf("%q is read as %q, and that as %q (%v)", text, address, reparsed, err)
		}
	})
}
