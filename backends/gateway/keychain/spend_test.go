package keychain

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema/schematest"
	"github.com/tollgate-gateway/tollgate/backends/gateway/spending"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// budgetKey creates a key with budgets and authenticates it.
func (n *node) budgetKey(tb testing.TB, b Budgets) *Identity {
	tb.Helper()
	key, err := n.CreateKey(tb.Context(), "alice", KeyOptions{Limits: Limits{Budgets: b}})
	if err != nil {
		tb.Fatal(err)
	}
	id, err := n.Authenticate(tb.Context(), key.Key)
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

// spend returns a record of a request with a key.
func spend(id *Identity, moment time.Time, tokens, cost int64) spending.Record {
	return spending.Record{
		At: moment, UserID: id.UserID, KeyID: id.KeyID, Provider: "alpha", Model: "large", Status: 200,
		InputTokens: tokens - tokens/3, OutputTokens: tokens / 3, CostMicroUSD: cost, CostKnown: cost > 0,
	}
}

// TestBudgetSetAfterRequest checks that a budget counts requests made before it was set or first checked, whether their
// records have been written or not.
func TestBudgetSetAfterRequest(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		n.user(t, "alice")
		log := quietLog(n)
		bounded := Budgets{TokensPerDay: new(int64(10))}
		for _, test := range []struct{ on, holder string }{{OnUser, "alice"}, {OnTeam, "team_1"}, {OnOrganisation, Organisation}} {
			id := n.budgetKey(t, Budgets{})
			id.Imposed = []Imposed{{On: test.on, Holder: test.holder, Limits: Limits{Budgets: bounded}}}
			record := spend(id, n.now(), 10, 0)
			record.TeamID = "team_1"
			log.Add(record)
			wantSpent(t, n, id, "tokens_per_day", tomorrow)
		}
		for _, flushes := range []bool{false, true} {
			id := n.budgetKey(t, Budgets{})
			log.Add(spend(id, n.now(), 10, 0))
			if flushes {
				if err := log.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			id.Budgets = bounded
			wantSpent(t, n, id, "tokens_per_day", tomorrow)
			id.Budgets = Budgets{TokensPerMonth: new(int64(11))} // the request is counted only once
			wantAdmitted(t, n, id)
		}
	})
}

// TestBudgetsLeft checks that the rest of every budget that binds a user is reported, each budget once.
func TestBudgetsLeft(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		n.user(t, "alice")
		team, log := n.team(t, "red"), quietLog(n)
		if err := n.SetMember(t.Context(), team.ID, "alice", Membership{}); err != nil {
			t.Fatal(err)
		}
		for kind, holder := range map[string]string{OnUser: "alice", OnTeam: team.ID, OnOrganisation: Organisation} {
			if _, err := n.SetLimits(t.Context(), kind, holder, Limits{Budgets: Budgets{USDPerMonth: new(spending.MicroUSD(1_500_000))}}, nil); err != nil {
				t.Fatal(err)
			}
		}
		id := n.budgetKey(t, Budgets{TokensPerDay: new(int64(100)), TokensTotal: new(int64(1000))})
		record := spend(id, n.now(), 30, 250_000)
		record.TeamID = team.ID
		log.Add(record)
		left, err := n.BudgetsLeft(t.Context(), "alice")
		if err != nil {
			t.Fatal(err)
		}
		text := make([]string, 0, len(left))
		for _, l := range left {
			anew := "never"
			if l.BeginsAnew != nil {
				anew = l.BeginsAnew.Format(time.DateOnly)
			}
			text = append(text, fmt.Sprintf("%s %s %s/%s %s", l.On, l.Name, l.Spent, l.Limit, anew))
		}
		slices.Sort(text)
		want := []string{
			"organisation usd_per_month 0.25/1.5 2026-04-01", "own tokens_per_day 30/100 2026-03-02", "own tokens_total 30/1000 never",
			"team usd_per_month 0.25/1.5 2026-04-01", "user usd_per_month 0.25/1.5 2026-04-01",
		}
		if !slices.Equal(text, want) {
			t.Errorf("left is %q", text)
		}
		if left, err := n.BudgetsLeft(t.Context(), "nobody"); err != nil || len(left) != 1 {
			t.Errorf("%+v, error %v", left, err)
		}
	})
}

// wantSpent checks that a budget is used up, and when it is renewed. The zero time means never.
func wantSpent(tb testing.TB, n *node, id *Identity, name string, anew time.Time) {
	tb.Helper()
	_, err := n.Admit(tb.Context(), nil, id)
	refusal, ok := apierror.From(err)
	if !ok || refusal.Status != http.StatusPaymentRequired || refusal.Code != "insufficient_quota" || !refusal.NoRetry {
		tb.Fatalf("error %v (%+v), want that %s is spent", err, refusal, name)
	}
	ends := anew.Format(time.RFC3339)
	if anew.IsZero() {
		ends = "ask the operator"
	}
	if !strings.Contains(refusal.Message, name) || !strings.Contains(refusal.Message, ends) {
		tb.Errorf("%s does not name %s and %v", refusal.Message, name, anew)
	}
	if anew.IsZero() {
		if refusal.RetryAfter != 0 {
			tb.Errorf("retry after %v", refusal.RetryAfter)
		}
		return
	}
	if early := refusal.RetryAfter - anew.Sub(n.now()); early < 0 || early > time.Second {
		tb.Errorf("retry after %v, want until %v", refusal.RetryAfter, anew)
	}
}

func wantAdmitted(tb testing.TB, n *node, id *Identity) {
	tb.Helper()
	if _, err := n.Admit(tb.Context(), nil, id); err != nil {
		tb.Errorf("refused: %v", err)
	}
}

var (
	tomorrow  = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	nextMonth = time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
)

// TestBudgets uses up each budget to the last token, with the records in memory, in the database, and partly in both.
func TestBudgets(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		n.user(t, "alice")
		log := quietLog(n)
		for name, test := range map[string]struct {
			budgets Budgets
			anew    time.Time
		}{
			"tokens_per_day":   {Budgets{TokensPerDay: new(int64(100)), TokensPerMonth: new(int64(101))}, tomorrow},
			"tokens_per_month": {Budgets{TokensPerMonth: new(int64(100)), TokensPerDay: new(int64(100))}, nextMonth},
			"usd_per_day":      {Budgets{USDPerDay: new(spending.MicroUSD(1000))}, tomorrow},
			"usd_per_month":    {Budgets{USDPerMonth: new(spending.MicroUSD(1000))}, nextMonth},
			"tokens_per_week":  {Budgets{TokensPerWeek: new(int64(100)), TokensPerDay: new(int64(100))}, tomorrow}, // a Monday
			"usd_per_week":     {Budgets{USDPerWeek: new(spending.MicroUSD(1000)), USDPerMonth: new(spending.MicroUSD(1001))}, tomorrow},
			"tokens_total":     {Budgets{TokensTotal: new(int64(100)), TokensPerMonth: new(int64(100))}, time.Time{}},
			"usd_total":        {Budgets{USDTotal: new(spending.MicroUSD(1000))}, time.Time{}},
		} {
			for _, flushes := range []string{"", "each", "second"} {
				id := n.budgetKey(t, test.budgets)
				for i, part := range []int64{30, 69, 1} {
					wantAdmitted(t, n, id)
					log.Add(spend(id, n.now(), part, part*10))
					if flushes == "each" || flushes == "second" && i == 1 {
						if err := log.Flush(t.Context()); err != nil {
							t.Fatal(err)
						}
						if i == 1 {
							n.clock.Offset.Add(int64(CacheTTL)) // the sums are read anew
						}
					}
				}
				wantSpent(t, n, id, name, test.anew)
				n.clock.Offset.Add(int64(CacheTTL))
				wantSpent(t, n, id, name, test.anew)
			}
		}

		// Another node sees the flushed records, once its cached sums have expired.
		other := p.start(t)
		id := n.budgetKey(t, Budgets{TokensPerDay: new(int64(10))})
		wantAdmitted(t, other, id)
		log.Add(spend(id, n.now(), 10, 0))
		if err := log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantAdmitted(t, other, id) // its cached sums are used for CacheTTL
		other.clock.Offset.Add(int64(CacheTTL))
		wantSpent(t, other, id, "tokens_per_day", tomorrow)

		// If the key's budget is raised, requests are admitted at once.
		more := *id
		more.Budgets = Budgets{TokensPerDay: new(int64(11))}
		wantAdmitted(t, other, &more)

		// The budgets begin anew with the next day and the next month.
		wantSpent(t, n, id, "tokens_per_day", tomorrow)
		n.clock.Offset.Store(int64(tomorrow.Sub(start)))
		wantAdmitted(t, n, id)
		month := *id
		month.Budgets = Budgets{TokensPerMonth: new(int64(10))}
		wantSpent(t, n, &month, "tokens_per_month", nextMonth)
		n.clock.Offset.Store(int64(nextMonth.Sub(start)))
		wantAdmitted(t, n, &month)
		// A stream that began in the old month counts for that month.
		log.Add(spend(id, nextMonth.Add(-time.Second), 1000, 0))
		wantAdmitted(t, n, &month)
		log.Add(spend(id, nextMonth, 10, 0))
		wantSpent(t, n, &month, "tokens_per_month", nextMonth.AddDate(0, 1, 0))
	})
}

// TestUnpricedCostsNothing checks that only token budgets bind requests to models of unknown price.
func TestUnpricedCostsNothing(t *testing.T) {
	t.Parallel()
	n := cluster{schematest.Place{Location: t.TempDir() + "/test.db"}}.start(t)
	n.user(t, "alice")
	log := quietLog(n)
	id := n.budgetKey(t, Budgets{USDPerDay: new(spending.MicroUSD(1))})
	wantAdmitted(t, n, id)
	log.Add(spend(id, n.now(), 1_000_000, 0))
	wantAdmitted(t, n, id)
}

// TestSpendingIsExact records spending while batches are written and the sums are read continuously. At no moment may a
// token count twice or not at all.
func TestSpendingIsExact(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		n.user(t, "alice")
		log := quietLog(n)
		id := n.budgetKey(t, Budgets{TokensPerDay: new(int64(1 << 40))})
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			for ctx.Err() == nil {
				if err := log.Flush(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
		own := spending.Purse{On: spending.OwnKey, ID: id.KeyID}
		for i := range int64(300) {
			log.Add(spend(id, n.now(), 1, 0))
			n.clock.Offset.Add(int64(CacheTTL) / 5) // the whole test stays within one day
			wantAdmitted(t, n, id)
			sums, err := n.ledger.Spent(t.Context(), id.KeyID, own, false, n.now())
			if err != nil || sums[spending.InDay].Tokens != i+1 || sums[spending.InWeek].Tokens != i+1 || sums[spending.InMonth].Tokens != i+1 {
				t.Errorf("%+v, want %d", sums, i+1)
				break
			}
		}
		stop()
		all.Wait()
	})
}

// TestAdmitReadsSeldom checks that Admit reads the database only once per CacheTTL: it sees a row inserted directly
// into the database no earlier.
func TestAdmitReadsSeldom(t *testing.T) {
	t.Parallel()
	n := cluster{schematest.Place{Location: t.TempDir() + "/test.db"}}.start(t)
	n.user(t, "alice")
	id := n.budgetKey(t, Budgets{TokensPerDay: new(int64(100))})
	wantAdmitted(t, n, id)
	n.sql(t, fmt.Sprintf(`INSERT INTO gateway_usage_days VALUES ('alice', %d, '%s', '', '', '', 1, 1, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0, 0, 0)`,
		start.Unix()/86_400, id.KeyID))
	for range 100 {
		wantAdmitted(t, n, id)
	}
	n.clock.Offset.Add(int64(CacheTTL))
	wantSpent(t, n, id, "tokens_per_day", tomorrow)
}

// TestAdmitWithoutDatabase checks that Admit uses sums from the cache for CacheTTL when the database is gone, and then
// returns ErrUnavailable like Authenticate.
func TestAdmitWithoutDatabase(t *testing.T) {
	t.Parallel()
	n := cluster{schematest.Place{Location: t.TempDir() + "/test.db"}}.start(t)
	n.user(t, "alice")
	log := quietLog(n)
	id := n.budgetKey(t, Budgets{TokensPerDay: new(int64(10))})
	wantAdmitted(t, n, id)
	if err := n.db.Close(); err != nil {
		t.Fatal(err)
	}
	wantAdmitted(t, n, id)
	log.Add(spend(id, n.now(), 10, 0))
	wantSpent(t, n, id, "tokens_per_day", tomorrow)
	n.clock.Offset.Add(int64(CacheTTL))
	_, err := n.Admit(t.Context(), nil, id)
	wantUnavailable(t, err)
	wantAdmitted(t, n, &Identity{KeyID: "gk_free"})
}

// BenchmarkAdmit measures the check of a request's key and budgets: for a key without limits, for keys with one and
// four budgets, and for a key that also has budgets on its user, team and organisation. The last should take at most 5
// microseconds more than the key with one budget.
func BenchmarkAdmit(b *testing.B) {
	n := cluster{schematest.Place{Location: b.TempDir() + "/test.db"}}.start(b)
	n.Service.now = time.Now
	spending.NewLog(n.ledger, n.KeyUses(), zap.NewNop())
	oneBudget := Budgets{USDPerMonth: new(spending.MicroUSD(spending.MaxUSD))}
	fourBudgets := Budgets{
		TokensPerDay: new(int64(maxBudgetTokens)), TokensPerMonth: new(int64(maxBudgetTokens)),
		USDPerDay: new(spending.MicroUSD(spending.MaxUSD)), USDPerMonth: new(spending.MicroUSD(spending.MaxUSD)),
	}
	impose := func(kind, holder string) {
		if _, err := n.Impose(b.Context(), kind, holder, KeyChange{Limits: func(l *Limits) { l.Budgets = oneBudget }}); err != nil {
			b.Fatal(err)
		}
	}
	for _, c := range []struct {
		name    string
		own     Budgets
		imposed bool // on user, team and organisation, for all cases from this one
	}{{name: "none"}, {name: "one", own: oneBudget}, {name: "four", own: fourBudgets}, {name: "key, user, team and organisation", own: oneBudget, imposed: true}} {
		text := n.user(b, c.name).Key
		if !c.own.empty() {
			key, err := n.CreateKey(b.Context(), c.name, KeyOptions{Limits: Limits{Budgets: c.own}})
			if err != nil {
				b.Fatal(err)
			}
			text = key.Key
		}
		if c.imposed {
			team, err := n.AddTeam(b.Context(), "red")
			if err != nil {
				b.Fatal(err)
			}
			if err := n.SetMember(b.Context(), team.ID, c.name, Membership{}); err != nil {
				b.Fatal(err)
			}
			impose(OnUser, c.name)
			impose(OnTeam, team.ID)
			impose(OnOrganisation, Organisation)
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				id, err := n.Authenticate(b.Context(), text)
				if err != nil {
					b.Fatal(err)
				}
				if len(id.Imposed) != 3 && c.imposed {
					b.Fatalf("imposed are %+v", id.Imposed)
				}
				if _, err := n.Admit(b.Context(), nil, id); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
