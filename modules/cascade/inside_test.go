package cascade

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// TestAnswerTimeLimit checks that a model gets half of the remaining time, so that another model can be asked afterwards.
func TestAnswerTimeLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := &inside{Handler: new(Handler)}
		i.options.Answer.High = time.Hour
		for left, want := range map[time.Duration]time.Duration{0: time.Hour, time.Second: minAnswerTime, time.Minute: 30 * time.Second} {
			ctx := t.Context()
			if left > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, left)
				defer cancel()
			}
			h, err := i.handlerFor(ctx)
			if err != nil || h.options.Answer.High != want {
				t.Errorf("with %s left: got the limit %s, error %v, want %s", left, h.options.Answer.High, err, want)
			}
		}
		if i.options.Answer.High != time.Hour {
			t.Error("the handler of all requests has changed")
		}
	})
}

// TestInsideHidesClientValues checks that the requests that a service makes do not contain the context values of the
// service's client.
func TestInsideHidesClientValues(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), caddyhttp.VarsCtxKey, map[string]any{"a": "b"}))
	inner := detached{ctx}
	if caddyhttp.GetVar(ctx, "a") != "b" || caddyhttp.GetVar(inner, "a") != nil {
		t.Error("variables of the client's request are visible")
	}
	if cancel(); inner.Err() == nil {
		t.Error("the request continues after the client has disconnected")
	}
}
