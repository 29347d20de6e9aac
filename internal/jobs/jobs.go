// Package jobs does a service's work in the background: again and again, with
// pauses, over a database that is down, until it is told to end. Where several
// processes share a database a lease lets one of them do a piece of work at a time.
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

// The outcomes of a job.
const (
	OutcomeOK          = "ok"
	OutcomeError       = "error"
	OutcomeUnavailable = "unavailable" // the database is down
)

// ErrNotNow is the error of a job that has nothing to work with yet. It is asked
// again soon.
var ErrNotNow = errors.New("there is nothing to work with now")

const (
	// soon is the pause of a job that waits for the database, at first; it doubles
	// up to the one between runs.
	soon = time.Second
	// settleTime bounds what is written when the work ends.
	settleTime = 2 * time.Second
)

// Job is a piece of work that repeats. Its runs never overlap.
type Job struct {
	Name string
	// Every is the time from one run to the next; a run that takes longer delays it.
	Every time.Duration
	// Run does what there is to do and tells how much it was.
	Run func(ctx context.Context) (done int, err error)
	// Wake has it run before its time, and again where its lease was this process's
	// last. Default: nothing does.
	Wake <-chan struct{}
	// Lease is taken for each run, which does not take place where another process
	// has it. Default: each process runs the job.
	Lease *Lease
}

// Options of a runner.
type Options struct {
	Jobs []Job
	// Observe is told how each run of a job ended and how much it did. Default:
	// nobody is.
	Observe func(job, outcome string, done int)
	// Logger is asked each time there is something to tell: a reload may change it.
	Logger func() *zap.Logger
}

// Runner runs jobs.
type Runner struct {
	options Options
	down    atomic.Bool // the database is, and that was logged
}

// New makes a runner. It does nothing yet.
func New(o Options) *Runner { return &Runner{options: o} }

// Run works until the context ends.
func (r *Runner) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, j := range r.options.Jobs {
		running.Go(func() { r.repeat(ctx, j) })
	}
	running.Wait()
}

// Start is Run in the background. What it returns ends the work and waits for the
// end of it.
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

func (r *Runner) repeat(ctx context.Context, j Job) {
	ticker := time.NewTicker(j.Every)
	defer ticker.Stop()
	again, pause := false, soon // again: also where the lease was this process's last
	for {
		select {
		case <-j.Wake:
			again = true
		default:
		}
		next := ticker.C
		err := r.once(ctx, j, again)
		again = true // the lease may have been taken before it could not go on
		switch {
		case waits(err): // not for long
			pause = soon
			next = time.After(min(j.Every, pause))
		case errors.Is(err, store.ErrUnavailable):
			next = time.After(min(j.Every, pause))
			pause = min(2*pause, j.Every)
		default:
			pause, again = soon, err != nil && !errors.Is(err, ErrHeld) // a lease that was taken for nothing is still held
		}
		select {
		case <-ctx.Done():
			return
		case <-next:
		case <-j.Wake:
			again = true
		}
	}
}

// waits reports whether a run did not begin: nothing is down, something begins.
func waits(err error) bool { return errors.Is(err, ErrNotNow) || errors.Is(err, store.ErrOpening) }

// once runs a job, and tells of it.
func (r *Runner) once(ctx context.Context, j Job, again bool) error {
	done, err := j.do(ctx, again)
	if ctx.Err() != nil || waits(err) || errors.Is(err, ErrHeld) {
		return err
	}
	outcome := OutcomeOK
	switch {
	case errors.Is(err, store.ErrUnavailable):
		outcome = OutcomeUnavailable
		if !r.down.Swap(true) {
			r.options.Logger().Warn("the work in the background waits for the database", zap.Error(err))
		}
	case err != nil:
		outcome = OutcomeError
		r.options.Logger().Error("job failed", zap.String("job", j.Name), zap.Error(err))
	default:
		if r.down.Swap(false) {
			r.options.Logger().Info("the work in the background goes on")
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

func (j Job) do(ctx context.Context, again bool) (done int, err error) {
	if j.Lease == nil {
		return j.Run(ctx)
	}
	err = j.Lease.Do(ctx, again, func(ctx context.Context) error {
		done, err = j.Run(ctx)
		return err
	})
	return done, err
}

// Settling is a context for what must be noted also when the work ends.
func Settling(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), settleTime)
}

// Backoff is how long the attempt after n failed ones waits: 30 s doubling to one
// hour.
func Backoff(n int64) time.Duration {
	return min(30*time.Second<<min(max(n-1, 0), 10), time.Hour)
}
