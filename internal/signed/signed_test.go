package signed

import (
	"bytes"
	"testing"
)

var key = bytes.Repeat([]byte{7}, 32)

func TestSign(t *testing.T) {
	t.Parallel()
	for _, s := range []Signer{{Key: key, Label: "label"}, {Key: key, MACSize: 8}, {Key: key, Label: "label", MACSize: 32}} {
		for _, names := range [][]string{nil, {""}, {"browser"}, {"a", "b"}} {
			for _, payload := range []string{"", "x", "payload", "\x00\xff"} {
				text := s.Sign([]byte(payload), names...)
				if got, ok := s.Open(text, names...); !ok || string(got) != payload {
					t.Errorf("%q for %q: %q, %v", payload, names, got, ok)
				}
			}
		}
	}
}

// TestFormatIsStable checks that a text that was handed out is still valid after an update.
func TestFormatIsStable(t *testing.T) {
	t.Parallel()
	for text, got := range map[string]string{
		"cGF5bG9hZPoyAacA-O0IUjczGesf96M": Signer{Key: key, Label: "label"}.Sign([]byte("payload")),
		"cGF5bG9hZKNXDeCr222A0OlObF8XM0Q": Signer{Key: key, Label: "label"}.Sign([]byte("payload"), "browser"),
		"cGF5bG9hZD7bL_KZm2YK":            Signer{Key: key, MACSize: 8}.Sign([]byte("payload")),
	} {
		if got != text {
			t.Errorf("%s, want %s", got, text)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	s := Signer{Key: key, Label: "label"}
	text := s.Sign([]byte("payload"), "ab", "c")
	for name, open := range map[string]func() ([]byte, bool){
		"key":        func() ([]byte, bool) { return Signer{Key: key[1:], Label: "label"}.Open(text, "ab", "c") },
		"label":      func() ([]byte, bool) { return Signer{Key: key, Label: "labe"}.Open(text, "ab", "c") },
		"size":       func() ([]byte, bool) { return Signer{Key: key, Label: "label", MACSize: 15}.Open(text, "ab", "c") },
		"name":       func() ([]byte, bool) { return s.Open(text, "ab", "d") },
		"moved":      func() ([]byte, bool) { return s.Open(text, "a", "bc") },
		"joined":     func() ([]byte, bool) { return s.Open(text, "abc") },
		"no names":   func() ([]byte, bool) { return s.Open(text) },
		"none":       func() ([]byte, bool) { return s.Open("", "ab", "c") },
		"short":      func() ([]byte, bool) { return s.Open(text[:20], "ab", "c") },
		"longer":     func() ([]byte, bool) { return s.Open(text+"AAAA", "ab", "c") },
		"changed":    func() ([]byte, bool) { return s.Open("A"+text[1:], "ab", "c") },
		"no base64":  func() ([]byte, bool) { return s.Open("%"+text[1:], "ab", "c") },
		"line break": func() ([]byte, bool) { return s.Open(text+"\n", "ab", "c") },
	} {
		if payload, ok := open(); ok || payload != nil {
			t.Errorf("%s: %q", name, payload)
		}
	}
	// A name is not mistaken for a part of the payload.
	if _, ok := s.Open(s.Sign([]byte("\x00\x00\x00\x00\x00\x00\x00\x01apayload")), "a"); ok {
		t.Error("a part of the payload is mistaken for a name")
	}
}

func FuzzOpen(f *testing.F) {
	s := Signer{Key: key, Label: "label"}
	f.Add("", "")
	f.Add(s.Sign([]byte("payload"), "browser"), "browser")
	f.Add(s.Sign([]byte("payload")), "browser")
	f.Fuzz(func(t *testing.T, text, name string) {
		if payload, ok := s.Open(text, name); ok && s.Sign(payload, name) != text {
			t.Errorf("%q: another text has the same meaning", text)
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	s := Signer{Key: key, Label: "label"}
	text := s.Sign(make([]byte, 26), "browser")
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := s.Open(text, "browser"); !ok {
			b.Fatal("refused")
		}
	}
}
