package password

import (
	"crypto/md5"  //nolint:gosec // other programs have hashed with it
	"crypto/sha1" //nolint:gosec // as above
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// Kinds of hashes of other forums with a salt and without rounds. They are weak, so a password should be hashed again
// at the first sign-in. A sum within another sum is in hexadecimal digits.
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

// parseSalted returns the function that hashes a password with a salt, and the size of its result. The function is nil
// if the kind is unknown.
func parseSalted(kind string, salt []byte) (derive func(password []byte) []byte, size int) {
	digits := func(sum []byte) []byte { return hex.AppendEncode(nil, sum) }
	withSaltBehind := func(hash func([]byte) []byte) func([]byte) []byte {
		return func(password []byte) []byte { return hash(append(digits(hash(password)), salt...)) }
	}
	switch kind {
	case SaltedMyBB:
		before := digits(md5Of(salt))
		return func(password []byte) []byte {
			return md5Of(slices.Concat(before, digits(md5Of(password))))
		}, md5.Size
	case SaltedSHA256:
		return withSaltBehind(sha256Of), sha256.Size
	case SaltedSHA1:
		return withSaltBehind(sha1Of), sha1.Size
	case SaltedMD5:
		return withSaltBehind(md5Of), md5.Size
	default:
		return nil, 0
	}
}
