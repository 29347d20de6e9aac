package authtest

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
)

// Outside reports whether a key of the configuration acts outside the rooms of the server:
// in its listeners, its database, and what it tells of itself.
func Outside(key string) bool {
	for _, prefix := range []string{
		"storage.", "observability.", "counters.", "server.address", "server.idle_timeout", "server.read_timeout", "server.write_timeout", "server.shutdown_wait", "admin.address", "admin.enabled",
	} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// Settings are values of keys, as YAML; an empty one leaves its key out.
type Settings map[string]string

// And are these settings with more.
func (s Settings) And(more Settings) Settings {
	all := make(Settings, len(s)+len(more))
	maps.Copy(all, s)
	maps.Copy(all, more)
	return all
}

// Text is a file with the settings. JSON is YAML.
func (s Settings) Text(tb testing.TB) string {
	tb.Helper()
	file := make(map[string]any)
	for key, value := range s {
		if value == "" {
			continue
		}
		at, names := file, strings.Split(key, ".")
		for _, name := range names[:len(names)-1] {
			below, ok := at[name].(map[string]any)
			if !ok {
				below = make(map[string]any)
				at[name] = below
			}
			at = below
		}
		var read any = value
		if json.Valid([]byte(value)) && strings.ContainsAny(value[:1], "[{tf0123456789") {
			read = json.RawMessage(value)
		}
		at[names[len(names)-1]] = read
	}
	text, err := json.Marshal(file)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}
