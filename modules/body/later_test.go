package body

import (
	"context"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// TestLater checks that functions that were passed to Do before or after End are called once, with the context of End,
// and that LaterOf returns nil for a request without a Later.
func TestLater(t *testing.T) {
	t.Parallel()
	type key struct{}
	request := context.WithValue(t.Context(), caddyhttp.VarsCtxKey, make(map[string]any))
	if LaterOf(t.Context()) != nil || LaterOf(request) != nil {
		t.Error("there is one that nobody has made")
	}
	l := NewLater(request)
	if LaterOf(request) != l {
		t.Error("it is not found")
	}
	done := ""
	do := func(name string) func(context.Context) {
		return func(ctx context.Context) { done += name + ctx.Value(key{}).(string) }
	}
	l.Do(do("a"))
	l.Do(do("b"))
	if done != "" {
		t.Errorf("done too early: %s", done)
	}
	l.End(context.WithValue(t.Context(), key{}, "1"))
	l.Do(do("c"))
	if done != "a1b1c1" {
		t.Errorf("done: %s", done)
	}
}
