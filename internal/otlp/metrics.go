package otlp

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/sdk/metric"
)

// Metrics sends the metrics of a registry once a minute, and a last time when Close is called.
type Metrics struct{ provider *metric.MeterProvider }

// NewMetrics begins to send the metrics of a registry, under the same names.
func NewMetrics(c Collector, s Service, registry prometheus.Gatherer) (*Metrics, error) {
	exporter, err := otlpmetricgrpc.New(context.Background(),
		apply(c, otlpmetricgrpc.WithEndpointURL, otlpmetricgrpc.WithEndpoint, otlpmetricgrpc.WithInsecure)...)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	reader := metric.NewPeriodicReader(exporter,
		metric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(registry))))
	return &Metrics{metric.NewMeterProvider(metric.WithReader(reader), metric.WithResource(s.resource()))}, nil
}

// Close sends the last state.
func (m *Metrics) Close() error { return end(m.provider) }
