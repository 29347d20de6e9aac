package password

import (
	"crypto/md5" //nolint:gosec // other programs have hashed with it
	"slices"
	"strings"
)

// A portable hash of phpass is $H$ (phpBB) or $P$, a digit for the logarithm of the number of rounds, eight characters
// of salt, and an MD5 sum in 22 digits.
const (
	phpassDigits = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	phpassSize   = 34
	minPhpass    = 7
	maxPhpass    = 20 // maximum logarithm
)

// parsePhpass parses a portable hash of phpass. ok is false for any other form, and for a hash that would cost too much
// to check.
func parsePhpass(stored string) (f foreign, ok bool) {
	if len(stored) != phpassSize || stored[:3] != "$H$" && stored[:3] != "$P$" {
		return f, false
	}
	logRounds := strings.IndexByte(phpassDigits, stored[3])
	if logRounds < minPhpass || logRounds > maxPhpass {
		return f, false
	}
	if f.sum, ok = decodePhpass(stored[12:]); !ok {
		return f, false
	}
	salt := []byte(stored[4:12])
	f.derive = func(password []byte) []byte {
		sum := md5.Sum(append(slices.Clip(salt), password...)) //nolint:gosec // see above
		text := make([]byte, 0, md5.Size+len(password))
		for range 1 << logRounds {
			text = append(append(text[:0], sum[:]...), password...)
			sum = md5.Sum(text) //nolint:gosec // see above
		}
		return sum[:]
	}
	return f, true
}

// decodePhpass decodes the 22 digits of a sum, each of six bits, the lowest first.
func decodePhpass(digits string) (sum []byte, ok bool) {
	bits, n := 0, 0
	for i := range len(digits) {
		digit := strings.IndexByte(phpassDigits, digits[i])
		if digit < 0 {
			return nil, false
		}
		bits |= digit << n
		if n += 6; n >= 8 {
			sum = append(sum, byte(bits&0xff))
			bits >>= 8
			n -= 8
		}
		if i%4 == 3 { // three bytes are four digits
			bits, n = 0, 0
		}
	}
	return sum, len(sum) == md5.Size && bits == 0
}
