package runevents

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/semaphore"

	"github.com/tollgate-gateway/tollgate/backends/runevents/packed"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Limits of the inbox. Reports are filed when inboxReports reports or inboxBytes bytes are waiting, and at the latest
// after inboxWait.
const (
	inboxReports = batchReports
	inboxBytes   = 16 << 20
	inboxWait    = 10 * time.Second
	// maxInbox is the number of waiting reports at which new reports are refused. It is only reached if filing fails.
	maxInbox = 16 * inboxReports
)

// inbox manages the table run_inbox, in which reports are stored first on SQLite, so that they can be acknowledged
// quickly. They are filed later: moved in batches to the tables that queries read. This saves writes, because SQLite
// writes whole pages, and nearly every event of a report changes another page of the resources' index: filing a single
// report changes some 50 pages, and filing 16 together some 200. A query first waits until all reports acknowledged
// before it are filed, so clients do not notice the delay.
//
// Parsed reports are kept in memory until they are filed, up to a limit. Other reports are read from the table: those
// beyond the limit, and those from another process that uses the same database or from a killed process.
type inbox struct {
	filing     *semaphore.Weighted // held while reports are filed
	filer      *writer             // used by the holder of filing
	batchReady chan struct{}       // capacity 1; signals that there is a full batch
	length     atomic.Int64        // rows of the table, as far as this process knows
	failedAt   atomic.Int64        // Unix time in nanoseconds at which filing failed; 0 if it last succeeded

	mu      sync.Mutex // guards the following members
	reports []*report  // in the order of their IDs
	bytes   int        // length of their payloads
}

// newInbox returns an inbox whose reports are not in memory.
func newInbox(s *Service) *inbox {
	return &inbox{
		filing: semaphore.NewWeighted(1), filer: &writer{Service: s, partitions: s.newPartitions()},
		batchReady: make(chan struct{}, 1),
	}
}

// put stores reports in the inbox. It returns ErrBusy if the inbox is full.
func (s *Service) put(ctx context.Context, reports []*report) error {
	in := s.inbox
	if in.length.Load() >= maxInbox {
		return ErrBusy
	}
	err := s.db.Write(ctx, func(c store.Conn) error {
		var last int64
		if err := c.Row(`SELECT COALESCE(MAX(id), 0) FROM run_inbox`).Scan(&last); err != nil {
			return fmt.Errorf("reading the last ID of the inbox: %w", err)
		}
		for _, r := range reports {
			last = max(last+1, inboxID(r.receiveTime))
			if _, err := c.Exec(`INSERT INTO run_inbox (id, version, received, since, payload) VALUES (?, ?, ?, ?, ?)`,
				last, r.version, r.receiveTime, r.since, r.payload); err != nil {
				return fmt.Errorf("storing a report in the inbox: %w", err)
			}
			r.inboxRow = last
		}
		return nil
	})
	if err != nil {
		return err
	}
	in.length.Add(int64(len(reports)))
	in.add(reports)
	return nil
}

// inboxID returns a new ID for a report that was received at the given time in Unix milliseconds. Later reports have
// greater IDs. Random bits make it unlikely that an ID is assigned again after its first report has been filed, even
// if a clock is set back. If an ID were assigned again, a process that still has the first report in memory would
// file that report instead of the new one.
func inboxID(received int64) int64 {
	return received<<inboxRandomBits | rand.Int64N(1<<inboxRandomBits) //nolint:gosec // G404: not a secret
}

// inboxRandomBits is the number of random bits in an ID of the inbox.
const inboxRandomBits = 20

// add keeps reports in memory that have been written to the table, and signals in.batchReady when a batch is complete.
// It drops the payloads of the reports.
func (in *inbox) add(reports []*report) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, r := range reports {
		if len(in.reports) < 2*inboxReports && in.bytes < inboxBytes {
			in.reports = append(in.reports, r)
			in.bytes += r.size
		}
		r.payload = nil // the payload is in the table
	}
	if len(in.reports) >= inboxReports || in.bytes >= inboxBytes {
		select {
		case in.batchReady <- struct{}{}:
		default:
		}
	}
}

// lastComplete returns the ID of the last report in memory that belongs to a complete batch, or 0 if no batch is
// complete.
func (in *inbox) lastComplete() int64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	n := len(in.reports) / inboxReports * inboxReports
	if in.bytes >= inboxBytes {
		n = len(in.reports)
	}
	if n == 0 {
		return 0
	}
	return in.reports[n-1].inboxRow
}

// take removes the reports with IDs up to lastID from memory and returns them, at most one batch.
func (in *inbox) take(lastID int64) []*report {
	in.mu.Lock()
	defer in.mu.Unlock()
	n, events := 0, 0
	for n < min(len(in.reports), inboxReports) && in.reports[n].inboxRow <= lastID && events < batchEvents {
		in.bytes -= in.reports[n].size
		events += len(in.reports[n].events)
		n++
	}
	reports := in.reports[:n:n]
	in.reports = in.reports[n:]
	if len(in.reports) == 0 {
		in.reports = nil // frees the memory
	}
	return reports
}

// fileInBackground files reports in the background until the service is closed.
func (s *Service) fileInBackground() {
	ticker := time.NewTicker(inboxWait)
	defer ticker.Stop()
	for {
		select {
		case <-s.inbox.batchReady:
			if !s.inbox.failedRecently(s.o.Now()) {
				s.logFilingError(s.ctx, s.file(s.ctx, s.inbox.lastComplete()))
			}
		case <-ticker.C:
			s.settleAndLog(s.ctx)
		case <-s.ctx.Done():
			return
		}
	}
}

// failedRecently reports whether filing has failed less than inboxWait ago. The next attempt is then made by the ticker
// of fileInBackground only.
func (in *inbox) failedRecently(now time.Time) bool {
	failed := in.failedAt.Load()
	return failed != 0 && now.Sub(time.Unix(0, failed)) < inboxWait
}

// beforeQuery files the reports in the inbox before a query. If filing fails, the query reads only the reports filed so
// far, and the status of the service shows the failure.
func (s *Service) beforeQuery(ctx context.Context) {
	if s.inbox != nil && !s.inbox.failedRecently(s.o.Now()) {
		s.settleAndLog(ctx)
	}
}

// settleAndLog calls Settle and logs its error.
func (s *Service) settleAndLog(ctx context.Context) { s.logFilingError(ctx, s.Settle(ctx)) }

// logFilingError logs the error of filing reports, unless ctx has ended or the database is unavailable.
func (s *Service) logFilingError(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrUnavailable) {
		s.logger.Error("moving acknowledged reports from the inbox to the tables for queries failed", zap.Error(err))
	}
}

// Settle moves all reports that were acknowledged before the call to the tables that queries read, and waits for that.
// On PostgreSQL, where there is no inbox, it does nothing.
func (s *Service) Settle(ctx context.Context) error {
	if s.inbox == nil {
		return nil
	}
	var length, last int64
	lengthBefore := s.inbox.length.Load()
	err := s.db.ReadBriefly(ctx, func(c store.Conn) error {
		return c.Row(`SELECT COUNT(*), COALESCE(MAX(id), 0) FROM run_inbox`).Scan(&length, &last)
	})
	if err != nil {
		return fmt.Errorf("counting the reports in the inbox: %w", err)
	}
	// Correct our count, which takes no account of what other processes add and file. If the count has changed since the
	// query began, it is left alone.
	s.inbox.length.CompareAndSwap(lengthBefore, length)
	if length == 0 {
		return nil
	}
	return s.file(ctx, last)
}

// file files the reports with IDs up to lastID in batches: first those in memory, then those that are only in the
// table. Concurrent calls wait for each other. A batch that fails is left in the table; failure then contains its
// error.
func (s *Service) file(ctx context.Context, lastID int64) (failure error) {
	if err := s.inbox.filing.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.inbox.filing.Release(1)
	total := 0 // number of reports removed from the inbox
	defer func() {
		switch {
		case total > 0:
			s.inbox.failedAt.Store(0)
		case failure != nil && ctx.Err() == nil:
			s.inbox.failedAt.Store(s.o.Now().UnixNano())
		}
	}()
	lastRead := int64(0) // ID of the last report that was read from the table; failed reports before it are left there
	for {
		reports := s.inbox.take(lastID)
		if len(reports) == 0 {
			var err error
			reports, lastRead, err = s.readInbox(ctx, lastRead, lastID)
			if err != nil || lastRead == 0 { // an error, or no more reports
				return errors.Join(failure, err)
			}
		}
		done, err := s.fileBatch(reports)
		total += done
		failure = errors.Join(failure, err)
		if err != nil && done == 0 || ctx.Err() != nil { // the failure does not depend on the reports
			return failure
		}
	}
}

// fileBatch files reports and removes them from the inbox. If the reports cannot be filed together, it files them one
// by one, and moves a report that the database refuses to the list of rejected commands. done is the number of reports
// removed from the inbox. err is nil if all of them have been removed.
func (s *Service) fileBatch(reports []*report) (done int, err error) {
	err = s.inbox.filer.file(reports)
	if err != nil && len(reports) > 1 && !errors.Is(err, store.ErrUnavailable) {
		s.logger.Warn("storing reports one by one", zap.Error(err))
		for _, r := range reports {
			n, reportErr := s.fileBatch([]*report{r})
			done += n
			if reportErr != nil {
				err = reportErr
			}
		}
		if done == len(reports) {
			err = nil
		}
		return done, err
	}
	if err = s.asPayloadError(err); IsPayload(err) { // there is only one report, otherwise see above
		err = s.rejectFromInbox(reports[0].inboxRow, reports[0].certname, err)
	}
	if err != nil {
		return 0, err
	}
	s.inbox.length.Add(-int64(len(reports)))
	return len(reports), nil
}

// readInbox reads reports from the table whose IDs are greater than afterID and at most lastID, but at most one batch.
// end is the ID of the last report read, or 0 if there are no more. Reports that cannot be parsed are moved to the list
// of rejected commands and not returned.
func (s *Service) readInbox(ctx context.Context, afterID, lastID int64) (reports []*report, end int64, err error) {
	unreadable := make(map[int64]error)
	err = s.db.Read(ctx, func(c store.Conn) error {
		reports, end = nil, 0
		clear(unreadable)
		rows, err := c.Rows(`SELECT id, version, received, since, payload FROM run_inbox WHERE id > ? AND id <= ? ORDER BY id LIMIT ?`, afterID, lastID, inboxReports)
		if err != nil {
			return err
		}
		defer rows.Close()
		for size := 0; size < inboxBytes && rows.Next(); {
			var version int
			var received, oldest int64
			var payload []byte
			if err := rows.Scan(&end, &version, &received, &oldest, &payload); err != nil {
				return err
			}
			r, err := parsePacked(version, oldest, payload)
			if err != nil { // a newer version is stricter, or the database is damaged
				unreadable[end] = err
				continue
			}
			r.inboxRow, r.receiveTime = end, received
			size += r.size
			reports = append(reports, r)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, 0, fmt.Errorf("reading the inbox: %w", err)
	}
	for id, reason := range unreadable {
		if err := s.rejectFromInbox(id, "", reason); err != nil {
			return nil, 0, err
		}
	}
	return reports, end, nil
}

// parsePacked parses a report from the table. payload is compressed, and version is the version of the command. Events
// before oldest, in Unix milliseconds, are left out.
func parsePacked(version int, oldest int64, payload []byte) (*report, error) {
	text, err := packed.Append(nil, payload, maxUnpacked)
	if err != nil {
		return nil, err
	}
	r, err := parseReport(version, text, oldest)
	if err != nil {
		return nil, err
	}
	r.size = len(text)
	return r, nil
}

// rejectFromInbox moves the report with the given ID from the inbox to the list of rejected commands, with the reason.
// certname may be empty if it is not known.
func (s *Service) rejectFromInbox(id int64, certname string, reason error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), writeTimeout)
	defer cancel()
	c := Command{Name: storeReport, Certname: certname}
	var payload []byte
	err := s.db.Read(ctx, func(conn store.Conn) error {
		return conn.Row(`SELECT version, payload FROM run_inbox WHERE id = ?`, id).Scan(&c.Version, &payload)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil // another process has filed the report
	}
	if err != nil {
		return fmt.Errorf("reading a report that cannot be stored: %w", err)
	}
	if c.Payload, err = packed.Append(nil, payload, maxUnpacked); err != nil {
		c.Payload = payload // an administrator may be able to repair the payload
		s.logger.Error("an acknowledged report is damaged in the database; its payload is stored unchanged with the rejected commands",
			zap.Int64("inbox", id), zap.Error(err))
	}
	s.logger.Error("an acknowledged report was rejected", zap.String("certname", certname), zap.Error(reason))
	if _, err := s.reject(ctx, c, reason); err != nil {
		return fmt.Errorf("adding a report to the list of rejected commands: %w", err)
	}
	err = s.db.Write(ctx, func(conn store.Conn) error {
		_, err := conn.Exec(`DELETE FROM run_inbox WHERE id = ?`, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("removing a rejected report from the inbox: %w", err)
	}
	return nil
}

// claim removes reports from the inbox, and returns those that no other process has removed before. Reports that have
// not been in the inbox are returned, too.
func (b *batch) claim(reports []*report) ([]*report, error) {
	claimed := make([]*report, 0, len(reports))
	for _, r := range reports {
		if r.inboxRow != 0 {
			n, err := b.Exec(`DELETE FROM run_inbox WHERE id = ?`, r.inboxRow)
			if err != nil {
				return nil, err
			}
			if n == 0 {
				continue
			}
		}
		claimed = append(claimed, r)
	}
	return claimed, nil
}
