package cascade

import (
	"net/http/httptest"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/tollgate-gateway/tollgate/backends/gateway/cascade"
	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
)

func TestTrace(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest("POST", "/v1/messages", nil)
	if traced := traceOf(r); traced != nil {
		t.Error("a request without a span is traced")
	}
	(*traced)(nil).request(&spending.Record{}) // must not panic

	spans := tracetest.NewSpanRecorder()
	ctx, root := trace.NewTracerProvider(trace.WithSpanProcessor(spans)).Tracer("test").Start(r.Context(), "POST")
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tr := traceOf(r.WithContext(ctx))
	tr.attempt(cascade.Attempt{Provider: "groq", Model: "a", Tier: catalog.Low, Outcome: "transient", Started: start, Took: time.Second})
	tr.attempt(cascade.Attempt{Provider: "openai", Model: "b", Tier: catalog.Low, Outcome: "ok", Started: start.Add(time.Second), Took: 2 * time.Second, FirstToken: time.Second})
	tr.request(&spending.Record{
		AskedModel: "keychain-low", Tier: catalog.Low, Surface: "messages", Provider: "openai", Model: "b", Attempts: 2, InputTokens: 7, OutputTokens: 5, Stream: true,
	})
	root.End()
	got := spans.Ended()
	if len(got) != 3 || got[0].Name() != "chat a" || got[0].Parent().SpanID() != root.SpanContext().SpanID() ||
		got[0].Status().Description != "transient" || got[1].EndTime().Sub(got[1].StartTime()) != 2*time.Second {
		t.Fatalf("spans: %+v", got)
	}
	want := map[string]string{
		"gen_ai.operation.name": "chat", "gen_ai.request.model": "keychain-low", "gen_ai.provider.name": "openai", "gen_ai.response.model": "b",
		"gen_ai.usage.input_tokens": "7", "gen_ai.usage.output_tokens": "5", "gen_ai.usage.cache_read.input_tokens": "0", "gen_ai.request.stream": "true",
		"tollgate.surface": "messages", "tollgate.attempts": "2", "tollgate.tier": "low",
	}
	for _, a := range got[2].Attributes() {
		if want[string(a.Key)] != a.Value.String() {
			t.Errorf("%s is %s, want %s", a.Key, a.Value.String(), want[string(a.Key)])
		}
		delete(want, string(a.Key))
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}
