package sqlite

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

func TestUnmarshalCaddyfile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		input string
		want  string // JSON, or part of the error when it begins with "!"
	}{
		"path only":     {"sqlite data/x.db", `{"path":"data/x.db"}`},
		"empty block":   {"sqlite x.db {\n}", `{"path":"x.db"}`},
		"placeholder":   {"sqlite {env.DATA}/x.db", `{"path":"{env.DATA}/x.db"}`},
		"all options":   {"sqlite x.db {\nreaders 8\nsynchronous normal\nbusy_timeout 2s\n}", `{"path":"x.db","readers":8,"synchronous":"normal","busy_timeout":2000000000}`},
		"full":          {"sqlite x.db {\nsynchronous full\n}", `{"path":"x.db","synchronous":"full"}`},
		"days":          {"sqlite x.db {\nbusy_timeout 1d\n}", `{"path":"x.db","busy_timeout":86400000000000}`},
		"no path":       {"sqlite", "!wrong argument count"},
		"no path block": {"sqlite {\nreaders 1\n}", "!wrong argument count"},
		"two paths":     {"sqlite a b", "!wrong argument count"},
		"unknown":       {"sqlite x.db {\nwriters 2\n}", `!unknown option "writers"; there are: readers, synchronous, busy_timeout`},
		"nested":        {"sqlite x.db {\nreaders 2 {\nx\n}\n}", "!takes no block"},
		"repeated":      {"sqlite x.db {\nreaders 2\nreaders 2\n}", "!readers is given twice"},
		"readers none":  {"sqlite x.db {\nreaders\n}", "!wrong argument count"},
		"readers two":   {"sqlite x.db {\nreaders 1 2\n}", "!wrong argument count"},
		"readers zero":  {"sqlite x.db {\nreaders 0\n}", "!readers:"},
		"readers word":  {"sqlite x.db {\nreaders many\n}", "!readers:"},
		"sync none":     {"sqlite x.db {\nsynchronous\n}", "!wrong argument count"},
		"sync two":      {"sqlite x.db {\nsynchronous full normal\n}", "!wrong argument count"},
		"sync off":      {"sqlite x.db {\nsynchronous off\n}", "!synchronous:"},
		"busy none":     {"sqlite x.db {\nbusy_timeout\n}", "!wrong argument count"},
		"busy two":      {"sqlite x.db {\nbusy_timeout 1s 2s\n}", "!wrong argument count"},
		"busy number":   {"sqlite x.db {\nbusy_timeout 5\n}", "!busy_timeout:"},
		"busy zero":     {"sqlite x.db {\nbusy_timeout 0s\n}", "!busy_timeout:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := caddyfile.UnmarshalModule(segment(test.input), "tollgate.storage.sqlite")
			if want, ok := strings.CutPrefix(test.want, "!"); ok {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Fatalf("error is %v, want %q", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			if string(text) != test.want {
				t.Fatalf("got %s, want %s", text, test.want)
			}
		})
	}
}

// segment returns a dispenser positioned at the name of the module, as a host module passes it on.
func segment(input string) *caddyfile.Dispenser {
	d := caddyfile.NewTestDispenser(input)
	d.Next()
	return d
}

func TestProvision(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TOLLGATE_TEST_DIR", folder)
	for name, test := range map[string]struct {
		module SQLite
		want   string // part of the error; "": none
	}{
		"fine":          {SQLite{Path: "{env.TOLLGATE_TEST_DIR}/sub/x.db"}, ""},
		"no path":       {SQLite{}, "path is required"},
		"unset":         {SQLite{Path: "{env.TOLLGATE_TEST_UNSET}"}, "path: "},
		"unknown":       {SQLite{Path: "{no.such}/x.db"}, "path: "},
		"readers":       {SQLite{Path: "x.db", Readers: -1}, "readers"},
		"many readers":  {SQLite{Path: "x.db", Readers: 1000}, "readers"},
		"synchronous":   {SQLite{Path: "x.db", Synchronous: "off"}, "synchronous"},
		"busy timeout":  {SQLite{Path: "x.db", BusyTimeout: -1}, "busy timeout"},
		"all in bounds": {SQLite{Path: "x.db", Readers: 256, Synchronous: "normal", BusyTimeout: caddy.Duration(time.Second)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.module.Provision(caddy.Context{})
			if err == nil {
				err = test.module.Validate()
			}
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Fatalf("error is %v, want %q", err, test.want)
			}
		})
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 0 {
		t.Fatalf("provisioning made %v, %v", entries, err)
	}
}

func TestOpen(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TOLLGATE_TEST_DIR", folder)
	s := &SQLite{Path: "{env.TOLLGATE_TEST_DIR}/sub/x.db"}
	if err := s.Provision(caddy.Context{}); err != nil {
		t.Fatal(err)
	}
	if got, want := s.Dir(), filepath.Join(folder, "sub"); got != want {
		t.Errorf("Dir is %s, want %s", got, want)
	}
	db, err := s.Open(zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if db.Dialect() != store.SQLite {
		t.Errorf("dialect is %v", db.Dialect())
	}
	testenv.Open(t, db)
	if _, err := os.Stat(filepath.Join(s.Dir(), "x.db")); err != nil {
		t.Fatal(err)
	}
}

func TestKey(t *testing.T) {
	t.Parallel()
	provisioned := func(s SQLite) any {
		t.Helper()
		if err := s.Provision(caddy.Context{}); err != nil {
			t.Fatal(err)
		}
		return s.Key()
	}
	base := provisioned(SQLite{Path: "data/x.db"})
	if base != provisioned(SQLite{Path: "./data/../data/x.db"}) {
		t.Error("two spellings of a path differ")
	}
	for _, other := range []SQLite{
		{Path: "data/y.db"},
		{Path: "data/x.db", Readers: 5},
		{Path: "data/x.db", Synchronous: "normal"},
		{Path: "data/x.db", BusyTimeout: 1},
	} {
		if base == provisioned(other) {
			t.Errorf("%+v has the key of the default", other)
		}
	}
}
