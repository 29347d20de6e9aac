package runevents

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// BenchmarkIngest stores the runs of many nodes, from one submitter and from 64, each
// durable before it is acknowledged. The runs are made beforehand.
func BenchmarkIngest(b *testing.B) {
	for _, senders := range []int{1, 64} {
		b.Run(fmt.Sprint("sqlite/", senders), func(b *testing.B) {
			file := b.TempDir() + "/test.db"
			db, err := store.NewSQLite(store.SQLiteOptions{Path: file, Synchronous: "FULL"}, zap.NewNop())
			if err != nil {
				b.Fatal(err)
			}
			events := ingest(b, db, senders)
			size := int64(0)
			for _, name := range []string{file, file + "-wal"} {
				if info, err := os.Stat(name); err == nil {
					size += info.Size()
				}
			}
			b.ReportMetric(float64(size)/events, "B/event")
		})
		b.Run(fmt.Sprint("postgres/", senders), func(b *testing.B) {
			db, err := store.NewPostgres(store.PostgresOptions{DSN: testenv.Postgres(b).DSN()}, zap.NewNop())
			if err != nil {
				b.Fatal(err)
			}
			ingest(b, db, senders)
		})
	}
}

// ingest stores the runs and tells how many events they have.
func ingest(b *testing.B, db *store.DB, senders int) (events float64) {
	b.Helper()
	b.Cleanup(func() { _ = db.Close() })
	if err := db.Register(Schema()); err != nil {
		b.Fatal(err)
	}
	testenv.Open(b, db)
	s, err := New(Options{DB: db, EventTTL: 365 * day, ReportTTL: 365 * day, Now: func() time.Time { return now }})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Close)
	list := realReports(b)
	bodies := make([][]byte, b.N)
	for n := range bodies {
		shift := time.Duration(n/len(list)) * time.Minute
		if bodies[n], err = Vary(list[n%len(list)].body, fmt.Sprintf("node%06d.example.com", n%1000), shift); err != nil {
			b.Fatal(err)
		}
	}
	var next atomic.Int64
	b.ResetTimer()
	var wg sync.WaitGroup
	for range senders {
		wg.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				if n >= b.N {
					return
				}
				if _, err := s.Process(b.Context(), Command{Name: storeReport, Version: 8, Certname: "x", Payload: bodies[n]}); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	events = float64(max(s.queryInt(b, "SELECT count(*) FROM run_events"), 1))
	b.ReportMetric(events/b.Elapsed().Seconds(), "events/s")
	return events
}
