package runevents

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// tally counts the added or deleted events of each hour, node and status.
type eventCounts map[eventCountKey]int64

type eventCountKey struct{ hour, node, status int64 }

func (t eventCounts) add(timestamp, node, status, n int64) {
	t[eventCountKey{hourOf(timestamp), node, status}] += n
}

// tallyParts is the number of rows over which the stored count of an hour and a status may be distributed. This process
// always uses the row tallyPart, so that several processes on one PostgreSQL server do not wait for each other.
const countParts = 1 << 16

var countPart = rand.Int64N(countParts) //nolint:gosec // distributes processes; not a secret

// The statements that add to the stored counts.
var (
	addEventCounts = manyRows("INSERT INTO run_event_counts (hour, part, status, events) VALUES ", 4,
		" ON CONFLICT (hour, part, status) DO UPDATE SET events = run_event_counts.events + excluded.events")
	addNodeCounts = manyRows("INSERT INTO run_node_counts (hour, node, status, events) VALUES ", 4,
		" ON CONFLICT (hour, node, status) DO UPDATE SET events = run_node_counts.events + excluded.events")
)

// write adds the tally to the stored counts: to those of all nodes together and to those of each node.
func (t eventCounts) write(c store.Conn) error {
	part := countPart
	if c.Dialect() == store.SQLite {
		part = 0
	}
	all := make(eventCounts)
	for key, n := range t {
		key.node = part
		all[key] += n
	}
	if err := all.addTo(c, addEventCounts); err != nil {
		return err
	}
	return t.addTo(c, addNodeCounts)
}

// addTo adds the counts to a table. statements[n] writes n rows. The rows are written in the order of their keys.
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

// deleteEvents executes a DELETE statement on the events, subtracts the deleted events from the stored counts, and
// returns their number.
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
