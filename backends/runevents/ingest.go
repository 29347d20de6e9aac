package runevents

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Limits of the writer. A batch consists of the reports that are waiting when the writer becomes free, and of reports
// that are about to arrive.
const (
	queueLength  = 1024
	batchReports = 256
	batchEvents  = 16384
	// batchWait limits the wait for reports that are being read or are about to arrive. One commit for many reports
	// writes fewer pages, and flushes the disk less often, than several commits.
	batchWait = 50 * time.Millisecond
)

// job is a report in the queue of the writer.
type job struct {
	report *report
	done   chan error // buffered, so that the sender never blocks
}

// enqueue puts a report into the queue of the writer. The caller must then call await with the job. enqueue returns
// ErrBusy if the queue is full.
func (s *Service) enqueue(r *report) (*job, error) {
	s.closing.RLock()
	defer s.closing.RUnlock()
	if s.closed {
		return nil, errClosed
	}
	j := &job{report: r, done: make(chan error, 1)}
	select {
	case s.queue <- j:
		s.background.Add(1)
		return j, nil
	default:
		return nil, ErrBusy
	}
}

// await returns nil when the report of a job has been stored durably, or the error with which storing it failed. If
// the writer is free, await itself writes the reports in the queue, since waking another goroutine would take a
// considerable part of the time for storing a single report. If the report is not in the first batch, await writes
// further batches.
func (s *Service) await(j *job) error {
	defer s.background.Done()
	for {
		select {
		case err := <-j.done: // takes precedence over writing the reports of others
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

// batchStats describes a batch, to predict the size of the next batch.
type batchStats struct {
	senders  int           // senders of the reports in the batch and in the queue
	duration time.Duration // how long storing the batch took
}

// gather adds reports to a batch, jobs, which contains at least one, and returns the batch. It adds the reports in the
// queue, those that are being parsed, and the next reports of the last batch's senders, who are likely to send them
// now. It waits for the senders at most as long as it took to store the last batch, and in total at most batchWait.
func (s *Service) gather(jobs []*job, last batchStats) []*job {
	var timeout <-chan time.Time     // begins with the first wait
	var nextReports <-chan time.Time // nil, which is never ready, while gather does not wait for the senders
	if last.senders > 1 {
		timer := time.NewTimer(min(last.duration, batchWait))
		defer timer.Stop()
		nextReports = timer.C
	}
	for events := len(jobs[0].report.events); len(jobs) < batchReports && events < batchEvents; {
		if len(jobs) >= last.senders { // all senders have sent a report
			nextReports = nil
		}
		var next *job
		select {
		case next = <-s.queue:
		default:
			if nextReports == nil && s.parsing.Load() == 0 {
				return jobs
			}
			if timeout == nil {
				timer := time.NewTimer(batchWait)
				defer timer.Stop()
				timeout = timer.C
			}
			select {
			case next = <-s.queue:
			case <-nextReports: // from now on, wait only for reports that are being parsed
				nextReports = nil
				continue
			case <-timeout:
				return jobs
			}
		}
		jobs = append(jobs, next)
		events += len(next.report.events)
	}
	return jobs
}

// writer stores reports. Only one goroutine uses a writer at a time: the channel Service.writer holds the writer while
// it is free, and a goroutine that receives it sends it back.
type writer struct {
	*Service
	caches     caches
	partitions *partitions
	last       batchStats
}

// write takes a batch of reports from the queue, if it is not empty, and stores them in one transaction. Then it frees
// the writer for other goroutines.
func (w *writer) write() {
	defer func() { w.writer <- w }()
	var jobs []*job
	select {
	case j := <-w.queue:
		jobs = w.gather(append(jobs, j), w.last)
	default:
		return
	}
	completed := false
	defer func() {
		if completed {
			return
		}
		// storeBatch has panicked. Only this goroutine sees the panic; the senders of the other reports get an error.
		for _, j := range jobs {
			select {
			case j.done <- errUnfinished:
			default: // the job has its result already
			}
		}
	}()
	began := time.Now()
	w.storeBatch(jobs)
	completed = true
	w.last = batchStats{len(jobs) + len(w.queue), time.Since(began)}
}

// storeBatch stores the reports of a batch, and sends the result to each job. If the reports cannot be stored together,
// it stores them one by one, so that one bad report does not affect the others.
func (w *writer) storeBatch(jobs []*job) {
	reports := make([]*report, len(jobs))
	for i, j := range jobs {
		reports[i] = j.report
	}
	err := w.store(reports)
	concernsAll := errors.Is(err, ErrBusy) || errors.Is(err, store.ErrUnavailable) ||
		errors.Is(err, context.DeadlineExceeded)
	if err == nil || len(jobs) == 1 || concernsAll {
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

// writeTimeout limits the duration of a transaction.
const writeTimeout = time.Minute

// store stores reports durably: in the inbox, if there is an inbox, and otherwise in the tables that queries read. It
// also completes while the service is closing.
func (w *writer) store(reports []*report) error {
	if w.inbox == nil {
		return w.file(reports)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), writeTimeout)
	defer cancel()
	return w.put(ctx, reports)
}

// file stores reports in the tables that queries read.
func (w *writer) file(reports []*report) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), writeTimeout)
	defer cancel()
	if w.cachesStale.Swap(false) { // Purge has deleted rows
		w.caches = caches{}
	}
	err := w.partitions.createMissing(ctx, reports)
	if err == nil {
		err = w.caches.store(ctx, w.db, reports, w.o.Stored)
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == "23514" && len(w.partitions.existing) > 0 {
		// The code means check_violation: another process has dropped a partition.
		w.partitions.forget()
		if err = w.partitions.createMissing(ctx, reports); err == nil {
			err = w.caches.store(ctx, w.db, reports, w.o.Stored)
		}
	}
	return err
}
