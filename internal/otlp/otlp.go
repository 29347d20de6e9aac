// Package otlp sends traces, metrics and logs to a collector by OTLP over gRPC. The programs that use this package
// choose what to send. Until they do, the package runs no goroutine.
//
// The environment variables of OpenTelemetry apply in addition to the options: OTEL_SERVICE_NAME,
// OTEL_EXPORTER_OTLP_HEADERS, OTEL_EXPORTER_OTLP_CERTIFICATE, OTEL_METRIC_EXPORT_INTERVAL and similar ones.
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

// Collector is the address of a collector.
type Collector struct {
	// Endpoint is a host with a port, or an http or https URL.
	Endpoint string
	// Insecure sends without TLS.
	Insecure bool
}

// Service identifies the sender.
type Service struct{ Name, Version string }

// closeTime limits the time for sending the buffered data at the end.
const closeTime = 5 * time.Second

// resource describes the service. The environment variables of OpenTelemetry override it.
func (s Service) resource() *resource.Resource {
	// Attributes that cannot be determined are left out.
	r, _ := resource.New(context.Background(),
		resource.WithAttributes(attribute.String("service.name", s.Name), attribute.String("service.version", s.Version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	return r
}

// isURL reports whether an endpoint has a scheme.
func (c Collector) isURL() bool { return strings.Contains(c.Endpoint, "://") }

// apply returns the options of an exporter for a collector. The function url makes the option for an endpoint with a
// scheme, host makes the option for an endpoint without a scheme, and insecure makes the option to send without TLS.
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

// ender is a provider of OpenTelemetry, whose Shutdown sends the buffered data.
type ender interface {
	Shutdown(ctx context.Context) error
}

// end shuts e down, which sends the buffered data within closeTime.
func end(e ender) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	return e.Shutdown(ctx)
}

// logEvery is how often a failure to send is reported.
const logEvery = time.Minute

// OnError sets the function that is called when data cannot be sent, at most once a minute. There is one such function
// for the process: a later call replaces it.
func OnError(report func(err error)) {
	var mu sync.Mutex
	var last time.Time
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		mu.Lock()
		due := time.Since(last) >= logEvery
		if due {
			last = time.Now()
		}
		mu.Unlock()
		if due {
			report(err)
		}
	}))
}
