package runevents

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// tally is how many events of an hour and state came or went.
type tally map[hourState]int64

type hourState struct{ hour, status int64 }

func (t tally) add(at, status, n int64) { t[hourState{hourOf(at), status}] += n }

// tallyParts is how many rows the count of an hour and state may be spread over,
// tallyPart the one of this process: processes on one PostgreSQL server shall
// not wait for each other.
const tallyParts = 1 << 16

var tallyPart = rand.Int64N(tallyParts) //nolint:gosec // keeps processes apart, no secret

// write adds the tally to the counts that are kept.
func (t tally) write(ctx context.Context, db *store.DB, tx *sql.Tx) error {
	part := tallyPart
	if db.Dialect() == store.SQLite {
		part = 0
	}
	keys := slices.SortedFunc(maps.Keys(t), func(a, b hourState) int {
		return cmp.Or(cmp.Compare(a.hour, b.hour), cmp.Compare(a.status, b.status))
	})
	for chunk := range slices.Chunk(keys, statementRows) {
		args := make([]any, 0, 4*len(chunk))
		for _, key := range chunk {
			args = append(args, key.hour, key.status, part, t[key])
		}
		statement := "INSERT INTO run_event_counts (hour, status, part, events) VALUES " + strings.TrimSuffix(strings.Repeat("(?, ?, ?, ?), ", len(chunk)), ", ") +
			" ON CONFLICT (hour, status, part) DO UPDATE SET events = run_event_counts.events + excluded.events"
		if _, err := tx.ExecContext(ctx, db.Rebind(statement), args...); err != nil {
			return err
		}
	}
	return nil
}

// deleteEvents runs a DELETE on the events and takes what it deletes off the
// counts.
func deleteEvents(ctx context.Context, db *store.DB, tx *sql.Tx, statement string, args ...any) (n int64, err error) {
	rows, err := tx.QueryContext(ctx, db.Rebind(statement+" RETURNING at, status"), args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	t := make(tally)
	for ; rows.Next(); n++ {
		var at, status int64
		if err := rows.Scan(&at, &status); err != nil {
			return 0, err
		}
		t.add(at, status, -1)
	}
	if err := cmp.Or(rows.Err(), rows.Close()); err != nil {
		return 0, err
	}
	return n, t.write(ctx, db, tx)
}
