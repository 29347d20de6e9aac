package runevents

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// partitionLock is the advisory lock of those who make partitions, the bytes
// "tollrun" behind a zero.
const partitionLock = 0x00746f6c6c72756e

// partitions knows which partitions are there: on PostgreSQL events and details
// are kept in one a day, by their column "at". SQLite has none.
type partitions struct {
	db    *store.DB
	known map[string]struct{}
}

func newPartitions(db *store.DB) *partitions {
	return &partitions{db: db, known: make(map[string]struct{})}
}

// partitionName names the partition of a table for a Unix day.
func partitionName(table string, day int64) string {
	return table + "_d" + strconv.FormatInt(day, 10)
}

// cover makes the partitions that the reports need.
func (p *partitions) cover(ctx context.Context, reports []*report) error {
	if p.db.Dialect() != store.Postgres {
		return nil
	}
	for _, r := range reports {
		if err := p.make(ctx, "run_report_details", dayOf(r.producerTimestamp)); err != nil {
			return err
		}
		for i := range r.events {
			if err := p.make(ctx, "run_events", dayOf(r.events[i].at)); err != nil {
				return err
			}
		}
	}
	return nil
}

// make adds a partition. It is attached rather than created in place, for which
// readers need not be kept out.
func (p *partitions) make(ctx context.Context, table string, day int64) error {
	name := partitionName(table, day)
	if _, ok := p.known[name]; ok {
		return nil
	}
	const length = 24 * 60 * 60 * 1000
	err := p.db.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", int64(partitionLock)); err != nil {
			return err
		}
		var exists bool
		if err := tx.QueryRowContext(ctx, "SELECT to_regclass($1) IS NOT NULL", name).Scan(&exists); err != nil || exists {
			return err
		}
		// The names are made of constants and a number.
		if _, err := tx.ExecContext(ctx, "CREATE TABLE "+name+" (LIKE "+table+" INCLUDING DEFAULTS INCLUDING CONSTRAINTS)"); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (%d) TO (%d)", table, name, day*length, (day+1)*length))
		return err
	})
	if err != nil {
		return fmt.Errorf("making the partition %s: %w", name, err)
	}
	p.known[name] = struct{}{}
	return nil
}

// forget has the partitions looked for again.
func (p *partitions) forget() { clear(p.known) }
