package postgres

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

const secret = "hunter2"

func TestUnmarshalCaddyfile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		input string
		want  string // JSON, or part of the error when it begins with "!"
	}{
		"dsn only":    {"postgres {env.DSN}", `{"dsn":"{env.DSN}"}`},
		"url":         {"postgres postgres://me@host/db", `{"dsn":"postgres://me@host/db"}`},
		"words":       {`postgres "host=h user=me"`, `{"dsn":"host=h user=me"}`},
		"empty block": {"postgres {env.DSN} {\n}", `{"dsn":"{env.DSN}"}`},
		"max conns":   {"postgres {env.DSN} {\nmax_conns 4\n}", `{"dsn":"{env.DSN}","max_conns":4}`},
		"no dsn":      {"postgres", "!one argument"},
		"block only":  {"postgres {\nmax_conns 4\n}", "!one argument"},
		"two":         {"postgres host=h password=" + secret, "!one argument"},
		"unknown":     {"postgres {env.DSN} {\nmin_conns 4\n}", `!unknown option "min_conns"; there is: max_conns`},
		"nested":      {"postgres {env.DSN} {\nmax_conns 4 {\nx\n}\n}", "!takes no block"},
		"repeated":    {"postgres {env.DSN} {\nmax_conns 4\nmax_conns 5\n}", "!max_conns is given twice"},
		"none":        {"postgres {env.DSN} {\nmax_conns\n}", "!wrong argument count"},
		"two numbers": {"postgres {env.DSN} {\nmax_conns 4 5\n}", "!wrong argument count"},
		"zero":        {"postgres {env.DSN} {\nmax_conns 0\n}", "!max_conns:"},
		"word":        {"postgres {env.DSN} {\nmax_conns many\n}", "!max_conns:"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := caddyfile.NewTestDispenser(test.input)
			d.Next() // at the name of the module, as host modules pass it on
			got, err := caddyfile.UnmarshalModule(d, "tollgate.storage.postgres")
			if want, ok := strings.CutPrefix(test.want, "!"); ok {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Fatalf("error is %v, want %q", err, want)
				}
				if strings.Contains(err.Error(), secret) {
					t.Fatalf("%v repeats the secret", err)
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

func TestProvision(t *testing.T) {
	t.Setenv("TOLLGATE_TEST_DSN", "postgres://me:"+secret+"@localhost/db")
	t.Setenv("TOLLGATE_TEST_BROKEN", "postgres://me:"+secret+"@[::1/db")
	file := filepath.Join(t.TempDir(), "dsn")
	if err := os.WriteFile(file, []byte("host=localhost password="+secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		module Postgres
		want   string // part of the error; "": none
	}{
		"environment": {Postgres{DSN: "{env.TOLLGATE_TEST_DSN}"}, ""},
		"file":        {Postgres{DSN: "{file." + file + "}", MaxConns: 1000}, ""},
		"no dsn":      {Postgres{}, "dsn is required"},
		"unset":       {Postgres{DSN: "{env.TOLLGATE_TEST_UNSET}"}, "dsn: "},
		"unknown":     {Postgres{DSN: "{no.such}"}, "dsn: "},
		"broken":      {Postgres{DSN: "{env.TOLLGATE_TEST_BROKEN}"}, "dsn"},
		"few conns":   {Postgres{DSN: "host=h", MaxConns: -1}, "max conns"},
		"many conns":  {Postgres{DSN: "host=h", MaxConns: 1001}, "max conns"},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.module.Provision(caddy.Context{})
			if err == nil {
				err = test.module.Validate()
			}
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Fatalf("error is %v, want %q", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Fatalf("%v repeats the secret", err)
			}
		})
	}
}

func TestOpen(t *testing.T) {
	t.Setenv("TOLLGATE_TEST_DSN", testenv.Postgres(t).DSN())
	p := &Postgres{DSN: "{env.TOLLGATE_TEST_DSN}"}
	if err := p.Provision(caddy.Context{}); err != nil {
		t.Fatal(err)
	}
	db, err := p.Open(zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if db.Dialect() != store.Postgres {
		t.Errorf("dialect is %v", db.Dialect())
	}
	testenv.Open(t, db)
}

func TestKey(t *testing.T) {
	t.Parallel()
	provisioned := func(p Postgres) any {
		t.Helper()
		if err := p.Provision(caddy.Context{}); err != nil {
			t.Fatal(err)
		}
		return p.Key()
	}
	base := provisioned(Postgres{DSN: "host=h password=" + secret})
	if base != provisioned(Postgres{DSN: "host=h password=" + secret}) {
		t.Error("the same settings have two keys")
	}
	for _, other := range []Postgres{{DSN: "host=h password=other"}, {DSN: "host=h password=" + secret, MaxConns: 4}} {
		if base == provisioned(other) {
			t.Error("other settings have the same key")
		}
	}
	if strings.Contains(fmt.Sprintf("%+v", base), secret) {
		t.Error("the key shows the secret")
	}
}
