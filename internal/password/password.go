// Package password keeps the passwords of people: argon2id (RFC 9106) in PHC form,
// bcrypt where another program has hashed them, a bound on how many are hashed at once,
// and what a new one must be. A password is the same whether its accents were typed as
// letters of their own or as marks behind a letter (Unicode normalization form C). The
// wording of a refusal and the bounds are of the service.
package password

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/text/unicode/norm"
)

// Params are what a hash costs (RFC 9106, section 3.1).
type Params struct {
	Memory uint32 // KiB
	Passes uint32
	Lanes  uint8
}

// Default is what a Hasher without Params takes: 19 MiB, two passes, one lane.
var Default = Params{Memory: 19 << 10, Passes: 2, Lanes: 1}

const (
	saltSize = 16
	sumSize  = 32
	// The most that a stored hash may ask for.
	maxMemory = 1 << 20
	maxPasses = 64
	// The most that one from elsewhere may ask for, and over all passes.
	maxGivenMemory = 256 << 10 // KiB
	maxGivenWork   = 1 << 20   // KiB
	maxCost        = 16
	// minCost is the least that a bcrypt hash of another program must have cost.
	minCost    = 10
	bcryptSize = 60
	// maxBcrypt is how many bytes of a password bcrypt looks at.
	maxBcrypt = 72
)

// gate is that of the process.
var gate = make(chan struct{}, max(2, runtime.GOMAXPROCS(0)))

// Hasher hashes and checks passwords. The zero Hasher is good.
type Hasher struct {
	// Params of new hashes. Default: Default.
	Params
	// Gate has a place for each password that is hashed at the same time; the others
	// wait. Default: one that all share, with two places and not less than processors.
	Gate chan struct{}
}

// Hash returns a password as it is stored: $argon2id$v=19$m=…,t=…,p=…$salt$sum. It
// fails where ctx ends before there is a place.
func (h Hasher) Hash(ctx context.Context, password string) (stored string, err error) {
	s := sum{Params: h.params(), salt: make([]byte, saltSize)}
	_, _ = rand.Read(s.salt) // never fails
	if err = h.run(ctx, func() { s.sum = s.of(norm.NFC.String(password)) }); err != nil {
		return "", err
	}
	return s.String(), nil
}

// Verify compares a password with its stored form, that of Hash or of bcrypt. It takes
// the same time whether there is one (empty: there is none) or not, and fails where ctx
// ends before there is a place. No password of more than 72 bytes is one that bcrypt has
// hashed, since it does not look at the rest.
//
// It tries the password in normalization form C and, where that is another text, as it
// was typed, too, since another program may have hashed it so. Both are always hashed:
// the time says nothing of what is stored.
func (h Hasher) Verify(ctx context.Context, stored, password string) (ok bool, err error) {
	forms := []string{norm.NFC.String(password)}
	if forms[0] != password {
		forms = append(forms, password)
	}
	compare := h.comparison(stored)
	err = h.run(ctx, func() {
		for _, form := range forms {
			if compare(form) {
				ok = true
			}
		}
	})
	return ok, err
}

// comparison returns a function that reports whether a text is the one that was stored.
// It hashes the text in any case.
func (h Hasher) comparison(stored string) func(text string) bool {
	if f, ok := parseForeign(stored); ok {
		return func(text string) bool { return subtle.ConstantTimeCompare(f.sum, f.derive([]byte(text))) == 1 }
	}
	if isBcrypt(stored) {
		return func(text string) bool {
			return bcrypt.CompareHashAndPassword([]byte(stored), []byte(text)) == nil && len(text) <= maxBcrypt
		}
	}
	s, known := parse(stored)
	if !known {
		s = sum{h.params(), make([]byte, saltSize), make([]byte, sumSize)}
	}
	return func(text string) bool { return subtle.ConstantTimeCompare(s.sum, s.of(text)) == 1 && known }
}

// Stale reports whether a stored password was hashed with other parameters than new
// ones are, or by another program, and is to be hashed again when it is known, at a login.
func (h Hasher) Stale(stored string) bool {
	s, ok := parse(stored)
	return ok && (s.Params != h.params() || len(s.sum) != sumSize) || Imported(stored)
}

// Imported reports whether a stored form is one of other programs that Verify takes: bcrypt ($2a$,
// $2b$, $2y$) with a cost from 10 to 16, PBKDF2 or scrypt; see parseForeign.
func Imported(stored string) bool {
	_, ok := parseForeign(stored)
	return ok || isBcrypt(stored)
}

// Known reports whether Verify takes a stored form that comes from elsewhere, and may cost no more than
// 256 MiB of memory at a time and 1 GiB in all: whoever knows a mail address can have it checked.
func Known(stored string) bool {
	s, ok := parse(stored)
	if ok {
		return s.Memory <= maxGivenMemory && uint64(s.Memory)*uint64(s.Passes) <= maxGivenWork
	}
	return Imported(stored)
}

func isBcrypt(stored string) bool {
	if len(stored) != bcryptSize || stored[:2] != "$2" || !strings.Contains("aby", stored[2:3]) || stored[3] != '$' {
		return false
	}
	cost, err := bcrypt.Cost([]byte(stored))
	return err == nil && cost >= minCost && cost <= maxCost
}

// Generate makes a password to be shown once: 20 letters and digits.
func Generate() string { return rand.Text()[:20] }

func (h Hasher) params() Params {
	if h.Params == (Params{}) {
		return Default
	}
	return h.Params
}

// run calls what hashes when there is a place.
func (h Hasher) run(ctx context.Context, hash func()) error {
	places := h.Gate
	if places == nil {
		places = gate
	}
	select {
	case places <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-places }()
	hash()
	return nil
}

// sum is a stored password.
type sum struct {
	Params
	salt, sum []byte
}

// of returns the sum of a password with the salt and the parameters of s, as long as its sum is, or
// sumSize where it has none yet.
func (s sum) of(password string) []byte {
	return argon2.IDKey([]byte(password), s.salt, s.Passes, s.Memory, s.Lanes, uint32(cmp.Or(len(s.sum), sumSize))) //nolint:gosec // of at most maxForeignSum
}

func (s sum) String() string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, s.Memory, s.Passes, s.Lanes,
		base64.RawStdEncoding.EncodeToString(s.salt), base64.RawStdEncoding.EncodeToString(s.sum))
}

func parse(stored string) (s sum, ok bool) {
	parts := strings.Split(stored, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return s, false
	}
	_, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &s.Memory, &s.Passes, &s.Lanes)
	if err != nil || s.Memory > maxMemory || s.Passes == 0 || s.Passes > maxPasses || s.Lanes == 0 {
		return s, false
	}
	if s.salt, err = base64.RawStdEncoding.DecodeString(parts[4]); err != nil {
		return s, false
	}
	s.sum, err = base64.RawStdEncoding.DecodeString(parts[5])
	return s, err == nil && len(s.salt) <= maxSalt && len(s.sum) >= minForeignSum && len(s.sum) <= maxForeignSum
}
