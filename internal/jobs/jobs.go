// Package jobs runs a service's background work repeatedly, with pauses, through outages of the database, until it is
// stopped. If several processes share a database, a lease ensures that only one of them at a time does a piece of work.
package jobs

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// The outcomes of a run.
const (
	OutcomeOK          = "ok"
	OutcomeError       = "error"
	OutcomeUnavailable = "unavailable" // the database is down
)

// ErrNotNow is the error of a job's Run that cannot work yet because something is still starting. The job runs again
// soon.
var ErrNotNow = errors.New("the job cannot run yet")

const (
	// firstPause is the first pause of a job that waits for the database. The pause doubles up to the job's interval.
	firstPause = time.Second
	// settleTime limits the time for results that are written when the work ends.
	settleTime = 2 * time.Second
)

// Job is a piece of work that repeats. Its runs never overlap.
type Job struct {
	Name string
	// Every is the interval between runs. A run that takes longer delays the next.
	Every time.Duration
	// Run does the work and returns how much it did, in a unit of its choice.
	Run func(ctx context.Context) (done int, err error)
	// Wake makes the job run before its time, even if this process did the work last and its lease says that the work
	// is not due. Default: nil, never.
	Wake <-chan struct{}
	// Lease is taken for each run. The run is skipped if another process has it. Default: each process runs the job.
	Lease *Lease
}

// Options are the options of a runner.
type Options struct {
	Jobs []Job
	// Observe is called after each run of a job with its outcome and how much it did. Default: none.
	Observe func(job, outcome string, done int)
	// Logger is called for each message, since a reload may change the logger.
	Logger func() *zap.Logger
}

// Runner runs jobs.
type Runner struct {
	options Options
	down    atomic.Bool // the database is down, and that was logged
}

// New makes a runner. Run or Start starts it.
func New(o Options) *Runner { return &Runner{options: o} }

// Run runs the jobs until ctx ends.
func (r *Runner) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, j := range r.options.Jobs {
		running.Go(func() { r.repeat(ctx, j) })
	}
	running.Wait()
}

// Start calls Run on a new goroutine. The returned function stops the work and waits until it has ended.
func (r *Runner) Start() (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.Run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// repeat runs a job at its interval until ctx ends.
func (r *Runner) repeat(ctx context.Context, j Job) {
	ticker := time.NewTicker(j.Every)
	defer ticker.Stop()
	retake := false // the run may take a lease that this process has; see Lease.Do
	pause := firstPause
	for {
		select {
		case <-j.Wake: // the wish came during the last run
			retake = true
		default:
		}
		next := ticker.C
		err := r.once(ctx, j, retake)
		switch {
		case stillStarting(err):
			pause, retake = firstPause, true
			next = time.After(min(j.Every, pause))
		case errors.Is(err, store.ErrUnavailable):
			retake = true // the lease may have been taken before the database went down
			next = time.After(min(j.Every, pause))
			pause = min(2*pause, j.Every)
		default:
			// After a run that failed, this process still has the lease.
			pause, retake = firstPause, err != nil && !errors.Is(err, ErrHeld)
		}
		select {
		case <-ctx.Done():
			return
		case <-next:
		case <-j.Wake:
			retake = true
		}
	}
}

// stillStarting reports whether a run did not begin because something is still starting. It reports false if something
// is down.
func stillStarting(err error) bool {
	return errors.Is(err, ErrNotNow) || errors.Is(err, store.ErrOpening)
}

// once runs a job once, and logs and reports the outcome. retake is passed to Lease.Do.
func (r *Runner) once(ctx context.Context, j Job, retake bool) error {
	done, err := j.do(ctx, retake)
	if ctx.Err() != nil || stillStarting(err) || errors.Is(err, ErrHeld) { // not an outcome of the job
		return err
	}
	outcome := OutcomeOK
	switch {
	case errors.Is(err, store.ErrUnavailable):
		outcome = OutcomeUnavailable
		if !r.down.Swap(true) {
			r.options.Logger().Warn("background jobs wait for the database", zap.Error(err))
		}
	case err != nil:
		outcome = OutcomeError
		r.options.Logger().Error("job failed", zap.String("job", j.Name), zap.Error(err))
	default:
		if r.down.Swap(false) {
			r.options.Logger().Info("background jobs continue")
		}
		if done > 0 {
			r.options.Logger().Debug("job done", zap.String("job", j.Name), zap.Int("done", done))
		}
	}
	if r.options.Observe != nil {
		r.options.Observe(j.Name, outcome, done)
	}
	return err
}

// do calls Run, with the lease if the job has one. retake is passed to Lease.Do.
func (j Job) do(ctx context.Context, retake bool) (done int, err error) {
	if j.Lease == nil {
		return j.Run(ctx)
	}
	err = j.Lease.Do(ctx, retake, func(ctx context.Context) error {
		done, err = j.Run(ctx)
		return err
	})
	return done, err
}

// Settling returns a context for recording a result even if ctx has ended. Its time is limited to settleTime.
func Settling(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), settleTime)
}

// Backoff returns how long to wait after n failed attempts: 30 s, doubling up to one hour.
func Backoff(n int64) time.Duration {
	return min(30*time.Second<<min(max(n-1, 0), 10), time.Hour)
}
