package spending

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// TestSpendingOfMembers compares the sums by user within a team with the sums of the team.
func TestSpendingOfMembers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		n := p.start(t)
		log := quietLog(n)
		for i := range 60 {
			r := Record{
				At: start.Add(-time.Duration(i%3) * 24 * time.Hour), UserID: fmt.Sprint("user-", i%4), KeyID: fmt.Sprint("gk_", i%5),
				Provider: "alpha", Model: fmt.Sprint("model-", i%2), InputTokens: 10, CostMicroUSD: int64(i), CostKnown: true,
			}
			if team := i % 3; team > 0 {
				r.TeamID = fmt.Sprint("team_", team)
			}
			if log.Add(r); i%20 == 19 { // several batches add to the same rows
				if err := log.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		sum := func(groups ...string) (cost map[string]int64) {
			t.Helper()
			lines, err := n.Spending(t.Context(), Query{TeamID: "team_2", By: groups})
			if err != nil {
				t.Fatal(err)
			}
			cost = make(map[string]int64)
			for i := range lines {
				cost[lines[i].Day+lines[i].groupKey()] += int64(lines[i].CostUSD)
			}
			return cost
		}
		members := sum("user")
		var all int64
		for _, cost := range members {
			all += cost
		}
		if whole := sum("organisation"); len(members) != 4 || fmt.Sprint(whole) != fmt.Sprint(map[string]int64{"\x00\x00\x00\x00\x00\x00\x00": all}) {
			t.Errorf("by member %v, the team %v", members, whole)
		}
		if days := sum("user", "day"); len(days) < 4 {
			t.Errorf("by day %v", days)
		}
		for _, groups := range [][]string{{"user", "model"}, {"user", "hour"}, {"key"}, {"user", "key"}, {"user", "tag"}} {
			_, err := n.Spending(t.Context(), Query{TeamID: "team_2", By: groups})
			wantRefusal(t, err, http.StatusBadRequest, "invalid_value", "by")
		}
	})
}
