package password

import (
	"crypto/md5" //nolint:gosec // other programs have hashed with it
	"encoding/hex"
)

// MyBB returns the stored form of a password that MyBB has hashed as md5(md5(salt) md5(password)), the inner sums in
// hexadecimal digits.
func MyBB(salt, sum []byte) string { return "$salted$mybb$" + encode(salt) + "$" + encode(sum) }

// saltedOf returns the sum that MyBB makes of a password.
func saltedOf(salt, password []byte) []byte {
	inner, before := md5.Sum(password), md5.Sum(salt)                            //nolint:gosec // see above
	sum := md5.Sum(hex.AppendEncode(hex.AppendEncode(nil, before[:]), inner[:])) //nolint:gosec // see above
	return sum[:]
}
