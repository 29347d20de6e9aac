package password

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"
)

var cheap = Params{Memory: 8, Passes: 1, Lanes: 1}

func TestVerify(t *testing.T) {
	t.Parallel()
	h, ctx := Hasher{Params: cheap}, t.Context()
	stored, err := h.Hash(ctx, "correct horse")
	if err != nil || !strings.HasPrefix(stored, "$argon2id$v=19$m=8,t=1,p=1$") {
		t.Fatal(stored, err)
	}
	for password, want := range map[string]bool{"correct horse": true, "Correct horse": false, "": false} {
		if ok, err := h.Verify(ctx, stored, password); ok != want || err != nil {
			t.Errorf("%q: %v, %v", password, ok, err)
		}
	}
	if second, err := h.Hash(ctx, "correct horse"); second == stored || err != nil {
		t.Errorf("the same password is stored in the same way twice: %v", err)
	}
	for _, broken := range []string{"", "x", "$argon2id$v=19$m=8,t=1,p=1$AA$AA", "$argon2id$v=19$m=99999999,t=1,p=1$AA$AA", strings.Replace(stored, "t=1", "t=0", 1), strings.Replace(stored, "p=1", "p=0", 1), strings.Replace(stored, "id$", "i$", 1)} {
		if ok, err := h.Verify(ctx, broken, ""); ok || err != nil {
			t.Errorf("%q is accepted: %v", broken, err)
		}
	}
}

// TestStale checks that a password hash with other parameters, or of an earlier version, is accepted, and which hashes
// are to be replaced.
func TestStale(t *testing.T) {
	t.Parallel()
	// A hash in the form that the board has stored since its beginning.
	const stored = "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$k9ohroejZy1PN5E1SbHNPug6vB8eQAahb5SOAp6iGF4"
	var zero Hasher
	hash, err := zero.Hash(t.Context(), "correct horse")
	if err != nil {
		t.Fatal(err)
	}
	if zero.Stale(hash) || zero.Stale("") || zero.Stale("x") || !(Hasher{Params: cheap}).Stale(hash) {
		t.Error("Stale misjudges a hash")
	}
	if ok, err := (Hasher{Params: cheap}).Verify(t.Context(), hash, "correct horse"); !ok || err != nil {
		t.Errorf("a hash with other parameters: %v, %v", ok, err)
	}
	if ok, err := zero.Verify(t.Context(), stored, "correct horse"); !ok || err != nil {
		t.Errorf("a password of before: %v, %v", ok, err)
	}
}

// TestImported checks that a bcrypt hash of another program is accepted, up to the length that bcrypt considers, and
// replaced after a correct password.
func TestImported(t *testing.T) {
	t.Parallel()
	h := Hasher{Params: cheap}
	long := strings.Repeat("x", 72)
	sum := func(password string, cost int) string {
		stored, err := bcrypt.GenerateFromPassword([]byte(password), cost)
		if err != nil {
			t.Fatal(err)
		}
		return string(stored)
	}
	horse := sum("correct horse", 10)
	for name, test := range map[string]struct {
		stored, password string
		known, good      bool
	}{
		"good":            {horse, "correct horse", true, true},
		"of PHP":          {"$2y$" + horse[4:], "correct horse", true, true},
		"of OpenBSD":      {"$2b$" + horse[4:], "correct horse", true, true},
		"wrong":           {horse, "Correct horse", true, false},
		"empty":           {horse, "", true, false},
		"72 bytes":        {sum(long, 10), long, true, true},
		"73 bytes":        {sum(long, 10), long + "x", true, false},
		"too cheap":       {sum("correct horse", 9), "correct horse", false, false},
		"too dear":        {"$2a$17" + horse[6:], "correct horse", false, false},
		"for ever":        {"$2a$31" + horse[6:], "correct horse", false, false},
		"sign extension":  {"$2x$" + horse[4:], "correct horse", false, false},
		"first version":   {"$2$" + horse[4:] + "x", "correct horse", false, false},
		"cut":             {horse[:59], "correct horse", false, false},
		"longer":          {horse + "x", "correct horse", false, false},
		"not base64":      {horse[:10] + "!" + horse[11:], "correct horse", true, false},
		"cost of letters": {"$2a$1x" + horse[6:], "correct horse", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if Imported(test.stored) != test.known || h.Stale(test.stored) != test.known {
				t.Errorf("known: %v, stale: %v", Imported(test.stored), h.Stale(test.stored))
			}
			if ok, err := h.Verify(t.Context(), test.stored, test.password); ok != test.good || err != nil {
				t.Errorf("%v, %v", ok, err)
			}
		})
	}
	full := Hasher{Gate: make(chan struct{})}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if ok, err := full.Verify(ended, horse, "correct horse"); ok || !errors.Is(err, context.Canceled) {
		t.Errorf("checked without a place: %v, %v", ok, err)
	}
}

// TestForms checks that a password matches in any Unicode form of its accents, and that a hash of the text exactly as
// typed still matches.
func TestForms(t *testing.T) {
	t.Parallel()
	const composed, decomposed, other = "caf\u00e9 \u1ebf\ud55c", "cafe\u0301 e\u0302\u0301\u1112\u1161\u11ab", "cafe \u1ebf\ud55c"
	h, ctx := Hasher{Params: cheap}, t.Context()
	old := func(password string) string { // stored by a program that takes a password as it is typed
		s := sum{cheap, make([]byte, saltSize), nil}
		s.sum = s.hash(password)
		return s.String()
	}
	imported := func(password string) string {
		stored, err := bcrypt.GenerateFromPassword([]byte(password), 10)
		if err != nil {
			t.Fatal(err)
		}
		return string(stored)
	}
	hash := func(password string) string {
		stored, err := h.Hash(ctx, password)
		if err != nil {
			t.Fatal(err)
		}
		return stored
	}
	for name, c := range map[string]struct {
		stored string
		good   []string
	}{
		"composed":              {hash(composed), []string{composed, decomposed}},
		"decomposed":            {hash(decomposed), []string{composed, decomposed}},
		"stored composed":       {old(composed), []string{composed, decomposed}},
		"stored decomposed":     {old(decomposed), []string{decomposed}},
		"there is no such user": {"", nil},
	} {
		for _, typed := range []string{composed, decomposed, other} {
			if ok, err := h.Verify(ctx, c.stored, typed); ok != slices.Contains(c.good, typed) || err != nil {
				t.Errorf("%s: %+q: %v, %v", name, typed, ok, err)
			}
		}
	}
	for _, stored := range []string{imported(composed), imported(decomposed)} {
		if ok, err := h.Verify(ctx, stored, decomposed); !ok || err != nil {
			t.Errorf("imported: %v, %v", ok, err)
		}
	}
	r := Rules{Min: 4, Max: 6}
	for password, want := range map[string]error{"e\u0301e\u0301": ErrShort, strings.Repeat("e\u0301", 6): nil, strings.Repeat("e\u0301", 7): ErrLong} {
		if err := r.Check(password); !errors.Is(err, want) || r.Long(password) != (want == ErrLong) { //nolint:errorlint // of the table
			t.Errorf("%+q: %v, want %v", password, err, want)
		}
	}
}

func TestGate(t *testing.T) {
	t.Parallel()
	h := Hasher{Params: cheap, Gate: make(chan struct{}, 1)}
	h.Gate <- struct{}{}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if stored, err := h.Hash(ended, "correct horse"); stored != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("hashed without a place: %q, %v", stored, err)
	}
	if ok, err := h.Verify(ended, "", ""); ok || !errors.Is(err, context.Canceled) {
		t.Errorf("checked without a place: %v, %v", ok, err)
	}
	waits := make(chan error, 1)
	go func() {
		_, err := h.Hash(t.Context(), "correct horse")
		waits <- err
	}()
	<-h.Gate
	if err := <-waits; err != nil || len(h.Gate) != 0 {
		t.Errorf("%v; %d places are taken", err, len(h.Gate))
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	r := Rules{Min: 4, Max: 10}
	for password, want := range map[string]error{
		"abc": ErrShort, "äöü": ErrShort, "äöüß": nil, "0123456789": nil, "0123456789a": ErrLong, "": ErrShort,
		"ALICE": ErrGuessable, "ａｌｉｃｅ": ErrGuessable, " alice ": ErrGuessable, "alice1": nil, "A@b.EXAMP": ErrGuessable,
	} {
		if err := r.Check(password, "Alice", "", "a@b.examp"); !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%q: %v, want %v", password, err, want)
		}
	}
}

func TestGenerate(t *testing.T) {
	t.Parallel()
	if p := Generate(); len(p) != 20 || p == Generate() {
		t.Errorf("a new password is %q", p)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("$argon2id$v=19$m=8,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	f.Add("$argon2id$v=19$m=4294967296,t=1,p=256$$")
	f.Add(Salted(SaltedMyBB, []byte("salt"), make([]byte, 16)))
	f.Add("$2a$10$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, stored string) {
		if Imported(stored) {
			if _, ok := parse(stored); ok {
				t.Errorf("%q is of two kinds", stored)
			}
		}
		s, ok := parse(stored)
		if !ok {
			return
		}
		if reparsed, ok := parse(s.String()); !ok || reparsed.String() != s.String() {
			t.Errorf("%q is read as %q", stored, s)
		}
	})
}
