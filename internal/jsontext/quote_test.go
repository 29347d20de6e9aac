package jsontext

import (
	"encoding/json"
	"testing"
)

// FuzzQuote compares quoting and unquoting with encoding/json.
func FuzzQuote(f *testing.F) {
	for _, seed := range []string{
		"", "plain", "a\"b\\c/d", "line\nfeed\r\t\b\f\x00\x1f\x7f", "grüße 日本 🙂", "\xff broken \xf0\x9f", `\ud83d\ude42`, `\ud83d x`, `\ud83d\u0041`, "<&>\u2028",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		quoted := AppendQuoted(nil, text)
		var decoded string
		if err := json.Unmarshal(quoted, &decoded); err != nil || decoded != string([]rune(text)) {
			t.Fatalf("%q became %s, read as %q (%v)", text, quoted, decoded, err)
		}
		s := NewScanner([]byte(`"` + text + `"`))
		raw, _, err := s.Text()
		if err != nil || s.End() != nil {
			return // no JSON string
		}
		var want string
		if json.Unmarshal([]byte(`"`+text+`"`), &want) != nil {
			t.Fatalf("the scanner takes %q", text)
		}
		if got := string([]rune(string(AppendUnquoted(nil, raw)))); got != want {
			t.Fatalf("%q reads as %q, want %q", text, got, want)
		}
	})
}
