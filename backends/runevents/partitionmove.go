package runevents

import (
	"context"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// The following functions are for moving the data to the other database engine; see store.Schema.

// maxMoved limits the time span of the data from which the length of partitions is computed, in days. A longer time
// span does not make partitions longer.
const maxMoved = 36_500

// movedTo returns the partition of a table for a row whose time is key. All partitions have the same length, which
// depends on the time span of all rows, from oldest to newest. The times are in Unix milliseconds. Partitions created
// later by the service may have another length.
func movedTo(table string, key, oldest, newest int64) store.Partition {
	const length = int64(day / time.Millisecond)
	span := spanFor(time.Duration(min(dayOf(newest)-dayOf(oldest), maxMoved)) * day)
	first := floor(dayOf(key), span) * span
	partitionDays := days{first, first + span}
	return store.Partition{
		Name: partitionName(table, partitionDays), From: partitionDays.from * length,
		Until: partitionDays.until * length,
	}
}

// fileInbox files the acknowledged reports that a server has left in the inbox. It moves reports that cannot be filed
// to the list of rejected commands.
func fileInbox(ctx context.Context, db *store.DB) error {
	const all = 200 * 365 * day
	s, err := New(Options{DB: db, EventTTL: all, ReportTTL: all, Import: true})
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Settle(ctx)
}
