package password

import (
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
