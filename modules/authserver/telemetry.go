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

// telemetry is what a node sends to collectors. What is off is nil, and costs a request
// nothing.
type telemetry struct {
	tracer  *otlp.Tracer
	pushing *pushing // nil: no metrics are sent
}

// pushing is metrics that are sent from the start of the node on.
type pushing struct {
	to      otlp.Collector
	service otlp.Service

	mu      sync.Mutex
	metrics *otlp.Metrics
}

// provision makes what the keys ask for. Nothing is sent yet.
func (t *telemetry) provision(keys *config.Config, version string) (kernel.Tracer, error) {
	service := otlp.Service{Name: namespace, Version: version}
	if m := keys.Observability.Metrics; m.Provider == "otel" || m.Provider == "both" {
		sender.TellUnsent()
		t.pushing = &pushing{to: otlp.Collector{Endpoint: m.OTelEndpoint, Insecure: m.Insecure}, service: service}
	}
	traces := keys.Observability.Tracing
	if !traces.Enabled {
		return nil, nil //nolint:nilnil // nobody follows
	}
	sender.TellUnsent()
	var err error
	t.tracer, err = otlp.NewTracer(otlp.Collector{Endpoint: traces.Endpoint, Insecure: traces.Insecure}, service, traces.SampleRate)
	return t.tracer, err
}

// start begins to send metrics, once.
func (t *telemetry) start() error {
	p := t.pushing
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.metrics != nil {
		return nil
	}
	own := prometheus.NewRegistry() // of a configuration there is another one after each reload
	for _, c := range collectors() {
		if err := own.Register(c); err != nil {
			return err
		}
	}
	var err error
	p.metrics, err = otlp.NewMetrics(p.to, p.service, own)
	return err
}

// close sends the rest.
func (t *telemetry) close() error {
	var traces, metrics error
	if t.tracer != nil {
		traces = t.tracer.Close()
	}
	if p := t.pushing; p != nil {
		p.mu.Lock()
		if p.metrics != nil {
			metrics = p.metrics.Close()
		}
		p.mu.Unlock()
	}
	return errors.Join(traces, metrics)
}
