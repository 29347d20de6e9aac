package timings

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

var databases = storetest.Fixture{Schemas: []store.Schema{schema.Gateway()}}

var begin = time.Date(2026, 5, 31, 23, 58, 30, 0, time.UTC)

// write adds samples in one transaction.
func write(tb testing.TB, db *store.DB, samples ...Sample) {
	tb.Helper()
	var b Batch
	for _, s := range samples {
		b.Add(s)
	}
	if err := db.Write(tb.Context(), b.Write); err != nil {
		tb.Fatal(err)
	}
}

// found describes the results of a query.
func found(t *testing.T, db *store.DB, q Query) string {
	t.Helper()
	lines, err := Read(t.Context(), db, q)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, l := range lines {
		if q.PerUnit {
			b.WriteString(l.Slot.Format("0102T1504 "))
		}
		fmt.Fprintf(&b, "%s%s/%s %d+%d; ", l.TeamID, l.Provider, l.Model, l.Answered, l.Failed)
	}
	return strings.TrimSuffix(b.String(), "; ")
}

// TestCounts checks the counts by minute, hour and day, the sums of several batches in the same row, and the deletion
// of old rows.
func TestCounts(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		for minute := range 3 {
			moment := begin.Add(time.Duration(minute) * time.Minute)
			write(
				t,
				db,
				Sample{
					At:   moment,
					Kind: All,
					Took: time.Second,
				},
				Sample{At: moment, Kind: All, Took: 9 * time.Second},
				Sample{At: moment, Kind: All, Failed: true},
				Sample{
					At:       moment,
					Kind:     Model,
					Provider: "alpha",
					Model:    "large",
					Took:     time.Second,
				},
				Sample{At: moment, Kind: Model, Provider: "beta", Model: "small", Failed: true},
				Sample{At: moment, Kind: Team, TeamID: "red", Took: time.Second},
				Sample{At: moment, Kind: Team, Took: time.Second},
			)
		}
		day, month := begin.Add(-24*time.Hour), begin.AddDate(0, 1, 0)
		for _, test := range []struct {
			q    Query
			want string
		}{
			{Query{Kind: All, Unit: Minute, From: begin, To: begin.Add(90 * time.Second)}, "/ 4+2"},
			{Query{Kind: All, Unit: Minute, From: begin, To: month, PerUnit: true}, "0531T2358 / 2+1; 0531T2359 / 2+1; 0601T0000 / 2+1"},
			{Query{Kind: All, Unit: Hour, From: begin, To: month, PerUnit: true}, "0531T2300 / 4+2; 0601T0000 / 2+1"},
			{Query{Kind: All, Unit: Day, From: day, To: month, PerUnit: true}, "0531T0000 / 4+2; 0601T0000 / 2+1"},
			{Query{Kind: All, Unit: Day, From: day, To: month}, "/ 6+3"},
			{Query{Kind: Model, Unit: Minute, From: begin, To: begin.Add(time.Second)}, "alpha/large 1+0; beta/small 0+1"},
			{Query{Kind: Team, Unit: Day, From: begin, To: month}, "/ 3+0; red/ 3+0"},
			{Query{Kind: Team, Unit: Minute, From: begin, To: month}, ""},
			{Query{Kind: All, Unit: Day, From: month, To: month.AddDate(1, 0, 0)}, ""},
		} {
			if got := found(t, db, test.q); got != test.want {
				t.Errorf("%+v: %q, want %q", test.q, got, test.want)
			}
		}
		purge := func(now time.Time) {
			t.Helper()
			for _, expired := range Expired() {
				statement, args := expired(now, 500)
				err := db.Write(t.Context(), func(c store.Conn) error {
					_, err := c.Exec(statement, args...)
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		purge(begin.Add(2 * Day)) // the first minute is exactly two days old
		for q, want := range map[Query]string{
			{Kind: All, Unit: Minute, From: day, To: month}: "/ 6+3",
			{Kind: All, Unit: Hour, From: day, To: month}:   "/ 6+3",
			{Kind: Model, Unit: Hour, From: day, To: month}: "alpha/large 3+0; beta/small 0+3",
			{Kind: Team, Unit: Day, From: begin, To: month}: "/ 3+0; red/ 3+0",
		} {
			if got := found(t, db, q); got != want {
				t.Errorf("after a day: %+v: %q, want %q", q, got, want)
			}
		}
		purge(begin.Add(2*Day + time.Minute))
		if got := found(t, db, Query{Kind: All, Unit: Minute, From: day, To: month}); got != "/ 4+2" {
			t.Errorf("after two days: %q", got)
		}
		purge(begin.AddDate(2, 0, 0))
		for i := range tables {
			if got := found(t, db, Query{Kind: tables[i].kind, Unit: tables[i].unit, From: day, To: month}); got != "" {
				t.Errorf("%+v is left of %+v", got, tables[i])
			}
		}
	})
}

// TestLargeBatch writes more rows than one statement accepts.
func TestLargeBatch(t *testing.T) {
	t.Parallel()
	databases.OnBoth(t, func(t *testing.T, db *store.DB) {
		samples := make([]Sample, 0, 300)
		for i := range 300 {
			samples = append(
				samples,
				Sample{At: begin, Kind: Model, Provider: "alpha", Model: fmt.Sprint(i % 150), Took: time.Second},
			)
		}
		write(t, db, samples...)
		write(t, db, samples...)
		write(t, db)
		lines, err := Read(t.Context(), db, Query{Kind: Model, Unit: Minute, From: begin, To: begin.Add(time.Minute)})
		if err != nil || len(lines) != 150 {
			t.Fatalf("%d lines, error %v", len(lines), err)
		}
		for _, l := range lines {
			if l.Answered != 4 {
				t.Errorf("%+v", l)
			}
		}
	})
}

// TestPercentile compares the percentiles with exact ones. They differ by at most a quarter.
func TestPercentile(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var c Counts
		took := make([]time.Duration, 0, 1+random.IntN(500))
		for range cap(took) {
			d := time.Duration(random.ExpFloat64() * float64(time.Duration(1+random.IntN(60))*time.Second))
			took = append(took, d)
			c.add(bucketOf(d), 1)
		}
		slices.Sort(took)
		for _, part := range []float64{0.5, 0.95, 0.99, 1} {
			index := max(int(part*float64(len(took))+0.999999)-1, 0)
			got, want := c.Percentile(part), max(took[index], time.Millisecond)
			if ratio := float64(got) / float64(want); ratio < 0.79 || ratio > 1.27 {
				t.Errorf("%d, %v: %s, want %s", len(took), part, got, want)
			}
		}
	}
	var c Counts
	if c.Percentile(0.5) != 0 {
		t.Error("the percentile of no answers is not 0")
	}
	c.add(failedBucket, 3)
	if c.Percentile(0.5) != 0 || c.Failed != 3 || c.Total() != 3 {
		t.Errorf("%+v", c)
	}
	for took, want := range map[time.Duration]time.Duration{0: time.Millisecond, time.Microsecond: time.Millisecond, time.Hour: bucketEnd(buckets - 1)} {
		var c Counts
		if c.add(bucketOf(took), 1); c.Percentile(1) != want {
			t.Errorf("%s: %s, want %s", took, c.Percentile(1), want)
		}
	}
	var sum Counts
	sum.Add(&c)
	sum.Add(&c)
	if sum.Failed != 6 {
		t.Errorf("%+v", sum)
	}
}

// BenchmarkRead reads a month of many models and teams, the most that a page shows.
func BenchmarkRead(b *testing.B) {
	for name, open := range map[string]func(testing.TB) *store.DB{"sqlite": databases.SQLite, "postgres": databases.Postgres} {
		db := open(b)
		for day := range 30 {
			var batch Batch
			moment := begin.AddDate(0, 0, day)
			for bucket := range 18 {
				took := bucketEnd(30 + bucket)
				for team := range 200 {
					batch.Add(Sample{At: moment, Kind: Team, TeamID: fmt.Sprint("team_", team), Took: took})
				}
				for model := range 20 {
					batch.Add(Sample{At: moment, Kind: Model, Provider: "alpha", Model: fmt.Sprint(model), Took: took})
				}
			}
			if err := db.Write(b.Context(), batch.Write); err != nil {
				b.Fatal(err)
			}
		}
		for _, kind := range []Kind{Model, Team} {
			b.Run(name+"/"+string(kind), func(b *testing.B) {
				for b.Loop() {
					lines, err := Read(b.Context(), db, Query{Kind: kind, Unit: Day, From: begin, To: begin.AddDate(0, 0, 30)})
					if err != nil || len(lines) == 0 {
						b.Fatal(len(lines), err)
					}
				}
			})
		}
	}
}
