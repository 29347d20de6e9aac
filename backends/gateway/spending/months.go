package spending

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// monthSettled is how long after its end a month is summed up. Records that wait in memory for a database are younger
// than that.
const monthSettled = 3 * 24 * time.Hour

// addMonths sums up the months that are over into gateway_team_months, the oldest first, each in one transaction. So
// all months up to the newest one in the table are complete.
func (w *sweep) addMonths(ctx context.Context) error {
	columns := strings.Join(sumColumns[:], ", ")
	added := make([]string, len(sumColumns))
	for i, c := range sumColumns {
		added[i] = "CAST(sum(" + c + ") AS BIGINT)"
	}
	statement := `INSERT INTO gateway_team_months (month, team_id, provider, model, ` + columns + `)
		SELECT CAST(? AS BIGINT), team_id, provider, model, ` + strings.Join(added, ", ") + `
		FROM gateway_team_days WHERE day >= ? AND day < ? GROUP BY team_id, provider, model`
	for {
		through, err := w.ledger.monthsThrough(ctx)
		if err != nil {
			return err
		}
		days, err := read(ctx, w.ledger, scanDay, `SELECT min(day) FROM gateway_team_days WHERE day >= ?`, through)
		if err != nil || !days[0].Valid {
			return err
		}
		begin := startOfMonth(fromHour(days[0].Int64 * 24))
		end := begin.AddDate(0, 1, 0)
		if w.now.Before(end.Add(monthSettled)) {
			return nil
		}
		if _, err := w.delete(ctx, statement, unixDay(begin), unixDay(begin), unixDay(end)); err != nil {
			return fmt.Errorf("adding up a month: %w", err)
		}
	}
}

// scanDay scans a row with one day, which is NULL if the table is empty.
func scanDay(row store.Row) (day sql.NullInt64, err error) {
	err = row.Scan(&day)
	return day, err
}

// monthsThrough returns the Unix day before which gateway_team_months is complete. It returns 0 if the table is empty.
func (s *Ledger) monthsThrough(ctx context.Context) (day int64, err error) {
	newest, err := read(ctx, s, scanDay, `SELECT max(month) FROM gateway_team_months`)
	if err != nil || !newest[0].Valid {
		return 0, err
	}
	return unixDay(fromHour(newest[0].Int64*24).AddDate(0, 1, 0)), nil
}

// teamSums returns a table expression, with the alias d, for the sums by team from one day or hour (inclusive) to
// another (exclusive). Unless the query is by time, it takes whole months where these have been summed up, and the days
// before and after them.
func (s *Ledger) teamSums(
	ctx context.Context, q *Query, source *spendingSource, from, to int64,
) (table string, args []any, err error) {
	part := func(table, at string) string {
		columns, end := "provider, model, "+strings.Join(sumColumns[:], ", "), ""
		if q.TeamID == "" && !q.has("provider") && !q.has("model") {
			// Rows are in this order, so that they are added up without being sorted, and few are left to sort.
			columns, end = q.sums(), " GROUP BY "+at+", team_id"
		}
		return "SELECT " + at + ", team_id, " + columns + " FROM " + table + " WHERE " + at + " >= ? AND " + at + " < ?" + end
	}
	whole := "(" + part(source.table, source.at) + ") AS d"
	if source.at != byDay || q.has(byDay) {
		return whole, []any{from, to}, nil
	}
	through, err := s.monthsThrough(ctx)
	if err != nil {
		return "", nil, err
	}
	begin := startOfMonth(fromHour(from * 24))
	if unixDay(begin) < from {
		begin = begin.AddDate(0, 1, 0)
	}
	first, last := unixDay(begin), min(unixDay(startOfMonth(fromHour(to*24))), through)
	if first >= last {
		return whole, []any{from, to}, nil
	}
	days := " UNION ALL " + part(source.table, source.at)
	return "(" + part("gateway_team_months", "month") + days + days + ") AS d",
		[]any{first, last, from, first, last, to}, nil
}
