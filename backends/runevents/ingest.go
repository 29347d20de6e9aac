package runevents

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Bounds of the writer. A batch is what waits when the writer gets to it, and
// what is about to come.
const (
	queueLength  = 1024
	batchReports = 256
	batchEvents  = 16384
	// batchWait bounds the wait for reports that are being read, or on their way. One
	// commit of many writes fewer pages, and flushes the disk less often, than many of few.
	batchWait = 50 * time.Millisecond
)

// job is a report on its way into the database.
type job struct {
	report *report
	done   chan error // holds one, so that nobody waits on it
}

// enqueue puts a report where the next batch takes it from; await is to follow.
func (s *Service) enqueue(r *report) (*job, error) {
	s.closing.RLock()
	defer s.closing.RUnlock()
	if s.closed {
		return nil, errClosed
	}
	j := &job{report: r, done: make(chan error, 1)}
	select {
	case s.queue <- j:
		s.work.Add(1)
		return j, nil
	default:
		return nil, ErrBusy
	}
}

// await returns when the report of a job is durable, or is not and will not be. Who finds
// the writer free writes for all who wait: a report that comes alone is stored without
// another goroutine, which costs more to wake than a good part of what it would do.
func (s *Service) await(j *job) error {
	defer s.work.Done()
	for {
		select {
		case err := <-j.done: // before another batch of others' reports
			return err
		default:
		}
		select {
		case err := <-j.done:
			return err
		case w := <-s.writer:
			w.write()
		}
	}
}

// crowd is what a batch tells of the next.
type crowd struct {
	senders int           // whose reports it stored, or left waiting
	took    time.Duration // to store it
}

// gather adds the reports that wait, those that are being read by now and those of
// senders who were here just before: who was answered by the last batch sends the next
// report while the others' waits. They are waited for no longer than a batch of
// their own would take.
func (s *Service) gather(jobs []*job, last crowd) []*job {
	var timeout, soon <-chan time.Time
	if last.senders > 1 {
		timer := time.NewTimer(min(last.took, batchWait))
		defer timer.Stop()
		soon = timer.C
	}
	for events := len(jobs[0].report.events); len(jobs) < batchReports && events < batchEvents; {
		if len(jobs) >= last.senders {
			soon = nil
		}
		var more *job
		select {
		case more = <-s.queue:
		default:
			if soon == nil && s.reading.Load() == 0 {
				return jobs
			}
			if timeout == nil {
				timer := time.NewTimer(batchWait)
				defer timer.Stop()
				timeout = timer.C
			}
			select {
			case more = <-s.queue:
			case <-soon:
				soon = nil
				continue
			case <-timeout:
				return jobs
			}
		}
		jobs = append(jobs, more)
		events += len(more.report.events)
	}
	return jobs
}

// writer stores reports, and is used by one goroutine at a time.
type writer struct {
	*Service
	caches     caches
	partitions *partitions
	last       crowd
}

// write stores a batch of those reports that wait, which share a transaction, and lets go
// of the writer.
func (w *writer) write() {
	defer func() { w.writer <- w }()
	var jobs []*job
	select {
	case j := <-w.queue:
		jobs = w.gather(append(jobs, j), w.last)
	default:
		return
	}
	settled := false
	defer func() {
		if settled {
			return
		}
		for _, j := range jobs { // a panic, which is for one of those who wait
			select {
			case j.done <- errUnfinished:
			default:
			}
		}
	}()
	began := time.Now()
	w.settle(jobs)
	settled = true
	w.last = crowd{len(jobs) + len(w.queue), time.Since(began)}
}

// settle stores the reports of a batch. When they cannot be stored together,
// each is tried alone, so that one bad report keeps no other out.
func (w *writer) settle(jobs []*job) {
	reports := make([]*report, len(jobs))
	for i, j := range jobs {
		reports[i] = j.report
	}
	err := w.store(reports)
	if err == nil || len(jobs) == 1 || errors.Is(err, ErrBusy) || errors.Is(err, store.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		for _, j := range jobs {
			j.done <- err
		}
		return
	}
	w.logger.Warn("storing reports one by one", zap.Error(err))
	for _, j := range jobs {
		j.done <- w.store([]*report{j.report})
	}
}

// writeTimeout bounds a transaction.
const writeTimeout = time.Minute

// store makes reports durable: in the inbox where there is one, and else where queries
// read them. What was taken in is written although the service ends.
func (w *writer) store(reports []*report) error {
	if w.inbox == nil {
		return w.file(reports)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), writeTimeout)
	defer cancel()
	return w.put(ctx, reports)
}

// file stores reports where queries read them.
func (w *writer) file(reports []*report) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), writeTimeout)
	defer cancel()
	if w.swept.Swap(false) {
		w.caches = caches{}
	}
	err := w.partitions.cover(ctx, reports)
	if err == nil {
		err = w.caches.store(ctx, w.db, reports, w.o.Stored)
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == "23514" && len(w.partitions.known) > 0 {
		// check_violation: another process has dropped a partition.
		w.partitions.forget()
		if err = w.partitions.cover(ctx, reports); err == nil {
			err = w.caches.store(ctx, w.db, reports, w.o.Stored)
		}
	}
	return err
}
