package authserver

import (
	"testing"

	"go.opentelemetry.io/otel/sdk/trace"
)

// TestTraceID checks that audit rows contain the trace id of the request.
func TestTraceID(t *testing.T) {
	t.Parallel()
	if id := traceID(t.Context()); id != "" {
		t.Errorf("without a trace it is %q", id)
	}
	ctx, span := trace.NewTracerProvider().Tracer("test").Start(t.Context(), "request")
	defer span.End()
	if id := spanID(ctx); id != span.SpanContext().SpanID().String() || spanID(t.Context()) != "" {
		t.Errorf("the span is %q", id)
	}
	if id := traceID(ctx); len(id) != 32 || id != span.SpanContext().TraceID().String() {
		t.Errorf("it is %q", id)
	}
}
