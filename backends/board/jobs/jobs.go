// Package jobs does the board's work in the background: it delivers webhooks,
// sends mail and ends what is old. On several nodes each piece of work is done
// by one.
package jobs

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/board"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// The outcomes of a job.
const (
	OutcomeOK          = "ok"
	OutcomeError       = "error"
	OutcomeUnavailable = "unavailable" // the database is down
)

// The names of the jobs.
const (
	JobWebhooks    = "webhooks"
	JobMail        = "mail"
	JobPurge       = "purge"
	JobAttachments = "attachments"
	JobImages      = "images"
	JobArchive     = "archive"
	JobNames       = "names"
)

// settleTime bounds what is written when the work ends.
const settleTime = 2 * time.Second

// Work is what is worked on, and with what.
type Work struct {
	Service *board.Service
	// Webhooks delivers to the addresses of webhooks.
	Webhooks *Deliverer
	// Mail sends mails.
	Mail   *Mailer
	Logger *zap.Logger
}

// Options of the work.
type Options struct {
	// Current is asked before each run of a job; nil: there is nothing to work
	// with now.
	Current func() *Work
	// Observe is told how each run of a job ended and how much it did; nil: nobody is.
	Observe func(job, outcome string, done int)
}

// job is a row of the table of work.
type job struct {
	name  string
	every time.Duration
	// run does what there is to do and tells how much it was.
	run func(ctx context.Context, w *Work) (done int, err error)
}

// Runner does the work of a board.
type Runner struct {
	options Options
	jobs    []job
	down    atomic.Bool // the database is, and that was logged
}

// New makes a runner. It does nothing yet.
func New(options Options) *Runner {
	r := &Runner{options: options}
	r.jobs = []job{
		{JobWebhooks, 2 * time.Second, func(ctx context.Context, w *Work) (int, error) { return w.Webhooks.Deliver(ctx, w.Service) }},
		{JobMail, 5 * time.Second, func(ctx context.Context, w *Work) (int, error) { return w.Mail.Send(ctx, w.Service) }},
		{JobPurge, time.Hour, func(ctx context.Context, w *Work) (int, error) {
			n, err := w.Service.Purge(ctx)
			return int(n), err
		}},
		{JobAttachments, 6 * time.Hour, func(ctx context.Context, w *Work) (int, error) { return w.Service.SweepAttachments(ctx) }},
		{JobImages, time.Hour, func(ctx context.Context, w *Work) (int, error) { return w.Service.StripAttachments(ctx) }},
		{JobArchive, 24 * time.Hour, func(ctx context.Context, w *Work) (int, error) {
			n, err := w.Service.Archive(ctx)
			return int(n), err
		}},
		{JobNames, time.Minute, func(ctx context.Context, w *Work) (int, error) { return w.Service.FillNames(ctx) }},
	}
	return r
}

// Run works until the context ends.
func (r *Runner) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, j := range r.jobs {
		running.Go(func() { r.repeat(ctx, j) })
	}
	running.Wait()
}

func (r *Runner) repeat(ctx context.Context, j job) {
	ticker := time.NewTicker(j.every)
	defer ticker.Stop()
	next := ticker.C
	for {
		wait := next
		if !r.once(ctx, j) { // a database that opens is not to be waited for long
			wait = time.After(min(j.every, time.Second))
		}
		select {
		case <-ctx.Done():
			return
		case <-wait:
		}
	}
}

// once runs a job; false: the database is not there, or nothing to work with.
func (r *Runner) once(ctx context.Context, j job) bool {
	w := r.options.Current()
	if w == nil {
		return false
	}
	err := w.Service.Ready(ctx)
	done := 0
	if err == nil {
		done, err = j.run(ctx, w)
	}
	outcome := OutcomeOK
	switch {
	case ctx.Err() != nil:
		return true
	case errors.Is(err, store.ErrOpening): // it is not down, it begins
		return false
	case errors.Is(err, store.ErrUnavailable):
		outcome = OutcomeUnavailable
		if !r.down.Swap(true) {
			w.Logger.Warn("the work in the background waits for the database", zap.Error(err))
		}
	case err != nil:
		outcome = OutcomeError
		w.Logger.Error("job failed", zap.String("job", j.name), zap.Error(err))
	default:
		if r.down.Swap(false) {
			w.Logger.Info("the work in the background goes on")
		}
		if done > 0 {
			w.Logger.Debug("job done", zap.String("job", j.name), zap.Int("done", done))
		}
	}
	if r.options.Observe != nil {
		r.options.Observe(j.name, outcome, done)
	}
	return outcome != OutcomeUnavailable
}

// settling is a context for what must be noted also when the work ends.
func settling(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), settleTime)
}
