package storetest

import (
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Plan returns the engine's query plan for a statement. PostgreSQL scans small tables whatever their indexes. With
// indexed set, sequential and bitmap scans are off, so that the plan shows whether an index can return the rows in
// order.
func Plan(tb testing.TB, db *store.DB, indexed bool, statement string, args ...any) (string, error) {
	tb.Helper()
	onPostgres := db.Dialect() == store.Postgres
	explain := "EXPLAIN QUERY PLAN "
	var settings []string
	if onPostgres {
		explain = "EXPLAIN (FORMAT JSON) "
		if indexed {
			settings = []string{"SET LOCAL enable_seqscan = off", "SET LOCAL enable_bitmapscan = off"}
		}
	}
	var plan strings.Builder
	err := db.Write(tb.Context(), func(c store.Conn) error {
		plan.Reset()
		for _, setting := range settings {
			if _, err := c.Exec(setting); err != nil {
				return err
			}
		}
		return c.All(explain+statement, args, func(r store.Row) error {
			var line string
			var skip any
			var err error
			if onPostgres {
				err = r.Scan(&line)
			} else {
				err = r.Scan(&skip, &skip, &skip, &line)
			}
			plan.WriteString(line + "\n")
			return err
		})
	})
	return plan.String(), err
}
