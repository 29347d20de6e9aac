package body

import (
	"context"
	"sync"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// Completion notifies earlier handlers when an answer is complete. It is for answers that a later handler produces in
// the background, after the request has ended. It is safe for concurrent use.
type Completion struct {
	mu    sync.Mutex      // guards ended and onEnd; not held while functions run, which may take long
	ended context.Context // the context passed to End; nil before
	onEnd []func(ctx context.Context)
}

// completionVar is the request variable with the *Completion.
const completionVar = "tollgate.answered_later"

// NewCompletion returns a Completion and stores it in the request with the context ctx, which must be a request in
// Caddy. Earlier handlers get it from CompletionOf.
func NewCompletion(ctx context.Context) *Completion {
	c := new(Completion)
	caddyhttp.SetVar(ctx, completionVar, c)
	return c
}

// CompletionOf returns the Completion that a later handler stored in the request with the context ctx. It returns nil
// if there is no Completion: then the answer is complete when the handler returns.
func CompletionOf(ctx context.Context) *Completion {
	if _, ok := ctx.Value(caddyhttp.VarsCtxKey).(map[string]any); !ok {
		return nil
	}
	c, _ := caddyhttp.GetVar(ctx, completionVar).(*Completion)
	return c
}

// OnEnd registers f, which End calls. If End was called already, OnEnd calls f before it returns. f gets the context
// passed to End, which has the placeholders of the answer.
func (c *Completion) OnEnd(f func(ctx context.Context)) {
	c.mu.Lock()
	ended := c.ended
	if ended == nil {
		c.onEnd = append(c.onEnd, f)
	}
	c.mu.Unlock()
	if ended != nil {
		f(ended)
	}
}

// End calls the functions that were passed to OnEnd, in their order, with ctx. The handler calls it exactly once, when
// the answer is complete.
func (c *Completion) End(ctx context.Context) {
	c.mu.Lock()
	c.ended = ctx
	onEnd := c.onEnd
	c.mu.Unlock()
	for _, f := range onEnd {
		f(ctx)
	}
}
