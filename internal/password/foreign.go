package password

import (
	"crypto/pbkdf2"
	"crypto/sha1" //nolint:gosec // other programs have hashed with it
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"hash"
	"strings"

	"golang.org/x/crypto/scrypt"
)

// Limits for hashes of other programs: the cost of checking, and the sizes of salt and sum in bytes.
const (
	maxIterations = 2_000_000
	maxScryptLog  = 20
	maxScryptSize = 256 << 20 // bytes of memory
	maxScryptWork = 1 << 30   // bytes of memory, over all lanes
	minForeignSum = 16
	maxForeignSum = 128
	maxSalt       = 256
)

// pbkdf2Hashes has the hash functions, keyed by the first part of a stored form; see PBKDF2.
var pbkdf2Hashes = map[string]func() hash.Hash{
	"pbkdf2": sha1.New, "pbkdf2-sha1": sha1.New, "pbkdf2-sha256": sha256.New, "pbkdf2-sha512": sha512.New,
}

// PBKDF2 returns the stored form of a password that another program has hashed with PBKDF2 (RFC 8018). digest is sha1,
// sha256 or sha512; sum is the hash.
func PBKDF2(digest string, iterations int, salt, sum []byte) string {
	return fmt.Sprintf("$pbkdf2-%s$i=%d,l=%d$%s$%s", digest, iterations, len(sum), encode(salt), encode(sum))
}

// Argon2id returns the stored form of a password that another program has hashed with argon2id (RFC 9106).
func Argon2id(p Params, salt, hash []byte) string { return sum{p, salt, hash}.String() }

// encode encodes a salt or a sum for a stored form.
func encode(raw []byte) string { return base64.RawStdEncoding.EncodeToString(raw) }

// decode decodes base64 in either alphabet, with or without padding.
func decode(text string) ([]byte, error) {
	text = strings.NewReplacer("-", "+", "_", "/", ".", "+").Replace(strings.TrimRight(text, "="))
	return base64.RawStdEncoding.DecodeString(text)
}

// foreign is a password that another program has hashed with PBKDF2, scrypt or phpass, or in one of the ways for which
// Salted makes stored forms.
type foreign struct {
	sum    []byte                       // the stored hash
	derive func(password []byte) []byte // hashes a password in the same way
}

// parseForeign parses a stored form of another program: $pbkdf2-<digest>$i=…,l=…$salt$sum of Ory Hydra,
// $scrypt$ln=…,r=…,p=…$salt$sum of passlib, a portable hash of phpass, or a result of Salted. ok is false for any other
// form, and for a hash that would cost too much to check.
func parseForeign(stored string) (f foreign, ok bool) {
	if f, ok = parsePhpass(stored); ok {
		return f, true
	}
	parts := strings.Split(stored, "$")
	if len(parts) != 5 || parts[0] != "" {
		return f, false
	}
	salt, err := decode(parts[3])
	if err != nil || len(salt) > maxSalt {
		return f, false
	}
	if f.sum, err = decode(parts[4]); err != nil || len(f.sum) < minForeignSum || len(f.sum) > maxForeignSum {
		return f, false
	}
	switch parts[1] {
	case "salted":
		f.derive = parseSalted(parts[2], salt, len(f.sum))
	case "scrypt":
		f.derive = parseScrypt(parts[2], salt, len(f.sum))
	default:
		f.derive = parsePBKDF2(pbkdf2Hashes[parts[1]], parts[2], salt, len(f.sum))
	}
	return f, f.derive != nil
}

// parseScrypt returns the function that hashes a password with scrypt to a sum of the given size. It returns nil for
// parameters that are malformed or would cost too much.
func parseScrypt(parameters string, salt []byte, size int) func(password []byte) []byte {
	var log, r, p int // names of RFC 7914; the memory is 128*r<<log bytes for each of the p lanes
	if _, err := fmt.Sscanf(parameters, "ln=%d,r=%d,p=%d", &log, &r, &p); err != nil || log < 1 || log > maxScryptLog ||
		r < 1 || p < 1 || r > maxScryptSize>>log/128 || p > maxScryptWork/(128*r<<log) {
		return nil
	}
	return func(password []byte) []byte {
		key, _ := scrypt.Key(password, salt, 1<<log, r, p, size) // the parameters were checked
		return key
	}
}

// parsePBKDF2 works like parseScrypt for PBKDF2. It also returns nil if digest is nil.
func parsePBKDF2(digest func() hash.Hash, parameters string, salt []byte, size int) func(password []byte) []byte {
	var iterations, length int
	if _, err := fmt.Sscanf(parameters, "i=%d,l=%d", &iterations, &length); err != nil || digest == nil ||
		iterations < 1 || iterations > maxIterations || length != size {
		return nil
	}
	return func(password []byte) []byte {
		key, _ := pbkdf2.Key(digest, string(password), salt, iterations, length) // the parameters were checked
		return key
	}
}
