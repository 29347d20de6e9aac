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

// traced adds to the span that Caddy's directive tracing has begun for the
// request, by the names of OpenTelemetry's semantic conventions for generative
// AI: who was asked for what and what was used, and below it a span for each
// attempt. Prompts and answers are never in it.
type traced struct {
	ctx  context.Context //nolint:containedctx // of the one request that is traced
	span trace.Span
}

// traceOf is nil where the request is not traced; its methods then do nothing.
func traceOf(r *http.Request) *traced {
	span := trace.SpanFromContext(r.Context())
	if !span.IsRecording() {
		return nil
	}
	return &traced{r.Context(), span}
}

// attempt notes one try, and counts it as observeAttempt does.
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

// request notes what became of the whole.
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
	if r.Model != "" && r.Status < 400 { // else it was asked, and has not answered
		t.span.SetAttributes(attribute.String("gen_ai.response.model", r.Model))
	}
	if r.Code != "" {
		t.span.SetAttributes(attribute.String("error.type", r.Code))
	}
}
