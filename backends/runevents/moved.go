package runevents

import (
	"context"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// The following is used to move the data from one database engine to the other; see store.Schema.

// maxMoved is the number of days from which on partitions do not get longer.
const maxMoved = 36_500

// movedTo returns the partition of a row. All partitions have the same length, which depends on the time span of
// all rows. Partitions that are created later may have another length.
func movedTo(table string, key, oldest, newest int64) store.Partition {
	const length = int64(day / time.Millisecond)
	d, span := dayOf(key), spanFor(time.Duration(min(dayOf(newest)-dayOf(oldest), maxMoved))*day)
	partitionDays := days{floor(d, span) * span, floor(d, span)*span + span}
	return store.Partition{
		Name: partitionName(table, partitionDays), From: partitionDays.from * length,
		Until: partitionDays.until * length,
	}
}

// fileInbox files the reports that a server has acknowledged and left in the inbox. Reports that cannot be filed
// are added to the list of rejected commands.
func fileInbox(ctx context.Context, db *store.DB) error {
	const all = 200 * 365 * day
	s, err := New(Options{DB: db, EventTTL: all, ReportTTL: all, Import: true})
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Settle(ctx)
}
