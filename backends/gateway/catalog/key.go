package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// Length limits of a provider key, in bytes.
const (
	maxKey     = 1000
	maxKeyFile = 4 << 10 // of a key that is a JSON object
)

// CheckKey returns a provider key in its stored form: a JSON object, such as the key file of a service account, loses
// its insignificant white space. The error describes the mistake in the key without quoting the key.
func CheckKey(key string) (string, error) {
	if strings.HasPrefix(key, "{") {
		var compact bytes.Buffer
		if len(key) > maxKeyFile || json.Compact(&compact, []byte(key)) != nil {
			return "", errors.New("must be JSON of at most 4,096 bytes if it begins with a brace")
		}
		key = compact.String()
		if strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
			return "", errors.New("must be printable ASCII")
		}
		return key, nil
	}
	if key == "" || len(key) > maxKey || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errors.New("must be 1 to 1,000 printable ASCII characters without spaces")
	}
	return key, nil
}
