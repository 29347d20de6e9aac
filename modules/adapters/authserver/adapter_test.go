package authserver_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	_ "github.com/caddyserver/caddy/v2/modules/standard"
	"github.com/tidwall/gjson"

	_ "github.com/tollgate-gateway/tollgate/modules"
)

// adapt writes a text to a file and adapts it to a configuration.
func adapt(t *testing.T, text string) (gjson.Result, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "keys.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	adapted, warnings, err := caddyconfig.GetAdapter("authserver").Adapt([]byte(text), map[string]any{"filename": file})
	if err != nil {
		return gjson.Result{}, err
	}
	if len(warnings) > 0 {
		t.Errorf("warnings: %v", warnings)
	}
	var parsed caddy.Config
	if err := json.Unmarshal(adapted, &parsed); err != nil {
		t.Fatal(err)
	}
	if err := caddy.Validate(&parsed); err != nil {
		t.Fatalf("%v\n%s", err, adapted)
	}
	return gjson.ParseBytes(adapted), nil
}

// The tests are not parallel, since validating a configuration sets the logger of the process.

// TestAdapt checks that the keys of the listeners, their time limits and the logs become the corresponding options of
// Caddy, and that the result is a valid configuration.
func TestAdapt(t *testing.T) {
	t.Setenv("TEST_COUNTERS", "redis://127.0.0.1:6379/0")
	t.Setenv("OTEL_BLRP_EXPORT_TIMEOUT", "10") // ms; there is no collector to wait for
	const servers, log = "apps.http.servers.", "logging.logs.default."
	for name, test := range map[string]struct {
		text string
		want map[string]string // by the path in the JSON; an empty text means that the path is absent
	}{
		"nothing": {"", map[string]string{
			"apps.http.grace_period": "10000000000", servers + "srv0.listen": `[":9000"]`, servers + "srv1.listen": `["localhost:9001"]`, servers + "srv0.protocols": `["h1"]`,
			servers + "srv0.read_timeout": "30000000000", servers + "srv0.read_header_timeout": "30000000000", servers + "srv0.write_timeout": "30000000000",
			servers + "srv1.idle_timeout": "120000000000", log + "level": "INFO", log + "encoder.format": "json", log + "writer.output": "stdout", log + "with_caller": "",
			"apps.tollgate.databases.authserver.engine": "authserver_config", "apps.tollgate.database": "",
			servers + "srv0.automatic_https": "", "apps.tls": "",
		}},
		"all": {`
server: {address: "127.0.0.1:8000", read_timeout: 1s, write_timeout: 2s, idle_timeout: 3s, shutdown_wait: 4s}
admin: {address: ":8001", api_key: a key}
observability: {logging: {level: debug, format: text, add_source: true, outputs: {stdout: false}}}
`, map[string]string{
			"apps.http.grace_period": "4000000000", servers + "srv0.listen": `["127.0.0.1:8000"]`, servers + "srv1.listen": `[":8001"]`,
			servers + "srv0.read_timeout": "1000000000", servers + "srv1.write_timeout": "2000000000", servers + "srv1.idle_timeout": "3000000000",
			log + "level": "DEBUG", log + "encoder.format": "console", log + "writer.output": "discard", log + "with_caller": "true",
		}},
		"logs to a collector": {"observability: {logging: {level: warn, outputs: {otel: true, otel_endpoint: 'collector:4317', insecure: true}}}", map[string]string{
			log + "core.module": "otlp", log + "core.endpoint": "collector:4317", log + "core.insecure": "true", log + "core.level": "WARN", log + "core.service": "authserver", log + "writer.output": "stdout",
		}},
		"logs to a collector, with TLS": {"observability: {logging: {outputs: {otel: true, otel_endpoint: 'https://collector:4317'}}}", map[string]string{log + "core.endpoint": "https://collector:4317", log + "core.insecure": ""}},
		"counters": {"counters: {redis_env: TEST_COUNTERS}", map[string]string{
			"apps.tollgate.counters.store": "redis", "apps.tollgate.counters.url": "{env.TEST_COUNTERS}",
		}},
		"an address of IPv6":   {`server: {address: "[::1]:8000"}`, map[string]string{servers + "srv0.listen": `["[::1]:8000"]`}},
		"no administration":    {"admin: {enabled: false}", map[string]string{servers + "srv1": "", servers + "srv0.listen": `[":9000"]`}},
		"administration apart": {`admin: {address: "10.0.0.1:9001"}`, map[string]string{servers + "srv0.listen": `["10.0.0.1:9001"]`}},
	} {
		t.Run(name, func(t *testing.T) {
			adapted, err := adapt(t, test.text)
			if err != nil {
				t.Fatal(err)
			}
			for path, want := range test.want {
				if got := adapted.Get(path); got.String() != want {
					t.Errorf("%s is %s, want %s", path, got.Raw, want)
				}
			}
		})
	}
}

// TestAdaptSecrets checks that no secret of the file is in the configuration, which Caddy stores.
func TestAdaptSecrets(t *testing.T) {
	adapted, err := adapt(t, `
server: {issuer: "https://as.example"}
storage: {driver: postgres, postgres: {dsn: "postgres://as:hunter2@localhost/as"}}
session: {secret: hunter2}
admin: {api_key: hunter2}
client_secret_pepper: hunter2
`)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(adapted.Raw, "hunter2") {
		t.Errorf("a secret is in\n%s", adapted.Raw)
	}
}

// TestAdaptRefuses checks that a text without a file name is refused, and that all faults of a file are reported.
func TestAdaptRefuses(t *testing.T) {
	if _, _, err := caddyconfig.GetAdapter("authserver").Adapt(nil, nil); err == nil || !strings.Contains(err.Error(), "cannot be read from standard input") {
		t.Errorf("without a name: %v", err)
	}
	_, err := adapt(t, "dcr: {mode: closed}\nwhat: 1\n")
	if err == nil || !strings.HasSuffix(err.Error(), "dcr.mode (AUTHSERVER_DCR_MODE): \"closed\" is not one of: open, approved_redirects, admin_only (line 1)\nwhat: there is no such key (line 2)") {
		t.Errorf("faults: %v", err)
	}
}

// TestAdaptQuotes checks that a file may have any name.
func TestAdaptQuotes(t *testing.T) {
	file := filepath.Join(t.TempDir(), `a "b" {c} \d.yaml`)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	adapted, _, err := caddyconfig.GetAdapter("authserver").Adapt(nil, map[string]any{"filename": file})
	if err != nil {
		t.Fatal(err)
	}
	if got := gjson.GetBytes(adapted, "apps.tollgate.databases.authserver.config").String(); got != file {
		t.Errorf("the file is %q, want %q", got, file)
	}
}
