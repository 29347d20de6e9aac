package keychain

import (
	"net/http"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
)

// TestRaise raises the limits of each kind of holder for a time, and checks that the old limits apply again on both
// nodes once the raise has ended.
func TestRaise(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		key := n.user(t, "alice")
		team := n.team(t, "red")
		if err := n.SetMember(t.Context(), team.ID, "alice", Membership{}); err != nil {
			t.Fatal(err)
		}
		log := quietLog(n)
		authenticated := func() *Identity {
			t.Helper()
			id, err := n.Authenticate(t.Context(), key.Key)
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		for kind, holder := range map[string]string{OnUser: "alice", OnTeam: team.ID, OnOrganisation: Organisation} {
			end := n.now().Add(time.Hour)
			raise := &Raise{Until: end, Limits: Limits{Budgets: Budgets{TokensPerMonth: new(int64(100))}}}
			wantRefusal(t, n.SetRaise(t.Context(), kind, holder, raise, nil), http.StatusConflict, "no_limits", "")
			tight := Limits{Budgets: Budgets{TokensPerMonth: new(int64(10))}, RateLimitPerMinute: new(int64(7))}
			if _, err := n.SetLimits(t.Context(), kind, holder, tight, nil); err != nil {
				t.Fatal(err)
			}
			record := spend(authenticated(), n.now(), 10, 0)
			record.TeamID = team.ID
			log.Add(record)
			wantSpent(t, n, authenticated(), "tokens_per_month", nextMonth)
			if err := n.SetRaise(t.Context(), kind, holder, raise, nil); err != nil {
				t.Fatal(err)
			}
			id := authenticated()
			wantAdmitted(t, n, id)
			if i := operatorLimits(id.Imposed, kind); i == nil || i.RaisedUntil == nil || !i.RaisedUntil.Equal(end) || *i.RateLimitPerMinute != 7 || *i.Budgets.TokensPerMonth != 100 {
				t.Errorf("%+v", i)
			}
			if limits, err := n.ImposedLimits(t.Context(), kind, holder); err != nil || *limits.Budgets.TokensPerMonth != 10 {
				t.Errorf("beneath the raise there are %+v, error %v", limits, err)
			}
			if got, err := n.RaiseOf(t.Context(), kind, holder); err != nil || got == nil || !got.Until.Equal(end) {
				t.Errorf("%+v, error %v", got, err)
			}
			n.clock.Offset.Add(int64(time.Hour + CacheTTL))
			n.forgetAll()
			wantSpent(t, n, authenticated(), "tokens_per_month", nextMonth)
			if got, err := n.RaiseOf(t.Context(), kind, holder); err != nil || got != nil {
				t.Errorf("%+v, error %v", got, err)
			}

			// A raise that is removed ends at once.
			raise.Until = n.now().Add(time.Hour)
			if err := n.SetRaise(t.Context(), kind, holder, raise, nil); err != nil {
				t.Fatal(err)
			}
			wantAdmitted(t, n, authenticated())
			if err := n.SetRaise(t.Context(), kind, holder, nil, nil); err != nil {
				t.Fatal(err)
			}
			wantSpent(t, n, authenticated(), "tokens_per_month", nextMonth)
			if _, err := n.SetLimits(t.Context(), kind, holder, Limits{}, nil); err != nil {
				t.Fatal(err)
			}
		}
		for name, bad := range map[string]Raise{
			"nothing":  {Until: n.now().Add(time.Hour)},
			"the past": {Until: n.now(), Limits: Limits{RateLimitPerMinute: new(int64(1))}},
			"too long": {Until: n.now().Add(maxRaise + time.Hour), Limits: Limits{RateLimitPerMinute: new(int64(1))}},
			"none":     {Until: n.now().Add(time.Hour), Limits: Limits{RateLimitPerMinute: new(int64(0))}},
			"no model": {Until: n.now().Add(time.Hour), Limits: Limits{RateLimitPerMinute: new(int64(1)), AllowedModels: []string{}}},
		} {
			if err := n.SetRaise(t.Context(), OnUser, "alice", &bad, nil); err == nil {
				t.Errorf("%s is not an error", name)
			}
		}
		raise := &Raise{Until: n.now().Add(time.Hour), Limits: Limits{RateLimitPerMinute: new(int64(1))}}
		wantRefusal(t, n.SetRaise(t.Context(), OnTeam, "team_none", raise, nil), http.StatusNotFound, "not_found", "")
	})
}

// TestTiers checks that allowing a tier allows its models, but never models that users have added.
func TestTiers(t *testing.T) {
	t.Parallel()
	id := &Identity{Imposed: []Imposed{{On: OnTeam, Limits: Limits{AllowedModels: []string{"keychain-low", "alpha/exact"}}}}}
	low, high := &catalog.Model{Tiers: []catalog.Tier{catalog.Medium, catalog.Low}}, &catalog.Model{Tiers: []catalog.Tier{catalog.High}}
	for _, c := range []struct {
		candidate Candidate
		allowed   bool
	}{
		{Candidate{Entry: "alpha/small", Model: low}, true},
		{Candidate{Entry: "alpha/large", Model: high}, false},
		{Candidate{Entry: "alpha/none", Model: new(catalog.Model)}, false},
		{Candidate{Entry: "alpha/exact", Model: high}, true},
		{Candidate{Entry: "mine/small", Model: low, Custom: true}, false},
	} {
		if allowed := id.Forbids(&c.candidate) == ""; allowed != c.allowed {
			t.Errorf("%s is allowed: %t", c.candidate.Entry, allowed)
		}
	}
}
