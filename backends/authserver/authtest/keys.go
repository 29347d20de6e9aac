package authtest

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/authserver/config"
)

// Flip is how a key of the configuration is seen to be alive: a server that has one value
// of it, and one that has another, are not the same to those who use them.
type Flip struct {
	// First is the value that it has before, Other the one that it has then, as YAML.
	// First empty: the key is left out.
	First, Other string
	// With are further keys, without which this one says nothing.
	With Settings
	// See is what somebody sees of a server with these settings.
	See func(t *testing.T, s Settings) string
	// Want is what is seen with First, and with Other.
	Want [2]string
}

// Flips flips the keys of tables by their names, each in a test of its own. The tables have
// all keys that act in the rooms, or all that act outside, and no others.
func Flips(t *testing.T, outside bool, tables ...map[string]Flip) {
	t.Helper()
	all := make(map[string]Flip)
	for _, some := range tables {
		maps.Copy(all, some)
	}
	for _, key := range config.Keys() {
		f, ok := all[key.Name]
		if delete(all, key.Name); ok != (isOutside(key.Name) == outside) {
			t.Errorf("%s: flipped here is %v", key.Name, ok)
		}
		if !ok {
			continue
		}
		t.Run(key.Name, func(t *testing.T) {
			t.Parallel()
			for i, value := range []string{f.First, f.Other} {
				if got := f.See(t, f.With.And(Settings{key.Name: value})); got != f.Want[i] {
					t.Errorf("with %q: %q is seen, want %q", value, got, f.Want[i])
				}
			}
			if f.Want[0] == f.Want[1] {
				t.Errorf("%q makes no difference", f.Want[0])
			}
		})
	}
	for name := range all {
		t.Errorf("%s is no key", name)
	}
}

// isOutside reports whether a key of the configuration acts outside the rooms of the server:
// in its listeners, its database, and what it tells of itself.
func isOutside(key string) bool {
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
