package authtest

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/authserver/config"
)

// Flip is a test that a key of the configuration has an effect: servers with two different values of the key must be
// observably different.
type Flip struct {
	// First and Other are the two values of the key, as YAML. If First is empty, the key is left out of the first
	// configuration, so that its default applies.
	First, Other string
	// With are values of further keys that the tested key needs to have an effect.
	With Settings
	// See observes a server with the given settings and returns the observation.
	See func(t *testing.T, s Settings) string
	// Want are the results that See must return with First and with Other.
	Want [2]string
}

// Flips tests the configuration keys that the tables contain, each in a subtest. If outside is set, the tables must
// contain exactly the keys for which isOutside returns true. Otherwise they must contain exactly the keys for which
// isOutside returns false.
func Flips(t *testing.T, outside bool, tables ...map[string]Flip) {
	t.Helper()
	all := make(map[string]Flip)
	for _, table := range tables {
		maps.Copy(all, table)
	}
	for _, key := range config.Keys() {
		f, isTested := all[key.Name]
		delete(all, key.Name)
		if mustBeTested := isOutside(key.Name) == outside; isTested != mustBeTested {
			t.Errorf("%s: in the tables: %v, want %v", key.Name, isTested, mustBeTested)
		}
		if !isTested {
			continue
		}
		t.Run(key.Name, func(t *testing.T) {
			t.Parallel()
			for i, value := range []string{f.First, f.Other} {
				if got := f.See(t, f.With.And(Settings{key.Name: value})); got != f.Want[i] {
					t.Errorf("with %q: got %q, want %q", value, got, f.Want[i])
				}
			}
			if f.Want[0] == f.Want[1] {
				t.Errorf("%q makes no difference", f.Want[0])
			}
		})
	}
	for name := range all {
		t.Errorf("%s is not a key", name)
	}
}

// isOutside reports whether a configuration key takes effect outside of the server's packages, that is, in the
// listeners, the database or the telemetry.
func isOutside(key string) bool {
	for _, prefix := range []string{
		"storage.", "observability.", "counters.", "server.address", "server.idle_timeout", "server.read_timeout",
		"server.write_timeout", "server.shutdown_wait", "admin.address", "admin.enabled",
	} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

// Settings are values of keys, as YAML. An empty value leaves its key out.
type Settings map[string]string

// And returns these settings together with overrides, whose values take precedence.
func (s Settings) And(overrides Settings) Settings {
	all := make(Settings, len(s)+len(overrides))
	maps.Copy(all, s)
	maps.Copy(all, overrides)
	return all
}

// Text returns a configuration file with the settings. It is JSON, which is valid YAML.
func (s Settings) Text(tb testing.TB) string {
	tb.Helper()
	file := make(map[string]any)
	for key, value := range s {
		if value == "" {
			continue
		}
		section, names := file, strings.Split(key, ".")
		for _, name := range names[:len(names)-1] {
			child, ok := section[name].(map[string]any)
			if !ok {
				child = make(map[string]any)
				section[name] = child
			}
			section = child
		}
		var encoded any = value
		isJSON := json.Valid([]byte(value)) && strings.ContainsAny(value[:1], "[{tf0123456789")
		if isJSON { // a list, a section, a bool or a number
			encoded = json.RawMessage(value)
		}
		section[names[len(names)-1]] = encoded
	}
	text, err := json.Marshal(file)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}
