package authserver

import (
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tollgate-gateway/tollgate/backends/authserver/config"
	"github.com/tollgate-gateway/tollgate/backends/authserver/kernel"
	"github.com/tollgate-gateway/tollgate/internal/otlp"
	sender "github.com/tollgate-gateway/tollgate/modules/otlp"
)

// telemetry exports metrics and traces of a node to collectors. Its disabled parts are nil and cost requests nothing.
type telemetry struct {
	tracer *otlp.Tracer
	export *metricsExport // nil if no metrics are exported
}

// metricsExport exports metrics to a collector once the node has started.
type metricsExport struct {
	collector otlp.Collector
	service   otlp.Service

	mu      sync.Mutex
	metrics *otlp.Metrics
}

// provision creates the exports that the settings enable. It sends nothing yet.
func (t *telemetry) provision(keys *config.Config, version string) (kernel.Tracer, error) {
	service := otlp.Service{Name: namespace, Version: version}
	if m := keys.Observability.Metrics; m.Provider == "otel" || m.Provider == "both" {
		sender.LogUnsent()
		t.export = &metricsExport{collector: otlp.Collector{Endpoint: m.OTelEndpoint, Insecure: m.Insecure}, service: service}
	}
	traces := keys.Observability.Tracing
	if !traces.Enabled {
		return nil, nil // requests are not traced
	}
	sender.LogUnsent()
	var err error
	t.tracer, err = otlp.NewTracer(otlp.Collector{Endpoint: traces.Endpoint, Insecure: traces.Insecure}, service,
		traces.SampleRate)
	return t.tracer, err
}

// start starts the export of metrics, once.
func (t *telemetry) start() error {
	p := t.export
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.metrics != nil {
		return nil
	}
	registry := prometheus.NewRegistry() // the registry of a configuration is replaced at each reload
	for _, c := range collectors() {
		if err := registry.Register(c); err != nil {
			return err
		}
	}
	var err error
	p.metrics, err = otlp.NewMetrics(p.collector, p.service, registry)
	return err
}

// close sends the remaining data.
func (t *telemetry) close() error {
	var traces, metrics error
	if t.tracer != nil {
		traces = t.tracer.Close()
	}
	if p := t.export; p != nil {
		p.mu.Lock()
		if p.metrics != nil {
			metrics = p.metrics.Close()
		}
		p.mu.Unlock()
	}
	return errors.Join(traces, metrics)
}
