package encryption_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/authserver/encryption"
	"github.com/tollgate-gateway/tollgate/internal/keyring"
)

const (
	one = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
	two = "202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f"
	// golden was sealed with the key one for the row t/r/c. It must open as long as databases with this format exist.
	golden = "AWMNzSn7jn20DG4Ui7GvsIXws99yLBb7bQr8t_RK6yqHZfSjvQkO"
)

func master(tb testing.TB, current, old string) *encryption.Master {
	tb.Helper()
	m, err := encryption.NewMaster(current, old)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func TestMaster(t *testing.T) {
	t.Parallel()
	place := encryption.Place("t", "r", "c")
	first, rotated, after := master(t, one, ""), master(t, two, one), master(t, two, "")
	sealed, err := first.Seal(t.Context(), []byte("secret"), place)
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := base64.RawURLEncoding.DecodeString(sealed)
	if len(raw) != 1+4+12+6+16 || raw[0] != 1 || !bytes.Equal(raw[1:5], []byte{0x63, 0x0d, 0xcd, 0x29}) { // SHA-256 of the bytes 0 to 31
		t.Errorf("% x", raw)
	}
	opens := func(m *encryption.Master, sealed string, place []byte, want bool) {
		t.Helper()
		plain, err := m.Open(t.Context(), sealed, place)
		if want && (err != nil || string(plain) != "secret") || !want && !errors.Is(err, keyring.ErrOpen) {
			t.Errorf("%q, error %v", plain, err)
		}
	}
	opens(first, sealed, place, true)
	opens(rotated, sealed, place, true)
	opens(after, sealed, place, false)
	opens(first, sealed, encryption.Place("t", "r", "d"), false)
	opens(first, sealed, encryption.Place("t", "s", "c"), false)
	if !first.Current(sealed) || rotated.Current(sealed) || after.Current(sealed) || first.Current("") {
		t.Error("the wrong key is current")
	}
	for i := range raw {
		raw[i] ^= 1
		opens(first, base64.RawURLEncoding.EncodeToString(raw), place, false)
		raw[i] ^= 1
	}
	for _, bad := range []string{"", "AQ", sealed + "\n", sealed + "A", sealed[1:]} {
		opens(first, bad, place, false)
	}
	for _, bad := range []string{"", one[2:], one + "00", strings.Repeat("x", 64)} {
		if _, err := encryption.NewMaster(bad, ""); err == nil || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("%q: error %v", bad, err)
		}
	}
	if plain, err := first.Open(t.Context(), golden, place); err != nil || string(plain) != "golden" {
		t.Errorf("%q, error %v; sealed now: %s", plain, err, mustSeal(t, first, "golden", place))
	}
}

func mustSeal(tb testing.TB, m *encryption.Master, text string, place []byte) string {
	tb.Helper()
	sealed, err := m.Seal(tb.Context(), []byte(text), place)
	if err != nil {
		tb.Fatal(err)
	}
	return sealed
}
