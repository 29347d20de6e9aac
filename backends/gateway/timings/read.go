package timings

import (
	"context"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Query selects counts.
type Query struct {
	Kind Kind
	// Unit is Minute, Hour or Day. For the kind Team it must be Day.
	Unit time.Duration
	// From and To bound the time. From is rounded down and To is rounded up to a multiple of Unit.
	From, To time.Time
	// PerUnit selects a line for each unit of time instead of one line for the whole time. Lines are then in order of
	// time.
	PerUnit bool
}

// Line has the counts of one model, of one team, or of all requests.
type Line struct {
	// Slot is the beginning of the unit of time. It is set only if Query.PerUnit is set.
	Slot time.Time
	// TeamID, Provider and Model are as in a Sample.
	TeamID, Provider, Model string
	Counts
}

// Read returns the selected counts. Lines without counts are left out. Counts are written together with the usage log,
// so they lag behind the requests by at most spending.FlushInterval.
func Read(ctx context.Context, db *store.DB, q Query) (lines []*Line, err error) {
	// Columns that the query does not ask for are constants, by which the statement does not group. That halves the
	// time for sorting.
	slotColumn, teamColumn, modelColumns, groupBy := "0", "''", "'', ''", ""
	if q.PerUnit {
		slotColumn, groupBy = "slot", "slot, "
	}
	switch q.Kind {
	case All: // no subject
	case Model:
		modelColumns = "provider, model"
		groupBy += modelColumns + ", "
	case Team:
		teamColumn = "team_id"
		groupBy += teamColumn + ", "
	}
	micros := q.Unit.Microseconds()
	start, end := slotOf(q.From, q.Unit), (schema.Micros(q.To)+micros-1)/micros
	err = db.Read(ctx, func(c store.Conn) error {
		return c.All(
			`SELECT `+slotColumn+`, `+teamColumn+`, `+modelColumns+`, bucket, CAST(sum(requests) AS BIGINT)
			FROM gateway_timings
			WHERE unit = ? AND kind = ? AND slot >= ? AND slot < ? GROUP BY `+groupBy+`bucket ORDER BY `+groupBy+`bucket`,
			[]any{int64(q.Unit / time.Second), string(q.Kind), start, end},
			func(row store.Row) error {
				var slot, n int64
				var bucket int
				var line Line
				if err := row.Scan(&slot, &line.TeamID, &line.Provider, &line.Model, &bucket, &n); err != nil {
					return err
				}
				if q.PerUnit {
					line.Slot = schema.Moment(slot * micros)
				}
				if last := len(lines) - 1; last < 0 || !lines[last].sameSubject(&line) {
					lines = append(lines, &line)
				}
				lines[len(lines)-1].add(bucket, n)
				return nil
			},
		)
	})
	return lines, err
}

// sameSubject reports whether two lines have the same slot and subject.
func (l *Line) sameSubject(o *Line) bool {
	return l.Slot.Equal(o.Slot) && l.TeamID == o.TeamID && l.Provider == o.Provider && l.Model == o.Model
}
