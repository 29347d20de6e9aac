package query

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// hourLength is the length of an hour in milliseconds.
const hourLength = 60 * 60 * 1000

// hourStart returns the expression of the beginning of a time's hour.
func hourStart(at string) string {
	return fmt.Sprintf("%[1]s - (%[1]s %% %[2]d + %[2]d) %% %[2]d", at, hourLength)
}

// ever limits hours: there are none after ever and before -ever.
const ever = 1 << 40

// interval is a range of times in milliseconds, which includes from and excludes until.
type interval struct{ from, until int64 }

// timesOf returns the interval to which a clause restricts events, and reports whether it contains no other
// condition.
func timesOf(x expr) (within interval, ok bool) {
	within, ok = interval{-ever * hourLength, ever * hourLength}, true
	conjuncts(x, func(x expr) {
		c, is := x.(*compareExpr)
		ok = ok && is && c.field.name == "timestamp" && c.op != "=" && within.narrow(c)
	})
	return within, ok
}

// narrow restricts the interval by a comparison with a time. It returns false if the comparison does not restrict
// an interval.
func (i *interval) narrow(c *compareExpr) (ok bool) {
	at, ok := c.value.(int64)
	if !ok {
		return false
	}
	switch c.op {
	case "=":
		i.from, i.until = max(i.from, at), min(i.until, at+1)
	case ">=":
		i.from = max(i.from, at)
	case ">":
		i.from = max(i.from, at+1)
	case "<":
		i.until = min(i.until, at)
	case "<=":
		i.until = min(i.until, at+1)
	default:
		return false
	}
	return true
}

// hours returns the interval of an aggregate that needs only the hours, nodes and statuses of events. It reports
// whether the query is such an aggregate and the interval contains a whole hour.
func (q *query) hours() (within interval, ok bool) {
	columns, ok := q.numbers()
	if !ok || !q.aggregates() {
		return within, false
	}
	for _, column := range columns {
		if column != "at" && column != "node" && column != "status" {
			return within, false
		}
	}
	within, ok = timesOf(q.where)
	first, end := within.whole()
	return within, ok && first < end
}

// whole returns the first whole hour of an interval, and the hour after the last whole one.
func (i interval) whole() (first, end int64) {
	return (i.from+(ever+1)*hourLength-1)/hourLength - ever, (i.until+ever*hourLength)/hourLength - ever
}

// counted returns a subquery in place of the table of events, with the stored counts of hours and statuses, n in
// each row, and the events of the incomplete hours at both ends of the interval. If the columns include the node,
// it uses the counts of each node.
func (s *scope) counted(columns []string, within interval) string {
	first, end := within.whole()
	kept, table := []string{"status", "hour"}, "run_event_counts"
	if slices.Contains(columns, "node") {
		kept, table = columns, "run_node_counts"
	}
	counts, rest := make([]string, len(kept)), make([]string, len(kept))
	group := make([]string, len(kept))
	for i, column := range kept {
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
	for _, left := range []interval{{within.from, first * hourLength}, {end * hourLength, within.until}} {
		if left.from < left.until {
			selects = append(selects, "SELECT "+strings.Join(rest, ", ")+", 1 FROM run_events WHERE at >= "+s.c.arg(left.from)+
				" AND at < "+s.c.arg(left.until))
		}
	}
	return "(" + strings.Join(selects, " UNION ALL ") + ") " + s.q.entity.alias + s.suffix + s.joins()
}
