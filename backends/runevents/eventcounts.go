package runevents

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// eventCounts contains the numbers of added events for each hour, node and status. Deleted events count negatively.
type eventCounts map[eventCountKey]int64

// eventCountKey is the key of a row of run_node_counts: the hour since 1970, and the IDs of the node and the status. In
// the key of a row of run_event_counts, node contains the value of the column "part" instead; see countParts.
type eventCountKey struct{ hour, node, status int64 }

// add adds n events with the given timestamp, in Unix milliseconds.
func (t eventCounts) add(timestamp, node, status, n int64) {
	t[eventCountKey{hourOf(timestamp), node, status}] += n
}

// countParts is the number of rows over which the stored count of an hour and a status may be distributed. This process
// always uses the row countPart, so that several processes on one PostgreSQL server do not wait for each other.
const countParts = 1 << 16

var countPart = rand.Int64N(countParts) //nolint:gosec // distributes processes; not a secret

// The statements that add to the stored counts.
var (
	addEventCounts = manyRows("INSERT INTO run_event_counts (hour, part, status, events) VALUES ", 4,
		" ON CONFLICT (hour, part, status) DO UPDATE SET events = run_event_counts.events + excluded.events")
	addNodeCounts = manyRows("INSERT INTO run_node_counts (hour, node, status, events) VALUES ", 4,
		" ON CONFLICT (hour, node, status) DO UPDATE SET events = run_node_counts.events + excluded.events")
)

// write adds the numbers to the stored counts: to those of all nodes together and to those of each node.
func (t eventCounts) write(c store.Conn) error {
	part := countPart
	if c.Dialect() == store.SQLite {
		part = 0
	}
	allNodes := make(eventCounts)
	for key, n := range t {
		key.node = part
		allNodes[key] += n
	}
	if err := allNodes.addTo(c, addEventCounts); err != nil {
		return err
	}
	return t.addTo(c, addNodeCounts)
}

// addTo adds the numbers to a table. statements[n] writes n rows. The rows are written in the order of their keys, so
// that two processes lock them in the same order.
func (t eventCounts) addTo(c store.Conn, statements []string) error {
	keys := slices.SortedFunc(maps.Keys(t), func(a, b eventCountKey) int {
		return cmp.Or(cmp.Compare(a.hour, b.hour), cmp.Compare(a.node, b.node), cmp.Compare(a.status, b.status))
	})
	for len(keys) > 0 {
		n := rowsPerStatement(c.Dialect(), len(keys))
		args := make([]any, 0, 4*n)
		for _, key := range keys[:n] {
			args = append(args, key.hour, key.node, key.status, t[key])
		}
		if err := c.Later(statements[n], args...); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

// deleteEvents executes statement, a DELETE on the events without RETURNING, subtracts the deleted events from the
// stored counts, and returns their number.
func deleteEvents(c store.Conn, statement string, args ...any) (n int64, err error) {
	rows, err := c.Rows(statement+" RETURNING at, node, status", args...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	t := make(eventCounts)
	for ; rows.Next(); n++ {
		var timestamp, node, status int64
		if err := rows.Scan(&timestamp, &node, &status); err != nil {
			return 0, err
		}
		t.add(timestamp, node, status, -1)
	}
	if err := cmp.Or(rows.Err(), rows.Close()); err != nil {
		return 0, err
	}
	return n, t.write(c)
}
