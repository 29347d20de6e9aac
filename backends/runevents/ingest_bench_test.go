package runevents

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkIngest stores the runs of many nodes from 16 submitters on SQLite.
func BenchmarkIngest(b *testing.B) {
	file := b.TempDir() + "/test.db"
	s := place{location: file}.start(b)
	list := real(b)
	var next, events atomic.Int64
	b.ResetTimer()
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for {
				n := int(next.Add(1)) - 1
				if n >= b.N {
					return
				}
				body, err := Vary(list[n%len(list)].body, fmt.Sprintf("node%06d.example.com", n%1000), time.Duration(n/len(list))*time.Minute)
				if err == nil {
					_, err = s.Process(b.Context(), Command{storeReport, 8, "x", body})
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	events.Store(s.number(b, "SELECT count(*) FROM run_events"))
	b.ReportMetric(float64(events.Load())/b.Elapsed().Seconds(), "events/s")
	size := int64(0)
	for _, name := range []string{file, file + "-wal"} {
		if info, err := os.Stat(name); err == nil {
			size += info.Size()
		}
	}
	b.ReportMetric(float64(size)/float64(max(events.Load(), 1)), "B/event")
}
