package runevents

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

const (
	// purgePause is the time between two purges.
	purgePause = 10 * time.Minute
	// countPause is the time between two counts of rejected commands.
	countPause = time.Minute
	// purgeRows limits the rows that one transaction deletes, so that other writers can proceed in between.
	purgeRows = 2000
	// purgeReports limits the reports that one transaction deletes. It is lower than purgeRows, because a report is
	// deleted with its events.
	purgeReports = 200
	// sweepMargin is the number of days for which a shared row is kept longer than the events that refer to it, for
	// writers that are about to use the row again.
	sweepMargin = 2
)

// Purged contains the numbers of deleted rows of each kind, of nodes that have expired, and of dropped partitions.
type Purged struct {
	Events, Reports, Nodes, Expired, Resources, Changes, Environments int64
	Partitions                                                        int
}

// rows returns the total number of deleted rows and dropped partitions.
func (p *Purged) rows() int {
	return int(p.Events+p.Reports+p.Nodes+p.Resources+p.Changes+p.Environments) + p.Partitions
}

// Work starts the background jobs, which delete old rows until the service is closed. Only the first call has an
// effect.
func (s *Service) Work() {
	s.closing.RLock()
	defer s.closing.RUnlock()
	if s.ending {
		return
	}
	s.workOnce.Do(func() {
		runner := jobs.New(jobs.Options{
			Jobs: []jobs.Job{
				{Name: "purge", Every: purgePause, Run: s.purge},
				{Name: "rejected", Every: countPause, Run: s.countRejected},
			},
			Observe: s.o.Observe, Logger: func() *zap.Logger { return s.logger },
		})
		s.background.Go(func() { runner.Run(s.ctx) })
	})
}

// purge runs Purge as a background job. done is the number of deleted rows and dropped partitions.
func (s *Service) purge(ctx context.Context) (done int, err error) {
	defer s.checkLocks(ctx)
	purged, err := s.Purge(ctx)
	if purged != (Purged{}) {
		s.logger.Info("purged run events", zap.Int64("events", purged.Events), zap.Int("partitions", purged.Partitions),
			zap.Int64("reports", purged.Reports), zap.Int64("nodes", purged.Nodes), zap.Int64("expired", purged.Expired))
	}
	return purged.rows(), err
}

// Purge deletes all rows that are older than the options allow, in small transactions, and marks nodes as expired. It
// returns what it has done even if there is an error.
func (s *Service) Purge(ctx context.Context) (p Purged, err error) {
	now := s.o.Now()
	eventCutoff, reportCutoff := now.Add(-s.o.EventTTL).UnixMilli(), now.Add(-s.o.ReportTTL).UnixMilli()
	if s.db.Dialect() == store.Postgres {
		// Reports are deleted when their partition ends, because their events are then dropped with a partition, too.
		reportCutoff = s.detailsPartitioning().partitionStart(dayOf(reportCutoff)) * day.Milliseconds()
	}
	var eventsFrom int64 // first day that may have events; resources and changes used before it are not needed
	var eventsErr error  // why eventsFrom is not known
	steps := []func() error{
		func() error { return s.Settle(ctx) }, // so that a node that has just reported does not expire
		func() error { return s.expire(ctx, now, &p) },
		func() error { eventsFrom, eventsErr = s.purgeEvents(ctx, eventCutoff, &p); return eventsErr },
		func() error { return s.purgeNodes(ctx, now, &p) },
		func() error { return s.purgeOldReports(ctx, reportCutoff, &p) },
		func() error { return s.purgeDetails(ctx, reportCutoff, &p) },
		func() error { return s.purgeEnvironments(ctx, &p) },
		func() error {
			if eventsErr != nil {
				return nil
			}
			return s.purgeShared(ctx, &p.Resources, "run_resources", eventsFrom-sweepMargin)
		},
		func() error {
			if eventsErr != nil {
				return nil
			}
			return s.purgeShared(ctx, &p.Changes, "run_changes", eventsFrom-sweepMargin)
		},
	}
	defer func() {
		if p.Resources+p.Changes > 0 { // the writers' caches may contain these rows
			s.cachesStale.Store(true)
		}
	}()
	// A failing step does not stop the others. It can fail, for instance, because a long export holds a partition.
	var errs []error
	for _, step := range steps {
		err := step()
		errs = append(errs, err)
		if ctx.Err() != nil || errors.Is(err, store.ErrUnavailable) {
			break
		}
	}
	return p, errors.Join(errs...)
}

// purgeShared deletes the rows of a table, run_resources or run_changes, that no event has used since the day cutoff.
func (s *Service) purgeShared(ctx context.Context, total *int64, table string, cutoff int64) error {
	return s.delete(ctx, total, `DELETE FROM `+table+` WHERE id IN (SELECT id FROM `+table+` WHERE used_day < ? LIMIT ?)`,
		cutoff)
}

// delete executes a DELETE statement repeatedly until it deletes fewer than purgeRows rows. The last parameter of the
// statement is the limit. The deleted rows are added to *total.
func (s *Service) delete(ctx context.Context, total *int64, statement string, args ...any) error {
	n, err := s.db.Purge(ctx, purgeRows, statement, args...)
	*total += n
	if err != nil {
		return fmt.Errorf("deleting in batches: %w", err)
	}
	return nil
}

// expire marks nodes that have not reported for NodeTTL as expired.
func (s *Service) expire(ctx context.Context, now time.Time, p *Purged) error {
	if s.o.NodeTTL <= 0 {
		return nil
	}
	return s.delete(ctx, &p.Expired, `UPDATE run_nodes SET expired_at = ? WHERE id IN (SELECT id FROM run_nodes
		WHERE latest_timestamp < ? AND expired_at IS NULL AND deactivated_at IS NULL LIMIT ?)`, now.UnixMilli(), now.Add(-s.o.NodeTTL).UnixMilli())
}

// purgeNodes deletes nodes that have been inactive for NodePurgeTTL, with their reports.
func (s *Service) purgeNodes(ctx context.Context, now time.Time, p *Purged) error {
	if s.o.NodePurgeTTL <= 0 {
		return nil
	}
	cutoff := now.Add(-s.o.NodePurgeTTL).UnixMilli()
	const inactiveNodes = `SELECT id FROM run_nodes WHERE deactivated_at < ? OR expired_at < ?`
	if err := s.deleteReports(ctx, p, `SELECT id FROM run_reports WHERE node IN (`+inactiveNodes+`) ORDER BY id LIMIT ?`, cutoff,
		cutoff); err != nil {
		return err
	}
	return s.delete(ctx, &p.Nodes, `DELETE FROM run_nodes WHERE id IN (`+inactiveNodes+` LIMIT ?)
		AND NOT EXISTS (SELECT 1 FROM run_reports WHERE run_reports.node = run_nodes.id)`, cutoff, cutoff)
}

// purgeOldReports deletes the reports before cutoff, in Unix milliseconds, with their events. Nodes then no longer
// refer to a deleted report as their latest one.
func (s *Service) purgeOldReports(ctx context.Context, cutoff int64, p *Purged) error {
	if err := s.deleteReports(ctx, p, `SELECT id FROM run_reports WHERE producer_timestamp < ? ORDER BY producer_timestamp, id LIMIT ?`, cutoff); err != nil {
		return err
	}
	var cleared int64
	return s.delete(ctx, &cleared, `UPDATE run_nodes SET latest_report = NULL WHERE id IN (SELECT id FROM run_nodes
		WHERE latest_timestamp < ? AND latest_report IS NOT NULL AND NOT EXISTS (SELECT 1 FROM run_reports WHERE run_reports.id = run_nodes.latest_report) LIMIT ?)`, cutoff)
}

// deleteReports deletes, in batches, the reports whose IDs the SQL query in selection returns. It deletes their
// events first, so that every event has a report at any time. args are the parameters of the query except the last
// one, which is the limit.
func (s *Service) deleteReports(ctx context.Context, p *Purged, selection string, args ...any) error {
	args = append(args, purgeReports)
	eventArgs := append(slices.Clone(args), purgeRows)
	for {
		var events, reports int64
		err := s.db.Write(ctx, func(c store.Conn) (err error) {
			reports = 0
			events, err = deleteEvents(c, `DELETE FROM run_events WHERE (at, report, seq) IN (SELECT at, report, seq FROM run_events WHERE report IN (`+selection+`) LIMIT ?)`, eventArgs...)
			if err != nil || events == purgeRows { // the reports may have more events: delete these in the next transaction
				return err
			}
			reports, err = c.Exec(`DELETE FROM run_reports WHERE id IN (`+selection+`)`, args...)
			return err
		})
		if err != nil {
			return fmt.Errorf("deleting reports: %w", err)
		}
		p.Events += events
		p.Reports += reports
		if events < purgeRows && reports < purgeReports {
			return nil
		}
	}
}

// purgeEvents deletes the events before cutoff, in Unix milliseconds, in chronological order or as whole partitions. No
// events are left before firstDay.
func (s *Service) purgeEvents(ctx context.Context, cutoff int64, p *Purged) (firstDay int64, err error) {
	if s.db.Dialect() == store.Postgres {
		return s.dropPartitions(ctx, "run_events", dayOf(cutoff), &p.Partitions)
	}
	events, err := s.db.InBatches(ctx, 0, func(c store.Conn) (int64, bool, error) {
		n, err := deleteEvents(c, `DELETE FROM run_events WHERE (at, report, seq) IN (SELECT at, report, seq FROM run_events WHERE at < ? ORDER BY at LIMIT ?)`, cutoff, purgeRows)
		return n, n == purgeRows, err
	})
	p.Events += events
	if err != nil {
		return 0, fmt.Errorf("deleting events: %w", err)
	}
	// Old events may have been stored in the meantime. Then their counts remain until the next purge deletes the
	// events.
	var counts int64
	const old = ` WHERE hour < ? AND NOT EXISTS (SELECT 1 FROM run_events WHERE at < ?) LIMIT ?)`
	for _, statement := range []string{
		`DELETE FROM run_event_counts WHERE (hour, status, part) IN (SELECT hour, status, part FROM run_event_counts` + old,
		`DELETE FROM run_node_counts WHERE (hour, node, status) IN (SELECT hour, node, status FROM run_node_counts` + old,
	} {
		if err := s.delete(ctx, &counts, statement, hourOf(cutoff), cutoff); err != nil {
			return 0, err
		}
	}
	return dayOf(cutoff), nil
}

// purgeDetails deletes the logs and metrics of reports before cutoff, in chronological order or as whole
// partitions.
func (s *Service) purgeDetails(ctx context.Context, cutoff int64, p *Purged) error {
	if s.db.Dialect() == store.Postgres {
		_, err := s.dropPartitions(ctx, "run_report_details", dayOf(cutoff), &p.Partitions)
		return err
	}
	var details int64
	return s.delete(ctx, &details, `DELETE FROM run_report_details WHERE (at, report) IN (SELECT at, report FROM run_report_details WHERE at < ? ORDER BY at LIMIT ?)`, cutoff)
}

// purgeEnvironments deletes at most purgeRows environments to which no report refers. The first statement locks these
// environments, and waits for writers that have locked them. Such a writer may have added a report, so the second
// statement checks again.
func (s *Service) purgeEnvironments(ctx context.Context, p *Purged) error {
	const unused = `NOT EXISTS (SELECT 1 FROM run_reports WHERE run_reports.environment = run_environments.id)`
	var n int64
	err := s.db.Write(store.ReadCommitted(ctx), func(c store.Conn) error {
		n = 0
		ids, err := numbers(c, `SELECT id FROM run_environments WHERE `+unused+` ORDER BY id LIMIT ?`+c.LockKeys(), purgeRows)
		for _, id := range ids {
			deleted, err := c.Exec(`DELETE FROM run_environments WHERE id = ? AND `+unused, id)
			if err != nil {
				return err
			}
			n += deleted
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("deleting environments: %w", err)
	}
	p.Environments += n
	return nil
}

// numbers returns the integers of a query with one column.
func numbers(c store.Conn, query string, args ...any) ([]int64, error) {
	return store.List(c, func(r store.Row) (n int64, err error) { return n, r.Scan(&n) }, query, args...)
}

// purgeLock is the advisory lock of the process that drops partitions: a zero byte followed by "tollold".
const purgeLock = 0x00746f6c6c6f6c64

// dropPartitions drops the partitions of a table that end on or before the day cutoff, and adds their number to
// *dropped. It returns the first day of the remaining partitions, or cutoff if that is earlier. Only one process drops
// partitions at a time; a separate connection holds the lock. If another process has the lock, dropPartitions drops
// nothing.
func (s *Service) dropPartitions(
	ctx context.Context, table string, cutoff int64, dropped *int,
) (firstDay int64, err error) {
	err = s.db.Read(ctx, func(c store.Conn) error {
		firstDay = cutoff
		conn, err := c.Pool().Conn(ctx)
		if err != nil {
			return fmt.Errorf("dropping partitions: %w", err)
		}
		defer conn.Close()
		session := c.On(conn)
		var locked bool
		if err := session.Row("SELECT pg_try_advisory_lock($1)", int64(purgeLock)).Scan(&locked); err != nil {
			return err
		}
		if locked {
			defer func() {
				_, _ = conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", int64(purgeLock))
			}()
		}
		list, err := listPartitions(session, table)
		if err != nil {
			return err
		}
		for _, p := range list {
			if !locked || p.until > cutoff {
				firstDay = min(firstDay, p.from)
				continue
			}
			if err := p.drop(session, conn, table); err != nil {
				return fmt.Errorf("dropping the partition %s: %w", p.name, err)
			}
			*dropped++
		}
		if locked && table == "run_events" { // the stored counts are of the rows of this table
			return deleteCounts(session, conn, &firstDay)
		}
		return nil
	})
	return firstDay, err
}

// deleteCounts deletes the stored counts of all days before *firstDay. First it lowers *firstDay to the first day of
// the remaining partitions. A lock keeps other processes, such as an import, from creating a partition in the meantime.
func deleteCounts(c store.Conn, conn *sql.Conn, firstDay *int64) error {
	tx, err := conn.BeginTx(c.Context(), nil)
	if err != nil {
		return fmt.Errorf("deleting counts: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	c = c.On(tx)
	if err := c.Enter(partitionLock); err != nil {
		return fmt.Errorf("deleting counts: %w", err)
	}
	list, err := listPartitions(c, "run_events")
	if err != nil {
		return err
	}
	if len(list) > 0 {
		*firstDay = min(*firstDay, list[0].from)
	}
	for _, statement := range []string{
		"DELETE FROM run_event_counts WHERE hour < $1",
		"DELETE FROM run_node_counts WHERE hour < $1",
	} {
		if _, err := c.Exec(statement, *firstDay*24); err != nil {
			return fmt.Errorf("deleting counts: %w", err)
		}
	}
	return tx.Commit()
}

// drop detaches a partition concurrently, which waits for readers but does not lock them out. Then it drops the
// detached table. It also completes an interrupted detachment.
func (p partition) drop(c store.Conn, conn *sql.Conn, table string) error {
	mode := " CONCURRENTLY"
	if p.pending {
		mode = " FINALIZE"
	}
	if p.attached {
		// DETACH PARTITION CONCURRENTLY must run outside of a transaction. The names consist of constants and numbers,
		// so they need no quoting.
		if _, err := c.Exec("ALTER TABLE " + table + " DETACH PARTITION " + p.name + mode); err != nil {
			return err
		}
	}
	return p.dropDetached(c, conn)
}

// dropDetached drops the table of a detached partition, unless a table of this name has been attached in the meantime.
func (p partition) dropDetached(c store.Conn, conn *sql.Conn) error {
	tx, err := conn.BeginTx(c.Context(), &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // no effect after a commit
	c = c.On(tx)
	if err := c.Enter(partitionLock); err != nil {
		return err
	}
	var attached bool
	err = c.Row("SELECT COALESCE((SELECT relispartition FROM pg_class WHERE oid = to_regclass($1)), false)",
		p.name).Scan(&attached)
	if err != nil || attached {
		return err
	}
	if _, err := c.Exec("DROP TABLE IF EXISTS " + p.name); err != nil {
		return err
	}
	return tx.Commit()
}
