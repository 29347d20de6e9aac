package keys

import (
	"strconv"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/otlp/otlptest"
)

// lines reports whether the log has a text.
func lines(text string) func(t *testing.T, s settings) string {
	return func(t *testing.T, s settings) string {
		t.Helper()
		n := run(t, s)
		n.Stop()
		return strconv.FormatBool(strings.Contains(n.Logs.String()+n.Out.String(), text))
	}
}

// quick has what is sent to a collector be sent at once.
var quick = []string{"OTEL_BSP_SCHEDULE_DELAY=10", "OTEL_METRIC_EXPORT_INTERVAL=10", "OTEL_BLRP_SCHEDULE_DELAY=10"}

// sent reports whether something comes to a collector, whose address is in the place of
// COLLECTOR.
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

// flipsOfTelemetry are of what the server tells of itself.
var flipsOfTelemetry = map[string]flip{
	"observability.logging.add_source": {other: "true", want: [2]string{"false", "true"}, see: lines(`"caller":"`)},
	"observability.logging.format":     {other: "text", want: [2]string{"true", "false"}, see: lines(`"level":"info"`)},
	"observability.logging.level":      {other: "error", want: [2]string{"true", "false"}, see: lines(`"level":"info","ts":`)},
	"observability.logging.outputs.stdout": {other: "false", want: [2]string{"true", "false"}, see: func(t *testing.T, s settings) string {
		n := run(t, s)
		n.Stop()
		return strconv.FormatBool(strings.Contains(n.Out.String(), `"level":"info"`))
	}},
	"observability.logging.outputs.otel": {
		other: "true", with: settings{"observability.logging.outputs.otel_endpoint": "COLLECTOR", "observability.logging.outputs.insecure": "true"}, want: [2]string{"false", "true"}, see: sent(hasLogs),
	},
	"observability.logging.outputs.otel_endpoint": {
		first: nowhere, other: "COLLECTOR", with: settings{"observability.logging.outputs.otel": "true", "observability.logging.outputs.insecure": "true"}, want: [2]string{"false", "true"}, see: sent(hasLogs),
	},
	"observability.logging.outputs.insecure": {
		other: "true", with: settings{"observability.logging.outputs.otel": "true", "observability.logging.outputs.otel_endpoint": "COLLECTOR"}, want: [2]string{"false", "true"}, see: sent(hasLogs),
	},
	"observability.metrics.path": {other: "/own", want: [2]string{"404", "200"}, see: func(t *testing.T, s settings) string {
		n := run(t, s)
		return strconv.Itoa(n.get(n.adminPort, "/own").Status)
	}},
	"observability.metrics.provider": {other: "none", want: [2]string{"200", "404"}, see: func(t *testing.T, s settings) string {
		n := run(t, s)
		return strconv.Itoa(n.get(n.adminPort, "/metrics").Status)
	}},
	"observability.metrics.otel_endpoint": {
		first: nowhere, other: "COLLECTOR", with: settings{"observability.metrics.provider": "otel", "observability.metrics.insecure": "true"}, want: [2]string{"false", "true"}, see: sent(hasMetrics),
	},
	"observability.metrics.insecure": {
		other: "true", with: settings{"observability.metrics.provider": "otel", "observability.metrics.otel_endpoint": "COLLECTOR"}, want: [2]string{"false", "true"}, see: sent(hasMetrics),
	},
	"observability.tracing.enabled": {
		other: "true", with: settings{"observability.tracing.endpoint": "COLLECTOR", "observability.tracing.insecure": "true"}, want: [2]string{"false", "true"}, see: sent(hasSpans),
	},
	"observability.tracing.endpoint": {
		first: nowhere, other: "COLLECTOR", with: settings{"observability.tracing.enabled": "true", "observability.tracing.insecure": "true"}, want: [2]string{"false", "true"}, see: sent(hasSpans),
	},
	"observability.tracing.insecure": {
		other: "true", with: settings{"observability.tracing.enabled": "true", "observability.tracing.endpoint": "COLLECTOR"}, want: [2]string{"false", "true"}, see: sent(hasSpans),
	},
	"observability.tracing.sample_rate": {
		first: "0", other: "1", with: settings{"observability.tracing.enabled": "true", "observability.tracing.endpoint": "COLLECTOR", "observability.tracing.insecure": "true"}, want: [2]string{"false", "true"}, see: sent(hasSpans),
	},
}
