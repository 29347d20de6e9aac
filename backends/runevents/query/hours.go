package query

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// hourLength is in milliseconds.
const hourLength = 60 * 60 * 1000

// hourStart is the begin of the hour that a time is in.
func hourStart(at string) string {
	return fmt.Sprintf("%[1]s - (%[1]s %% %[2]d + %[2]d) %% %[2]d", at, hourLength)
}

// ever is an hour after which there is none, and before whose negative.
const ever = 1 << 40

// interval is a time from one millisecond until before another.
type interval struct{ from, until int64 }

// timesOf is the time that a clause leaves of all events; ok tells whether it
// asks for nothing else.
func timesOf(x expr) (within interval, ok bool) {
	within, ok = interval{-ever * hourLength, ever * hourLength}, true
	conjuncts(x, func(x expr) {
		c, is := x.(*compareExpr)
		ok = ok && is && c.field.name == "timestamp" && c.op != "=" && within.narrow(c)
	})
	return within, ok
}

// narrow takes off what a comparison with a time leaves out; ok tells whether it
// is one.
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

// hours is the time of an aggregate that needs to know nothing of its events but
// their hours, nodes and states; ok tells whether it is one, and has a whole hour.
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

// whole are the first whole hour of an interval and the one after the last.
func (i interval) whole() (first, end int64) {
	return (i.from+(ever+1)*hourLength-1)/hourLength - ever, (i.until+ever*hourLength)/hourLength - ever
}

// counted writes the counts that are kept of hours and states in the place of
// events, n to a row, and the events of what is left of the time at its ends. With
// the column of nodes it is those that are kept of each node.
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
	selects := []string{"SELECT " + strings.Join(counts, ", ") + ", CAST(SUM(events) AS BIGINT) AS n FROM " + table + " WHERE hour >= " +
		s.c.arg(first) + " AND hour < " + s.c.arg(end) + " GROUP BY " + strings.Join(group, ", ") + " HAVING SUM(events) > 0"}
	for _, left := range []interval{{within.from, first * hourLength}, {end * hourLength, within.until}} {
		if left.from < left.until {
			selects = append(selects, "SELECT "+strings.Join(rest, ", ")+", 1 FROM run_events WHERE at >= "+s.c.arg(left.from)+" AND at < "+s.c.arg(left.until))
		}
	}
	return "(" + strings.Join(selects, " UNION ALL ") + ") " + s.q.entity.alias + s.suffix + s.joins()
}
