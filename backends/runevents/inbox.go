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

// Bounds of the inbox. Reports are filed when so many have come, or so many bytes of
// them, and after a while whatever there is.
const (
	inboxReports = batchReports
	inboxBytes   = 16 << 20
	inboxWait    = 10 * time.Second
	// inboxFull is how many wait when no more are taken: they cannot be filed.
	inboxFull = 16 * inboxReports
)

// inbox is where reports are durable, and acknowledged, before they are filed in the
// tables that queries read. SQLite writes whole pages, and nearly each event of a report
// changes another page of the index of resources: a report alone changes some 50 pages,
// and 16 together some 200. Whoever queries waits until what was acknowledged before is
// filed, so that nobody sees the difference.
//
// What is read here is kept until it is filed, as far as it is not much. The rest, and
// what others on the same file or a process that was killed have left, is read from the
// table.
type inbox struct {
	filing *semaphore.Weighted // held by the one who files
	filer  *writer             // theirs
	enough chan struct{}       // holds one: there is as much as is filed at once
	length atomic.Int64        // of the table, as far as this process knows
	failed atomic.Int64        // when nothing could be filed, in Unix nanoseconds; 0: something was, the last time

	mu      sync.Mutex
	reports []*report // in the order of their numbers
	bytes   int       // of their payloads
}

func newInbox(s *Service) *inbox {
	return &inbox{filing: semaphore.NewWeighted(1), filer: &writer{Service: s, partitions: s.newPartitions()}, enough: make(chan struct{}, 1)}
}

// put makes reports durable.
func (s *Service) put(ctx context.Context, reports []*report) error {
	in := s.inbox
	if in.length.Load() >= inboxFull {
		return ErrBusy
	}
	err := s.db.Write(ctx, func(c store.Conn) error {
		var last int64
		if err := c.Row(`SELECT COALESCE(MAX(id), 0) FROM run_inbox`).Scan(&last); err != nil {
			return fmt.Errorf("looking into the inbox: %w", err)
		}
		for _, r := range reports {
			last = max(last+1, inboxID(r.receiveTime))
			if _, err := c.Exec(`INSERT INTO run_inbox (id, version, received, since, payload) VALUES (?, ?, ?, ?, ?)`,
				last, r.version, r.receiveTime, r.since, r.payload); err != nil {
				return fmt.Errorf("keeping a report: %w", err)
			}
			r.inbox = last
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

// inboxID is a number for a report that came at a time, in Unix milliseconds: later ones
// are greater, and none is given to two reports, of which the first is filed already, also
// when a clock was put back. A process that still has that one would file it for the other.
func inboxID(received int64) int64 {
	return received<<inboxChance | rand.Int64N(1<<inboxChance) //nolint:gosec // G404: not a secret
}

// inboxChance is how many bits of a number are chance.
const inboxChance = 20

// add keeps reports that are in the table, and says when there are enough.
func (in *inbox) add(reports []*report) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, r := range reports {
		if len(in.reports) < 2*inboxReports && in.bytes < inboxBytes {
			in.reports = append(in.reports, r)
			in.bytes += r.size
		}
		r.payload = nil // the table has it
	}
	if len(in.reports) >= inboxReports || in.bytes >= inboxBytes {
		select {
		case in.enough <- struct{}{}:
		default:
		}
	}
}

// full is the number of the last report that fills a batch.
func (in *inbox) full() int64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	n := len(in.reports) / inboxReports * inboxReports
	if in.bytes >= inboxBytes {
		n = len(in.reports)
	}
	if n == 0 {
		return 0
	}
	return in.reports[n-1].inbox
}

// take returns what is kept of the reports up to a number, as many as are filed at once.
func (in *inbox) take(last int64) []*report {
	in.mu.Lock()
	defer in.mu.Unlock()
	n, events := 0, 0
	for n < min(len(in.reports), inboxReports) && in.reports[n].inbox <= last && events < batchEvents {
		in.bytes -= in.reports[n].size
		events += len(in.reports[n].events)
		n++
	}
	taken := in.reports[:n:n]
	if in.reports = in.reports[n:]; len(in.reports) == 0 {
		in.reports = nil
	}
	return taken
}

// tend files reports until the service ends.
func (s *Service) tend() {
	ticker := time.NewTicker(inboxWait)
	defer ticker.Stop()
	for {
		select {
		case <-s.inbox.enough:
			if !s.inbox.stuck(s.o.Now()) {
				s.filed(s.ctx, s.file(s.ctx, s.inbox.full()))
			}
		case <-ticker.C:
			s.settled(s.ctx)
		case <-s.ctx.Done():
			return
		}
	}
}

// stuck reports whether filing has just failed, so that it is left to the next turn.
func (in *inbox) stuck(now time.Time) bool {
	at := in.failed.Load()
	return at != 0 && now.Sub(time.Unix(0, at)) < inboxWait
}

// beforeQuery is Settle for queries. They go on in any case, over what is filed, when
// filing fails; the status tells that.
func (s *Service) beforeQuery(ctx context.Context) {
	if s.inbox != nil && !s.inbox.stuck(s.o.Now()) {
		s.settled(ctx)
	}
}

// settled is Settle for those who have nobody to tell.
func (s *Service) settled(ctx context.Context) { s.filed(ctx, s.Settle(ctx)) }

func (s *Service) filed(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrUnavailable) {
		s.logger.Error("storing acknowledged reports", zap.Error(err))
	}
}

// Settle waits until the reports are stored, for queries, that were acknowledged before.
func (s *Service) Settle(ctx context.Context) error {
	if s.inbox == nil {
		return nil
	}
	var length, last int64
	known := s.inbox.length.Load()
	err := s.db.ReadBriefly(ctx, func(c store.Conn) error {
		return c.Row(`SELECT COUNT(*), COALESCE(MAX(id), 0) FROM run_inbox`).Scan(&length, &last)
	})
	if err != nil {
		return fmt.Errorf("looking into the inbox: %w", err)
	}
	s.inbox.length.CompareAndSwap(known, length) // others put and file, too; unless it has changed since
	if length == 0 {
		return nil
	}
	return s.file(ctx, last)
}

// file stores the reports up to a number, some hundreds at a time.
func (s *Service) file(ctx context.Context, last int64) (failed error) {
	if err := s.inbox.filing.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.inbox.filing.Release(1)
	total := 0
	defer func() {
		switch {
		case total > 0:
			s.inbox.failed.Store(0)
		case failed != nil && ctx.Err() == nil:
			s.inbox.failed.Store(s.o.Now().UnixNano())
		}
	}()
	for begin := int64(0); ; {
		reports := s.inbox.take(last)
		if len(reports) == 0 {
			var err error
			if reports, begin, err = s.reread(ctx, begin, last); err != nil || begin == 0 {
				return errors.Join(failed, err)
			}
		}
		done, err := s.fileBatch(reports)
		total += done
		failed = errors.Join(failed, err)
		if err != nil && done == 0 || ctx.Err() != nil { // it is not for what they are
			return failed
		}
	}
}

// fileBatch stores reports and takes them out of the inbox. When they cannot be stored
// together, each is tried alone; what the database refuses goes to the list of rejected
// commands. Done is how many are out of the inbox.
func (s *Service) fileBatch(reports []*report) (done int, err error) {
	err = s.inbox.filer.file(reports)
	if err != nil && len(reports) > 1 && !errors.Is(err, store.ErrUnavailable) {
		s.logger.Warn("storing reports one by one", zap.Error(err))
		for _, r := range reports {
			n, failed := s.fileBatch([]*report{r})
			done += n
			if failed != nil {
				err = failed // like the others'
			}
		}
		if done == len(reports) {
			err = nil
		}
		return done, err
	}
	if err = s.payloads(err); IsPayload(err) {
		err = s.giveUp(reports[0].inbox, reports[0].certname, err)
	}
	if err != nil {
		return 0, err
	}
	s.inbox.length.Add(-int64(len(reports)))
	return len(reports), nil
}

// reread reads reports of the table that come after begin, up to last and as many as
// are filed at once. End is the number of the last one; 0: there are no more.
func (s *Service) reread(ctx context.Context, begin, last int64) (reports []*report, end int64, err error) {
	unreadable := make(map[int64]error)
	err = s.db.Read(ctx, func(c store.Conn) error {
		reports, end = nil, 0
		clear(unreadable)
		rows, err := c.Rows(`SELECT id, version, received, since, payload FROM run_inbox WHERE id > ? AND id <= ? ORDER BY id LIMIT ?`, begin, last, inboxReports)
		if err != nil {
			return err
		}
		defer rows.Close()
		for size := 0; size < inboxBytes && rows.Next(); {
			var version int
			var received, since int64
			var payload []byte
			if err := rows.Scan(&end, &version, &received, &since, &payload); err != nil {
				return err
			}
			r, err := unpack(version, since, payload)
			if err != nil { // a rule of today, or the file is damaged
				unreadable[end] = err
				continue
			}
			r.inbox, r.receiveTime = end, received
			size += r.size
			reports = append(reports, r)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, 0, fmt.Errorf("reading the inbox: %w", err)
	}
	for id, reason := range unreadable {
		if err := s.giveUp(id, "", reason); err != nil {
			return nil, 0, err
		}
	}
	return reports, end, nil
}

// unpack reads a report of the table as it was read when it came.
func unpack(version int, since int64, payload []byte) (*report, error) {
	text, err := packed.Append(nil, payload, maxUnpacked)
	if err != nil {
		return nil, err
	}
	r, err := parseReport(version, text, since)
	if err != nil {
		return nil, err
	}
	r.size = len(text)
	return r, nil
}

// giveUp moves a report from the inbox to the list of rejected commands.
func (s *Service) giveUp(id int64, certname string, reason error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), writeTimeout)
	defer cancel()
	c := Command{Name: storeReport, Certname: certname}
	var payload []byte
	err := s.db.Read(ctx, func(conn store.Conn) error {
		return conn.Row(`SELECT version, payload FROM run_inbox WHERE id = ?`, id).Scan(&c.Version, &payload)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil // another process was first
	}
	if err != nil {
		return fmt.Errorf("reading a report that cannot be stored: %w", err)
	}
	if c.Payload, err = packed.Append(nil, payload, maxUnpacked); err != nil {
		c.Payload = payload // whoever looks at it may make more of it
		s.logger.Error("an acknowledged report is damaged in the database, and kept as it is", zap.Int64("inbox", id), zap.Error(err))
	}
	s.logger.Error("an acknowledged report was rejected", zap.String("certname", certname), zap.Error(reason))
	if _, err := s.reject(ctx, c, reason); err != nil {
		return fmt.Errorf("keeping a report that cannot be stored: %w", err)
	}
	err = s.db.Write(ctx, func(conn store.Conn) error {
		_, err := conn.Exec(`DELETE FROM run_inbox WHERE id = ?`, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("taking a rejected report out of the inbox: %w", err)
	}
	return nil
}

// claim takes the reports out of the inbox, and returns those that nobody else has taken.
func (b *batch) claim(reports []*report) ([]*report, error) {
	mine := make([]*report, 0, len(reports))
	for _, r := range reports {
		if r.inbox != 0 {
			n, err := b.Exec(`DELETE FROM run_inbox WHERE id = ?`, r.inbox)
			if err != nil {
				return nil, err
			}
			if n == 0 {
				continue
			}
		}
		mine = append(mine, r)
	}
	return mine, nil
}
