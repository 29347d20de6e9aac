package runevents

import (
	"context"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// What a move from one engine to the other needs; see store.Schema.

// movedMost is the number of days beyond which partitions get no longer.
const movedMost = 36_500

// movedTo is the partition of a row. All have the same length, for as many days as the rows
// have: those made later may be longer or shorter.
func movedTo(table string, key, oldest, newest int64) store.Partition {
	const length = int64(day / time.Millisecond)
	d, span := dayOf(key), spanFor(time.Duration(min(dayOf(newest)-dayOf(oldest), movedMost))*day)
	of := days{floor(d, span) * span, floor(d, span)*span + span}
	return store.Partition{Name: partitionName(table, of), From: of.from * length, Until: of.until * length}
}

// fileInbox files the reports that a server has acknowledged and left. What cannot be filed
// goes to the list of rejected commands.
func fileInbox(ctx context.Context, db *store.DB) error {
	const all = 200 * 365 * day
	s, err := New(Options{DB: db, EventTTL: all, ReportTTL: all, Import: true})
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Settle(ctx)
}
