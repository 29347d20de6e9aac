package keychain

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// budgetKey makes a key with budgets and authenticates it.
func (n *node) budgetKey(tb testing.TB, b Budgets) *Identity {
	tb.Helper()
	key, err := n.CreateKey(tb.Context(), "alice", KeyOptions{Budgets: b})
	if err != nil {
		tb.Fatal(err)
	}
	id, err := n.Authenticate(tb.Context(), key.Key)
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

// spend is a record of a key.
func spend(id *Identity, at time.Time, tokens, cost int64) Record {
	return Record{
		At: at, UserID: id.UserID, KeyID: id.KeyID, Provider: "alpha", Model: "large", Status: 200,
		InputTokens: tokens - tokens/3, OutputTokens: tokens / 3, CostMicroUSD: cost, CostKnown: cost > 0,
	}
}

// wantSpent checks that a budget is spent and when it begins anew.
func wantSpent(tb testing.TB, n *node, id *Identity, name string, anew time.Time) {
	tb.Helper()
	err := n.Admit(tb.Context(), id)
	refusal, ok := apierror.From(err)
	if !ok || refusal.Status != http.StatusPaymentRequired || refusal.Code != "insufficient_quota" || !refusal.NoRetry {
		tb.Fatalf("error %v (%+v), want that %s is spent", err, refusal, name)
	}
	if !strings.Contains(refusal.Message, name+",") || !strings.Contains(refusal.Message, anew.Format(time.RFC3339)) {
		tb.Errorf("%s does not tell of %s and %v", refusal.Message, name, anew)
	}
	if early := refusal.RetryAfter - anew.Sub(n.now()); early < 0 || early > time.Second {
		tb.Errorf("retry after %v, want until %v", refusal.RetryAfter, anew)
	}
}

func wantAdmitted(tb testing.TB, n *node, id *Identity) {
	tb.Helper()
	if err := n.Admit(tb.Context(), id); err != nil {
		tb.Errorf("refused: %v", err)
	}
}

var (
	tomorrow  = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	nextMonth = time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)
)

// TestBudgets spends each budget to the last token, with the records in memory,
// in the database, and partly in both.
func TestBudgets(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		n := p.start(t)
		n.user(t, "alice")
		log := quietLog(n)
		for name, test := range map[string]struct {
			budgets Budgets
			anew    time.Time
		}{
			"tokens_per_day":   {Budgets{TokensPerDay: new(int64(100)), TokensPerMonth: new(int64(101))}, tomorrow},
			"tokens_per_month": {Budgets{TokensPerMonth: new(int64(100)), TokensPerDay: new(int64(100))}, nextMonth},
			"usd_per_day":      {Budgets{USDPerDay: new(MicroUSD(1000))}, tomorrow},
			"usd_per_month":    {Budgets{USDPerMonth: new(MicroUSD(1000))}, nextMonth},
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
							n.clock.offset.Add(int64(CacheTTL)) // read it anew
						}
					}
				}
				wantSpent(t, n, id, name, test.anew)
				n.clock.offset.Add(int64(CacheTTL))
				wantSpent(t, n, id, name, test.anew)
			}
		}

		// Another node sees what was flushed.
		other := p.start(t)
		id := n.budgetKey(t, Budgets{TokensPerDay: new(int64(10))})
		wantAdmitted(t, other, id)
		log.Add(spend(id, n.now(), 10, 0))
		if err := log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantAdmitted(t, other, id) // for CacheTTL
		other.clock.offset.Add(int64(CacheTTL))
		wantSpent(t, other, id, "tokens_per_day", tomorrow)

		// The same key with more to spend goes on at once.
		more := *id
		more.Budgets = Budgets{TokensPerDay: new(int64(11))}
		wantAdmitted(t, other, &more)

		// A day and a month later it begins anew.
		wantSpent(t, n, id, "tokens_per_day", tomorrow)
		n.clock.offset.Store(int64(tomorrow.Sub(start)))
		wantAdmitted(t, n, id)
		month := *id
		month.Budgets = Budgets{TokensPerMonth: new(int64(10))}
		wantSpent(t, n, &month, "tokens_per_month", nextMonth)
		n.clock.offset.Store(int64(nextMonth.Sub(start)))
		wantAdmitted(t, n, &month)
		// A stream of the old month that ends now counts there.
		log.Add(spend(id, nextMonth.Add(-time.Second), 1000, 0))
		wantAdmitted(t, n, &month)
		log.Add(spend(id, nextMonth, 10, 0))
		wantSpent(t, n, &month, "tokens_per_month", nextMonth.AddDate(0, 1, 0))
	})
}

// TestUnpricedCostsNothing: what a model of unknown price costs is bounded by
// tokens only.
func TestUnpricedCostsNothing(t *testing.T) {
	t.Parallel()
	n := place{location: t.TempDir() + "/test.db"}.start(t)
	n.user(t, "alice")
	log := quietLog(n)
	id := n.budgetKey(t, Budgets{USDPerDay: new(MicroUSD(1))})
	wantAdmitted(t, n, id)
	log.Add(spend(id, n.now(), 1_000_000, 0))
	wantAdmitted(t, n, id)
}

// TestSpendingIsExact has requests spend while batches are written and the sums
// are read all the time: at no moment may a token count twice or not at all.
func TestSpendingIsExact(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
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
		key := n.spending.purse(purse{onOwn, id.KeyID}, id.KeyID, n.now())
		for i := range int64(300) {
			log.Add(spend(id, n.now(), 1, 0))
			n.clock.offset.Add(int64(CacheTTL) / 5) // a day is long enough for that
			wantAdmitted(t, n, id)
			if ofDay, ofMonth, _ := key.now(n.now()); ofDay.tokens != i+1 || ofMonth.tokens != i+1 {
				t.Errorf("%d of the day and %d of the month, want %d", ofDay.tokens, ofMonth.tokens, i+1)
				break
			}
		}
		stop()
		all.Wait()
	})
}

// TestAdmitReadsSeldom counts reads by what a change behind the service's back
// brings about.
func TestAdmitReadsSeldom(t *testing.T) {
	t.Parallel()
	n := place{location: t.TempDir() + "/test.db"}.start(t)
	n.user(t, "alice")
	id := n.budgetKey(t, Budgets{TokensPerDay: new(int64(100))})
	wantAdmitted(t, n, id)
	n.sql(t, fmt.Sprintf(`INSERT INTO gateway_usage_days VALUES ('alice', %d, '%s', '', '', '', 1, 1, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0, 0)`,
		unixDay(start), id.KeyID))
	for range 100 {
		wantAdmitted(t, n, id)
	}
	n.clock.offset.Add(int64(CacheTTL))
	wantSpent(t, n, id, "tokens_per_day", tomorrow)
}

// TestAdmitWithoutDatabase: what was read is good for CacheTTL, then the answer
// is that of Authenticate.
func TestAdmitWithoutDatabase(t *testing.T) {
	t.Parallel()
	n := place{location: t.TempDir() + "/test.db"}.start(t)
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
	n.clock.offset.Add(int64(CacheTTL))
	wantUnavailable(t, n.Admit(t.Context(), id))
	wantAdmitted(t, n, &Identity{KeyID: "gk_free"})
}

// TestSpendingIsBounded adds more records than are kept, and more keys than are
// in use.
func TestSpendingIsBounded(t *testing.T) {
	t.Parallel()
	var s spending
	k := s.purse(purse{onOwn, "gk"}, "gk", start)
	k.set(start, startOfDay(start), 0, spent{}, spent{})
	const many = maxLocalSpends + 100
	for i := range int64(many) {
		s.note(&Record{KeyID: "gk", At: start, InputTokens: 1}, i+1)
	}
	if ofDay, _, _ := k.now(start); ofDay.tokens != many || len(k.local) != maxLocalSpends {
		t.Errorf("%d tokens in %d records", ofDay.tokens, len(k.local))
	}
	k.set(start, startOfDay(start), many, spent{tokens: many}, spent{tokens: many})
	if ofDay, _, _ := k.now(start); ofDay.tokens != many || len(k.local) != 0 {
		t.Errorf("%d tokens, %d records left", ofDay.tokens, len(k.local))
	}
	s.note(&Record{KeyID: "gk", At: start, InputTokens: 1}, many) // late: it was read already
	if ofDay, _, _ := k.now(start); ofDay.tokens != many {
		t.Errorf("%d tokens", ofDay.tokens)
	}
	for i := range 1000 {
		id := fmt.Sprint("gk", i)
		s.purse(purse{onOwn, id}, id, start.Add(time.Second))
	}
	if s.purse(purse{onOwn, "late"}, "late", start.Add(forgetSpendAfter+time.Hour)); len(s.purses) != 1 {
		t.Errorf("%d keys are remembered", len(s.purses))
	}
}

// TestWritersAreForgotten looks at the table that every process writes to.
func TestWritersAreForgotten(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		var last *node
		for i := range 3 {
			n := p.start(t)
			n.clock.offset.Store(int64(i) * int64(writersKept) * 2 / 3)
			n.spending.tracked.Store(1)
			log := quietLog(n)
			for range 2 {
				log.Add(record(0))
				if err := log.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			last = n
		}
		var count, records int64
		err := last.db.Read(t.Context(), func(c store.Conn) error {
			return c.Row("SELECT count(*), max(records) FROM gateway_usage_writers").Scan(&count, &records)
		})
		if err != nil || count != 2 || records != 2 {
			t.Errorf("%d writers, %d records, error %v", count, records, err)
		}
	})
}

// BenchmarkAdmit is what a request pays for the check of its key and of its
// budgets.
func BenchmarkAdmit(b *testing.B) {
	n := place{location: b.TempDir() + "/test.db"}.start(b)
	n.Service.now = time.Now
	log := quietLog(n)
	log.logger = zap.NewNop()
	n.user(b, "alice")
	for name, budgets := range map[string]Budgets{"none": {}, "four": {
		TokensPerDay: new(int64(maxBudgetTokens)), TokensPerMonth: new(int64(maxBudgetTokens)),
		USDPerDay: new(MicroUSD(maxUSD)), USDPerMonth: new(MicroUSD(maxUSD)),
	}} {
		key, err := n.CreateKey(b.Context(), "alice", KeyOptions{Budgets: budgets})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				id, err := n.Authenticate(b.Context(), key.Key)
				if err != nil {
					b.Fatal(err)
				}
				if err := n.Admit(b.Context(), id); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
