// Package otlptest provides a collector for tests, which receives OTLP over gRPC.
package otlptest

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	logs "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	metrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	logsv1 "go.opentelemetry.io/proto/otlp/logs/v1"
	metricsv1 "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracesv1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// Collector records the data that it receives.
type Collector struct {
	// Endpoint is the address of the collector.
	Endpoint string

	mu      sync.Mutex // guards the fields below
	spans   []*tracesv1.ResourceSpans
	metrics []*metricsv1.ResourceMetrics
	logs    []*logsv1.ResourceLogs
}

// New starts a collector, which is closed at the end of the test.
func New(tb testing.TB) *Collector {
	tb.Helper()
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	c := &Collector{Endpoint: listener.Addr().String()}
	server := grpc.NewServer()
	traces.RegisterTraceServiceServer(server, traceServer{c: c})
	metrics.RegisterMetricsServiceServer(server, metricsServer{c: c})
	logs.RegisterLogsServiceServer(server, logsServer{c: c})
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	tb.Cleanup(func() {
		server.Stop()
		serving.Wait()
	})
	return c
}

// The three services of a collector. Each appends what it receives to one list of the Collector.
type (
	traceServer struct {
		traces.UnimplementedTraceServiceServer
		c *Collector
	}
	metricsServer struct {
		metrics.UnimplementedMetricsServiceServer
		c *Collector
	}
	logsServer struct {
		logs.UnimplementedLogsServiceServer
		c *Collector
	}
)

// Export implements traces.TraceServiceServer.
func (s traceServer) Export(
	_ context.Context, r *traces.ExportTraceServiceRequest,
) (*traces.ExportTraceServiceResponse, error) {
	record(s.c, &s.c.spans, r.GetResourceSpans())
	return new(traces.ExportTraceServiceResponse), nil
}

// Export implements metrics.MetricsServiceServer.
func (s metricsServer) Export(
	_ context.Context, r *metrics.ExportMetricsServiceRequest,
) (*metrics.ExportMetricsServiceResponse, error) {
	record(s.c, &s.c.metrics, r.GetResourceMetrics())
	return new(metrics.ExportMetricsServiceResponse), nil
}

// Export implements logs.LogsServiceServer.
func (s logsServer) Export(
	_ context.Context, r *logs.ExportLogsServiceRequest,
) (*logs.ExportLogsServiceResponse, error) {
	record(s.c, &s.c.logs, r.GetResourceLogs())
	return new(logs.ExportLogsServiceResponse), nil
}

// record appends received data to a list of the collector.
func record[T any](c *Collector, list *[]T, received []T) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*list = append(*list, received...)
}

// Spans returns the spans that were received.
func (c *Collector) Spans() []*tracesv1.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*tracesv1.Span
	for _, r := range c.spans {
		for _, s := range r.GetScopeSpans() {
			all = append(all, s.GetSpans()...)
		}
	}
	return all
}

// Metrics returns the last value of each metric that was received, by the name of the metric.
func (c *Collector) Metrics() map[string]*metricsv1.Metric {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make(map[string]*metricsv1.Metric)
	for _, r := range c.metrics {
		for _, s := range r.GetScopeMetrics() {
			for _, m := range s.GetMetrics() {
				all[m.GetName()] = m
			}
		}
	}
	return all
}

// Logs returns the log records that were received.
func (c *Collector) Logs() []*logsv1.LogRecord {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*logsv1.LogRecord
	for _, r := range c.logs {
		for _, s := range r.GetScopeLogs() {
			all = append(all, s.GetLogRecords()...)
		}
	}
	return all
}

// Services returns the names of the services that have sent spans.
func (c *Collector) Services() map[string]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make(map[string]bool)
	for _, r := range c.spans {
		for _, a := range r.GetResource().GetAttributes() {
			if a.GetKey() == "service.name" {
				all[a.GetValue().GetStringValue()] = true
			}
		}
	}
	return all
}

// Wait waits until ready returns true, and fails the test after 20 seconds.
func Wait(tb testing.TB, ready func() bool) {
	tb.Helper()
	for end := time.Now().Add(20 * time.Second); !ready(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatal("it has not come")
		}
	}
}
