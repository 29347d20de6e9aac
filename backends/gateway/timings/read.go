package timings

import (
	"context"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Query asks for counts.
type Query struct {
	Kind Kind
	// Unit is Minute, Hour or Day; the kind Team has days only.
	Unit time.Duration
	// From and To bound the slots: From is taken down to the begin of one, To up.
	From, To time.Time
	// Apart has each slot be a line of its own, in order of time.
	Apart bool
}

// Line is what a Query finds of a model or team, or of all.
type Line struct {
	// Slot is when the slot began, where slots are lines of their own.
	Slot time.Time
	// TeamID, Provider and Model are as in a Sample.
	TeamID, Provider, Model string
	Counts
}

// Read returns the counts. A line that nothing was counted in is left out. Records lag behind the
// requests by at most spending.FlushInterval.
func Read(ctx context.Context, db *store.DB, q Query) (lines []*Line, err error) {
	slot := "0"
	if q.Apart {
		slot = "slot"
	}
	micros := q.Unit.Microseconds()
	from, to := slotOf(q.From, q.Unit), (schema.Micros(q.To)+micros-1)/micros
	err = db.Read(ctx, func(c store.Conn) error {
		lines = nil
		return c.All(`SELECT `+slot+` AS part, team_id, provider, model, bucket, CAST(sum(requests) AS BIGINT) FROM gateway_timings
			WHERE unit = ? AND kind = ? AND slot >= ? AND slot < ? GROUP BY 1, team_id, provider, model, bucket ORDER BY 1, team_id, provider, model`,
			[]any{int64(q.Unit / time.Second), string(q.Kind), from, to}, func(row store.Row) error {
				var slot, n int64
				var bucket int
				var line Line
				if err := row.Scan(&slot, &line.TeamID, &line.Provider, &line.Model, &bucket, &n); err != nil {
					return err
				}
				if q.Apart {
					line.Slot = schema.Moment(slot * micros)
				}
				if last := len(lines) - 1; last < 0 || !lines[last].same(&line) {
					lines = append(lines, &line)
				}
				lines[len(lines)-1].add(bucket, n)
				return nil
			})
	})
	return lines, err
}

// same reports whether lines are about the same.
func (l *Line) same(o *Line) bool {
	return l.Slot.Equal(o.Slot) && l.TeamID == o.TeamID && l.Provider == o.Provider && l.Model == o.Model
}
