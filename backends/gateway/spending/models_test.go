package spending

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// TestSpendingOfAllTeams compares the sums over all teams, which have their own tables, with the total of the sums of
// the single teams.
func TestSpendingOfAllTeams(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		n := p.start(t)
		log := quietLog(n)
		first := start.Add(-40 * time.Hour)
		for i := range 60 {
			r := Record{
				At: first.Add(time.Duration(i%5) * 10 * time.Hour), UserID: "alice", KeyID: "gk_1",
				Provider: fmt.Sprint("provider-", i%2), Model: fmt.Sprint("model-", i%4),
				InputTokens: int64(i), CostMicroUSD: int64(i * i), CostKnown: i%7 > 0,
			}
			if i%3 > 0 {
				r.TeamID = fmt.Sprint("team_", i%3)
			}
			if i%6 == 0 {
				r.FailedAttempts = []apierror.Attempt{{Provider: "provider-2", Model: "model-9", Status: 500}}
			}
			if log.Add(r); i%20 == 19 { // several batches add to the same rows
				if err := log.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, groups := range [][]string{{"organisation"}, {"model"}, {"provider"}, {"day"}, {"day", "model"}, {"hour"}, {"hour", "provider"}} {
			sum := func(groups []string) map[string][4]int64 {
				t.Helper()
				lines, err := n.Spending(t.Context(), Query{From: first, To: start.Add(24 * time.Hour), By: groups})
				if err != nil {
					t.Fatal(err)
				}
				sums := make(map[string][4]int64)
				for i := range lines {
					l := &lines[i]
					l.TeamID, l.Team = nil, nil
					key := fmt.Sprint(l.groupKey(), l.Day, l.Hour)
					s := sums[key]
					for j, v := range []int64{l.Requests, l.InputTokens, int64(l.CostUSD), l.FailedAttempts + 1000*l.UnpricedRequests} {
						s[j] += v
					}
					sums[key] = s
				}
				return sums
			}
			got, want := sum(groups), sum(append(slices.Clone(groups), "team"))
			if len(got) == 0 || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("by %v: %v, want %v", groups, got, want)
			}
		}
	})
}
