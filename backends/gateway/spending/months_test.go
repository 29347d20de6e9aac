package spending

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema/schematest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestMonths: a report is the same whether the months in it have been added up or not, wherever
// it begins and ends; a month that is not over for long is not added up.
func TestMonths(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		n := p.start(t)
		log := quietLog(n)
		at := func(month time.Month, day int) time.Time { return time.Date(2025, month, day, 23, 0, 0, 0, time.UTC) }
		for i, when := range []time.Time{at(9, 1), at(9, 30), at(10, 1), at(10, 15), at(12, 1), at(12, 31), at(13, 1), at(14, 27)} {
			r := Record{
				At: when, UserID: "alice", KeyID: "gk_1", TeamID: fmt.Sprint("team_", i%2), Provider: "alpha", Model: "large",
				InputTokens: 1 << i, CostMicroUSD: 1 << i, CostKnown: true,
			}
			log.Add(r)
		}
		if err := log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		var queries []Query
		for _, from := range []time.Time{at(8, 31), at(9, 1), at(9, 2), at(10, 1), at(12, 15)} {
			for _, to := range []time.Time{at(9, 15), at(10, 1), at(11, 1), at(12, 31), at(14, 1), at(14, 28)} {
				if from, to := StartOfDay(from), StartOfDay(to); from.Before(to) {
					for _, by := range [][]string{{"team", "model"}, {"organisation"}, {"day", "team"}} {
						queries = append(queries, Query{From: from, To: to, By: by}, Query{From: from, To: to, By: by, TeamID: "team_1"})
					}
					queries = append(queries, Query{From: from, To: to, By: []string{"team"}, Compare: true})
				}
			}
		}
		reports := func() (texts []string) {
			t.Helper()
			for _, q := range queries {
				lines, err := n.Spending(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				text, err := json.Marshal(lines)
				if err != nil {
					t.Fatal(err)
				}
				texts = append(texts, string(text))
			}
			return texts
		}
		before := reports()
		for _, step := range []struct {
			now    time.Time
			months int // that have rows
		}{{at(9, 30), 0}, {at(10, 2), 0}, {at(10, 3).Add(time.Hour), 1}, {at(14, 27), 4}} {
			n.clock.Offset.Store(int64(step.now.Sub(start)))
			if err := idle(n, 0).turn(t.Context(), true); err != nil {
				t.Fatal(err)
			}
			if months := n.count(t, "(SELECT DISTINCT month FROM gateway_team_months) AS m"); months != step.months {
				t.Errorf("at %v there are %d months, want %d", step.now, months, step.months)
			}
			for i, text := range reports() {
				if text != before[i] {
					t.Errorf("at %v, %+v: %s, want %s", step.now, queries[i], text, before[i])
				}
			}
		}
	})
}

// BenchmarkSpendingOfAYear measures the report by team and model of a year with 200 teams that use ten models each day.
// The aim is 300 ms.
func BenchmarkSpendingOfAYear(b *testing.B) {
	n := place{schematest.Place{Location: b.TempDir() + "/test.db"}}.start(b)
	n.now = time.Now
	today := unixDay(time.Now())
	values := "(?, ?, 'openai', ?" + strings.Repeat(", 1000", len(sumColumns)) + ")"
	insert := `INSERT INTO gateway_team_days (day, team_id, provider, model, ` + strings.Join(sumColumns[:], ", ") + `) VALUES ` +
		values + strings.Repeat(", "+values, 9)
	for day := today - 365; day <= today; day++ {
		err := n.db.Write(b.Context(), func(c store.Conn) error {
			for team := range 200 {
				args := make([]any, 0, 30)
				for model := range 10 {
					args = append(args, day, fmt.Sprintf("team_%020d", team), fmt.Sprint("model-name-", model))
				}
				if _, err := c.Exec(insert, args...); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	r := idle(n, 0)
	r.logger = zap.NewNop()
	if err := r.turn(b.Context(), true); err != nil {
		b.Fatal(err)
	}
	q := Query{From: fromHour((today - 364) * 24), To: fromHour((today + 1) * 24)}
	for b.Loop() {
		if lines, err := n.Spending(b.Context(), q); err != nil || len(lines) != 2000 {
			b.Fatal(len(lines), err)
		}
	}
}
