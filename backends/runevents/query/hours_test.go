package query_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestHours compares counts, which use the stored counts for whole hours, with the events themselves.
func TestHours(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *fixture) {
		const hour = 60 * 60 * 1000
		const base = 1772409600000 // 2026-03-02T00:00:00Z
		total := 0
		for _, interval := range [][2]int64{
			{-1 << 50, 1 << 50},
			{base, base + 24*hour},
			{base + 1, base + 24*hour - 1},
			{base + 10*hour + hour/3, base + 11*hour + hour/2},
			{base + 10*hour + hour/3, base + 12*hour + hour/2},
			{base + 10*hour + hour/3, base + 10*hour + hour/2},
			{base + 20*24*hour, base + 20*24*hour},
			{base + hour, base},
			{base + 9*24*hour + 7, 1 << 50},
			{-1 << 50, base + 9*24*hour + 7},
		} {
			want, ofNodes := "", ""
			err := b.db.Read(t.Context(), func(c store.Conn) error {
				rows, err := c.Rows("SELECT n.certname, w.name, COUNT(*) FROM run_events e JOIN run_nodes n ON n.id = e.node JOIN run_words w ON w.id = e.status WHERE e.at >= $1 AND e.at < $2 GROUP BY n.certname, w.name ORDER BY n.certname, w.name", interval[0], interval[1])
				if err != nil {
					return err
				}
				defer rows.Close()
				states := make(map[string]int)
				for rows.Next() {
					var node, name string
					var n int
					if err := rows.Scan(&node, &name, &n); err != nil {
						return err
					}
					total += n
					states[name] += n
					ofNodes += fmt.Sprintf(`,{"certname":%q,"status":%q,"count":%d}`, node, name, n)
				}
				for _, name := range slices.Sorted(maps.Keys(states)) {
					want += fmt.Sprintf(`,{"status":%q,"count":%d}`, name, states[name])
				}
				return rows.Err()
			})
			if err != nil {
				t.Fatal(err)
			}
			want = "[" + strings.TrimPrefix(want, ",") + "]"
			var bounds []string
			if interval[0] > 0 {
				bounds = append(bounds, fmt.Sprintf(`[">=","timestamp",%d]`, interval[0]))
			}
			if interval[1] < 1<<50 {
				bounds = append(bounds, fmt.Sprintf(`["<=","timestamp",%d]`, interval[1]-1))
			}
			clause := "[]"
			if len(bounds) > 0 {
				clause = `["and",` + strings.Join(bounds, ",") + `]`
			}
			a := b.get("/events", "query", `["extract",["status",["function","count"]],`+clause+`,["group_by","status"]]`, "order_by", `[{"field":"status"}]`)
			if a.body != want {
				t.Errorf("%v: %s, want %s", interval, a.body, want)
			}
			ofNodes = "[" + strings.TrimPrefix(ofNodes, ",") + "]"
			a = b.get("/events", "query", `["extract",["certname","status",["function","count"]],`+clause+`,["group_by","certname","status"]]`,
				"order_by", `[{"field":"certname"},{"field":"status"}]`)
			if a.body != ofNodes {
				t.Errorf("%v: %s, want %s", interval, a.body, ofNodes)
			}
		}
		if total < 2333 {
			t.Errorf("%d events: this compares too little", total)
		}
	})
}
