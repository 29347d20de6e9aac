package otlp

import (
	"context"
	"fmt"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/propagation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Tracer sends spans: one for each request that is served, and further spans for parts of a request.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// w3c handles the header traceparent (W3C Trace Context).
var w3c = propagation.TraceContext{}

// NewTracer returns a tracer. fraction, from 0 to 1, is the fraction of requests that are traced. It applies to
// requests without a trace; for a request of an existing trace the sampling decision of that trace applies. The tracer
// connects to the collector in the background.
func NewTracer(c Collector, s Service, fraction float64) (*Tracer, error) {
	exporter, err := otlptracegrpc.New(context.Background(),
		apply(c, otlptracegrpc.WithEndpointURL, otlptracegrpc.WithEndpoint, otlptracegrpc.WithInsecure)...)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(s.resource()),
		sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(fraction))))
	return &Tracer{provider, provider.Tracer("github.com/tollgate-gateway/tollgate")}, nil
}

// Close sends the buffered spans.
func (t *Tracer) Close() error { return end(t.provider) }

// Serve begins the span of a request, within the trace in the context or the header of the request. The caller calls
// end with the pattern of the path and the status of the answer.
func (t *Tracer) Serve(r *http.Request) (_ *http.Request, end func(route string, status int)) {
	ctx := r.Context()
	if !trace.SpanContextFromContext(ctx).IsValid() {
		ctx = w3c.Extract(ctx, propagation.HeaderCarrier(r.Header))
	}
	name, method := methodOf(r)
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("http.request.method", method)))
	return r.WithContext(ctx), func(route string, status int) {
		if route != "" {
			span.SetName(name + " " + route)
			span.SetAttributes(attribute.String("http.route", route))
		}
		span.SetAttributes(attribute.Int("http.response.status_code", status))
		if status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// methodOf returns the method of a request in two forms: name is for the name of a span, and method is for its
// attribute. An unknown method, which may be any text from the client, is replaced (OpenTelemetry semantic
// conventions, HTTP spans).
func methodOf(r *http.Request) (name, method string) {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodOptions, http.MethodConnect, http.MethodTrace:
		return r.Method, r.Method
	}
	return "HTTP", "_OTHER"
}

// Begin begins a span within the trace of ctx. Without such a trace it does nothing. end records that there was an
// error, but not the error's text, which may be confidential.
func (t *Tracer) Begin(ctx context.Context, name string) (_ context.Context, end func(err error)) {
	return t.begin(ctx, name, trace.SpanKindInternal)
}

// begin works like Begin for a span of the given kind.
func (t *Tracer) begin(ctx context.Context, name string, kind trace.SpanKind) (context.Context, func(err error)) {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return ctx, func(error) {}
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(kind))
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// Transport returns a RoundTripper that traces requests to other servers through base and passes the trace on to these
// servers. Only the host of a URL is recorded, since paths and queries may contain secrets.
func (t *Tracer) Transport(base http.RoundTripper) http.RoundTripper { return &transport{t, base} }

// transport is the RoundTripper that Transport returns.
type transport struct {
	tracer *Tracer
	base   http.RoundTripper
}

// RoundTrip implements http.RoundTripper. The span ends with the header of the answer.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, end := t.tracer.begin(r.Context(), r.Method+" "+r.URL.Host, trace.SpanKindClient)
	if trace.SpanContextFromContext(ctx).IsValid() {
		r = r.Clone(ctx)
		w3c.Inject(ctx, propagation.HeaderCarrier(r.Header))
	}
	response, err := t.base.RoundTrip(r)
	if err == nil {
		trace.SpanFromContext(ctx).SetAttributes(attribute.Int("http.response.status_code", response.StatusCode))
	}
	end(err)
	return response, err
}
