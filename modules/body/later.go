package body

import (
	"context"
	"sync"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// Later lets what is in front of a handler do something at the end of an answer that is worked on in
// the background, behind the request. It is safe for concurrent use.
type Later struct {
	mu    sync.Mutex
	ended context.Context //nolint:containedctx // what the end knows; nil: there was none yet
	do    []func(ctx context.Context)
}

const laterVar = "tollgate.answered_later"

// NewLater returns one for a request, and tells those in front of the handler of it.
func NewLater(ctx context.Context) *Later {
	l := new(Later)
	caddyhttp.SetVar(ctx, laterVar, l)
	return l
}

// LaterOf returns that of a request; nil: its answer is complete when the handler returns.
func LaterOf(ctx context.Context) *Later {
	if _, ok := ctx.Value(caddyhttp.VarsCtxKey).(map[string]any); !ok {
		return nil
	}
	l, _ := caddyhttp.GetVar(ctx, laterVar).(*Later)
	return l
}

// Do has a function called at the end, or now where that was already. Its context has the placeholders
// of the answer.
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

// End is called once, by whoever has worked on the answer.
func (l *Later) End(ctx context.Context) {
	l.mu.Lock()
	l.ended = ctx
	do := l.do
	l.mu.Unlock()
	for _, f := range do {
		f(ctx)
	}
}
