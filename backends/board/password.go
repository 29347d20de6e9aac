package board

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// The cost of a password: 19 MiB, two passes, one lane.
const (
	argonMemory = 19 << 10
	argonTime   = 2
	argonLanes  = 1
	argonSize   = 32
)

// hashPassword returns a password as it is stored.
func hashPassword(password string) string {
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails
	sum := argon2.IDKey([]byte(password), salt, argonTime, argonMemory, argonLanes, argonSize)
	return fmt.Sprintf("$argon2id$v=19$m=%d,t=%d,p=%d$%s$%s", argonMemory, argonTime, argonLanes,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(sum))
}

// checkPassword compares a password with its stored form, in the same time
// whether there is one or not.
func checkPassword(stored, password string) bool {
	parts := strings.Split(stored, "$")
	var memory, time uint32
	var lanes uint8
	ok := len(parts) == 6 && parts[1] == "argon2id"
	if ok {
		_, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &memory, &time, &lanes)
		ok = err == nil && memory <= 1<<20 && time > 0 && time <= 64 && lanes > 0
	}
	var salt, sum []byte
	if ok {
		var err1, err2 error
		salt, err1 = base64.RawStdEncoding.DecodeString(parts[4])
		sum, err2 = base64.RawStdEncoding.DecodeString(parts[5])
		ok = err1 == nil && err2 == nil && len(sum) == argonSize
	}
	if !ok {
		memory, time, lanes, salt, sum = argonMemory, argonTime, argonLanes, make([]byte, 16), make([]byte, argonSize)
	}
	same := subtle.ConstantTimeCompare(sum, argon2.IDKey([]byte(password), salt, time, memory, lanes, argonSize)) == 1
	return ok && same
}

// newPassword is one to be shown once.
func newPassword() string { return rand.Text()[:20] }
