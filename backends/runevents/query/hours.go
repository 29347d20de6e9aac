package query

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// hourLength is the length of an hour in milliseconds.
const hourLength = 60 * 60 * 1000

// hourStart returns an SQL expression for the beginning of the hour that contains timestamp, which is an SQL
// expression, too.
func hourStart(timestamp string) string {
	return fmt.Sprintf("%[1]s - (%[1]s %% %[2]d + %[2]d) %% %[2]d", timestamp, hourLength)
}

// maxHours is a number of hours since 1970 that is greater than those of all times; -maxHours is less than all.
const maxHours = 1 << 40

// interval is a range of times in milliseconds, including from and excluding until.
type interval struct{ from, until int64 }

// timesOf returns the interval to which a clause restricts events. ok is false if the clause contains any other
// condition.
func timesOf(x expr) (bounds interval, ok bool) {
	bounds, ok = interval{-maxHours * hourLength, maxHours * hourLength}, true
	conjuncts(x, func(x expr) {
		c, is := x.(*compareExpr)
		ok = ok && is && c.field.name == "timestamp" && c.op != "=" && bounds.narrow(c)
	})
	return bounds, ok
}

// narrow restricts the interval by a comparison with a time. ok is false if the comparison cannot restrict an interval.
func (i *interval) narrow(c *compareExpr) (ok bool) {
	bound, ok := c.value.(int64)
	if !ok {
		return false
	}
	switch c.op {
	case "=":
		i.from, i.until = max(i.from, bound), min(i.until, bound+1)
	case ">=":
		i.from = max(i.from, bound)
	case ">":
		i.from = max(i.from, bound+1)
	case "<":
		i.until = min(i.until, bound)
	case "<=":
		i.until = min(i.until, bound+1)
	default:
		return false
	}
	return true
}

// hours reports whether an aggregate can use the stored counts of events: it must depend only on the hours, nodes and
// statuses of events, and its interval, bounds, must contain a whole hour.
func (q *query) hours() (bounds interval, ok bool) {
	columns, ok := q.groupColumns()
	if !ok || !q.aggregates() {
		return bounds, false
	}
	for _, column := range columns {
		if column != "at" && column != "node" && column != "status" {
			return bounds, false
		}
	}
	bounds, ok = timesOf(q.where)
	first, end := bounds.wholeHours()
	return bounds, ok && first < end
}

// wholeHours returns the first whole hour of an interval, and the hour that follows the last whole hour, as numbers of
// hours since 1970.
func (i interval) wholeHours() (first, end int64) {
	return (i.from+(maxHours+1)*hourLength-1)/hourLength - maxHours, (i.until+maxHours*hourLength)/hourLength - maxHours
}

// counted returns a subquery that replaces the table of events, with a column n for the number of events that each row
// represents. For the whole hours of the interval it reads the stored counts, and for the incomplete hours at both ends
// the events themselves. If the columns include the node, it uses the counts of each node.
func (s *scope) counted(columns []string, bounds interval) string {
	first, end := bounds.wholeHours()
	columnsRead, table := []string{"status", "hour"}, "run_event_counts"
	if slices.Contains(columns, "node") {
		columnsRead, table = columns, "run_node_counts"
	}
	counts, rest := make([]string, len(columnsRead)), make([]string, len(columnsRead))
	group := make([]string, len(columnsRead))
	for i, column := range columnsRead {
		switch column {
		case "at", "hour":
			counts[i], rest[i], group[i] = "hour * "+strconv.Itoa(hourLength)+" AS at", "at", "hour"
		default:
			counts[i], rest[i], group[i] = column, column, column
		}
	}
	selects := []string{"SELECT " + strings.Join(counts, ", ") + ", CAST(SUM(events) AS BIGINT) AS n FROM " + table +
		" WHERE hour >= " +
		s.c.arg(first) + " AND hour < " + s.c.arg(end) + " GROUP BY " + strings.Join(group, ", ") + " HAVING SUM(events) > 0"}
	for _, left := range []interval{{bounds.from, first * hourLength}, {end * hourLength, bounds.until}} {
		if left.from < left.until {
			selects = append(selects, "SELECT "+strings.Join(rest, ", ")+", 1 FROM run_events WHERE at >= "+s.c.arg(left.from)+
				" AND at < "+s.c.arg(left.until))
		}
	}
	return "(" + strings.Join(selects, " UNION ALL ") + ") " + s.q.entity.alias + s.suffix + s.joins()
}
