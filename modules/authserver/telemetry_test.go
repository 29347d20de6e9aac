package authserver

import (
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	_ "github.com/caddyserver/caddy/v2/modules/standard"
	tracesv1 "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/tollgate-gateway/tollgate/internal/otlp/otlptest"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
	"github.com/tollgate-gateway/tollgate/internal/transit/transittest"
	_ "github.com/tollgate-gateway/tollgate/modules/counters/memory"
)

// serve runs a server with configuration keys in this process, and returns its address. A process has only one Caddy,
// so that these tests are not parallel.
func serve(t *testing.T, keys string) string {
	t.Helper()
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "10") // ms
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "10")
	folder := t.TempDir()
	address := "127.0.0.1:" + testenv.FreePort(t)
	for name, text := range map[string]string{
		"keys.yaml": strings.ReplaceAll(keys, "FOLDER", folder),
		"Caddyfile": "{\n\tadmin off\n\tskip_install_trust\n\torder authserver before respond\n\ttollgate {\n\t\tdatabase sqlite " + filepath.Join(folder, "x.db") + "\n\t}\n\tlog {\n\t\toutput discard\n\t}\n}\nhttp://" + address +
			" {\n\thandle /admin* {\n\t\tauthserver {\n\t\t\tconfig keys.yaml\n\t\t\tlistener admin\n\t\t}\n\t}\n\thandle /metrics {\n\t\tauthserver {\n\t\t\tconfig keys.yaml\n\t\t\tlistener admin\n\t\t}\n\t}\n\tauthserver {\n\t\tconfig keys.yaml\n\t}\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(folder, "Caddyfile")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	adapted, _, err := caddyconfig.GetAdapter("caddyfile").Adapt(text, map[string]any{"filename": file})
	if err != nil {
		t.Fatal(err)
	}
	if err := caddy.Load(adapted, true); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = caddy.Stop() })
	for end := time.Now().Add(2 * time.Minute); ; {
		if status, _ := fetch(t, address, "/ready", ""); status == http.StatusOK {
			return address
		} else if time.Now().After(end) {
			t.Fatalf("it is not ready: %d", status)
		}
	}
}

// TestAdminOff checks that with admin.enabled off, which needs no admin.api_key, the administration is not available
// even if a Caddyfile has its listener.
func TestAdminOff(t *testing.T) { // not parallel: see serve
	const keys = "server: {issuer: 'https://as.example'}\nsession: {secret: 0123456789abcdef0123456789abcdef}\nsigning: {key_path: FOLDER/keys}\n"
	for admin, want := range map[string]bool{"{enabled: false}": false, "{api_key: 0123456789abcdef0123456789abcdef}": true} {
		address := serve(t, keys+"admin: "+admin+"\n")
		for path, part := range map[string]string{"/admin/stats": `"status":401`, "/metrics": "authserver_", "/admin/ui/": "<html"} {
			if status, body := fetch(t, address, path, ""); strings.Contains(body, part) != want || !want && body != "" {
				t.Errorf("%s: %s: %d %q", admin, path, status, body)
			}
		}
	}
}

// fetch requests a path, within a trace if parent is set.
func fetch(t *testing.T, address, path, parent string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if parent != "" {
		r.Header.Set("Traceparent", parent)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// TestTelemetry checks that traces and metrics are sent to a collector, without the contents of requests.
func TestTelemetry(t *testing.T) { // not parallel: see serve
	collector, kms := otlptest.New(t), transittest.New(t)
	metrics := "{provider: both, otel_endpoint: '" + collector.Endpoint + "', insecure: true}"
	address := serve(t, "signing: {key_store: kms_transit, kms_transit: {address: '"+kms.URL+"', token: "+transittest.Root+"}}\nobservability: {metrics: "+metrics+", tracing: {enabled: true, endpoint: '"+collector.Endpoint+"', insecure: true, sample_rate: 0}}\n")
	fetch(t, address, "/oauth/authorize?client_id=hunter2", parent)
	fetch(t, address, "/oauth/authorize?client_id=hunter2", "")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/admin/keys/rotate", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Traceparent", parent)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if _ = response.Body.Close(); response.StatusCode != http.StatusOK {
		t.Errorf("%d", response.StatusCode)
	}
	if status, text := fetch(t, address, "/metrics", ""); status != http.StatusOK || !strings.Contains(text, "authserver_http_requests_total") {
		t.Errorf("%d %s", status, text)
	}
	otlptest.Wait(t, func() bool {
		return collector.Metrics()["authserver_http_requests_total"] != nil && slices.ContainsFunc(collector.Spans(), func(s *tracesv1.Span) bool { return s.GetName() == "POST /admin/keys/rotate" })
	})
	names := make(map[string]int)
	for _, s := range collector.Spans() {
		names[s.GetName()]++
		if hex.EncodeToString(s.GetTraceId()) != parent[3:35] || strings.Contains(s.String(), "hunter2") || strings.Contains(s.String(), transittest.Root) {
			t.Errorf("%s", s)
		}
	}
	if names["GET /oauth/authorize"] != 1 || names["db read"] == 0 || names["POST "+strings.TrimPrefix(kms.URL, "http://")] == 0 || !collector.Services()["authserver"] {
		t.Errorf("%v of %v", names, collector.Services())
	}
	all := collector.Metrics()
	for _, name := range []string{"authserver_http_requests_total", "authserver_db_operation_duration_seconds", "authserver_kms_operation_duration_seconds", "authserver_lockout_tracked"} {
		if all[name] == nil {
			t.Errorf("%s is not sent", name)
		}
	}
}

// TestNoTelemetry checks that nothing is sent or can be scraped if the keys disable it.
func TestNoTelemetry(t *testing.T) { // not parallel: see serve
	collector := otlptest.New(t)
	address := serve(t, "signing: {key_path: FOLDER/keys}\nobservability: {metrics: {provider: otel, otel_endpoint: '"+collector.Endpoint+"', insecure: true}, tracing: {enabled: false, endpoint: '"+collector.Endpoint+"', insecure: true}}\n")
	fetch(t, address, "/oauth/authorize?client_id=x", parent)
	if _, text := fetch(t, address, "/metrics", ""); strings.Contains(text, "authserver_") {
		t.Error("the metrics are scraped")
	}
	otlptest.Wait(t, func() bool { return len(collector.Metrics()) > 0 })
	if spans := collector.Spans(); len(spans) != 0 {
		t.Errorf("%v", spans)
	}
}
