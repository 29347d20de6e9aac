package runevents

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// partitionLock is the advisory lock held while a partition is created: a zero byte followed by "tollrun".
const partitionLock = 0x00746f6c6c72756e

// The possible lengths of a partition, in days. A query without time bounds locks all partitions and their indexes, so
// a longer retention uses longer, and therefore fewer, partitions.
const (
	daily   = 1
	weekly  = 7
	monthly = 28
)

// spanFor returns the length of partitions, in days, for rows that are kept for ttl.
func spanFor(ttl time.Duration) int64 {
	switch {
	case ttl <= 30*day:
		return daily
	case ttl <= 180*day:
		return weekly
	}
	return monthly
}

// partitioning determines the partitions of a table. Days are numbers of days since 1970.
type partitioning struct {
	table string
	ttl   time.Duration // retention of the rows; zero if it is not known
}

// partitionDays returns the length, in days, of the partition for day d. If the retention is not known, it is assumed
// to be the age of the day, because rows of that day are kept for at least this time.
func (s partitioning) partitionDays(d, today int64) int64 {
	if s.ttl == 0 {
		return spanFor(time.Duration(today-d) * day)
	}
	return spanFor(s.ttl)
}

// partitionStart returns the first day of the partition that contains day d. The retention must be known.
func (s partitioning) partitionStart(d int64) int64 {
	span := spanFor(s.ttl)
	return floor(d, span) * span
}

// eventPartitioning and detailsPartitioning determine the partitions of the two partitioned tables.
func (s *Service) eventPartitioning() partitioning { return s.partitioning("run_events", s.o.EventTTL) }

func (s *Service) detailsPartitioning() partitioning {
	return s.partitioning("run_report_details", s.o.ReportTTL)
}

// partitioning returns the partitioning of a table with the given retention, unless the options say that the retention
// is not known.
func (s *Service) partitioning(table string, ttl time.Duration) partitioning {
	if s.o.Import {
		ttl = 0
	}
	return partitioning{table, ttl}
}

// days is the range [from, until) of days since 1970.
type days struct{ from, until int64 }

func (d days) contains(day int64) bool { return d.from <= day && day < d.until }

// partition is a table that is, or was, a partition of another table.
type partition struct {
	name string
	days
	attached bool // the table is a partition now
	pending  bool // detaching the partition concurrently was interrupted
}

// partitionName returns the name of the partition of table for the days d. The name contains the first day and, if the
// partition has several days, the day after the last.
func partitionName(table string, d days) string {
	name := table + "_d" + strconv.FormatInt(d.from, 10)
	if d.until > d.from+1 {
		name += "_" + strconv.FormatInt(d.until, 10)
	}
	return name
}

// parsePartition parses a name returned by partitionName. ok is false for any other name.
func parsePartition(table, name string) (d days, ok bool) {
	first, end, several := strings.Cut(strings.TrimPrefix(name, table+"_d"), "_")
	firstDay, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		return d, false
	}
	if !several {
		return days{firstDay, firstDay + 1}, true
	}
	endDay, err := strconv.ParseInt(end, 10, 64)
	return days{firstDay, endDay}, err == nil && firstDay < endDay
}

// listPartitions returns the partitions of a table, and the detached ones that have not been dropped, in chronological
// order.
func listPartitions(c store.Conn, table string) (list []partition, err error) {
	rows, err := c.Rows(`SELECT c.relname, i.inhrelid IS NOT NULL, coalesce(i.inhdetachpending, false)
		FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
		WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND starts_with(c.relname, $1)`, table+"_d")
	if err != nil {
		return nil, fmt.Errorf("listing partitions: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var p partition
		if err := rows.Scan(&p.name, &p.attached, &p.pending); err != nil {
			return nil, err
		}
		var ok bool
		if p.days, ok = parsePartition(table, p.name); ok {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b partition) int { return int(a.from - b.from) })
	return list, rows.Err()
}

// partitions creates partitions, and remembers which ones exist. On PostgreSQL, events and details are partitioned by
// their column "at"; SQLite has no partitions. Only one goroutine uses a partitions at a time.
type partitions struct {
	*Service
	existing map[string][]days // by table
}

// newPartitions returns a partitions that does not know any partition yet.
func (s *Service) newPartitions() *partitions {
	return &partitions{s, make(map[string][]days)}
}

// createMissing creates the missing partitions for the rows of the reports.
func (p *partitions) createMissing(ctx context.Context, reports []*report) error {
	if p.db.Dialect() != store.Postgres {
		return nil
	}
	events, details := p.eventPartitioning(), p.detailsPartitioning()
	for _, r := range reports {
		if err := p.create(ctx, details, dayOf(r.producerTimestamp)); err != nil {
			return err
		}
		for i := range r.events {
			if i > 0 && dayOf(r.events[i].timestamp) == dayOf(r.events[i-1].timestamp) {
				continue // created for the previous event
			}
			if err := p.create(ctx, events, dayOf(r.events[i].timestamp)); err != nil {
				return err
			}
		}
	}
	return nil
}

// create creates the partition for a day, unless it exists. The new partition is shorter than usual if it would overlap
// with others. create creates a table and attaches it, because creating the partition directly would lock out readers.
func (p *partitions) create(ctx context.Context, s partitioning, day int64) error {
	if slices.ContainsFunc(p.existing[s.table], func(d days) bool { return d.contains(day) }) {
		return nil
	}
	var existing []days
	// The list is read after waiting for the lock. It must contain partitions that other processes have committed in the
	// meantime. With a stricter isolation level, the snapshot would hide them.
	err := p.db.Write(store.ReadCommitted(ctx), func(c store.Conn) error {
		if err := c.Enter(partitionLock); err != nil {
			return err
		}
		list, err := listPartitions(c, s.table)
		if err != nil {
			return err
		}
		span := s.partitionDays(day, dayOf(p.o.Now().UnixMilli()))
		first := floor(day, span) * span
		missing := days{first, first + span}
		existing = existing[:0] // the transaction may be repeated
		for _, other := range list {
			switch {
			case !other.attached: // has no rows that queries see, and is not in the way
				continue
			case other.contains(day): // another process has created it
				missing = days{}
			case other.until <= day: // ends before the day, but may overlap if it was created with another retention and length
				missing.from = max(missing.from, other.until)
			default: // the other partition is later than the day
				missing.until = min(missing.until, other.from)
			}
			existing = append(existing, other.days)
		}
		if missing == (days{}) {
			return nil
		}
		existing = append(existing, missing)
		name := partitionName(s.table, missing)
		if slices.ContainsFunc(list, func(old partition) bool { return old.name == name && !old.attached }) {
			// The table was detached to be dropped, and may have been dropped in the meantime.
			if _, err := c.Exec("DROP TABLE IF EXISTS " + name); err != nil {
				return err
			}
		}
		return attachPartition(c, s.table, missing)
	})
	if err != nil {
		return fmt.Errorf("creating a partition of %s: %w", s.table, err)
	}
	p.existing[s.table] = existing
	return nil
}

// attachPartition creates a table for the days d and attaches it to the partitioned table.
func attachPartition(c store.Conn, table string, d days) error {
	const length = int64(day / time.Millisecond)
	name := partitionName(table, d) // consists of constants and numbers, so it needs no quoting
	for _, statement := range []string{
		"CREATE TABLE " + name + " (LIKE " + table + " INCLUDING DEFAULTS INCLUDING CONSTRAINTS)",
		fmt.Sprintf("ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (%d) TO (%d)",
			table, name, d.from*length, d.until*length),
	} {
		if _, err := c.Exec(statement); err != nil {
			return err
		}
	}
	return nil
}

// forget clears the cache of existing partitions.
func (p *partitions) forget() { clear(p.existing) }

// locksOfEvents is the number of locks that a query needs for one partition of the events: on the table and on its
// indexes.
const locksOfEvents = 6

// checkLocks logs a warning if concurrent queries for all events could exhaust PostgreSQL's locks. PostgreSQL reports
// this as "out of shared memory".
func (s *Service) checkLocks(ctx context.Context) {
	if s.db.Dialect() != store.Postgres {
		return
	}
	var partitions, capacity, connections int64
	err := s.db.Read(ctx, func(c store.Conn) error {
		list, err := listPartitions(c, "run_events")
		if err != nil {
			return err
		}
		partitions, connections = int64(len(list)), int64(c.Pool().Stats().MaxOpenConnections)
		return c.Row(`SELECT current_setting('max_locks_per_transaction')::bigint *
			(current_setting('max_connections')::bigint + current_setting('max_prepared_transactions')::bigint)`).Scan(&capacity)
	})
	if err == nil && partitions*locksOfEvents*connections > capacity {
		s.logger.Warn("queries may run out of locks: raise max_locks_per_transaction of PostgreSQL, lower max_conns, or keep events for less time",
			zap.Int64("partitions", partitions), zap.Int64("locks_a_query", partitions*locksOfEvents),
			zap.Int64("connections", connections), zap.Int64("locks_of_the_server", capacity))
	}
}
