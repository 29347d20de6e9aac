package spending

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestPlans checks that a report over any time finds the totals of two days by primary key and sums them without
// sorting first. Reports on one team find its rows of each day.
func TestPlans(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		n := p.start(t)
		log := quietLog(n)
		random := rand.New(rand.NewPCG(5, 6))
		for range 3 * lastOfTotals {
			log.Add(anyRequest(random))
		}
		if err := log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		n.clock.Offset.Store(int64(dayOfTotals(lastOfTotals).Sub(start)))
		if err := idle(n, 0).turn(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			by, team string
			want     [2]string // parts of the plan on SQLite and on PostgreSQL
			never    [2]string
		}{
			{
				by: "user", want: [2]string{"SEARCH after USING PRIMARY KEY (day=?)", "gateway_user_totals_pkey"},
				never: [2]string{"FOR GROUP BY", "gateway_usage_days"},
			},
			{
				by: "key", want: [2]string{"SEARCH after USING PRIMARY KEY (day=?)", "gateway_key_totals_pkey"},
				never: [2]string{"FOR GROUP BY", "gateway_usage_days"},
			},
			{
				by: "team", want: [2]string{"SEARCH after USING PRIMARY KEY (day=?)", "gateway_team_totals_pkey"},
				never: [2]string{"FOR GROUP BY", "gateway_team_days"},
			},
			{
				by: "team,model", want: [2]string{"SEARCH after USING PRIMARY KEY (day=?)", "gateway_team_totals_pkey"},
				never: [2]string{"FOR GROUP BY", "gateway_team_days"},
			},
			{
				by: "model", team: "red",
				want:  [2]string{"SEARCH after USING PRIMARY KEY (day=? AND team_id=?)", "team_id = 'red'"},
				never: [2]string{"gateway_team_days", "gateway_team_days"},
			},
			{
				by: "day", team: "red", want: [2]string{"USING INDEX gateway_team_days_team (team_id=? AND day>? AND day<?)", "gateway_team_days_team"},
				never: [2]string{"gateway_team_totals", "gateway_team_totals"},
			},
			{
				by: "hour", team: "red", want: [2]string{"SEARCH d USING PRIMARY KEY (hour=? AND team_id=?)", "gateway_team_hours_pkey"},
				never: [2]string{"gateway_team_days", "gateway_team_days"},
			},
		} {
			firstDay, endDay := dayOfTotals(lastOfTotals-20), dayOfTotals(lastOfTotals+1)
			q := Query{From: firstDay, To: endDay, By: strings.Split(test.by, ","), TeamID: test.team}
			source, groups, err := q.check(n.now())
			if err != nil {
				t.Fatal(err)
			}
			first, end := q.bounds(source)
			statement, args, err := n.spendingStatement(t.Context(), &q, source, groups, first, end)
			if err != nil {
				t.Fatal(err)
			}
			plan := n.plan(t, statement, args)
			if want := test.want[p.Dialect]; !strings.Contains(plan, want) {
				t.Errorf("by %s %s, the plan has no %q:\n%s", test.by, test.team, want, plan)
			}
			if never := test.never[p.Dialect]; strings.Contains(plan, never) {
				t.Errorf("by %s %s, the plan has %q:\n%s", test.by, test.team, never, plan)
			}
		}
	})
}

// plan returns the database's query plan for a statement.
func (n *node) plan(t *testing.T, statement string, args []any) string {
	t.Helper()
	var lines []string
	err := n.db.Write(t.Context(), func(c store.Conn) (err error) {
		explain := "EXPLAIN QUERY PLAN "
		if c.Dialect() == store.Postgres {
			explain = "EXPLAIN "
			// The test's tables are so small that PostgreSQL would scan them. Without this, the plan does not show the
			// index.
			if _, err := c.Exec("SET LOCAL enable_seqscan = off"); err != nil {
				return err
			}
		}
		lines, err = store.List(c, func(row store.Row) (line string, err error) {
			if c.Dialect() == store.Postgres {
				return line, row.Scan(&line)
			}
			var id, parent, unused int
			err = row.Scan(&id, &parent, &unused, &line)
			return line, err
		}, explain+statement, args...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}
