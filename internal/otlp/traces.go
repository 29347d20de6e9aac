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

// Tracer sends spans: one of each request that is served, with those of its parts.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// w3c is the header traceparent (W3C Trace Context).
var w3c = propagation.TraceContext{}

// NewTracer makes a tracer. Of requests that are of no trace yet a share, 0 to 1, is
// followed; those of a trace are followed as it is. The collector is reached for in the
// background.
func NewTracer(c Collector, s Service, share float64) (*Tracer, error) {
	exporter, err := otlptracegrpc.New(context.Background(), apply(c, otlptracegrpc.WithEndpointURL, otlptracegrpc.WithEndpoint, otlptracegrpc.WithInsecure)...)
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(s.resource()), sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(share))))
	return &Tracer{provider, provider.Tracer("github.com/tollgate-gateway/tollgate")}, nil
}

// Close sends what was gathered.
func (t *Tracer) Close() error { return end(t.provider) }

// Serve begins the span of a request, in the trace that its context or its header has.
// end takes the pattern of its path and the status of the answer.
func (t *Tracer) Serve(r *http.Request) (_ *http.Request, end func(route string, status int)) {
	ctx := r.Context()
	if !trace.SpanContextFromContext(ctx).IsValid() {
		ctx = w3c.Extract(ctx, propagation.HeaderCarrier(r.Header))
	}
	name, method := methodOf(r)
	ctx, span := t.tracer.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attribute.String("http.request.method", method)))
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

// methodOf is the method of a request as spans are called by it, and as they have it. One
// that is not known is any text of a client's (OpenTelemetry semantic conventions, HTTP
// spans).
func methodOf(r *http.Request) (name, method string) {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, http.MethodConnect, http.MethodTrace:
		return r.Method, r.Method
	}
	return "HTTP", "_OTHER"
}

// Begin begins a part of what is followed. Where nothing is, it does nothing. The error
// is noted as such, without its text, which may have what is nobody's business.
func (t *Tracer) Begin(ctx context.Context, name string) (_ context.Context, end func(err error)) {
	return t.begin(ctx, name, trace.SpanKindInternal)
}

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

// Transport follows requests to other servers, and tells them the trace. Of their
// addresses there is the host alone: paths and queries may have secrets.
func (t *Tracer) Transport(base http.RoundTripper) http.RoundTripper { return &transport{t, base} }

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
