package spending

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// spendingStatement returns the statement for the lines of the days or hours from (inclusive) to (exclusive).
func (s *Ledger) spendingStatement(
	ctx context.Context, q *Query, source *spendingSource, groups []*spendingGroup, from, to int64,
) (statement string, args []any, err error) {
	// head is the part before SELECT, such as WITH. users reports that the statement reads one user after another.
	tables, head, users := source.table+" AS d", "", source.users
	where := fmt.Sprintf("d.%s >= ? AND d.%[1]s < ?", source.unit)
	args = []any{from, to}
	totals, apart := q.totals(source), false
	switch {
	case totals != nil:
		c, err := s.readCalendar(ctx)
		if err != nil {
			return "", nil, err
		}
		tables, args, apart = totals.spentBetween(&c, from, to)
		where, users = "1 = 1", totals.users // the table expression has its own bounds
	case source.models != "" && !q.has(byTeam) && q.TeamID == "":
		tables = source.models + " AS d"
	case source.models != "" && q.TeamID != "" && source.unit == byHour: // rows are in order of time, then of teams
		tables, head, where = "hours CROSS JOIN "+tables, withHours, "d.hour = hours.at"
	case users: // rows are in order of time for each user but not for all users
		tables = "of_user JOIN " + tables + " ON d.user_id = of_user.id"
	}
	if source.kind != "" {
		where += " AND d.kind = ?"
		args = append(args, source.kind)
	}
	if q.TeamID != "" {
		where += " AND d.team_id = ?"
		args = append(args, q.TeamID)
	}
	columns, _ := columnsOf(groups)
	if len(q.only) > 0 {
		where += " AND " + columns[0] + " IN (?" + strings.Repeat(",?", len(q.only)-1) + ")"
		args = append(args, q.only...)
	}
	apart = apart && len(columns) == len(totals.keys)
	statement = linesStatement(q, source, groups, tables, where, totals != nil, apart)
	if users {
		head = fmt.Sprintf(withUsers, source.table)
	}
	return head + statement, args, nil
}

// totals returns the running totals with the groups of the query, or nil if no table has these.
func (q *Query) totals(source *spendingSource) *totals {
	models := q.has("provider") || q.has("model")
	switch {
	case q.has(byDay) || source.unit != byDay:
	case source.models != "" && (q.has(byTeam) || q.TeamID != ""):
		return &teamTotals
	case source.users && !models && !q.has(byKey):
		return &userTotals
	case source.users && !models && !q.has(byUser):
		return &keyTotals
	}
	return nil
}

// columnsOf returns the columns that distinguish the lines of the groups, and the columns to select.
func columnsOf(groups []*spendingGroup) (columns, shown []string) {
	for _, g := range groups {
		for _, c := range g.columns {
			if !slices.Contains(columns, c) {
				columns = append(columns, c)
			}
		}
		shown = append(shown, g.columns...)
		if g.title != "" {
			shown = append(shown, g.title)
		}
	}
	return columns, shown
}

// linesStatement returns the statement for the lines of tables. Names are joined after the rows are summed, since a
// line sums many rows. zeros reports that all sums of a row may be 0: lines without requests and failed attempts are
// then left out. apart reports that each row is a line: no rows are then summed, which halves the time.
func linesStatement(
	q *Query, source *spendingSource, groups []*spendingGroup, tables, where string, zeros, apart bool,
) string {
	columns, shown := columnsOf(groups)
	selected := strings.Join(append(slices.Clone(columns), q.sums()), ", ")
	query := "SELECT " + selected + " FROM " + tables + " WHERE " + where
	by, order := strings.Join(columns, ", "), ""
	if by == "" {
		return query
	}
	if q.has(byDay) || q.has(byHour) {
		order = "d." + source.unit + ", "
	}
	having := ""
	if zeros {
		having = "HAVING sum(d.requests) <> 0 OR sum(d.failed_attempts) <> 0"
	}
	query += fmt.Sprintf(` GROUP BY %[1]s %[4]s
		ORDER BY %[2]ssum(d.cost_micro_usd) DESC, sum(d.input_tokens + d.output_tokens) DESC, %[1]s LIMIT %[3]d`,
		by, order, q.Limit, having)
	if apart {
		query = fmt.Sprintf(`SELECT %[1]s, d.%[2]s FROM %[3]s WHERE %[4]s AND (d.requests <> 0 OR d.failed_attempts <> 0)
			ORDER BY d.cost_micro_usd DESC, d.input_tokens + d.output_tokens DESC, %[1]s LIMIT %[5]d`,
			by, strings.Join(sumColumns[:], ", d."), tables, where, q.Limit)
	}
	var titles strings.Builder
	for _, t := range spendingTitles {
		if q.has(t.group) {
			titles.WriteString(t.table)
		}
	}
	return fmt.Sprintf(
		"SELECT %s, d.%s FROM (%s) AS d%s ORDER BY %sd.cost_micro_usd DESC, d.input_tokens + d.output_tokens DESC, %s",
		strings.Join(shown, ", "), strings.Join(sumColumns[:], ", d."), query, titles.String(), order, by)
}

// withUsers is a WITH clause that finds each user in a table of sums by a search in its primary key. It includes users
// who were removed.
const withUsers = `WITH RECURSIVE of_user (id) AS (SELECT min(user_id) FROM %[1]s
	UNION ALL SELECT (SELECT min(n.user_id) FROM %[1]s AS n WHERE n.user_id > of_user.id) FROM of_user WHERE of_user.id IS NOT NULL) `

// withHours is a WITH clause that lists the hours from its first argument (inclusive) to its second (exclusive).
const withHours = `WITH RECURSIVE hours (at) AS (SELECT CAST(? AS BIGINT)
	UNION ALL SELECT at + 1 FROM hours WHERE at + 1 < ?) `

// sums returns the list of columns for the sums of rows.
func (q *Query) sums() string {
	if !q.Brief {
		return sumExpressions[2:]
	}
	columns := slices.Clone(sumColumns[:])
	for i, c := range columns {
		switch i {
		case sumInput, sumOutput, sumCost:
			columns[i] = "CAST(coalesce(sum(" + c + "), 0) AS BIGINT) AS " + c
		default:
			columns[i] = "CAST(0 AS BIGINT) AS " + c
		}
	}
	return strings.Join(columns, ", ")
}
