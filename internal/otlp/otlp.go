// Package otlp sends traces, metrics and logs to a collector, by OTLP over gRPC. What it
// sends is made by its users; nothing is sent, and nothing runs, until one of them begins.
//
// The variables of OpenTelemetry count beside what is given here: OTEL_SERVICE_NAME,
// OTEL_EXPORTER_OTLP_HEADERS, OTEL_EXPORTER_OTLP_CERTIFICATE, OTEL_METRIC_EXPORT_INTERVAL
// and others of their kind.
package otlp

import (
	"context"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
)

// Collector is where to send to.
type Collector struct {
	// Endpoint is a host with a port, or an http or https URL.
	Endpoint string
	// Insecure sends without TLS.
	Insecure bool
}

// Service is who sends.
type Service struct{ Name, Version string }

// closeTime is how long what was gathered may take to be sent at the end.
const closeTime = 5 * time.Second

// resource describes the service; the environment has the last word.
func (s Service) resource() *resource.Resource {
	// What cannot be found out is left out.
	r, _ := resource.New(context.Background(),
		resource.WithAttributes(attribute.String("service.name", s.Name), attribute.String("service.version", s.Version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	return r
}

// isURL reports whether an endpoint has a scheme.
func (c Collector) isURL() bool { return strings.Contains(c.Endpoint, "://") }

// apply chooses the options of an exporter for a collector.
func apply[T any](c Collector, url, host func(string) T, insecure func() T) []T {
	var all []T
	if c.isURL() {
		all = append(all, url(c.Endpoint))
	} else {
		all = append(all, host(c.Endpoint))
	}
	if c.Insecure {
		all = append(all, insecure())
	}
	return all
}

// ender is what has to be flushed and ended.
type ender interface {
	Shutdown(ctx context.Context) error
}

// end sends what was gathered, for some seconds.
func end(e ender) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	return e.Shutdown(ctx)
}

// sayEvery is how often a collector that does not take what is sent is told of.
const sayEvery = time.Minute

// OnError has tell called when something cannot be sent, once a minute at most: for the
// process, and the last one counts.
func OnError(tell func(err error)) {
	var mu sync.Mutex
	var said time.Time
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		mu.Lock()
		due := time.Since(said) >= sayEvery
		if due {
			said = time.Now()
		}
		mu.Unlock()
		if due {
			tell(err)
		}
	}))
}
