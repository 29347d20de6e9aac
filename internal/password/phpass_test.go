package password

import (
	"encoding/hex"
	"strings"
	"testing"
)

// TestPhpass checks the portable hashes of phpass. The second is the test vector of the author of phpass.
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
		for name, broken := range map[string]string{
			"cut": stored[:33], "longer": stored + ".", "too cheap": "$H$2" + stored[4:], "too dear": "$H$K" + stored[4:],
			"another digit": strings.Replace(stored, stored[20:21], "!", 1), "another kind": "$X$" + stored[3:],
			"bits too many": stored[:33] + "z",
		} {
			if Known(broken) {
				t.Errorf("%s: %q is accepted as a hash", name, broken)
			}
		}
	}
}

// TestPasswordEscapedForHTML checks that a hash of another program also matches the password that was escaped for HTML
// before it was hashed, as phpBB does, and that a hash made by this package does not.
func TestPasswordEscapedForHTML(t *testing.T) {
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

// TestSalted checks the salted hashes of other forums.
func TestSalted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ kind, salt, sum, password string }{
		{SaltedMyBB, "sAlTsAlt", "b2f816b2f41426355f375629ebb88f40", "an old password"},
		{SaltedSHA256, "s4lt", "b8b3bb7e3598ac91c06fd1b9441f5445c62a06a7b185749ccc5303fd75b84cb5", "an older password"},
		{SaltedSHA1, "s4lt", "3676ee18dabd48b992651e590efb3875b523e351", "an older password"},
		{SaltedMD5, "s4lt", "251f8b6bbcb8659d8ecd3ad4df9d6b13", "an older password"},
	} {
		sum, err := hex.DecodeString(test.sum)
		if err != nil {
			t.Fatal(err)
		}
		stored := Salted(test.kind, []byte(test.salt), sum)
		if !Known(stored) || !Imported(stored) || !(Hasher{}).Stale(stored) {
			t.Errorf("%s is not recognised as a hash of another program", stored)
		}
		for password, want := range map[string]bool{test.password: true, test.password + "!": false, "": false} {
			if ok, err := (Hasher{}).Verify(t.Context(), stored, password); err != nil || ok != want {
				t.Errorf("%s: %q matches: %t, error %v", test.kind, password, ok, err)
			}
		}
		for _, broken := range []string{Salted("other", []byte(test.salt), sum), Salted(test.kind, []byte(test.salt), sum[1:]), Salted(test.kind, nil, nil)} {
			if Known(broken) {
				t.Errorf("%s is known", broken)
			}
		}
	}
}
