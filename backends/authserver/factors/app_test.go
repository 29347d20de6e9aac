package factors

import (
	"strings"
	"testing"
	"time"
)

// rfcSecret is the secret of RFC 6238 appendix B in base32. The codes there have eight digits, of which the last six
// are the code of six digits.
const rfcSecret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"

func TestStepOf(t *testing.T) {
	t.Parallel()
	for seconds, code := range map[int64]string{89: "359152", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130"} {
		now := time.Unix(seconds, 0)
		step, ok := stepOf(rfcSecret, code, now, 0)
		if !ok || step != seconds/30 {
			t.Errorf("%d: %d, %v", seconds, step, ok)
		}
		for offset, want := range map[time.Duration]bool{-30 * time.Second: true, 30 * time.Second: true, -60 * time.Second: false, 60 * time.Second: false} {
			if _, ok := stepOf(rfcSecret, code, now.Add(offset), 0); ok != want {
				t.Errorf("%d: %s off is %v", seconds, offset, ok)
			}
		}
		if _, ok := stepOf(rfcSecret, code, now, step); ok {
			t.Errorf("%d: a code is accepted twice", seconds)
		}
		for _, other := range []string{"", code[1:], code + "0", "x" + code[1:]} {
			if _, ok := stepOf(rfcSecret, other, now, 0); ok {
				t.Errorf("%d: %q is accepted", seconds, other)
			}
		}
	}
}

func TestAppURL(t *testing.T) {
	t.Parallel()
	want := "otpauth://totp/Example%20ID:ann%2Bb%40example.com?secret=ABC&issuer=Example%20ID"
	if got := appURL("Example ID", "ann+b@example.com", "ABC"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestQR(t *testing.T) {
	t.Parallel()
	code, err := newQR(appURL("as.example", "ann@example.com", rfcSecret))
	if err != nil || code.Size < 29 || code.Size > 100 {
		t.Fatalf("%+v: %v", code.Size, err)
	}
	// The three corners of every code begin with seven dark squares (ISO/IEC 18004 section 6.3.3).
	for _, corner := range []string{"M4 4h", "M10 4h", "M4 10h"} {
		if !strings.Contains(code.Path, corner) {
			t.Errorf("%s is light", corner)
		}
	}
	if _, err := newQR(strings.Repeat("x", 5000)); err == nil {
		t.Error("a code has no bounds")
	}
}

func TestCompact(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{"123 456": "123456", "abcd-efgh ": "ABCDEFGH", "": "", "12\u00a034": "1234"} {
		if got := compact(typed); got != want {
			t.Errorf("%q: %q", typed, got)
		}
	}
	if got := compact(strings.Repeat("1", 1000)); len(got) > 100 {
		t.Errorf("%d bytes", len(got))
	}
}
