package query

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// hourLength is the length of an hour in milliseconds.
const hourLength = 60 * 60 * 1000

// hourStart returns the SQL expression for the beginning of the hour in which the time at is.
func hourStart(at string) string {
	return fmt.Sprintf("%[1]s - (%[1]s %% %[2]d + %[2]d) %% %[2]d", at, hourLength)
}

// ever is a number of hours since 1970 that is greater than those of all times; -ever is less than all.
const ever = 1 << 40

// interval is a range of times in milliseconds, including from and excluding until.
type interval struct{ from, until int64 }

// timesOf returns the interval to which a clause restricts events. ok is false if the clause contains any other
// condition.
func timesOf(x expr) (within interval, ok bool) {
	within, ok = interval{-ever * hourLength, ever * hourLength}, true
	conjuncts(x, func(x expr) {
		c, is := x.(*compareExpr)
		ok = ok && is && c.field.name == "timestamp" && c.op != "=" && within.narrow(c)
	})
	return within, ok
}

// narrow restricts the interval by a comparison with a time. ok is false if the comparison cannot restrict an interval.
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

// hours reports whether an aggregate can use the stored counts of events: it must depend only on the hours, nodes and
// statuses of events, and its interval, within, must contain a whole hour.
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

// whole returns the first whole hour of an interval, and the hour that follows the last whole hour, as numbers of hours
// since 1970.
func (i interval) whole() (first, end int64) {
	return (i.from+(ever+1)*hourLength-1)/hourLength - ever, (i.until+ever*hourLength)/hourLength - ever
}

// counted returns a subquery that replaces the table of events, with a column n for the number of events in each row.
// For the whole hours of the interval it reads the stored counts, and for the incomplete hours at both ends the events
// themselves. If the columns include the node, it uses the counts of each node.
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
