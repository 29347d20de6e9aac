package moving

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/password"
)

// xfHash converts a password hash to the form of package password. data is an array that PHP has serialized, or JSON.
// If the hash itself names its scheme, xfHash returns the hash unchanged. If data has no hash, xfHash returns an
// empty string.
func xfHash(scheme, data string) string {
	fields := phpFields(data)
	hash, salt := fields["hash"], fields["salt"]
	scheme = scheme[strings.LastIndexAny(scheme, ":_\\")+1:]
	switch {
	case hash == "":
		return ""
	case scheme == "Core" && slices.Contains([]string{"", password.SaltedSHA256}, fields["hashFunc"]):
		return salted(password.SaltedSHA256, salt, hash)
	case scheme == "Core" && fields["hashFunc"] == password.SaltedSHA1:
		return salted(password.SaltedSHA1, salt, hash)
	case scheme == "vBulletin":
		return salted(password.SaltedMD5, salt, hash)
	case strings.EqualFold(scheme, "MyBb"):
		return salted(password.SaltedMyBB, salt, hash)
	default: // the hashes of Core12, PhpBb3 and others name their schemes
		return hash
	}
}

// maxFields limits the fields that phpFields reads.
const maxFields = 100

// phpFields returns the texts of a flat array that PHP has serialized, such as a:1:{s:4:"hash";s:3:"abc";}, or of a
// JSON object, by their keys. For other data it returns no texts.
func phpFields(data string) map[string]string {
	fields := make(map[string]string)
	if strings.HasPrefix(data, "{") {
		var values map[string]any
		if json.Unmarshal([]byte(data), &values) == nil {
			for name, value := range values {
				if text, ok := value.(string); ok {
					fields[name] = text
				}
			}
		}
		return fields
	}
	_, data, _ = strings.Cut(data, "{")
	for len(fields) < maxFields {
		name, afterName, ok := phpText(data)
		if !ok {
			break
		}
		value, afterValue, ok := phpText(afterName)
		if !ok {
			break
		}
		fields[name] = value
		data = afterValue
	}
	return fields
}

// phpText reads a text such as s:3:"abc"; from the beginning of serialized data. rest is the data after the text. ok is
// false if the data does not begin with such a text.
func phpText(data string) (text, rest string, ok bool) {
	data, ok = strings.CutPrefix(data, "s:")
	digits, data, found := strings.Cut(data, `:"`)
	n, err := strconv.Atoi(digits)
	if !ok || !found || err != nil || n < 0 || n > len(data) || !strings.HasPrefix(data[n:], `";`) {
		return "", "", false
	}
	return data[:n], data[n+2:], true
}
