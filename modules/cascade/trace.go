package cascade

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/tollgate-gateway/tollgate/backends/gateway/cascade"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
)

// traced extends the span that Caddy's directive tracing has started for the request. It adds the requested model, the
// tokens used, and a child span for each attempt. The attribute names are those of OpenTelemetry's semantic conventions
// for generative AI. Prompts and answers are never included.
type traced struct {
	ctx  context.Context // lives as long as the traced request
	span trace.Span
}

// traceOf returns nil if the request is not traced.
func traceOf(r *http.Request) *traced {
	span := trace.SpanFromContext(r.Context())
	if !span.IsRecording() {
		return nil
	}
	return &traced{r.Context(), span}
}

// attempt adds a span for one attempt, and counts the attempt in the metrics as well.
func (t *traced) attempt(a cascade.Attempt) {
	observeAttempt(a)
	_, span := t.span.TracerProvider().Tracer("tollgate").Start(t.ctx, "chat "+a.Model,
		trace.WithTimestamp(a.Started), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
			attribute.String("gen_ai.operation.name", "chat"),
			attribute.String("gen_ai.provider.name", a.Provider),
			attribute.String("gen_ai.request.model", a.Model),
		))
	if a.FirstToken > 0 {
		span.SetAttributes(attribute.Float64("gen_ai.response.time_to_first_chunk", a.FirstToken.Seconds()))
	}
	if a.Outcome != "ok" {
		span.SetStatus(codes.Error, a.Outcome)
		span.SetAttributes(attribute.String("error.type", a.Outcome))
	}
	span.End(trace.WithTimestamp(a.Started.Add(a.Took)))
}

// request adds the result of the whole request to the span. A nil t does nothing.
func (t *traced) request(r *spending.Record) {
	if t == nil {
		return
	}
	t.span.SetAttributes(
		attribute.String("gen_ai.operation.name", "chat"),
		attribute.String("gen_ai.request.model", r.AskedModel),
		attribute.Bool("gen_ai.request.stream", r.Stream),
		attribute.Int64("gen_ai.usage.input_tokens", r.InputTokens),
		attribute.Int64("gen_ai.usage.output_tokens", r.OutputTokens),
		attribute.Int64("gen_ai.usage.cache_read.input_tokens", r.CachedTokens),
		attribute.String("tollgate.surface", r.Surface),
		attribute.Int("tollgate.attempts", r.Attempts),
	)
	if r.Tier != 0 {
		t.span.SetAttributes(attribute.String("tollgate.tier", r.Tier.String()))
	}
	if r.Provider != "" {
		t.span.SetAttributes(attribute.String("gen_ai.provider.name", r.Provider))
	}
	if r.Model != "" && r.Status < 400 { // otherwise the model was tried but has not answered
		t.span.SetAttributes(attribute.String("gen_ai.response.model", r.Model))
	}
	if r.Code != "" {
		t.span.SetAttributes(attribute.String("error.type", r.Code))
	}
}
