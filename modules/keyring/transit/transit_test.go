package transit

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/keyring"
	"github.com/tollgate-gateway/tollgate/internal/transit"
	"github.com/tollgate-gateway/tollgate/internal/transit/transittest"
)

func TestUnmarshalCaddyfile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		input string
		want  string // JSON, or part of the error when it begins with "!"
	}{
		"token": {"transit {\naddress https://kms\ntoken {env.T}\n}", `{"address":"https://kms","token":"{env.T}"}`},
		"all": {
			"transit a b {\naddress https://kms\napprole r s m\nkey k\nmount x\nca f\ntimeout 3s\naes o p\n}",
			`{"keys":["a","b"],"aes":["o","p"],"address":"https://kms","mount":"x","key":"k","approle":{"role_id":"r","secret_id":"s","mount":"m"},"ca":"f","timeout":3000000000}`,
		},
		"file":        {"transit {\nfile /f\n}", `{"file":"/f"}`},
		"twice":       {"transit {\nkey a\nkey b\n}", "!key is given twice"},
		"unknown":     {"transit {\nuser a\n}", `!unknown option "user"`},
		"no secret":   {"transit {\napprole r\n}", "!wrong argument count"},
		"no key":      {"transit {\naes\n}", "!wrong argument count"},
		"no timeout":  {"transit {\ntimeout never\n}", "!timeout"},
		"two tokens":  {"transit {\ntoken a b\n}", "!wrong argument count"},
		"two timeout": {"transit {\ntimeout 1s 2s\n}", "!wrong argument count"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := caddyfile.NewTestDispenser(test.input)
			d.Next()
			got, err := caddyfile.UnmarshalModule(d, "tollgate.keyring.transit")
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

// server starts a key management server that has the key.
func server(tb testing.TB) *transittest.Server {
	tb.Helper()
	s := transittest.New(tb)
	c, err := transit.New(transit.Options{Address: s.URL, Token: transittest.Root})
	if err != nil {
		tb.Fatal(err)
	}
	if err := c.Key("transit", "tollgate").Create(tb.Context(), transit.AES256GCM); err != nil {
		tb.Fatal(err)
	}
	return s
}

// module returns a provisioned module that uses a server. If change is not nil, it changes the options before.
func module(tb testing.TB, s *transittest.Server, change func(t *Transit)) *Transit {
	tb.Helper()
	m := &Transit{Address: s.URL, AppRole: &AppRole{RoleID: transittest.RoleID, SecretID: transittest.SecretID}}
	if change != nil {
		change(m)
	}
	if err := m.Provision(caddy.Context{}); err != nil {
		tb.Fatal(err)
	}
	m.startWait = 100 * time.Millisecond
	return m
}

func open(tb testing.TB, m *Transit, dir string) keyring.Keyring {
	tb.Helper()
	ring, err := m.Open(dir, zap.NewNop())
	if err != nil {
		tb.Fatal(err)
	}
	return ring
}

func TestOpen(t *testing.T) {
	t.Parallel()
	s, dir := server(t), t.TempDir()
	m := module(t, s, nil)
	file := filepath.Join(dir, "tollgate.wrapped")
	if m.KeyFile(dir) != file || !keyring.KeyFileMissing(file) {
		t.Errorf("it would create %q", m.KeyFile(dir))
	}
	ring := open(t, m, dir)
	sealed, err := ring.Seal(t.Context(), []byte("x"), []byte("p"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if info, _ := os.Stat(file); err != nil || !strings.HasPrefix(string(text), "vault:v1:") || info.Mode().Perm() != 0o600 {
		t.Fatalf("%q, error %v", text, err)
	}
	opens := func(ring keyring.Keyring, current bool) {
		t.Helper()
		if plain, err := ring.Open(t.Context(), sealed, []byte("p")); err != nil || string(plain) != "x" || ring.Current(sealed) != current {
			t.Errorf("%q, current %t, error %v", plain, ring.Current(sealed), err)
		}
	}
	opens(open(t, module(t, s, nil), dir), true)
	s.Rotate("transit", "tollgate")
	given := module(t, s, func(m *Transit) { m.Keys = []string{string(text)} })
	if given.KeyFile("/nowhere") != "" {
		t.Error("it would create a file")
	}
	opens(open(t, given, "/nowhere"), true)
	fresh, err := m.Wrap(t.Context(), keyring.NewMasterKey())
	if err != nil || !strings.HasPrefix(fresh, "vault:v2:") {
		t.Fatalf("%q, error %v", fresh, err)
	}
	opens(open(t, module(t, s, func(m *Transit) { m.Keys = []string{fresh, string(text)} }), "/nowhere"), false)

	// An open keyring sends no requests to the server.
	s.Set(transittest.Faults{Sealed: true})
	opens(ring, true)
	if _, err := module(t, s, nil).Open(dir, zap.NewNop()); !errors.Is(err, transit.ErrUnavailable) {
		t.Errorf("a start in an outage: error %v", err)
	}
	s.Set(transittest.Faults{Busy: 2}) // the login is repeated
	opens(open(t, module(t, s, nil), dir), true)
	s.Set(transittest.Faults{Denied: "transit/decrypt"})
	var refused *transit.RefusedError
	if _, err := module(t, s, nil).Open(dir, zap.NewNop()); !errors.As(err, &refused) {
		t.Errorf("denied: error %v", err)
	}
	s.Set(transittest.Faults{})
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := module(t, s, nil).Open(dir, zap.NewNop()); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file for all to read: error %v", err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_ = os.Chmod(file, 0o600)
	if _, err := module(t, s, nil).Open(dir, zap.NewNop()); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("an empty file: error %v", err)
	}
}

// TestMove checks that values that aes has sealed can be opened until they are sealed again, and that the move can be
// reversed.
func TestMove(t *testing.T) {
	t.Parallel()
	s, dir := server(t), t.TempDir()
	old := keyring.NewMasterKey()
	before, err := keyring.NewAES(old)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := before.Seal(t.Context(), []byte("x"), nil)
	if err != nil {
		t.Fatal(err)
	}
	m := module(t, s, func(m *Transit) { m.AES = []string{base64.StdEncoding.EncodeToString(old)} })
	ring := open(t, m, dir)
	plain, err := ring.Open(t.Context(), sealed, nil)
	if err != nil || string(plain) != "x" || ring.Current(sealed) {
		t.Fatalf("%q, error %v", plain, err)
	}
	anew, err := ring.Seal(t.Context(), plain, nil)
	if err != nil || !ring.Current(anew) {
		t.Fatal(err)
	}
	if _, err := before.Open(t.Context(), anew, nil); !errors.Is(err, keyring.ErrOpen) {
		t.Errorf("the old key opens new values: error %v", err)
	}
	keys, err := m.Unwrap(t.Context(), dir)
	if err != nil || len(keys) != 1 {
		t.Fatal(keys, err)
	}
	aesRing, err := keyring.NewAES(keyring.NewMasterKey(), keys[0])
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := aesRing.Open(t.Context(), anew, nil); err != nil || string(plain) != "x" || aesRing.Current(anew) {
		t.Errorf("%q, error %v", plain, err)
	}
}

func TestProvision(t *testing.T) {
	t.Parallel()
	role := &AppRole{RoleID: "r", SecretID: "hunter2"}
	for want, m := range map[string]*Transit{
		"address":                   {Token: "t"},
		"needs a token":             {Address: "https://kms"},
		"exclude each other":        {Address: "https://kms", Token: "hunter2", AppRole: role},
		"keys[0]: must be a text":   {Address: "https://kms", Token: "hunter2", Keys: []string{"hunter2"}},
		"keys and file":             {Address: "https://kms", Token: "hunter2", Keys: []string{"vault:v1:AAAA"}, File: "f"},
		"aes[0]: a master key is":   {Address: "https://kms", Token: "hunter2", AES: []string{"hunter2"}},
		"token: the environment":    {Address: "https://kms", Token: "{env.TOLLGATE_TEST_UNSET}"},
		"ca: open":                  {Address: "https://kms", Token: "hunter2", CA: "/nowhere/ca.pem"},
		"approle.role_id: the envi": {Address: "https://kms", AppRole: &AppRole{RoleID: "{env.TOLLGATE_TEST_UNSET}", SecretID: "hunter2"}},
	} {
		if err := m.Provision(caddy.Context{}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: error %v", want, err)
		}
	}
	first, second := &Transit{Address: "https://kms", Token: "a"}, &Transit{Address: "https://kms", Token: "b"}
	if err := errors.Join(first.Provision(caddy.Context{}), second.Provision(caddy.Context{})); err != nil || first.Key() == second.Key() {
		t.Errorf("keyrings with different tokens are equal, error %v", err)
	}
}
