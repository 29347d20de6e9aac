package secret

import (
	"encoding/hex"
	"strings"
	"testing"
)

func TestHash(t *testing.T) {
	t.Parallel()
	text := New()
	hash := Hash(text)
	if raw, err := hex.DecodeString(hash); err != nil || len(raw) != 32 || text == New() || hash != Hash(text) {
		t.Errorf("%q is stored as %q", text, hash)
	}
	// The format in which sessions have been stored since the first version.
	if got := Hash(strings.Repeat("A", 43)); got != "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925" {
		t.Errorf("zeros are stored as %q", got)
	}
	for _, broken := range []string{"", "x", text[1:], text + "A", text + "\n", text + "=", "%" + text[1:], strings.Repeat("A", 42) + "B"} {
		if Hash(broken) != "" {
			t.Errorf("%q is a secret", broken)
		}
	}
}
