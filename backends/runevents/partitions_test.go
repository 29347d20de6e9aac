package runevents

import (
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

func (s *Service) partitionsOf(tb testing.TB, table string) (list []partition) {
	tb.Helper()
	err := s.db.Read(tb.Context(), func(c store.Conn) (err error) {
		list, err = listPartitions(c, table)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return list
}

// reportOfDay returns a command with a report from the given number of days ago.
func reportOfDay(ago int64) Command {
	date := now.Add(-time.Duration(ago) * day).Format("2006-01-02T")
	return Command{Name: storeReport, Version: 8, Certname: "a", Payload: minimalReport("2026-03-02T", date)}
}

// TestSpans checks that a long retention has partitions of many days, whatever partitions existed before, and that
// the former ones are dropped in time.
func TestSpans(t *testing.T) {
	t.Parallel()
	p := testDatabase{store.Postgres, testenv.Postgres(t).DSN()}
	daily := p.start(t, func(o *Options) { o.EventTTL, o.ReportTTL = 30*day, 30*day })
	for _, ago := range []int64{0, 1, 3, 4, 10} {
		if err := daily.Store(t.Context(), reportOfDay(ago)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(daily.partitionsOf(t, "run_events")); n != 5 {
		t.Errorf("%d partitions of 5 days", n)
	}
	clock := now
	s := p.start(t, func(o *Options) {
		o.EventTTL, o.ReportTTL, o.NodePurgeTTL = 365*day, 365*day, 365*day
		o.Now = func() time.Time { return clock }
	})
	const total = 360
	for ago := range int64(total) {
		if err := s.Store(t.Context(), reportOfDay(total-1-ago)); err != nil {
			t.Fatal(ago, err)
		}
	}
	for _, table := range []string{"run_events", "run_report_details"} {
		list := s.partitionsOf(t, table)
		if len(list) > 13+2*5+1 {
			t.Errorf("%s: %d partitions", table, len(list))
		}
		for i := range list[1:] {
			if list[i].until > list[i+1].from {
				t.Errorf("%s: %+v and %+v overlap", table, list[i], list[i+1])
			}
		}
	}
	for name, want := range map[string]int64{"run_events": total, "run_reports": total, "run_report_details": total} {
		if n := s.queryInt(t, "SELECT count(*) FROM "+name); n != want {
			t.Errorf("%s: %d rows, want %d", name, n, want)
		}
	}
	// What is left of a partition keeps its counts and its resources.
	for range 60 {
		clock = clock.Add(10 * day)
		if _, err := s.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.checkIntegrity(t)
		events := s.queryInt(t, "SELECT count(*) FROM run_events")
		if n := s.queryInt(t, "SELECT count(*) FROM run_events e JOIN run_resources r ON r.id = e.resource JOIN run_changes c ON c.id = e.change"); n != events {
			t.Fatalf("%d of %d events have their texts", n, events)
		}
		due := max(0, total-int64(clock.Sub(now)/day)+5) // what is not 365 days old yet
		if events < min(total, due) || events > due+2*monthly {
			t.Fatalf("after %s: %d events, want %d or somewhat more", clock.Sub(now), events, due)
		}
	}
	if n := s.queryInt(t, "SELECT count(*) FROM run_event_counts") + int64(len(s.partitionsOf(t, "run_events"))+len(s.partitionsOf(t, "run_report_details"))); n != 0 {
		t.Errorf("%d counts and partitions are left", n)
	}
}

// TestImportSpans checks that an import, which does not know the retention, chooses partitions by the age of
// events.
func TestImportSpans(t *testing.T) {
	t.Parallel()
	p := testDatabase{store.Postgres, testenv.Postgres(t).DSN()}
	s := p.start(t, func(o *Options) { o.EventTTL, o.ReportTTL, o.Import = 10000*day, 10000*day, true })
	for _, ago := range []int64{0, 29, 90, 400, 1000} {
		if err := s.Store(t.Context(), reportOfDay(ago)); err != nil {
			t.Fatal(err)
		}
	}
	list := s.partitionsOf(t, "run_events")
	got := make([]int64, 0, len(list))
	for _, p := range list {
		got = append(got, p.until-p.from)
	}
	if want := []int64{monthly, monthly, weekly, daily, daily}; !slices.Equal(got, want) {
		t.Errorf("days of the partitions: %v, want %v", got, want)
	}
}

// TestPartitionOfOtherProcess checks that a partition that another process creates while this one waits for the lock is
// found, with its rows.
func TestPartitionOfOtherProcess(t *testing.T) {
	t.Parallel()
	p := testDatabase{store.Postgres, testenv.Postgres(t).DSN()}
	s := p.start(t)
	spans, today := s.detailsPartitioning(), dayOf(now.UnixMilli())
	start := spans.partitionStart(today)
	waiting := make(chan error, 1)
	err := p.open(t).Write(store.ReadCommitted(t.Context()), func(c store.Conn) error {
		if _, err := c.Exec("SELECT pg_advisory_xact_lock($1)", int64(partitionLock)); err != nil {
			return err
		}
		if err := attachPartition(c, spans.table, days{start, start + spans.partitionDays(today, today)}); err != nil {
			return err
		}
		if _, err := c.Exec("INSERT INTO run_report_details (at, report, logs, metrics) VALUES ($1, 1, '', '')", now.UnixMilli()); err != nil {
			return err
		}
		go func() { waiting <- s.newPartitions().create(t.Context(), spans, today) }()
		for len(waiting) == 0 && s.queryInt(t, `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`) == 0 {
			time.Sleep(time.Millisecond)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; err != nil {
		t.Error(err)
	}
	if n := s.queryInt(t, "SELECT count(*) FROM run_report_details"); n != 1 {
		t.Errorf("%d rows are left of 1", n)
	}
}

// TestPurgeContinuesAfterFailedStep checks that a partition that cannot be dropped does not stop the other steps of a
// purge, and keeps the rows to which its events refer.
func TestPurgeContinuesAfterFailedStep(t *testing.T) {
	t.Parallel()
	dsn, err := url.Parse(testenv.Postgres(t).DSN())
	if err != nil {
		t.Fatal(err)
	}
	parameters := dsn.Query()
	parameters.Set("lock_timeout", "100ms")
	dsn.RawQuery = parameters.Encode()
	clock := now
	s := testDatabase{store.Postgres, dsn.String()}.start(t, func(o *Options) {
		o.EventTTL, o.ReportTTL, o.Now = 10*day, 20*day, func() time.Time { return clock }
	})
	for _, ago := range []int64{5, 9} {
		if err := s.Store(t.Context(), reportOfDay(ago)); err != nil {
			t.Fatal(err)
		}
	}
	clock = now.Add(15 * day) // events of both are too old, the report of one
	err = s.db.Read(t.Context(), func(c store.Conn) error {
		ctx := c.Context()
		tx, err := c.Pool().BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		var n int
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM run_events").Scan(&n); err != nil {
			return err
		}
		purged, err := s.Purge(ctx)
		if err == nil || purged.Partitions != 1 || purged.Reports != 1 || purged.Resources != 0 {
			t.Errorf("%+v, %v", purged, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	purged, err := s.Purge(t.Context())
	if err != nil || purged.Partitions != 2 {
		t.Errorf("%+v, %v", purged, err)
	}
	if n := s.queryInt(t, "SELECT count(*) FROM run_events"); n != 0 {
		t.Errorf("%d events", n)
	}
	s.checkIntegrity(t)
}

// TestLocks checks the warning about a database whose queries may exhaust its locks.
func TestLocks(t *testing.T) {
	t.Parallel()
	p := testDatabase{store.Postgres, testenv.Postgres(t).DSN()}
	core, seen := observer.New(zap.WarnLevel)
	s := p.start(t, func(o *Options) { o.EventTTL, o.Logger = 30*day, zap.New(core) })
	s.checkLocks(t.Context())
	if seen.Len() != 0 {
		t.Errorf("%+v", seen.All())
	}
	for d := range 400 {
		s.exec(t, fmt.Sprintf("CREATE TABLE run_events_d%d ()", d))
	}
	s.checkLocks(t.Context())
	if seen.FilterMessageSnippet("run out of locks").Len() != 1 {
		t.Errorf("%+v", seen.All())
	}
}

// TestEnvironments checks that unused environments are deleted and come back with the next report, whatever the
// writer has cached.
func TestEnvironments(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p testDatabase) {
		clock := now
		s := p.start(t, func(o *Options) {
			o.EventTTL, o.ReportTTL, o.Now = 40*day, 40*day, func() time.Time { return clock }
		})
		named := func() int64 {
			return s.queryInt(t, "SELECT count(*) FROM run_reports r JOIN run_environments e ON e.id = r.environment WHERE e.name = 'production'")
		}
		for range 2 {
			clock = now
			if err := s.Store(t.Context(), Command{Name: storeReport, Version: 8, Certname: "a", Payload: minimalReport()}); err != nil || named() != 1 {
				t.Fatal(named(), err)
			}
			if purged, err := s.Purge(t.Context()); err != nil || purged.Environments != 0 || named() != 1 {
				t.Fatalf("%+v %v", purged, err)
			}
			clock = now.Add(60 * day)
			if purged, err := s.Purge(t.Context()); err != nil || purged.Environments != 1 {
				t.Fatalf("%+v %v", purged, err)
			}
		}
	})
}
