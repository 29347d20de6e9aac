package keys

import (
	"strconv"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/otlp/otlptest"
)

// lines reports whether the log contains a text.
func lines(text string) func(t *testing.T, s settings) string {
	return func(t *testing.T, s settings) string {
		t.Helper()
		n := run(t, s)
		n.Stop()
		return strconv.FormatBool(strings.Contains(n.Logs.String()+n.Out.String(), text))
	}
}

// quick makes the server send to a collector at once.
var quick = []string{"OTEL_BSP_SCHEDULE_DELAY=10", "OTEL_METRIC_EXPORT_INTERVAL=10", "OTEL_BLRP_SCHEDULE_DELAY=10"}

// sent reports whether a collector receives data. Its address replaces COLLECTOR in the settings.
func sent(has func(c *otlptest.Collector) bool) func(t *testing.T, s settings) string {
	return func(t *testing.T, s settings) string {
		t.Helper()
		c := otlptest.New(t)
		all := make(settings)
		for key, value := range s {
			all[key] = strings.ReplaceAll(value, "COLLECTOR", c.Endpoint)
		}
		n := run(t, all, quick...)
		return within(func() bool {
			n.get(n.publicPort, "/.well-known/jwks.json")
			return has(c)
		})
	}
}

func hasLogs(c *otlptest.Collector) bool    { return len(c.Logs()) > 0 }
func hasMetrics(c *otlptest.Collector) bool { return len(c.Metrics()) > 0 }
func hasSpans(c *otlptest.Collector) bool   { return len(c.Spans()) > 0 }

const nowhere = "127.0.0.1:1"

// flipsOfTelemetry has the settings for logs, metrics and traces.
var flipsOfTelemetry = map[string]flip{
	"observability.logging.add_source": {Other: "true", Want: [2]string{"false", "true"}, See: lines(`"caller":"`)},
	"observability.logging.format":     {Other: "text", Want: [2]string{"true", "false"}, See: lines(`"level":"info"`)},
	"observability.logging.level":      {Other: "error", Want: [2]string{"true", "false"}, See: lines(`"level":"info","ts":`)},
	"observability.logging.outputs.stdout": {Other: "false", Want: [2]string{"true", "false"}, See: func(t *testing.T, s settings) string {
		n := run(t, s)
		n.Stop()
		return strconv.FormatBool(strings.Contains(n.Out.String(), `"level":"info"`))
	}},
	"observability.logging.outputs.otel": {
		Other: "true", With: settings{"observability.logging.outputs.otel_endpoint": "COLLECTOR", "observability.logging.outputs.insecure": "true"}, Want: [2]string{"false", "true"}, See: sent(hasLogs),
	},
	"observability.logging.outputs.otel_endpoint": {
		First: nowhere, Other: "COLLECTOR", With: settings{"observability.logging.outputs.otel": "true", "observability.logging.outputs.insecure": "true"}, Want: [2]string{"false", "true"}, See: sent(hasLogs),
	},
	"observability.logging.outputs.insecure": {
		Other: "true", With: settings{"observability.logging.outputs.otel": "true", "observability.logging.outputs.otel_endpoint": "COLLECTOR"}, Want: [2]string{"false", "true"}, See: sent(hasLogs),
	},
	"observability.metrics.path": {Other: "/own", Want: [2]string{"404", "200"}, See: func(t *testing.T, s settings) string {
		n := run(t, s)
		return strconv.Itoa(n.get(n.adminPort, "/own").Status)
	}},
	"observability.metrics.provider": {Other: "none", Want: [2]string{"200", "404"}, See: func(t *testing.T, s settings) string {
		n := run(t, s)
		return strconv.Itoa(n.get(n.adminPort, "/metrics").Status)
	}},
	"observability.metrics.otel_endpoint": {
		First: nowhere, Other: "COLLECTOR", With: settings{"observability.metrics.provider": "otel", "observability.metrics.insecure": "true"}, Want: [2]string{"false", "true"}, See: sent(hasMetrics),
	},
	"observability.metrics.insecure": {
		Other: "true", With: settings{"observability.metrics.provider": "otel", "observability.metrics.otel_endpoint": "COLLECTOR"}, Want: [2]string{"false", "true"}, See: sent(hasMetrics),
	},
	"observability.tracing.enabled": {
		Other: "true", With: settings{"observability.tracing.endpoint": "COLLECTOR", "observability.tracing.insecure": "true"}, Want: [2]string{"false", "true"}, See: sent(hasSpans),
	},
	"observability.tracing.endpoint": {
		First: nowhere, Other: "COLLECTOR", With: settings{"observability.tracing.enabled": "true", "observability.tracing.insecure": "true"}, Want: [2]string{"false", "true"}, See: sent(hasSpans),
	},
	"observability.tracing.insecure": {
		Other: "true", With: settings{"observability.tracing.enabled": "true", "observability.tracing.endpoint": "COLLECTOR"}, Want: [2]string{"false", "true"}, See: sent(hasSpans),
	},
	"observability.tracing.sample_rate": {
		First: "0", Other: "1", With: settings{"observability.tracing.enabled": "true", "observability.tracing.endpoint": "COLLECTOR", "observability.tracing.insecure": "true"}, Want: [2]string{"false", "true"}, See: sent(hasSpans),
	},
}
