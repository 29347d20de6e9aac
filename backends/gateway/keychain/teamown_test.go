package keychain

import (
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestTeamOwnLimits checks that the tighter of the operator's limit and the limit of the team's administrators applies
// to a team, and that usage counts once for both.
func TestTeamOwnLimits(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		key := n.user(t, "alice")
		team, err := n.AddTeam(t.Context(), "red")
		if err == nil {
			err = n.SetMember(t.Context(), team.ID, "alice", Membership{})
		}
		if err != nil {
			t.Fatal(err)
		}
		small, large := int64(2), int64(1000)
		set := func(kind string, limits Limits) {
			t.Helper()
			if _, err := n.Impose(t.Context(), kind, team.ID, KeyChange{Limits: limitsTo(limits)}); err != nil {
				t.Fatal(err)
			}
		}
		count := counters.NewMemory(n.now)
		for _, c := range []struct {
			name           string
			operator, team int64
			whose, without string
		}{
			{"the operator is tighter", small, large, "that the operator has set", "administrators"},
			{"the team is tighter", large, small, "that its administrators have set", "operator"},
		} {
			limits := func(n int64) Limits {
				return Limits{
					RateLimitPerMinute: &n, Rates: Rates{ParallelRequests: &n}, Budgets: Budgets{TokensPerDay: &n},
				}
			}
			set(OnTeam, limits(c.operator))
			set(OnTeamOwn, limits(c.team))
			id, err := n.Authenticate(t.Context(), key.Key)
			if err != nil {
				t.Fatal(err)
			}
			if holder, limit := id.ImposedRate(OnTeam); holder != team.ID || *limit != small || *id.RateLimit() != small {
				t.Errorf("%s: %s has the rate %d", c.name, holder, *limit)
			}
			places := make([]*Admission, 0, small)
			for range small {
				a, err := n.Admit(t.Context(), count, id)
				if err != nil {
					t.Fatalf("%s: %v", c.name, err)
				}
				places = append(places, a)
			}
			_, err = n.Admit(t.Context(), count, id)
			wantTooMany(t, err, "the team of the gateway key has 2 requests")
			for _, a := range places {
				if err := a.Done(t.Context(), 0); err != nil {
					t.Error(err)
				}
			}
			b := id.budgets(nil)
			sums := spending.WindowSums{}
			sums[spending.InDay].Tokens = 5
			var msgs string
			for i := range b {
				if spent := b[i].spent(&sums, spending.StartOfDay(n.now())); spent != nil {
					refusal, _ := apierror.From(spent.refusal(n.now()))
					msgs += refusal.Message
				}
			}
			if len(b) != 2 || b[0].Purse != b[1].Purse || !strings.Contains(msgs, c.whose) || strings.Contains(msgs, c.without) {
				t.Errorf("%s: it says %q", c.name, msgs)
			}
			left, err := n.BudgetsLeft(t.Context(), "alice")
			if err != nil || len(left) != 2 || left[0].By == left[1].By || left[0].ID != team.ID {
				t.Errorf("%s: left is %+v, error %v", c.name, left, err)
			}
		}
		var names []string
		err = n.EachImposedBudget(t.Context(), n.now().Add(-1), func(b *ImposedBudget) error {
			names = append(names, b.On+" "+b.Name)
			return nil
		})
		if err != nil || strings.Join(names, ", ") != "team tokens_per_day, team_own tokens_per_day" {
			t.Errorf("%v, error %v", names, err)
		}
		if err := n.RemoveTeam(t.Context(), team.ID); err != nil {
			t.Fatal(err)
		}
		if left, err := n.imposedOf(t, OnTeamOwn, team.ID); err != nil || !left.empty() {
			t.Errorf("the team has gone, its limits are %+v, error %v", left, err)
		}
	})
}

// imposedOf reads the limits of a holder that may not exist any more.
func (n *node) imposedOf(t *testing.T, kind, holder string) (limits Limits, err error) {
	t.Helper()
	err = n.db.Read(t.Context(), func(c store.Conn) error {
		limits, err = n.imposedLimits(c, kind, holder)
		return err
	})
	return limits, err
}
