package spending

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/catalog"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/backends/gateway/schema/schematest"
	"github.com/tollgate-gateway/tollgate/internal/jobs"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// idle returns a Retention whose background job does not run.
func idle(n *node, retention time.Duration) *Retention {
	r := NewRetention(n.Ledger, n.logger, nil)
	r.keepFor.Store(int64(retention))
	return r
}

func (n *node) count(t *testing.T, table string) (count int) {
	t.Helper()
	err := n.db.Read(t.Context(), func(c store.Conn) error {
		return c.Row("SELECT count(*) FROM " + table).Scan(&count)
	})
	if err != nil {
		t.Fatal(err)
	}
	return count
}

// turn runs a sweep if one is due.
func (r *Retention) turn(ctx context.Context, retake bool) error {
	return r.lease.Do(ctx, retake, func(ctx context.Context) error {
		_, err := r.sweep(ctx)
		return err
	})
}

const dayLong = 24 * time.Hour

// TestRetention deletes old records in several transactions. The log also has records to keep, and one from a clock
// that was wrong.
func TestRetention(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		n := p.start(t)
		log := quietLog(n)
		add := func(id string, ago time.Duration) {
			log.Add(Record{At: start.Add(-ago), RequestID: id, UserID: "alice", KeyID: "gk", Provider: "p", Model: "m", Tier: catalog.High, Status: 200})
		}
		add("future", -1000*dayLong)
		const old = 2*sweepRows + 7
		for i := range old {
			add(fmt.Sprint("old", i), 100*dayLong+time.Duration(i)*time.Hour)
		}
		add("a little old", 91*dayLong)
		add("late", 200*dayLong) // written by another node
		add("kept", 90*dayLong-time.Hour)
		add("new", 0)
		if err := log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		days, hours := n.count(t, "gateway_usage_days"), n.count(t, "gateway_usage_hours")
		before, err := n.Usage(t.Context(), "alice", UsageQuery{From: start.Add(-101*dayLong - 7*time.Hour), To: start.Add(time.Hour)})
		if err != nil {
			t.Fatal(err)
		}

		if err := idle(n, 0).turn(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		if got := n.count(t, "gateway_usage_records"); got != old+5 {
			t.Errorf("for ever: %d records are left", got)
		}
		if got := n.count(t, "gateway_usage_hours"); got != hours-old-1 { // the hour 91 days ago stays for another day
			t.Errorf("%d hours of %d are left", got, hours)
		}
		if err := idle(n, RequestsKept).turn(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		equal(t, ids(t, n, 500), []string{"new", "kept", "future"})
		if got := n.count(t, "gateway_usage_days"); got != days {
			t.Errorf("%d days of %d are left", got, days)
		}
		if n.logs.FilterMessage("deleted old requests from the usage log").Len() != 2 {
			t.Errorf("the log: %v", n.logs.All())
		}

		// A report over days whose hours are deleted is rounded to whole days. Its totals are unchanged.
		after, err := n.Usage(t.Context(), "alice", UsageQuery{From: start.Add(-101*dayLong - 7*time.Hour), To: start.Add(time.Hour)})
		if err != nil || after.Totals.Requests != before.Totals.Requests || after.Totals.Requests < 24 || after.From.Hour() != 0 {
			t.Errorf("requests %d from %s, before %d, error %v", after.Totals.Requests, after.From, before.Totals.Requests, err)
		}
	})
}

// TestRetentionOfManyNodes checks that one node deletes, and that another one takes over when the first no longer runs.
func TestRetentionOfManyNodes(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		first, other := p.start(t), p.start(t)
		turn := func(n *node, retake bool, want error) {
			t.Helper()
			if err := idle(n, RequestsKept).turn(t.Context(), retake); !errors.Is(err, want) {
				t.Errorf("error %v, want %v", err, want)
			}
		}
		turn(first, false, nil)
		turn(first, false, jobs.ErrHeld) // not due yet
		turn(first, true, nil)
		turn(other, false, jobs.ErrHeld)
		turn(other, true, jobs.ErrHeld)
		other.clock.Offset.Add(int64(sweepEvery + time.Minute))
		turn(other, false, nil)
		turn(first, true, jobs.ErrHeld)
		err := first.db.Write(t.Context(), idle(first, 0).lease.Hold)
		if !errors.Is(err, jobs.ErrHeld) {
			t.Errorf("during another node's turn: error %v", err)
		}
		first.sql(t, "UPDATE gateway_sweeps SET until = ?", schema.Micros(start.AddDate(1, 0, 0))) // by a node whose clock was wrong
		turn(first, false, nil)
	})
}

// TestRetentionInTheBackground checks that records are deleted only once a retention period is set.
func TestRetentionInTheBackground(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		n := p.start(t)
		log := quietLog(n)
		log.Add(record(1))
		if err := log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		n.clock.Offset.Store(int64(100 * dayLong))
		NewRetention(n.Ledger, n.logger, nil).Close()
		r := NewRetention(n.Ledger, n.logger, nil)
		r.Keep(0)
		schematest.Eventually(t, "the first sweep is over", func() bool { return n.count(t, "gateway_sweeps") == 1 })
		if n.count(t, "gateway_usage_records") != 1 {
			t.Error("the record was deleted")
		}
		r.Keep(RequestsKept)
		schematest.Eventually(t, "the record is gone", func() bool { return n.count(t, "gateway_usage_records") == 0 })
		r.Close()
		if n.logs.FilterLevelExact(1).Len() > 0 {
			t.Errorf("the log: %v", n.logs.All())
		}
	})
}
