package body

import (
	"context"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// TestCompletion checks that functions that were passed to OnEnd before or after End are called once, with the context
// of End, and that CompletionOf returns nil for a request without a Completion.
func TestCompletion(t *testing.T) {
	t.Parallel()
	type key struct{}
	request := context.WithValue(t.Context(), caddyhttp.VarsCtxKey, make(map[string]any))
	if CompletionOf(t.Context()) != nil || CompletionOf(request) != nil {
		t.Error("a request without a Completion has one")
	}
	l := NewCompletion(request)
	if CompletionOf(request) != l {
		t.Error("the Completion is not found")
	}
	done := ""
	record := func(name string) func(context.Context) {
		return func(ctx context.Context) { done += name + ctx.Value(key{}).(string) }
	}
	l.OnEnd(record("a"))
	l.OnEnd(record("b"))
	if done != "" {
		t.Errorf("done too early: %s", done)
	}
	l.End(context.WithValue(t.Context(), key{}, "1"))
	l.OnEnd(record("c"))
	if done != "a1b1c1" {
		t.Errorf("done: %s", done)
	}
}
