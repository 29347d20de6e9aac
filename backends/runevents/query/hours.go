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

// maxHours is a number of hours since 1970 that is later than all times; -maxHours is earlier than all times.
const maxHours = 1 << 40

// interval is the range [from, until) of times in milliseconds.
type interval struct{ from, until int64 }

// timeBounds returns the interval to which a predicate restricts events. ok is false if the predicate contains any
// condition other than a bound of the timestamp.
func timeBounds(x expr) (bounds interval, ok bool) {
	bounds, ok = interval{-maxHours * hourLength, maxHours * hourLength}, true
	conjuncts(x, func(x expr) {
		c, isCompare := x.(*compareExpr)
		ok = ok && isCompare && c.field.name == "timestamp" && c.op != "=" && bounds.restrict(c)
	})
	return bounds, ok
}

// restrict restricts the interval to times that meet a comparison. ok is false if the comparison is not with a time.
func (i *interval) restrict(c *compareExpr) (ok bool) {
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

// countableInterval reports whether an aggregate query can use the stored counts of events, and returns the interval to
// which the query restricts events. The query must depend only on the hours, nodes and statuses of events, and the
// interval must contain a whole hour.
func (q *query) countableInterval() (bounds interval, ok bool) {
	columns, ok := q.eventColumns()
	if !ok || !q.aggregates() {
		return bounds, false
	}
	for _, column := range columns {
		if column != "at" && column != "node" && column != "status" {
			return bounds, false
		}
	}
	bounds, ok = timeBounds(q.where)
	first, end := bounds.wholeHours()
	return bounds, ok && first < end
}

// wholeHours returns the first whole hour of an interval, and the hour that follows the last whole hour, as numbers of
// hours since 1970.
func (i interval) wholeHours() (first, end int64) {
	// Division rounds towards zero, so the times are made positive first.
	const shift = maxHours * hourLength
	first = (i.from+shift+hourLength-1)/hourLength - maxHours // rounded up
	end = (i.until+shift)/hourLength - maxHours               // rounded down
	return first, end
}

// hourlyCounts returns a subquery, with joins, that replaces the table of events in the FROM clause. The subquery has
// the given columns, each of which is "at", "node" or "status", and a column "n" for the number of events that a row
// represents. For the whole hours of the interval it reads the stored counts, and for the incomplete hours at both
// ends it reads the events themselves. If the columns include "node", it uses the counts of each node, and otherwise
// the total counts.
func (s *selectCompiler) hourlyCounts(columns []string, bounds interval) string {
	first, end := bounds.wholeHours()
	readColumns, table := []string{"status", "hour"}, "run_event_counts" // all columns: this table is small
	if slices.Contains(columns, "node") {
		readColumns, table = columns, "run_node_counts"
	}
	countItems, eventItems := make([]string, len(readColumns)), make([]string, len(readColumns))
	group := make([]string, len(readColumns))
	for i, column := range readColumns {
		switch column {
		case "at", "hour":
			countItems[i], eventItems[i], group[i] = "hour * "+strconv.Itoa(hourLength)+" AS at", "at", "hour"
		default:
			countItems[i], eventItems[i], group[i] = column, column, column
		}
	}
	selects := []string{"SELECT " + strings.Join(countItems, ", ") + ", CAST(SUM(events) AS BIGINT) AS n FROM " + table +
		" WHERE hour >= " + s.c.arg(first) + " AND hour < " + s.c.arg(end) +
		" GROUP BY " + strings.Join(group, ", ") + " HAVING SUM(events) > 0"}
	for _, partial := range []interval{{bounds.from, first * hourLength}, {end * hourLength, bounds.until}} {
		if partial.from < partial.until {
			selects = append(selects, "SELECT "+strings.Join(eventItems, ", ")+", 1 FROM run_events WHERE at >= "+
				s.c.arg(partial.from)+" AND at < "+s.c.arg(partial.until))
		}
	}
	return "(" + strings.Join(selects, " UNION ALL ") + ") " + s.q.entity.alias + s.suffix + s.joins()
}
