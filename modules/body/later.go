package body

import (
	"context"
	"sync"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// Later lets the handlers in front of a handler act at the end of an answer on which that handler works in the
// background, after the request. It is safe for concurrent use.
type Later struct {
	mu    sync.Mutex
	ended context.Context //nolint:containedctx // the context passed to End; nil before
	do    []func(ctx context.Context)
}

const laterVar = "tollgate.answered_later"

// NewLater returns a Later for the request of ctx, which must be a request in Caddy. The handlers in front of the
// caller get it from LaterOf.
func NewLater(ctx context.Context) *Later {
	l := new(Later)
	caddyhttp.SetVar(ctx, laterVar, l)
	return l
}

// LaterOf returns the Later of the request of ctx. It returns nil if there is none, which means that the answer is
// complete when the handler returns.
func LaterOf(ctx context.Context) *Later {
	if _, ok := ctx.Value(caddyhttp.VarsCtxKey).(map[string]any); !ok {
		return nil
	}
	l, _ := caddyhttp.GetVar(ctx, laterVar).(*Later)
	return l
}

// Do makes End call f. If End was called already, Do calls f before it returns. The context that f receives is that of
// End, which has the placeholders of the answer.
func (l *Later) Do(f func(ctx context.Context)) {
	l.mu.Lock()
	ended := l.ended
	if ended == nil {
		l.do = append(l.do, f)
	}
	l.mu.Unlock()
	if ended != nil {
		f(ended)
	}
}

// End calls the functions that were passed to Do, in their order, with ctx. The one who works on the answer calls End
// exactly once, when the answer is complete.
func (l *Later) End(ctx context.Context) {
	l.mu.Lock()
	l.ended = ctx
	do := l.do
	l.mu.Unlock()
	for _, f := range do {
		f(ctx)
	}
}
