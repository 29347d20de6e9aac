// Package password stores the passwords of people: as argon2id (RFC 9106) in PHC format, or as bcrypt and other hashes
// that come from another program. It limits how many passwords are hashed at the same time, and checks new passwords.
// Letters with accents are equal whether they were typed precomposed or with combining marks (Unicode normalization
// form C). The service chooses the limits and the wording of refusals.
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

// Params is the cost of a hash (RFC 9106, section 3.1).
type Params struct {
	Memory uint32 // in KiB
	Passes uint32
	Lanes  uint8
}

// Default has the parameters of a Hasher that sets none: 19 MiB, two passes, one lane.
var Default = Params{Memory: 19 << 10, Passes: 2, Lanes: 1}

const (
	saltSize = 16
	sumSize  = 32
	// The limits for a stored hash.
	maxMemory = 1 << 20
	maxPasses = 64
	// The limits for a hash from another program. maxGivenWork limits memory times passes.
	maxGivenMemory = 256 << 10 // in KiB
	maxGivenWork   = 1 << 20   // in KiB
	maxCost        = 16
	// minCost is the minimum cost of a bcrypt hash of another program.
	minCost    = 10
	bcryptSize = 60
	// maxBcrypt is the number of bytes of a password that bcrypt uses.
	maxBcrypt = 72
)

// gate is the default Gate of all Hashers in the process.
var gate = make(chan struct{}, max(2, runtime.GOMAXPROCS(0)))

// Hasher hashes and checks passwords. The zero Hasher is ready for use.
type Hasher struct {
	// Params are the parameters for new hashes. Default: Default.
	Params
	// Gate limits how many passwords are hashed at the same time, to its capacity. Default: a gate shared by the
	// process, with a capacity of the number of processors, at least two.
	Gate chan struct{}
}

// Hash returns the stored form of a password: $argon2id$v=19$m=…,t=…,p=…$salt$sum. It waits for the gate, and returns
// the error of ctx if that ends first.
func (h Hasher) Hash(ctx context.Context, password string) (stored string, err error) {
	s := sum{Params: h.params(), salt: make([]byte, saltSize)}
	_, _ = rand.Read(s.salt) // never fails
	if err = h.run(ctx, func() { s.sum = s.hash(norm.NFC.String(password)) }); err != nil {
		return "", err
	}
	return s.String(), nil
}

// Verify compares a password with a stored form, from Hash or another program. For an empty stored form, such as that
// of an unknown user, it reports false after the same time. It waits for the gate, and returns the error of ctx if that
// ends first. A password of more than 72 bytes never matches a bcrypt hash, because bcrypt ignores the rest.
//
// It tries the password in normalization form C and, if that differs, also as typed, because another program may have
// hashed it so. Programs such as phpBB escape a password for HTML first; for a hash of another program Verify tries
// that form, too. All forms are always hashed, so that the time does not depend on the stored form.
func (h Hasher) Verify(ctx context.Context, stored, password string) (ok bool, err error) {
	forms := []string{norm.NFC.String(password)}
	if forms[0] != password {
		forms = append(forms, password)
	}
	unescaped := len(forms) // the forms before this index are valid for all hashes
	if escaped := escapes.Replace(password); escaped != password {
		forms = append(forms, escaped)
	}
	compare, imported := h.comparison(stored), Imported(stored)
	err = h.run(ctx, func() {
		for i, form := range forms {
			if compare(form) && (i < unescaped || imported) {
				ok = true
			}
		}
	})
	return ok, err
}

// escapes replaces characters by their escapes in HTML. It replaces the same characters as PHP's htmlspecialchars does
// by default in the PHP versions that phpBB supports.
var escapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// comparison returns a function that reports whether a text matches the stored form. The function always hashes the
// text.
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
	return func(text string) bool { return subtle.ConstantTimeCompare(s.sum, s.hash(text)) == 1 && known }
}

// Stale reports whether a stored password was hashed with other parameters than those for new hashes, or by another
// program. It should then be hashed again at the next login, when the password is known.
func (h Hasher) Stale(stored string) bool {
	s, ok := parse(stored)
	return ok && (s.Params != h.params() || len(s.sum) != sumSize) || Imported(stored)
}

// Imported reports whether a stored form is a hash of another program that Verify accepts: bcrypt ($2a$, $2b$, $2y$)
// with a cost from 10 to 16, PBKDF2, scrypt, phpass or Salted; see parseForeign.
func Imported(stored string) bool {
	_, ok := parseForeign(stored)
	return ok || isBcrypt(stored)
}

// Known reports whether Verify accepts a stored form from another program at an acceptable cost: at most 256 MiB of
// memory at a time and 1 GiB in all. The cost matters because anybody who knows a mail address can make the server
// check the hash.
func Known(stored string) bool {
	s, ok := parse(stored)
	if ok {
		return s.Memory <= maxGivenMemory && uint64(s.Memory)*uint64(s.Passes) <= maxGivenWork
	}
	return Imported(stored)
}

// isBcrypt reports whether a stored form is a bcrypt hash at an acceptable cost.
func isBcrypt(stored string) bool {
	if len(stored) != bcryptSize || stored[:2] != "$2" || !strings.Contains("aby", stored[2:3]) || stored[3] != '$' {
		return false
	}
	cost, err := bcrypt.Cost([]byte(stored))
	return err == nil && cost >= minCost && cost <= maxCost
}

// Generate returns a random password of 20 letters and digits, to be shown once.
func Generate() string { return rand.Text()[:20] }

// params returns the parameters for new hashes.
func (h Hasher) params() Params {
	if h.Params == (Params{}) {
		return Default
	}
	return h.Params
}

// run waits for the gate and calls hash. It returns the error of ctx if that ends first.
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

// sum is a parsed stored password.
type sum struct {
	Params
	salt, sum []byte
}

// hash returns the hash of a password with the salt and the parameters of s. The hash is as long as s.sum, or has
// sumSize bytes if s.sum is empty.
func (s sum) hash(password string) []byte {
	return argon2.IDKey([]byte(password), s.salt, s.Passes, s.Memory, s.Lanes,
		uint32(cmp.Or(len(s.sum), sumSize))) //nolint:gosec // at most maxForeignSum
}

// String returns the stored form.
func (s sum) String() string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, s.Memory, s.Passes, s.Lanes,
		base64.RawStdEncoding.EncodeToString(s.salt), base64.RawStdEncoding.EncodeToString(s.sum))
}

// parse parses a stored form that String has returned. ok is false for any other text.
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
