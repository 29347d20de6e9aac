package password

import (
	"crypto/sha1" //nolint:gosec // the lists consist of SHA-1 hashes
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// leaked writes a list of passwords, some of them as hashes with a count.
func leaked(tb testing.TB, passwords []string, end string) string {
	tb.Helper()
	lines := make([]string, len(passwords))
	for i, p := range passwords {
		lines[i] = fmt.Sprintf("%X", sha1.Sum([]byte(p))) //nolint:gosec // see above
		if i%3 > 0 {
			lines[i] += fmt.Sprint(":", i*i*i)
		}
	}
	slices.Sort(lines)
	name := filepath.Join(tb.TempDir(), "leaked.txt")
	if err := os.WriteFile(name, []byte(strings.Join(lines, end)+end), 0o600); err != nil {
		tb.Fatal(err)
	}
	return name
}

func TestLeaked(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 3, 10, 1000} {
		for _, end := range []string{"\n", "\r\n"} {
			var passwords []string
			for i := range n {
				passwords = append(passwords, fmt.Sprint("password ", i))
			}
			l, err := OpenLeaked(leaked(t, passwords, end))
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range passwords {
				if has, err := l.Has(p); err != nil || !has {
					t.Errorf("%d: %q is missing, error %v", n, p, err)
				}
				if has, err := l.Has(p + "!"); err != nil || has {
					t.Errorf("%d: %q is there, error %v", n, p+"!", err)
				}
			}
		}
	}
	if has, err := (*Leaked)(nil).Has("password"); has || err != nil {
		t.Error("a nil list contains a password")
	}
}

func TestLeakedRefuses(t *testing.T) {
	t.Parallel()
	first, second := strings.Repeat("0", 40), strings.Repeat("1", 40)
	for label, text := range map[string]string{
		"empty": "", "passwords": "password\nsecret\n", "not hexadecimal": strings.Repeat("x", 40) + "\n", "unordered": second + "\n" + first + "\n",
		"long": first + strings.Repeat(":", 100) + "\n",
	} {
		name := filepath.Join(t.TempDir(), "leaked.txt")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenLeaked(name); err == nil {
			t.Errorf("%s: the list is accepted", label)
		}
	}
	if _, err := OpenLeaked("/nothing/here"); err == nil {
		t.Error("a missing file is accepted")
	}
}

func FuzzLeaked(f *testing.F) {
	f.Add([]byte("password"), "password")
	f.Add([]byte(fmt.Sprintf("%X:3\n", sha1.Sum([]byte("password")))), "password") //nolint:gosec // see above
	f.Fuzz(func(t *testing.T, text []byte, password string) {
		name := filepath.Join(t.TempDir(), "leaked.txt")
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if l, err := OpenLeaked(name); err == nil {
			_, _ = l.Has(password)
		}
	})
}
