package otlp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/otlp/otlptest"
)

func TestUnmarshalCaddyfile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		input string
		want  string // JSON, or part of the error when it begins with "!"
	}{
		"short":     {"otlp collector:4317", `{"endpoint":"collector:4317"}`},
		"all":       {"otlp {env.C} {\ninsecure\nlevel WARN\nservice x\n}", `{"endpoint":"{env.C}","insecure":true,"level":"WARN","service":"x"}`},
		"nothing":   {"otlp", "!wrong argument count"},
		"two":       {"otlp a b", "!wrong argument count"},
		"unknown":   {"otlp a {\ntls\n}", `!unknown option "tls"`},
		"twice":     {"otlp a {\nlevel INFO\nlevel WARN\n}", "!level is given twice"},
		"insecure":  {"otlp a {\ninsecure yes\n}", "!wrong argument count"},
		"insecure2": {"otlp a {\ninsecure\ninsecure\n}", "!insecure is given twice"},
		"no level":  {"otlp a {\nlevel\n}", "!wrong argument count"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := caddyfile.NewTestDispenser(test.input)
			d.Next()
			got, err := caddyfile.UnmarshalModule(d, "caddy.logging.cores.otlp")
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

// TestCore checks that entries of at least the configured level have been sent once the log is closed.
func TestCore(t *testing.T) {
	t.Parallel()
	collector := otlptest.New(t)
	newCore := func() *Core {
		c := &Core{Endpoint: collector.Endpoint, Insecure: true, Level: "WARN"}
		if err := c.Provision(caddy.Context{}); err != nil {
			t.Fatal(err)
		}
		return c
	}
	first, second := newCore(), newCore()
	zap.New(first).Info("not this")
	zap.New(first).Warn("one")
	if err := first.Cleanup(); err != nil {
		t.Fatal(err)
	}
	zap.New(second).With(zap.String("a", "b")).Error("two")
	if err := second.Cleanup(); err != nil {
		t.Fatal(err)
	}
	if lines := collector.Logs(); len(lines) != 2 || lines[0].GetBody().GetStringValue() != "one" || lines[1].GetBody().GetStringValue() != "two" {
		t.Errorf("%v", lines)
	}
	for name, bad := range map[string]*Core{"endpoint": {}, "level": {Endpoint: "x:1", Level: "LOUD"}, "TOLLGATE_TEST_UNSET": {Endpoint: "{env.TOLLGATE_TEST_UNSET}"}} {
		if err := bad.Provision(caddy.Context{}); err == nil || !strings.Contains(err.Error(), name) || bad.Cleanup() != nil {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
