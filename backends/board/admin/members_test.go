package admin_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/board"
	"github.com/tollgate-gateway/tollgate/backends/board/admin"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

var databases = storetest.Fixture{Schemas: []store.Schema{board.Schema()}}

// TestMemberOrders checks that each order of the list of members is read from its own index, without a sort.
func TestMemberOrders(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		explain, sorts := "EXPLAIN QUERY PLAN ", "TEMP B-TREE"
		if db.Dialect() == store.Postgres {
			explain, sorts = "EXPLAIN ", "Sort"
		}
		for order, column := range admin.MemberOrders {
			plan := ""
			err := db.Write(t.Context(), func(c store.Conn) error {
				plan = ""
				if db.Dialect() == store.Postgres { // which reads an empty table whole
					for _, way := range []string{"seqscan", "bitmapscan"} {
						if _, err := c.Exec("SET LOCAL enable_" + way + " = off"); err != nil {
							return err
						}
					}
				}
				return c.All(explain+admin.MembersByColumn(column), []any{"active", 5, 5, 5, 50}, func(r store.Row) error {
					var line string
					var id, parent, unused any
					err := r.Scan(&line)
					if db.Dialect() != store.Postgres {
						err = r.Scan(&id, &parent, &unused, &line)
					}
					plan += line + "\n"
					return err
				})
			})
			if err != nil || !strings.Contains(plan, "board_users_"+order) || strings.Contains(plan, sorts) {
				t.Errorf("%s: %v\n%s", order, err, fmt.Sprint(plan))
			}
		}
	})
}
