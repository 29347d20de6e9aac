package keyring

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// golden was sealed by the first release with oldKey and goldenPlace. Every version must open it while there are
// databases of that release.
const (
	golden      = "aes1.rY_TzvngFlKVQ3ThGdEgVMblRBYGyQcIvm_PgNnBT2ithFwOQ8yDUMNDjSL73qbJ4ZZc9BO-LO_mBA"
	goldenText  = "sk-golden-provider-key"
	goldenPlace = "gateway_provider_keys/pk_1"
)

var oldKey, newKey = []byte("0123456789abcdef0123456789abcdef"), []byte("fedcba9876543210fedcba9876543210")

func ring(tb testing.TB, keys ...[]byte) *AES {
	tb.Helper()
	a, err := NewAES(keys...)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

func TestGolden(t *testing.T) {
	t.Parallel()
	for _, a := range []*AES{ring(t, oldKey), ring(t, newKey, oldKey)} {
		plain, err := a.Open(t.Context(), golden, []byte(goldenPlace))
		if err != nil || string(plain) != goldenText {
			t.Errorf("%q, error %v", plain, err)
		}
	}
}

func TestSealAndOpen(t *testing.T) {
	t.Parallel()
	a := ring(t, oldKey)
	for _, size := range []int{0, 1, 15, 16, 17, 1000, 1 << 20} {
		text := bytes.Repeat([]byte("x"), size)
		first, err := a.Seal(t.Context(), text, []byte("place"))
		if err != nil {
			t.Fatal(err)
		}
		second, err := a.Seal(t.Context(), text, []byte("place"))
		if err != nil {
			t.Fatal(err)
		}
		if first == second {
			t.Error("the same text twice is sealed alike")
		}
		if size > 20 && strings.Contains(first, base64.RawURLEncoding.EncodeToString(text[:18])) {
			t.Error("the sealed text contains the plain text")
		}
		got, err := a.Open(t.Context(), first, []byte("place"))
		if err != nil || !bytes.Equal(got, text) {
			t.Errorf("%d bytes come back as %d, error %v", size, len(got), err)
		}
		if !a.Current(first) {
			t.Error("a newly sealed text is not current")
		}
	}
}

func wantErrOpen(tb testing.TB, a *AES, sealed, associated string) {
	tb.Helper()
	if plain, err := a.Open(context.Background(), sealed, []byte(associated)); !errors.Is(err, ErrOpen) || plain != nil {
		tb.Errorf("%q opens as %q, error %v", sealed, plain, err)
	}
}

// TestTamper changes, inserts and removes each single character.
func TestTamper(t *testing.T) {
	t.Parallel()
	a := ring(t, oldKey)
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=.+/ \n\x00\xff"
	for i := range golden {
		for _, c := range []byte(alphabet) {
			if c != golden[i] {
				wantErrOpen(t, a, golden[:i]+string([]byte{c})+golden[i+1:], goldenPlace)
			}
		}
		for _, c := range []string{"A", "\n", "\r", "="} {
			if c != "A" || golden[i] != 'A' {
				wantErrOpen(t, a, golden[:i]+c+golden[i:], goldenPlace)
			}
		}
		wantErrOpen(t, a, golden[:i], goldenPlace)
		wantErrOpen(t, a, golden[i+1:], goldenPlace)
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(golden, aesPrefix))
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		for bit := range 8 {
			changed := bytes.Clone(raw)
			changed[i] ^= 1 << bit
			wantErrOpen(t, a, aesPrefix+base64.RawURLEncoding.EncodeToString(changed), goldenPlace)
		}
	}
	for _, s := range []string{"", "aes1", "aes1.", "aes2." + golden[5:], "AES1." + golden[5:], golden + golden, golden + "\n", golden + "="} {
		wantErrOpen(t, a, s, goldenPlace)
		_ = a.Current(s) // must not panic
	}
}

func TestAssociatedData(t *testing.T) {
	t.Parallel()
	a := ring(t, oldKey)
	for _, place := range []string{"", "gateway_provider_keys/pk_2", "gateway_models/pk_1", goldenPlace + " ", goldenPlace + "\x00"} {
		wantErrOpen(t, a, golden, place)
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	rotated := ring(t, newKey, oldKey)
	if rotated.Current(golden) || !ring(t, oldKey).Current(golden) {
		t.Error("the old text is current")
	}
	fresh, err := rotated.Seal(t.Context(), []byte("x"), nil)
	if err != nil || !rotated.Current(fresh) {
		t.Errorf("the new text is not current, error %v", err)
	}
	wantErrOpen(t, ring(t, newKey), golden, goldenPlace)
	wantErrOpen(t, ring(t, oldKey), fresh, "")
	if ring(t, newKey).Current(golden) || rotated.Current("") || rotated.Current("aes1.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA") {
		t.Error("a text of an unknown key is current")
	}
	// A key that is listed twice counts as one key.
	if twice := ring(t, oldKey, oldKey); !twice.Current(golden) {
		t.Error("the text is never current")
	}
}

func TestNewAESRefuses(t *testing.T) {
	t.Parallel()
	for _, keys := range [][][]byte{{}, {nil}, {oldKey[:31]}, {append(bytes.Clone(oldKey), 'x')}, {oldKey, oldKey[:16]}} {
		if a, err := NewAES(keys...); err == nil {
			t.Errorf("%v made of %q", a, keys)
		} else if strings.Contains(err.Error(), "0123456789abcdef") {
			t.Errorf("the error shows the key: %v", err)
		}
	}
	// The keyring keeps a copy of the key.
	key := bytes.Clone(oldKey)
	a := ring(t, key)
	clear(key)
	if _, err := a.Open(t.Context(), golden, []byte(goldenPlace)); err != nil {
		t.Error(err)
	}
}

func TestParseMasterKey(t *testing.T) {
	t.Parallel()
	odd := bytes.Repeat([]byte{0xfb, 0xff}, 16) // has + and / in base64
	for name, test := range map[string]struct {
		text string
		want []byte
	}{
		"hex":               {hex.EncodeToString(oldKey), oldKey},
		"upper case hex":    {strings.ToUpper(hex.EncodeToString(odd)), odd},
		"base64":            {base64.StdEncoding.EncodeToString(odd), odd},
		"base64 raw":        {base64.RawStdEncoding.EncodeToString(odd), odd},
		"base64 url":        {base64.URLEncoding.EncodeToString(odd), odd},
		"base64 raw url":    {base64.RawURLEncoding.EncodeToString(odd), odd},
		"line end":          {" " + base64.StdEncoding.EncodeToString(oldKey) + "\r\n", oldKey},
		"empty":             {"", nil},
		"spaces":            {"  \n", nil},
		"the bytes":         {string(oldKey), nil},
		"short":             {base64.StdEncoding.EncodeToString(oldKey[:31]), nil},
		"long":              {base64.StdEncoding.EncodeToString(append(bytes.Clone(oldKey), 'x')), nil},
		"short hex":         {hex.EncodeToString(oldKey)[:62], nil},
		"hex of 33":         {hex.EncodeToString(oldKey) + "00", nil},
		"no hex":            {strings.Repeat("g", 64), nil},
		"padding only":      {"====", nil},
		"unresolved":        {"{env.TOLLGATE_MASTER_KEY}", nil},
		"two":               {hex.EncodeToString(oldKey) + "\n" + hex.EncodeToString(oldKey), nil},
		"mixed alphabets":   {"+_" + base64.RawStdEncoding.EncodeToString(oldKey)[2:], nil},
		"broken characters": {strings.Repeat("\xff", 44), nil},
	} {
		got, err := ParseMasterKey(test.text)
		if !bytes.Equal(got, test.want) || (err == nil) != (test.want != nil) {
			t.Errorf("%s: %x, error %v, want %x", name, got, err, test.want)
		}
	}
}

func TestKeyFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "folder", "tollgate.key")
	key, created, err := LoadOrCreateKeyFile(path)
	if err != nil || !created || len(key) != MasterKeySize {
		t.Fatalf("%d bytes, created %t, error %v", len(key), created, err)
	}
	loaded, created, err := LoadOrCreateKeyFile(path)
	if err != nil || created || !bytes.Equal(loaded, key) {
		t.Errorf("again: same %t, created %t, error %v", bytes.Equal(loaded, key), created, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("mode %v, error %v", info.Mode(), err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, error %v", entries, err)
	}
	if folder, err := os.Stat(filepath.Dir(path)); err != nil || folder.Mode().Perm() != 0o700 && runtime.GOOS != "windows" {
		t.Errorf("folder %v, error %v", folder.Mode(), err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if parsed, err := ParseMasterKey(string(text)); err != nil || !bytes.Equal(parsed, key) {
		t.Errorf("the file does not hold the key, error %v", err)
	}
}

func TestKeyFileRefuses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := hex.EncodeToString(oldKey)
	for name, test := range map[string]struct{ path, want string }{
		"group":   {write("group", good, 0o640), "chmod 600"},
		"others":  {write("others", good, 0o604), "chmod 600"},
		"writes":  {write("writes", good, 0o620), "chmod 600"},
		"empty":   {write("empty", "", 0o600), "32 bytes"},
		"garbage": {write("garbage", "secret-garbage", 0o600), "32 bytes"},
		"large":   {write("large", strings.Repeat("x", 1025), 0o600), "larger than"},
		"folder":  {folder, ""},
		"beneath": {filepath.Join(write("file", good, 0o600), "x"), ""},
	} {
		key, created, err := LoadOrCreateKeyFile(test.path)
		if err == nil || key != nil || created || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret-garbage") {
			t.Errorf("%s: %x, created %t, error %v", name, key, created, err)
		}
	}
	if key, _, err := LoadOrCreateKeyFile(write("good", good+"\n", 0o400)); err != nil || !bytes.Equal(key, oldKey) {
		t.Errorf("%x, error %v", key, err)
	}
}

// TestKeyFileRace checks that many calls that create a key file at once agree on one key.
func TestKeyFileRace(t *testing.T) {
	t.Parallel()
	for range 20 {
		path := filepath.Join(t.TempDir(), "x", "tollgate.key")
		var mu sync.Mutex
		var all sync.WaitGroup
		keys, creations := make(map[string]int), 0
		for range 32 {
			all.Go(func() {
				key, created, err := LoadOrCreateKeyFile(path)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				keys[string(key)]++
				if created {
					creations++
				}
			})
		}
		all.Wait()
		if len(keys) != 1 || creations != 1 {
			t.Fatalf("%d different keys, %d made", len(keys), creations)
		}
	}
}

func FuzzOpen(f *testing.F) {
	a := ring(f, oldKey)
	f.Add(golden, []byte(goldenPlace))
	f.Add("aes1.", []byte(nil))
	f.Add("aes1.AAAAAAAAAAAAAAAAAAAAAAAAAAA", []byte("x"))
	f.Fuzz(func(t *testing.T, sealed string, associated []byte) {
		_ = a.Current(sealed)
		plain, err := a.Open(t.Context(), sealed, associated)
		switch {
		case sealed == golden && string(associated) == goldenPlace:
			if err != nil || string(plain) != goldenText {
				t.Errorf("%q, error %v", plain, err)
			}
		case !errors.Is(err, ErrOpen) || plain != nil:
			t.Errorf("%q opens as %q, error %v", sealed, plain, err)
		}
	})
}

func FuzzParseMasterKey(f *testing.F) {
	f.Add(hex.EncodeToString(oldKey))
	f.Add(base64.StdEncoding.EncodeToString(oldKey))
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		key, err := ParseMasterKey(text)
		if (err == nil) != (len(key) == MasterKeySize) {
			t.Fatalf("%x, error %v", key, err)
		}
		if err == nil {
			if reparsed, err := ParseMasterKey(hex.EncodeToString(key)); err != nil || !bytes.Equal(reparsed, key) {
				t.Errorf("%x, error %v", reparsed, err)
			}
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	a := ring(b, oldKey)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Open(b.Context(), golden, []byte(goldenPlace)); err != nil {
			b.Fatal(err)
		}
	}
}

func TestDerive(t *testing.T) {
	t.Parallel()
	first, second := bytes.Repeat([]byte{1}, MasterKeySize), bytes.Repeat([]byte{2}, MasterKeySize)
	derive := func(label string, masters ...[]byte) [][]byte {
		t.Helper()
		ring, err := NewAES(masters...)
		if err != nil {
			t.Fatal(err)
		}
		keys, err := ring.Derive(t.Context(), label)
		if err != nil {
			t.Fatal(err)
		}
		return keys
	}
	a := derive("a", first)
	if len(a) != 1 || len(a[0]) != 32 || bytes.Equal(a[0], first) {
		t.Fatalf("derived %x", a)
	}
	if b := derive("b", first); bytes.Equal(a[0], b[0]) {
		t.Error("two labels have the same key")
	}
	if got := derive("a", second, first); len(got) != 2 || !bytes.Equal(got[1], a[0]) || bytes.Equal(got[0], a[0]) {
		t.Errorf("with two master keys: %x", got)
	}
	if twice := derive("a", first, first); len(twice) != 1 {
		t.Errorf("one master key given twice has %d keys", len(twice))
	}
}
