package spending

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// totals describes a table of running totals: the spending of each user, of each key, or of each team and model before
// a day began.
type totals struct {
	*tableSpec
	dayTable    string   // the table with the sums by day that are totalled
	keyAfterDay []string // the columns of the primary key after day
	byUser      bool     // whether the primary key of dayTable begins with user_id; if so, withUsers is needed
}

var (
	userTotals = totals{
		newTableSpec("gateway_user_totals", 2, "day, user_id", (*sumsKey).ofUserTotal), "gateway_usage_days", []string{"user_id"}, true,
	}
	keyTotals = totals{
		newTableSpec("gateway_key_totals", 2, "day, key_id", (*sumsKey).ofKeyTotal), "gateway_usage_days", []string{"key_id"}, true,
	}
	teamTotals = totals{
		newTableSpec("gateway_team_totals", 4, "day, team_id, provider, model", (*sumsKey).ofTeam), "gateway_team_days",
		[]string{"team_id", "provider", "model"},
		false,
	}
)

const (
	// untilNow is the day of the totals up to now, which change in the transactions that write the log.
	untilNow = 1<<31 - 1
	// noDay is a day for which no totals exist.
	noDay = -1
	// totalsSettled is how long after the end of a day its totals are computed. By then all records of the day are stored,
	// since records that wait in memory while the database is down are younger than that.
	totalsSettled = 3 * 24 * time.Hour
	// dailyTotals is the number of past days for which the totals of each day are kept. Of earlier days only those of
	// Mondays are kept.
	dailyTotals = 100
	// spareTotals is the number of days by which the deletion of totals is delayed. Meanwhile queries that have begun,
	// and nodes whose clocks differ, may still use them.
	spareTotals = 2
)

// calendar describes for which days there are sums and totals. Days are numbers since 1970.
type calendar struct {
	begin, end  int64 // the first day with sums, and the day after the last one; both are 0 if there are none
	first, last int64 // the first and the last day with totals; both are 0 if there are none
	today       int64
}

// readCalendar reads the calendar that applies to all tables of totals. Totals in the calendar exist for at least
// spareTotals further days.
func (s *Ledger) readCalendar(ctx context.Context) (calendar, error) {
	list, err := read(ctx, s, func(row store.Row) (c calendar, err error) {
		var start, end, first, last sql.NullInt64
		if err = row.Scan(&start, &end, &first, &last); err == nil && start.Valid {
			c.begin, c.end = start.Int64, end.Int64+1
		}
		c.first, c.last, c.today = first.Int64, last.Int64, unixDay(s.now())
		return c, err
	}, `SELECT (SELECT min(day) FROM gateway_model_days), (SELECT max(day) FROM gateway_model_days),
		(SELECT min(day) FROM gateway_team_totals WHERE day < ?), (SELECT max(day) FROM gateway_team_totals WHERE day < ?)`,
		untilNow, untilNow)
	if err != nil {
		return calendar{}, err
	}
	return list[0], nil
}

// clamp returns the part of a period for which there are sums. If that part is empty, clamp returns a day without
// sums.
func (c *calendar) clamp(start, end int64) (first, last int64) {
	if first, last = max(start, c.begin), min(end, c.end); first < last {
		return first, last
	}
	return c.end, c.end + 1
}

// keeps reports whether the totals of a day are kept once they have been computed.
func (c *calendar) keeps(day int64) bool {
	return day >= c.today-dailyTotals || fromHour(day*24).Weekday() == time.Monday
}

// nearest returns the day with known totals that is nearest to the given day, and the day under which its totals are
// stored; see storedAs. If two days are equally near it returns the earlier one.
func (c *calendar) nearest(day int64) (nearestDay, storedDay int64) {
	day = min(max(day, c.begin), c.end)
	for distance := int64(0); ; distance++ { // ends at c.begin or c.end at the latest
		for _, candidate := range []int64{day - distance, day + distance} {
			if storedDay, known := c.storedAs(candidate); known {
				return candidate, storedDay
			}
		}
	}
}

// storedAs returns the day under which the totals of a day are stored, and whether these totals are known. For
// c.begin it returns noDay, since the totals of c.begin are all 0 and not stored. For c.end it returns untilNow,
// since the totals of c.end are the totals up to now.
func (c *calendar) storedAs(day int64) (storedDay int64, known bool) {
	switch {
	case day == c.begin:
		return noDay, true
	case day == c.end:
		return untilNow, true
	case day >= c.first && day <= c.last && c.keeps(day):
		return day, true
	}
	return 0, false
}

// spentBetween returns a table expression, with the alias d, and its arguments. The table has the spending on the
// days from start (inclusive) to end (exclusive). It is the difference between the totals of two days. The difference
// is corrected by the sums of the days between these two days and the ends of the period; some rows of the table may
// have only zeros. If the correction would take at least as many days as the period has, the table has the sums of
// the days of the period instead. If t.byUser is set, the query must begin with withUsers. rowPerKey reports that the
// table has one row for each key.
func (t *totals) spentBetween(c *calendar, start, end int64) (table string, args []any, rowPerKey bool) {
	start, end = c.clamp(start, end)
	totalsFrom, storedFrom := c.nearest(start)
	totalsTo, storedTo := c.nearest(end)
	corrections := daysApart(totalsFrom, start) + daysApart(totalsTo, end)
	if totalsFrom >= totalsTo || corrections >= end-start { // the difference would not be cheaper
		return "(" + t.daysStatement("") + ") AS d", []any{start, end}, false
	}
	parts := []string{t.differenceStatement()}
	args = []any{storedFrom, storedTo}
	// The days between the period's ends and the days with totals are corrections. Days of the period that the difference
	// lacks are added, and days of the difference that are outside of the period are subtracted. correct does nothing for
	// an empty or reversed period.
	correct := func(startDay, endDay int64, sign string) {
		if startDay < endDay {
			parts, args = append(parts, t.daysStatement(sign)), append(args, startDay, endDay)
		}
	}
	correct(start, totalsFrom, "")
	correct(totalsFrom, start, "-")
	correct(totalsTo, end, "")
	correct(end, totalsTo, "-")
	return "(" + strings.Join(parts, " UNION ALL ") + ") AS d", args, len(parts) == 1
}

// daysApart returns the number of days between a and b, in either order.
func daysApart(a, b int64) int64 { return max(a-b, b-a) }

// differenceStatement returns a statement for the differences between the totals of two days, which are its arguments,
// the earlier one first. A key with totals on one day has totals on all later days, too.
func (t *totals) differenceStatement() string {
	columns, sameKey := make([]string, 0, len(t.keyAfterDay)+len(sumColumns)), ""
	for _, key := range t.keyAfterDay {
		columns = append(columns, "after."+key)
		sameKey += " AND before." + key + " = after." + key
	}
	for _, sum := range sumColumns {
		columns = append(columns, fmt.Sprintf("after.%[1]s - coalesce(before.%[1]s, 0) AS %[1]s", sum))
	}
	return fmt.Sprintf("SELECT %s FROM %s AS after LEFT JOIN %[2]s AS before ON before.day = ?%s WHERE after.day = ?",
		strings.Join(columns, ", "), t.table, sameKey)
}

// daysStatement returns a statement for the sums of the days from its first argument (inclusive) to its second
// (exclusive). sign, such as "-", is put before each sum.
func (t *totals) daysStatement(sign string) string {
	columns := make([]string, 0, len(t.keyAfterDay)+len(sumColumns))
	for _, key := range t.keyAfterDay {
		columns = append(columns, "n."+key)
	}
	for _, sum := range sumColumns {
		columns = append(columns, sign+"n."+sum+" AS "+sum)
	}
	tables := t.dayTable + " AS n"
	if t.byUser {
		tables = "of_user JOIN " + tables + " ON n.user_id = of_user.id"
	}
	return "SELECT " + strings.Join(columns, ", ") + " FROM " + tables + " WHERE n.day >= ? AND n.day < ?"
}

// nextStatement returns the statement that computes the totals of a day from those of an earlier day. Its arguments
// are the day, the day under which the earlier totals are stored, and the start (inclusive) and the end (exclusive)
// of the days that are added.
func (t *totals) nextStatement() string {
	keys := strings.Join(t.keyAfterDay, ", ")
	sums := strings.Join(sumColumns[:], ", ")
	withClause := ""
	if t.byUser {
		withClause = fmt.Sprintf(withUsers, t.dayTable)
	}
	return withClause + "INSERT INTO " + t.table + " (day, " + keys + ", " + sums + ") SELECT CAST(? AS BIGINT), " + keys + sumExpressions +
		" FROM (SELECT " + keys + ", " + sums + " FROM " + t.table + " WHERE day = ? UNION ALL " + t.daysStatement("") +
		") AS d GROUP BY " + keys
}

// allTotals lists the tables of totals, which have totals for the same days.
var allTotals = []*totals{&userTotals, &keyTotals, &teamTotals}

// addTotals computes the totals of the days that ended at least totalsSettled ago, each day in one transaction.
func (w *sweep) addTotals(ctx context.Context) error {
	for {
		c, err := w.ledger.readCalendar(ctx)
		if err != nil || c.end == 0 { // 0: there are no sums yet
			return err
		}
		// previous is the earlier day from whose totals the new totals are computed. The sums of the days from previous
		// (inclusive) to day (exclusive) are added to them.
		previous, storedAs := c.last, c.last
		if c.last == 0 {
			previous, storedAs = c.begin, noDay
		}
		day := previous + 1
		for !c.keeps(day) { // of days long ago, only the totals of Mondays
			day++
		}
		if w.now.Before(fromHour(day * 24).Add(totalsSettled)) {
			return nil
		}
		_, err = w.write(ctx, func(c store.Conn) (rows int64, err error) {
			for _, t := range allTotals {
				n, err := c.Exec(t.nextStatement(), day, storedAs, previous, day)
				if err != nil {
					return 0, err
				}
				rows += n
			}
			return rows, nil
		})
		if err != nil {
			return fmt.Errorf("adding up the totals of a day: %w", err)
		}
	}
}

// deleteTotals deletes the totals of the days that are not kept.
func (w *sweep) deleteTotals(ctx context.Context) error {
	for _, t := range allTotals {
		// The statement finds each day with totals by a search in the primary key.
		storedDays, err := read(ctx, w.ledger, scanDay, fmt.Sprintf(`WITH RECURSIVE stored (day) AS (SELECT min(day) FROM %[1]s
			UNION ALL SELECT (SELECT min(n.day) FROM %[1]s AS n WHERE n.day > stored.day) FROM stored WHERE stored.day < ?)
			SELECT day FROM stored WHERE day < ?`, t.table), untilNow, unixDay(w.now)-dailyTotals-spareTotals)
		if err != nil {
			return err
		}
		c := calendar{today: unixDay(w.now)}
		for _, day := range storedDays {
			if c.keeps(day) {
				continue
			}
			statement := fmt.Sprintf(`DELETE FROM %[1]s WHERE (%[2]s) IN (SELECT %[2]s FROM %[1]s
				WHERE day = ? LIMIT ?)`, t.table, t.keyColumns)
			for deleted := int64(sweepRows); deleted == sweepRows; { // a smaller number means that none is left
				if deleted, err = w.delete(ctx, statement, day, sweepRows); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// scanDay scans a row whose only column is a day.
func scanDay(row store.Row) (day int64, err error) { return day, row.Scan(&day) }
