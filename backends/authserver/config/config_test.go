package config

import (
	"encoding/csv"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// environment returns a function that looks up variables in a map.
func environment(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}
}

// TestTable checks that the table contains the keys of the contract, in its order, with their types, defaults,
// variables and rules, and that all other keys are marked as additions.
func TestTable(t *testing.T) {
	t.Parallel()
	file, err := os.Open("testdata/keys.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	reader := csv.NewReader(file)
	reader.Comma, reader.LazyQuotes = '\t', true
	rows, err := reader.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	rows = rows[1:] // without the header of the table
	if len(rows) != 119 {
		t.Fatalf("the contract has %d keys", len(rows))
	}
	seen := make(map[string]bool)
	variables := make(map[string]string)
	for _, k := range Keys() {
		if seen[k.Name] {
			t.Errorf("%s is in the table twice", k.Name)
		}
		seen[k.Name] = true
		if v := k.Variable(); v != "" {
			if variables[v] != "" {
				t.Errorf("%s and %s have the same variable", k.Name, variables[v])
			}
			variables[v] = k.Name
		}
		if k.Rule == "" {
			t.Errorf("%s: there is no description", k.Name)
		}
		if k.Own {
			continue
		}
		want := rows[0]
		rows = rows[1:]
		for column, pair := range map[string][2]string{
			"key":     {k.Name, want[0]},
			"type":    {typeOf(&k), want[1]},
			"default": {cmpOr(k.Default, "-"), want[2]},
			"env":     {cmpOr(k.Variable(), "none"), want[3]},
			"rule":    {k.Rule, cmpOr(want[4], k.Rule)},
		} {
			if pair[0] != pair[1] {
				t.Errorf("%s: %s is %q, the contract has %q", want[0], column, pair[0], pair[1])
			}
		}
		if len(rows) == 0 {
			rows = [][]string{make([]string, 5)}
		}
	}
	if rows[0][0] != "" {
		t.Errorf("the table ends before %s", rows[0][0])
	}
}

func cmpOr(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// defaults is the configuration without a file and an environment. The rules are not applied to it.
var defaults = func() *Config {
	c := new(Config)
	for i := range keys {
		if err := set(keys[i].pointer(c), keys[i].Default); err != nil {
			panic(keys[i].Name + ": " + err.Error())
		}
	}
	return c
}()

func TestDefaults(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "---\n", "# nothing\n", "server:\nresources:\n"} {
		c, err := Parse([]byte(text), environment(nil))
		if err != nil {
			t.Fatalf("%q: %s", text, err)
		}
		for _, k := range Keys() {
			if k.Text(c) != k.Text(defaults) || c.Given(k.Name) {
				t.Errorf("%q: %s is %q", text, k.Name, k.Text(c))
			}
		}
		if !c.Localhost() || c.Server.IdleTimeout != 2*time.Minute || !slices.Equal(c.OIDC.Scopes, []string{"openid", "email", "profile"}) ||
			c.Observability.Tracing.SampleRate != 1 || c.RateLimit.MaxTrackedIdentities != 250000 || !c.Storage.SQLite.WAL {
			t.Errorf("%+v", c)
		}
	}
}

// sample returns a value of a key that differs from the default: as the file and the environment write it, and as its
// text is printed.
func sample(k *Key) (yaml, env, text string) {
	switch k.pointer(new(Config)).(type) {
	case *bool:
		if k.Default == "true" {
			return "false", "0", "false"
		}
		return "true", "1", "true"
	case *int:
		return "7", "7", "7"
	case *float64:
		return "0.25", "0.25", "0.25"
	case *time.Duration:
		return "90m", "1h30m", "1h30m"
	case *[]string:
		return `["a b", c]`, " a b ,, c", "a b, c"
	}
	return `"word: x"`, "word: x", "word: x"
}

// read loads a configuration without applying the rules.
func read(t *testing.T, text string, vars map[string]string) *loader {
	t.Helper()
	l := &loader{Config: &Config{isSet: make(map[string]bool)}, env: func(name string) string { return vars[name] }}
	l.file([]byte(text))
	for i := range keys {
		l.key(&keys[i])
	}
	return l
}

// nested returns the text of a file with one key.
func nested(name, value string) string {
	var text strings.Builder
	words := strings.Split(name, ".")
	for i, word := range words {
		text.WriteString(strings.Repeat("  ", i) + word + ":")
		if i < len(words)-1 {
			text.WriteByte('\n')
		}
	}
	return text.String() + " " + value + "\n"
}

// TestPrecedence checks for each key that the file overrides the default, that the environment overrides the file, that
// an empty variable counts as unset, and that no other key changes.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	for i := range keys {
		k := &keys[i]
		yaml, env, want := sample(k)
		vars := map[string]string{"word: x": "secret of a reference"}
		file := nested(k.Name, yaml)
		above := map[string]string{"word: x": "secret of a reference"}
		type source struct {
			text  string
			vars  map[string]string
			want  string
			given bool
		}
		sources := []source{{file, vars, want, true}, {"", vars, k.Text(defaults), false}}
		if v := k.Variable(); v != "" {
			above[v] = env
			emptied := maps.Clone(vars)
			emptied[v] = ""
			other := file
			if _, bool := k.pointer(new(Config)).(*bool); bool {
				other = nested(k.Name, cmpOr(k.Default, "false"))
			}
			sources = append(sources, source{"", above, want, true}, source{other, above, want, true}, source{file, emptied, want, true}, source{"", emptied, k.Text(defaults), false})
		}
		for _, s := range sources {
			l := read(t, s.text, s.vars)
			if len(l.faults) > 0 || k.Text(l.Config) != s.want || l.Given(k.Name) != s.given {
				t.Errorf("%s from %q and %v: %q, given %v, faults %q", k.Name, s.text, s.vars, k.Text(l.Config), l.Given(k.Name), l.faults)
			}
			for j := range keys {
				if j != i && keys[j].Text(l.Config) != keys[j].Text(defaults) {
					t.Errorf("%s: %s changed too", k.Name, keys[j].Name)
				}
			}
		}
	}
}

// TestValues checks that a value that does not parse is a fault that names key and variable, and that the default is
// not used instead.
func TestValues(t *testing.T) {
	t.Parallel()
	bad := map[string][]string{
		"bool":     {"yes", "on", "2", "TRUE ", "tru"},
		"int":      {"many", "1.5", "0x10", "1e3", "99999999999999999999", "4294967296"},
		"float":    {"many", "NaN", "Inf", "1,5"},
		"duration": {"30", "0", "-5", "1 h", "fast", "7d", "1h30"},
	}
	for i := range keys {
		k := &keys[i]
		for _, value := range bad[typeOf(k)] {
			texts := map[string]string{"file": nested(k.Name, "\""+value+"\"")}
			vars := make(map[string]string)
			if v := k.Variable(); v != "" {
				vars[v], texts["environment"] = value, ""
			}
			for source, text := range texts {
				_, err := Parse([]byte(text), environment(pick(source == "environment", vars)))
				if err == nil || !strings.Contains(err.Error(), k.String()+": ") || !strings.Contains(err.Error(), `"`+value+`" is not`) {
					t.Errorf("%s: %q from the %s: %v", k.Name, value, source, err)
				}
			}
		}
	}
}

func pick(enabled bool, vars map[string]string) map[string]string {
	if enabled {
		return vars
	}
	return nil
}

// TestSecrets checks that neither the printed configuration nor the faults contain a secret.
func TestSecrets(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-hunter2-hunter2-hunter2-hunter2"
	vars := map[string]string{"MASTER": secret}
	var secrets []string
	for _, k := range Keys() {
		if k.Secret {
			vars[k.Variable()] = secret
			secrets = append(secrets, k.Name)
		}
	}
	if len(secrets) != 9 {
		t.Errorf("secrets: %q", secrets)
	}
	_, err := Parse([]byte("data_encryption: {driver: aes_master, aes_master: {key_env: MASTER}}\nstorage: {driver: postgres}\n"), environment(vars))
	if err == nil || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "the variable MASTER does not contain 64 hex characters") {
		t.Errorf("faults: %v", err)
	}
	l := read(t, "data_encryption: {aes_master: {key_env: MASTER}}", vars)
	var out strings.Builder
	if err := l.Print(&out); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), secret) {
		t.Errorf("printed:\n%s", out.String())
	}
	for _, line := range []string{"session.secret: (set)\n", "data_encryption.aes_master.key_env: MASTER\n", "server.address: :9000  # default\n"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("%q is not printed:\n%s", line, out.String())
		}
	}
	if l.DataEncryption.AESMaster.KeyEnv.Secret != secret {
		t.Error("the secret behind a name was not read")
	}
	none := read(t, "", nil)
	out.Reset()
	if err := none.Print(&out); err != nil || !strings.Contains(out.String(), "session.secret: (not set)") {
		t.Errorf("%v:\n%s", err, out.String())
	}
}

// TestKeyFolder checks that the folder of the keys is found even if the configuration has other faults.
func TestKeyFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.yaml")
	for text, want := range map[string]string{
		"": "data/keys", "server: {issuer: 'https://as.example'}\nsigning: {key_path: elsewhere}\n": "elsewhere", "signing: {key_store: postgres_key}": "",
		"data_encryption: {aes_master: {key_env: NOT_SET}}\nwhat: 1\n": "data/keys",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := KeyFolder(file); got != want || err != nil {
			t.Errorf("%q: %q, error %v", text, got, err)
		}
	}
	if _, err := KeyFolder(file + "x"); err == nil {
		t.Error("a file that is not there has a folder")
	}
	if err := os.WriteFile(file, []byte("signing: {key_path: elsewhere"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := KeyFolder(file); err == nil {
		t.Errorf("a file that is not YAML has the folder %q", got)
	}
	t.Setenv("AUTHSERVER_SIGNING_KEY_PATH", "of the environment")
	if got, err := KeyFolder(""); got != "of the environment" || err != nil {
		t.Errorf("%q, error %v", got, err)
	}
}
