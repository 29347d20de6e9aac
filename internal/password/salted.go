package password

import (
	"crypto/md5"  //nolint:gosec // other programs have hashed with it
	"crypto/sha1" //nolint:gosec // as above
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// These are kinds of salted hashes that other forums use. They have no rounds and are therefore weak, so a password
// should be hashed again at the first sign-in. In the formulas below, a sum within another sum is in hexadecimal
// digits.
const (
	SaltedMyBB   = "mybb"   // MyBB: md5(md5(salt) md5(password))
	SaltedSHA256 = "sha256" // XenForo: sha256(sha256(password) salt)
	SaltedSHA1   = "sha1"   // XenForo: sha1(sha1(password) salt)
	SaltedMD5    = "md5"    // vBulletin: md5(md5(password) salt)
)

// Salted returns the stored form of a password that another program has hashed. kind is one of the constants above.
func Salted(kind string, salt, sum []byte) string {
	return "$salted$" + kind + "$" + encode(salt) + "$" + encode(sum)
}

func md5Of(text []byte) []byte    { sum := md5.Sum(text); return sum[:] }  //nolint:gosec // see above
func sha1Of(text []byte) []byte   { sum := sha1.Sum(text); return sum[:] } //nolint:gosec // see above
func sha256Of(text []byte) []byte { sum := sha256.Sum256(text); return sum[:] }

// parseSalted returns the function that hashes a password with a salt to a sum of the given size. It returns nil if the
// kind is unknown or makes sums of another size.
func parseSalted(kind string, salt []byte, size int) func(password []byte) []byte {
	digits := func(sum []byte) []byte { return hex.AppendEncode(nil, sum) }
	withSaltBehind := func(hash func([]byte) []byte) func([]byte) []byte {
		return func(password []byte) []byte { return hash(append(digits(hash(password)), salt...)) }
	}
	switch {
	case kind == SaltedMyBB && size == md5.Size:
		prefix := digits(md5Of(salt))
		return func(password []byte) []byte { return md5Of(slices.Concat(prefix, digits(md5Of(password)))) }
	case kind == SaltedSHA256 && size == sha256.Size:
		return withSaltBehind(sha256Of)
	case kind == SaltedSHA1 && size == sha1.Size:
		return withSaltBehind(sha1Of)
	case kind == SaltedMD5 && size == md5.Size:
		return withSaltBehind(md5Of)
	}
	return nil
}
