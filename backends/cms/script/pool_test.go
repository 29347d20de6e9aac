package script

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
)

// fakeRunner runs nothing.
type fakeRunner struct{ closed chan struct{} }

func (*fakeRunner) run(*host, byte, func([]byte) []byte) ([]byte, error) { return nil, nil }

func (r *fakeRunner) close() { close(r.closed) }

func fakePool(limit int, wait time.Duration) *pool {
	return newPool(limit, wait, func() (runner, error) { return &fakeRunner{make(chan struct{})}, nil })
}

// take takes a runner or fails.
func take(t *testing.T, p *pool, l *methodStats) *runningCall {
	t.Helper()
	got, err := p.take(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// busy checks that a call gets the error handler.Busy.
func busy(t *testing.T, p *pool, l *methodStats) {
	t.Helper()
	got, err := p.take(t.Context(), l)
	if e, ok := handler.Of(err); !ok || e.Code != 503 {
		t.Fatalf("got %v, %v", got, err)
	}
}

// TestFairPool checks that neither one method nor all slow and unknown methods together get more than half of the
// runners, and that a quick method gets its runner.
func TestFairPool(t *testing.T) {
	t.Parallel()
	p := fakePool(8, 50*time.Millisecond)
	quick, first, other, slow := new(methodStats), new(methodStats), new(methodStats), new(methodStats)
	p.release(take(t, p, quick), true)
	for range 2 {
		take(t, p, first)
		take(t, p, other)
	}
	busy(t, p, first)
	for range 2 {
		p.release(take(t, p, new(methodStats)), true) // the first call of a method
	}
	calls := make([]*runningCall, 0, 4)
	for range 4 {
		calls = append(calls, take(t, p, quick))
	}
	busy(t, p, quick)
	for _, call := range calls {
		p.release(call, true)
	}
	lost := take(t, p, quick)
	p.release(lost, false) // a method that loses its runner is slow from then on
	<-lost.runner.(*fakeRunner).closed
	busy(t, p, quick)
	quick.slowUntil = time.Time{}
	p.release(take(t, p, quick), true)
	slow.hadQuickCall, slow.slowUntil = true, time.Now().Add(time.Hour)
	busy(t, p, slow)
}

// TestWaiting checks that a waiting call gets the first free runner, or the error with which starting a runner failed.
func TestWaiting(t *testing.T) {
	t.Parallel()
	p := fakePool(1, time.Minute)
	first := take(t, p, new(methodStats))
	got := make(chan *runningCall)
	go func() { t, _ := p.take(context.Background(), new(methodStats)); got <- t }()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.take(cancelled, new(methodStats)); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want %v", err, context.Canceled)
	}
	p.release(first, true)
	second := <-got
	p.close()
	p.release(second, true) // closes the runner, because the pool is closed
	<-second.runner.(*fakeRunner).closed
	late := take(t, p, new(methodStats)) // a call after close gets a runner of its own
	p.release(late, true)
	<-late.runner.(*fakeRunner).closed
	startErr := errors.New("no more processes")
	p = newPool(2, time.Minute, func() (runner, error) { return nil, startErr })
	if _, err := p.take(t.Context(), new(methodStats)); !errors.Is(err, startErr) {
		t.Errorf("got error %v, want %v", err, startErr)
	}
}

// lateContext is a context that has ended. It calls late when it is asked for its error.
type lateContext struct {
	context.Context
	late func()
}

func (lateContext) Done() <-chan struct{} {
	ended := make(chan struct{})
	close(ended)
	return ended
}

func (c lateContext) Err() error {
	c.late()
	return context.Canceled
}

// TestAbandonedCall checks that a call which gets a runner just when it gives up returns the runner, and does not count
// as a quick call of its method.
func TestAbandonedCall(t *testing.T) {
	t.Parallel()
	p := fakePool(1, time.Minute)
	running := take(t, p, new(methodStats))
	stats := new(methodStats)
	_, err := p.take(lateContext{t.Context(), func() { p.release(running, true) }}, stats)
	if !errors.Is(err, context.Canceled) || len(p.idle) != 1 || len(p.running) != 0 {
		t.Errorf("%v, %d idle and %d running", err, len(p.idle), len(p.running))
	}
	if *stats != (methodStats{}) {
		t.Errorf("the method has the statistics %+v", *stats)
	}
}
