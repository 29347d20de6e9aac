package runevents

import (
	"fmt"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestPurge checks that what is too old is deleted, that everything else stays, and that no reference dangles.
func TestPurge(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p testDatabase) {
		clock := now
		s := p.start(t, func(o *Options) {
			o.Now = func() time.Time { return clock }
			o.EventTTL, o.ReportTTL, o.NodePurgeTTL = 100*day, 100*day, 50*day
		})
		s.storeRealReports(t)
		if purged, err := s.Purge(t.Context()); err != nil || purged != (Purged{}) {
			t.Fatalf("young ones: %+v, %v", purged, err)
		}
		cutoff := time.Date(2026, 3, 12, 0, 0, 0, 0, time.UTC) // a partition of a week begins
		reports := s.queryInt(t, "SELECT count(*) FROM run_reports WHERE producer_timestamp >= ?", cutoff.UnixMilli())
		events := s.queryInt(t, "SELECT count(*) FROM run_events WHERE at >= ?", cutoff.UnixMilli())
		old := s.queryInt(t, "SELECT count(*) FROM run_events") - events
		if reports == 0 || old == 0 {
			t.Fatal("the set does not cross the bound")
		}
		clock = cutoff.Add(100 * day)
		purged, err := s.Purge(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if purged.Events != old && purged.Partitions == 0 {
			t.Errorf("purged %+v, there were %d old events", purged, old)
		}
		if n := s.queryInt(t, "SELECT count(*) FROM run_reports"); n != reports {
			t.Errorf("%d reports are left, want %d", n, reports)
		}
		if n := s.queryInt(t, "SELECT count(*) FROM run_events"); n != events {
			t.Errorf("%d events are left, want %d", n, events)
		}
		s.checkIntegrity(t)
		if n := s.queryInt(t, "SELECT count(*) FROM run_nodes WHERE latest_report IS NOT NULL AND latest_report NOT IN (SELECT id FROM run_reports)"); n != 0 {
			t.Errorf("%d nodes have a latest report that is gone", n)
		}
		if n := s.queryInt(t, `SELECT count(*) FROM run_events e JOIN run_resources r ON r.id = e.resource JOIN run_changes c ON c.id = e.change`); n != events {
			t.Errorf("%d of %d events have their texts", n, events)
		}
		if n := s.queryInt(t, "SELECT count(*) FROM run_resources WHERE used_day < ?", dayOf(cutoff.UnixMilli())-sweepMargin); n != 0 || purged.Resources == 0 || purged.Changes == 0 {
			t.Errorf("%d resources that nothing names; purged %+v", n, purged)
		}

		// Resources that were swept come back with those who name them.
		clock = now
		s.storeRealReports(t)
		all := s.queryInt(t, "SELECT count(*) FROM run_events")
		if n := s.queryInt(t, `SELECT count(*) FROM run_events e JOIN run_reports r ON r.id = e.report JOIN run_resources s ON s.id = e.resource
			JOIN run_changes c ON c.id = e.change`); n != old+events {
			t.Errorf("%d of %d events have their texts again, want %d", n, all, old+events)
		}

		// A node that was deactivated goes with its reports.
		if _, err := s.Process(t.Context(), Command{Name: deactivateNode, Version: 3, Certname: "x", Payload: fmt.Appendf(nil, `{"certname":"app01.example.com","producer_timestamp":%q}`, now.Format(time.RFC3339))}); err != nil {
			t.Fatal(err)
		}
		clock = now.Add(49 * day)
		if purged, err := s.Purge(t.Context()); err != nil || purged.Nodes != 0 {
			t.Errorf("%+v %v", purged, err)
		}
		clock = now.Add(51 * day)
		if purged, err := s.Purge(t.Context()); err != nil || purged.Nodes != 1 || purged.Reports != 3 || purged.Events == 0 {
			t.Errorf("%+v %v", purged, err)
		}
		s.checkIntegrity(t)
	})
}

// checkIntegrity checks that all events have their report, and that the stored counts are those of the events.
func (s *Service) checkIntegrity(tb testing.TB) {
	tb.Helper()
	if n := s.queryInt(tb, "SELECT count(*) FROM run_events e WHERE NOT EXISTS (SELECT 1 FROM run_reports r WHERE r.id = e.report)"); n != 0 {
		tb.Errorf("%d events have no report", n)
	}
	if n := s.queryInt(tb, `SELECT count(*) FROM
		(SELECT hour, status, sum(events) AS n FROM run_event_counts GROUP BY hour, status) c FULL JOIN
		(SELECT (at - (at % 3600000 + 3600000) % 3600000) / 3600000 AS hour, status, count(*) AS n FROM run_events GROUP BY 1, 2) e
		ON e.hour = c.hour AND e.status = c.status WHERE coalesce(c.n, 0) <> coalesce(e.n, 0)`); n != 0 {
		tb.Errorf("%d counts are wrong", n)
	}
	if n := s.queryInt(tb, `SELECT count(*) FROM run_node_counts c FULL JOIN
		(SELECT (at - (at % 3600000 + 3600000) % 3600000) / 3600000 AS hour, node, status, count(*) AS n FROM run_events GROUP BY 1, 2, 3) e
		ON e.hour = c.hour AND e.node = c.node AND e.status = c.status WHERE coalesce(c.events, 0) <> coalesce(e.n, 0)`); n != 0 {
		tb.Errorf("%d counts of nodes are wrong", n)
	}
}

// TestPurgeReports checks reports that are deleted before their events, which takes many transactions.
func TestPurgeReports(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p testDatabase) {
		clock := now
		s := p.start(t, func(o *Options) {
			o.Now = func() time.Time { return clock }
			o.EventTTL, o.ReportTTL, o.NodePurgeTTL = 1000*day, 100*day, 1000*day
		})
		s.storeRealReports(t)
		for n := range 2*purgeReports + 1 {
			end := fmt.Sprintf("2026-03-02T11:00:00.%03d", n%1000)
			if _, err := s.Process(t.Context(), Command{Name: storeReport, Version: 8, Certname: "a", Payload: minimalReport("2026-03-02T10:00:10.000", end)}); err != nil {
				t.Fatal(err)
			}
		}
		cutoff := time.Date(2026, 3, 10, 6, 0, 0, 0, time.UTC)
		oldest := cutoff
		if p.dialect == store.Postgres {
			oldest = time.UnixMilli(s.detailsPartitioning().partitionStart(dayOf(cutoff.UnixMilli())) * day.Milliseconds())
		}
		reports := s.queryInt(t, "SELECT count(*) FROM run_reports WHERE producer_timestamp >= ?", oldest.UnixMilli())
		events := s.queryInt(t, "SELECT count(*) FROM run_events e JOIN run_reports r ON r.id = e.report WHERE r.producer_timestamp >= ?", oldest.UnixMilli())
		all := s.queryInt(t, "SELECT count(*) FROM run_events")
		clock = cutoff.Add(100 * day)
		purged, err := s.Purge(t.Context())
		if err != nil || purged.Reports < 2*purgeReports || purged.Events != all-events {
			t.Errorf("purged %+v, want %d events, %v", purged, all-events, err)
		}
		if n := s.queryInt(t, "SELECT count(*) FROM run_reports"); n != reports {
			t.Errorf("%d reports are left, want %d", n, reports)
		}
		if n := s.queryInt(t, "SELECT count(*) FROM run_events"); n != events {
			t.Errorf("%d events are left, want %d", n, events)
		}
		s.checkIntegrity(t)
	})
}

// TestExpire checks that nodes without reports become inactive until they report again.
func TestExpire(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p testDatabase) {
		clock := now
		s := p.start(t, func(o *Options) { o.Now, o.NodeTTL = func() time.Time { return clock }, 3*day })
		if _, err := s.Process(t.Context(), Command{Name: storeReport, Version: 8, Certname: "a", Payload: minimalReport()}); err != nil {
			t.Fatal(err)
		}
		clock = time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)
		if purged, err := s.Purge(t.Context()); err != nil || purged.Expired != 1 {
			t.Fatalf("%+v %v", purged, err)
		}
		if purged, err := s.Purge(t.Context()); err != nil || purged.Expired != 0 {
			t.Fatalf("again: %+v %v", purged, err)
		}
		if _, err := s.Process(t.Context(), Command{Name: storeReport, Version: 8, Certname: "a", Payload: minimalReport("2026-03-02T10:00:10", "2026-03-06T10:00:10")}); err != nil {
			t.Fatal(err)
		}
		if n := s.queryInt(t, "SELECT count(*) FROM run_nodes WHERE expired_at IS NULL"); n != 1 {
			t.Error("the node is not active again")
		}
	})
}

// TestOldEvents checks that events older than the retention are left out, and that the report is stored.
func TestOldEvents(t *testing.T) {
	t.Parallel()
	s := testDatabase{location: t.TempDir() + "/test.db"}.start(t, func(o *Options) { o.EventTTL = day })
	if _, err := s.Process(t.Context(), Command{Name: storeReport, Version: 8, Certname: "a", Payload: minimalReport()}); err != nil {
		t.Fatal(err)
	}
	if n, m := s.queryInt(t, "SELECT count(*) FROM run_events"), s.queryInt(t, "SELECT count(*) FROM run_reports"); n != 0 || m != 1 {
		t.Errorf("%d events, %d reports", n, m)
	}
}
