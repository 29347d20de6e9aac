package spending

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// spendingStatement returns the statement for the lines of the days or hours from start (inclusive) to end (exclusive).
func (s *Ledger) spendingStatement(
	ctx context.Context, q *Query, source *spendingSource, groups []*spendingGroup, start, end int64,
) (statement string, args []any, err error) {
	tables, withClause := source.table+" AS d", ""
	perUser := source.byUser // whether the statement reads the rows of one user after another, by withUsers
	condition := fmt.Sprintf("d.%s >= ? AND d.%[1]s < ?", source.unit)
	args = []any{start, end}
	totals, rowPerKey := q.totals(source), false
	switch {
	case totals != nil:
		c, err := s.readCalendar(ctx)
		if err != nil {
			return "", nil, err
		}
		tables, args, rowPerKey = totals.spentBetween(&c, start, end)
		condition, perUser = "1 = 1", totals.byUser // the table expression has its own bounds
	case source.modelTable != "" && !q.has(byTeam) && q.TeamID == "":
		tables = source.modelTable + " AS d"
	case source.modelTable != "" && q.TeamID != "" && source.unit == byHour: // rows are in order of time, then of teams
		tables, withClause, condition = "hours CROSS JOIN "+tables, withHours, "d.hour = hours.at"
	case perUser: // rows are in order of time for each user but not for all users
		tables = "of_user JOIN " + tables + " ON d.user_id = of_user.id"
	}
	if source.labelKind != "" {
		condition += " AND d.kind = ?"
		args = append(args, source.labelKind)
	}
	if q.TeamID != "" {
		condition += " AND d.team_id = ?"
		args = append(args, q.TeamID)
	}
	columns, _ := columnsOf(groups)
	if len(q.only) > 0 { // only with a single column
		condition += " AND " + columns[0] + " IN (?" + strings.Repeat(",?", len(q.only)-1) + ")"
		args = append(args, q.only...)
	}
	// rowPerKey is set only with totals. A line with all columns of their key then comes from a single row.
	rowPerLine := rowPerKey && len(columns) == len(totals.keyAfterDay)
	statement = linesStatement(q, source, groups, tables, condition, totals != nil, rowPerLine)
	if perUser {
		withClause = fmt.Sprintf(withUsers, source.table)
	}
	return withClause + statement, args, nil
}

// totals returns the running totals from which the query can be answered, or nil if it needs the sums of the source.
func (q *Query) totals(source *spendingSource) *totals {
	models := q.has("provider") || q.has("model")
	switch {
	case q.has(byDay) || source.unit != byDay: // the lines need the sums of each day or hour
	case source.modelTable != "" && (q.has(byTeam) || q.TeamID != ""):
		return &teamTotals
	case source.byUser && !models && !q.has(byKey):
		return &userTotals
	case source.byUser && !models && !q.has(byUser):
		return &keyTotals
	}
	return nil
}

// columnsOf returns the columns to group by, each one once. It also returns the columns that the groups scan,
// including the columns with names.
func columnsOf(groups []*spendingGroup) (columns, selected []string) {
	for _, g := range groups {
		for _, c := range g.columns {
			if !slices.Contains(columns, c) {
				columns = append(columns, c)
			}
		}
		selected = append(selected, g.columns...)
		if g.nameColumn != "" {
			selected = append(selected, g.nameColumn)
		}
	}
	return columns, selected
}

// linesStatement returns the statement that computes the lines of a query's result from those rows of the tables that
// meet the condition. zeroRows reports that all sums of a row may be 0: the statement then leaves out lines that have
// neither requests nor failed attempts. rowPerLine reports that each line comes from a single row: the statement then
// sums no rows, which halves its time.
func linesStatement(
	q *Query, source *spendingSource, groups []*spendingGroup, tables, condition string, zeroRows, rowPerLine bool,
) string {
	columns, selected := columnsOf(groups)
	groupBy := strings.Join(columns, ", ")
	if groupBy == "" {
		return "SELECT " + q.sums() + " FROM " + tables + " WHERE " + condition
	}
	timeFirst := "" // the beginning of ORDER BY
	if q.has(byDay) || q.has(byHour) {
		timeFirst = "d." + source.unit + ", "
	}
	var lines string
	if rowPerLine {
		lines = fmt.Sprintf(`SELECT %[1]s, d.%[2]s FROM %[3]s WHERE %[4]s AND (d.requests <> 0 OR d.failed_attempts <> 0)
			ORDER BY d.cost_micro_usd DESC, d.input_tokens + d.output_tokens DESC, %[1]s LIMIT %[5]d`,
			groupBy, strings.Join(sumColumns[:], ", d."), tables, condition, q.Limit)
	} else {
		having := ""
		if zeroRows {
			having = "HAVING sum(d.requests) <> 0 OR sum(d.failed_attempts) <> 0"
		}
		lines = fmt.Sprintf(`SELECT %[1]s, %[2]s FROM %[3]s WHERE %[4]s GROUP BY %[1]s %[5]s
			ORDER BY %[6]ssum(d.cost_micro_usd) DESC, sum(d.input_tokens + d.output_tokens) DESC, %[1]s LIMIT %[7]d`,
			groupBy, q.sums(), tables, condition, having, timeFirst, q.Limit)
	}
	// The tables with names are joined to the lines, of which there are far fewer than rows.
	var nameJoins strings.Builder
	for _, t := range nameTables {
		if q.has(t.group) {
			nameJoins.WriteString(t.table)
		}
	}
	return fmt.Sprintf(
		"SELECT %s, d.%s FROM (%s) AS d%s ORDER BY %sd.cost_micro_usd DESC, d.input_tokens + d.output_tokens DESC, %s",
		strings.Join(selected, ", "), strings.Join(sumColumns[:], ", d."), lines, nameJoins.String(), timeFirst, groupBy)
}

// withUsers is a WITH clause that finds each user in a table of sums by a search in its primary key. It includes users
// who were removed.
const withUsers = `WITH RECURSIVE of_user (id) AS (SELECT min(user_id) FROM %[1]s
	UNION ALL SELECT (SELECT min(n.user_id) FROM %[1]s AS n WHERE n.user_id > of_user.id) FROM of_user WHERE of_user.id IS NOT NULL) `

// withHours is a WITH clause that lists the hours from its first argument (inclusive) to its second (exclusive).
const withHours = `WITH RECURSIVE hours (at) AS (SELECT CAST(? AS BIGINT)
	UNION ALL SELECT at + 1 FROM hours WHERE at + 1 < ?) `

// sums returns the SQL expressions for all columns in sumColumns, separated by commas.
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
