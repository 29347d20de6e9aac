package otlp_test

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/tollgate-gateway/tollgate/internal/otlp"
	"github.com/tollgate-gateway/tollgate/internal/otlp/otlptest"
)

var service = otlp.Service{Name: "test", Version: "v1"}

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestTraces(t *testing.T) {
	t.Parallel()
	c := otlptest.New(t)
	tracer, err := otlp.NewTracer(otlp.Collector{Endpoint: c.Endpoint, Insecure: true}, service, 0)
	if err != nil {
		t.Fatal(err)
	}
	var traceparent string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { traceparent = r.Header.Get("Traceparent") }))
	defer other.Close()
	client := &http.Client{Transport: tracer.Transport(http.DefaultTransport)}
	serve := func(header string) {
		r := httptest.NewRequest(http.MethodGet, "/users/ann?secret=hunter2", nil)
		r.Header.Set("Traceparent", header)
		r, end := tracer.Serve(r)
		_, ended := tracer.Begin(r.Context(), "db read")
		ended(errors.New("secret hunter2"))
		out, err := http.NewRequestWithContext(r.Context(), http.MethodGet, other.URL+"/x?code=hunter2", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(out)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		end("/users/{id}", 503)
	}
	serve("") // a request without a trace; the share of sampled ones is 0
	if traceparent != "" && !strings.HasSuffix(traceparent, "-00") {
		t.Errorf("the other server got the traceparent %q", traceparent)
	}
	serve(parent)
	_, ended := tracer.Begin(t.Context(), "of nothing")
	ended(nil)
	odd := httptest.NewRequest("hunter2", "/", nil) // a client can send any method
	odd.Header.Set("Traceparent", parent)
	_, end := tracer.Serve(odd)
	end("/users/{id}", 405)
	if err := tracer.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(traceparent, parent[:36]) || traceparent == parent {
		t.Errorf("the other server got the traceparent %q", traceparent)
	}
	spans := c.Spans()
	if len(spans) != 4 || !c.Services()["test"] {
		t.Fatalf("%v of %v", spans, c.Services())
	}
	names := make(map[string]string)
	for _, s := range spans {
		if hex.EncodeToString(s.GetTraceId()) != parent[3:35] {
			t.Errorf("%s is of trace %x", s.GetName(), s.GetTraceId())
		}
		if strings.Contains(s.String(), "hunter2") || strings.Contains(s.String(), "ann") {
			t.Errorf("a secret is in %s", s)
		}
		names[s.GetName()] = hex.EncodeToString(s.GetParentSpanId())
		if s.GetName() == "GET /users/{id}" {
			names["root"] = hex.EncodeToString(s.GetSpanId())
			if s.GetStatus().GetCode().String() != "STATUS_CODE_ERROR" {
				t.Errorf("%s", s)
			}
		}
	}
	if names["GET /users/{id}"] != parent[36:52] || names["HTTP /users/{id}"] != parent[36:52] || names["db read"] != names["root"] || names["GET "+strings.TrimPrefix(other.URL, "http://")] == "" {
		t.Errorf("%v", names)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	c := otlptest.New(t)
	registry := prometheus.NewRegistry()
	counter := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "authserver_x_total", Help: "x"}, []string{"kind"})
	histogram := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "authserver_x_seconds", Help: "x", Buckets: []float64{1, 2}})
	registry.MustRegister(counter, histogram)
	counter.WithLabelValues("a").Add(3)
	histogram.Observe(1.5)
	m, err := otlp.NewMetrics(otlp.Collector{Endpoint: "http://" + c.Endpoint}, service, registry)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	all := c.Metrics()
	points := all["authserver_x_total"].GetSum().GetDataPoints()
	if len(points) != 1 || points[0].GetAsDouble() != 3 || points[0].GetAttributes()[0].GetValue().GetStringValue() != "a" {
		t.Errorf("%v", all)
	}
	if points := all["authserver_x_seconds"].GetHistogram().GetDataPoints(); len(points) != 1 || points[0].GetCount() != 1 || points[0].GetSum() != 1.5 {
		t.Errorf("%v", all)
	}
}

func TestLogs(t *testing.T) {
	t.Parallel()
	c := otlptest.New(t)
	core, err := otlp.NewLogs(otlp.Collector{Endpoint: c.Endpoint, Insecure: true}, service, zapcore.InfoLevel)
	if err != nil {
		t.Fatal(err)
	}
	logger := zap.New(core).Named("authserver").With(zap.String("trace_id", parent[3:35]), zap.String("span_id", parent[36:52]))
	logger.Debug("not this")
	logger.Warn("request failed", zap.Int("status", 503), zap.Duration("took", 1500*time.Millisecond), zap.Error(errors.New("x")), zap.Strings("list", []string{"a"}), zap.Dict("deep", zap.Bool("b", true)))
	zap.New(core).Info("without a trace")
	if err := core.Close(); err != nil {
		t.Fatal(err)
	}
	lines := c.Logs()
	if len(lines) != 2 {
		t.Fatalf("%v", lines)
	}
	first := lines[0]
	text := first.String()
	if first.GetBody().GetStringValue() != "request failed" || first.GetSeverityText() != "warn" || hex.EncodeToString(first.GetTraceId()) != parent[3:35] || hex.EncodeToString(first.GetSpanId()) != parent[36:52] {
		t.Errorf("%s", text)
	}
	got := make(map[string]string)
	for _, a := range first.GetAttributes() {
		got[a.GetKey()] = strings.ReplaceAll(a.GetValue().String(), " ", "")
	}
	for name, want := range map[string]string{"status": "int_value:503", "took": "double_value:1.5", "error": `string_value:"x"`, "logger": `string_value:"authserver"`} {
		if got[name] != want {
			t.Errorf("%s is %s", name, got[name])
		}
	}
	if !strings.Contains(got["deep"], "bool_value:true") || !strings.Contains(got["list"], `string_value:"a"`) || len(lines[1].GetTraceId()) != 0 {
		t.Errorf("%v, %s", got, lines[1])
	}
}

// TestUnreachableCollector checks that an unreachable collector delays nobody and is reported once.
func TestUnreachableCollector(t *testing.T) {
	t.Setenv("OTEL_BSP_EXPORT_TIMEOUT", "500") // ms
	errs := make(chan error, 100)
	otlp.OnError(func(err error) { errs <- err })
	c := httptest.NewServer(nil)
	c.Close()
	tracer, err := otlp.NewTracer(otlp.Collector{Endpoint: c.URL}, service, 1)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	for range 100 {
		r, end := tracer.Serve(httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/", nil))
		_, ended := tracer.Begin(r.Context(), "x")
		ended(nil)
		end("/", 200)
	}
	if took := time.Since(began); took > 20*time.Second { // waiting for the collector takes 50 s
		t.Errorf("the requests took %s", took)
	}
	_ = tracer.Close()
	if len(errs) > 1 {
		t.Errorf("reported %d times", len(errs))
	}
}
