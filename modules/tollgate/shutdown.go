package tollgate

import (
	"context"
	"sync"
	"time"

	"github.com/caddyserver/caddy/v2"
	"go.uber.org/zap"
)

const (
	// lingerTime is how long the resources of an old configuration stay open after its last request. Work that follows a
	// request, such as a charge, may still need them.
	lingerTime = 5 * time.Second
	lingerStep = 100 * time.Millisecond
	// cutTime is how long requests may take to end after they were cut off.
	cutTime = 2 * time.Second
	cutStep = 5 * time.Millisecond
	// afterCut is the time for work that follows requests after they were cut off: a charge, or the last bytes of an
	// answer.
	afterCut = 250 * time.Millisecond
)

var (
	// lingering counts the configurations that were replaced but still hold their resources, each with one goroutine that
	// runs linger.
	lingering sync.WaitGroup
	// ending is closed when the process ends and the grace period is over.
	ending     = make(chan struct{})
	endProcess = sync.OnceFunc(func() { close(ending) })
)

func init() {
	// Cleanup alone does not suffice, because the last configuration may not have this app.
	caddy.OnExit(func(context.Context) {
		endProcess()
		lingering.Wait()
	})
}

// linger releases the resources of a replaced configuration when its last request has ended.
func (a *App) linger() {
	a.awaitQuiet()
	if err := a.release(); err != nil {
		a.logger.Error("closing the resources of the replaced configuration", zap.Error(err))
	}
}

// awaitQuiet waits until no request of this configuration has been in progress for lingerTime. If the process ends
// before that, awaitQuiet ends the remaining requests and returns.
func (a *App) awaitQuiet() {
	idle := time.Duration(0) // time without any request in progress
	for idle < lingerTime {
		select {
		case <-ending:
			a.cutShort()
			return
		case <-time.After(lingerStep):
			idle += lingerStep
		}
		if a.inflight.Load() > 0 {
			idle = 0
		}
	}
}

// cutShort ends the requests that are left after the grace period, so that their clients get an error and their usage
// is logged. The functions registered with OnCut close the upstream connections; for a request, that is the end of the
// upstream's answer.
func (a *App) cutShort() {
	if a.inflight.Load() == 0 {
		return
	}
	for _, cut := range a.onCut {
		cut()
	}
	for waited := time.Duration(0); a.inflight.Load() > 0 && waited < cutTime; waited += cutStep {
		time.Sleep(cutStep)
	}
	if n := a.inflight.Load(); n > 0 {
		a.logger.Error("requests did not end with the process; the usage of model requests among them is not in the log",
			zap.Int64("requests", n))
	}
	time.Sleep(afterCut)
}
