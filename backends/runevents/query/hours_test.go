package query_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
)

// TestHours compares counts of a time with the events themselves: whole hours
// are counted beforehand.
func TestHours(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bed) {
		const hour = 60 * 60 * 1000
		const base = 1772409600000 // 2026-03-02T00:00:00Z
		total := 0
		for _, within := range [][2]int64{
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
			want := ""
			err := b.db.Read(t.Context(), func(ctx context.Context, db *sql.DB) error {
				rows, err := db.QueryContext(ctx, "SELECT w.name, COUNT(*) FROM run_events e JOIN run_words w ON w.id = e.status WHERE e.at >= $1 AND e.at < $2 GROUP BY w.name ORDER BY w.name", within[0], within[1])
				if err != nil {
					return err
				}
				defer rows.Close()
				for rows.Next() {
					var name string
					var n int
					if err := rows.Scan(&name, &n); err != nil {
						return err
					}
					total += n
					want += fmt.Sprintf(`,{"status":%q,"count":%d}`, name, n)
				}
				return rows.Err()
			})
			if err != nil {
				t.Fatal(err)
			}
			want = "[" + strings.TrimPrefix(want, ",") + "]"
			var bounds []string
			if within[0] > 0 {
				bounds = append(bounds, fmt.Sprintf(`[">=","timestamp",%d]`, within[0]))
			}
			if within[1] < 1<<50 {
				bounds = append(bounds, fmt.Sprintf(`["<=","timestamp",%d]`, within[1]-1))
			}
			clause := "[]"
			if len(bounds) > 0 {
				clause = `["and",` + strings.Join(bounds, ",") + `]`
			}
			a := b.get("/events", "query", `["extract",["status",["function","count"]],`+clause+`,["group_by","status"]]`, "order_by", `[{"field":"status"}]`)
			if a.body != want {
				t.Errorf("%v: %s, want %s", within, a.body, want)
			}
		}
		if total < 2333 {
			t.Errorf("%d events: this compares too little", total)
		}
	})
}
