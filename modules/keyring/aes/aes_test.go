package aes

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tollgate-gateway/tollgate/internal/keyring"
)

var (
	oneKey = base64.StdEncoding.EncodeToString([]byte("0123456789abcdef0123456789abcdef"))
	twoKey = hex.EncodeToString([]byte("fedcba9876543210fedcba9876543210"))
)

func TestUnmarshalCaddyfile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		input string
		want  string // JSON, or part of the error when it begins with "!"
	}{
		"nothing":     {"aes", `{}`},
		"empty block": {"aes {\n}", `{}`},
		"a key":       {"aes {env.KEY}", `{"keys":["{env.KEY}"]}`},
		"two keys":    {"aes a b", `{"keys":["a","b"]}`},
		"file":        {"aes {\nfile /k\n}", `{"file":"/k"}`},
		"both":        {"aes a {\nfile /k\n}", `{"keys":["a"],"file":"/k"}`}, // Validate refuses it
		"no file":     {"aes {\nfile\n}", "!wrong argument count"},
		"two files":   {"aes {\nfile a b\n}", "!wrong argument count"},
		"file twice":  {"aes {\nfile a\nfile b\n}", "!file is given twice"},
		"unknown":     {"aes {\nkey a\n}", `!unknown option "key"`},
		"nested":      {"aes {\nfile a {\nb\n}\n}", "!takes no block"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := caddyfile.NewTestDispenser(test.input)
			d.Next()
			got, err := caddyfile.UnmarshalModule(d, "tollgate.keyring.aes")
			if want, ok := strings.CutPrefix(test.want, "!"); ok {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Fatalf("error %v, want %q", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if text, err := json.Marshal(got); err != nil || string(text) != test.want {
				t.Fatalf("%s, error %v, want %s", text, err, test.want)
			}
		})
	}
}

func provision(t *testing.T, a *AES) error {
	t.Helper()
	if err := a.Provision(caddy.Context{}); err != nil {
		return err
	}
	return a.Validate()
}

func TestProvision(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "key"), []byte(oneKey+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TOLLGATE_TEST_KEY", twoKey)
	t.Setenv("TOLLGATE_TEST_EMPTY", "")
	for name, test := range map[string]struct {
		module AES
		want   string // part of the error; "": none
	}{
		"nothing":         {AES{}, ""},
		"keys":            {AES{Keys: []string{oneKey, twoKey}}, ""},
		"from a variable": {AES{Keys: []string{"{env.TOLLGATE_TEST_KEY}"}}, ""},
		"from a file":     {AES{Keys: []string{"{file." + filepath.Join(folder, "key") + "}"}}, ""},
		"file":            {AES{File: "{env.HOME}/k"}, ""},
		"not set":         {AES{Keys: []string{"{env.TOLLGATE_TEST_UNSET}"}}, "keys[0]"},
		"empty":           {AES{Keys: []string{oneKey, "{env.TOLLGATE_TEST_EMPTY}"}}, "keys[1]"},
		"no key":          {AES{Keys: []string{"passphrase"}}, "keys[0]: a master key is 32 bytes"},
		"unknown":         {AES{Keys: []string{"{no.such}"}}, "keys[0]"},
		"file not set":    {AES{File: "{env.TOLLGATE_TEST_UNSET}"}, "file"},
		"both":            {AES{Keys: []string{oneKey}, File: "k"}, "exclude each other"},
	} {
		t.Run(name, func(t *testing.T) {
			err := provision(t, &test.module)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error %v, want %q", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "passphrase") {
				t.Errorf("the error shows the key: %v", err)
			}
		})
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	core, logs := observer.New(zap.WarnLevel)
	a := new(AES)
	if err := provision(t, a); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "tollgate.key")
	if a.KeyFile(folder) != file || !keyring.KeyFileMissing(file) {
		t.Errorf("it would create %q", a.KeyFile(folder))
	}
	first, err := a.Open(folder, zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	if keyring.KeyFileMissing(file) {
		t.Errorf("%s was not created", file)
	}
	sealed, err := first.Seal(t.Context(), []byte("x"), nil)
	if err != nil {
		t.Fatal(err)
	}
	second, err := a.Open(folder, zap.New(core))
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := second.Open(t.Context(), sealed, nil); err != nil || string(plain) != "x" {
		t.Errorf("%q, error %v", plain, err)
	}
	if lines := logs.All(); len(lines) != 1 || lines[0].ContextMap()["file"] != file {
		t.Errorf("logged %+v", lines)
	}

	// The key of the file remains valid after a new key.
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b := &AES{Keys: []string{oneKey, string(text)}}
	if err := provision(t, b); err != nil {
		t.Fatal(err)
	}
	if file := b.KeyFile("/nowhere"); file != "" || keyring.KeyFileMissing(file) {
		t.Errorf("keys of the configuration: it would create %q", file)
	}
	rotated, err := b.Open("/nowhere", zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := rotated.Open(t.Context(), sealed, nil); err != nil || string(plain) != "x" || rotated.Current(sealed) {
		t.Errorf("%q, current %t, error %v", plain, rotated.Current(sealed), err)
	}

	own := &AES{File: filepath.Join(folder, "own", "k")}
	if err := provision(t, own); err != nil {
		t.Fatal(err)
	}
	if _, err := own.Open(folder, zap.NewNop()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(own.File); err != nil {
		t.Error(err)
	}
	if err := os.Chmod(own.File, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := own.Open(folder, zap.NewNop()); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file for all to read: error %v", err)
	}
}

func TestKey(t *testing.T) {
	t.Parallel()
	keyOf := func(a AES) any {
		t.Helper()
		if err := provision(t, &a); err != nil {
			t.Fatal(err)
		}
		return a.Key()
	}
	if keyOf(AES{Keys: []string{oneKey}}) != keyOf(AES{Keys: []string{hex.EncodeToString([]byte("0123456789abcdef0123456789abcdef"))}}) {
		t.Error("two spellings of a key differ")
	}
	keys := map[any]bool{}
	for _, a := range []AES{{}, {File: "a"}, {File: "b"}, {Keys: []string{oneKey}}, {Keys: []string{oneKey, twoKey}}, {Keys: []string{twoKey, oneKey}}} {
		keys[keyOf(a)] = true
	}
	if len(keys) != 6 {
		t.Errorf("%d different of 6", len(keys))
	}
}
