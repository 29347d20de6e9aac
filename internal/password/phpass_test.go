package password

import (
	"encoding/hex"
	"strings"
	"testing"
)

// TestPhpass checks the portable hashes of phpass. The second one is the test vector of its author.
func TestPhpass(t *testing.T) {
	t.Parallel()
	h := Hasher{Params: cheap}
	for stored, password := range map[string]string{
		"$H$9saltsaltoOYGA0TbwROeAx3OxiKY5/": "correct horse",
		"$P$9IQRaTwmfeRo7ud9Fh4E2PdI0S3r.L0": "test12345",
	} {
		if !Known(stored) || !h.Stale(stored) {
			t.Errorf("%q is not known", stored)
		}
		for typed, want := range map[string]bool{password: true, password + "x": false, "": false} {
			if ok, err := h.Verify(t.Context(), stored, typed); ok != want || err != nil {
				t.Errorf("%q, %q: %v, %v", stored, typed, ok, err)
			}
		}
		for what, broken := range map[string]string{
			"cut": stored[:33], "longer": stored + ".", "too cheap": "$H$2" + stored[4:], "too dear": "$H$K" + stored[4:],
			"another digit": strings.Replace(stored, stored[20:21], "!", 1), "another kind": "$X$" + stored[3:],
			"bits too many": stored[:33] + "z",
		} {
			if Known(broken) {
				t.Errorf("%s: %q is known", what, broken)
			}
		}
	}
}

// TestEscaped checks that a hash of another program also matches the password that was escaped for HTML before it was
// hashed, as phpBB does, and that a hash of our own does not.
func TestEscaped(t *testing.T) {
	t.Parallel()
	h := Hasher{Params: cheap}
	own, err := h.Hash(t.Context(), "a&amp;b&quot;&lt;")
	if err != nil {
		t.Fatal(err)
	}
	for stored, want := range map[string]bool{"$H$7saltsaltBE7DmqfSzIoLR3XNjqZPi0": true, own: false} {
		if ok, err := h.Verify(t.Context(), stored, `a&b"<`); ok != want || err != nil {
			t.Errorf("%q: %v, %v", stored, ok, err)
		}
	}
}

// TestMyBB checks the way of MyBB with a sum that another program has made.
func TestMyBB(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ salt, sum, password string }{
		{"sAlTsAlt", "b2f816b2f41426355f375629ebb88f40", "an old password"},
	} {
		sum, err := hex.DecodeString(test.sum)
		if err != nil {
			t.Fatal(err)
		}
		stored := MyBB([]byte(test.salt), sum)
		if !Known(stored) || !Imported(stored) || !(Hasher{}).Stale(stored) {
			t.Errorf("%s is not known as one of another program", stored)
		}
		for password, want := range map[string]bool{test.password: true, test.password + "!": false, "": false} {
			if ok, err := (Hasher{}).Verify(t.Context(), stored, password); err != nil || ok != want {
				t.Errorf("%s: %q matches: %t, error %v", stored, password, ok, err)
			}
		}
		for _, broken := range []string{strings.Replace(stored, "mybb", "other", 1), MyBB([]byte(test.salt), sum[1:]), MyBB(nil, nil)} {
			if Known(broken) {
				t.Errorf("%s is known", broken)
			}
		}
	}
}
