package once_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/authtest"
	"github.com/tollgate-gateway/tollgate/backends/authserver/once"
	"github.com/tollgate-gateway/tollgate/internal/counters"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

func mark(t *testing.T, m *once.Marks, name string, ttl time.Duration, want bool) {
	t.Helper()
	if first, err := m.SetNX(t.Context(), name, ttl); err != nil || first != want {
		t.Errorf("%s: first is %v: %v", name, first, err)
	}
}

func rows(t *testing.T, db *store.DB) (n int) {
	t.Helper()
	if err := db.Read(t.Context(), func(c store.Conn) error { return c.Row("SELECT COUNT(*) FROM authserver_once").Scan(&n) }); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestNodes checks that a mark of one node is valid on another node until it expires by that node's clock.
func TestNodes(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		other := authtest.On(t, k.DB)
		a, b := once.New(k.Server), once.New(other.Server)
		mark(t, a, "x", time.Minute, true)
		mark(t, a, "x", time.Minute, false)
		mark(t, b, "x", time.Hour, false) // the refused use does not extend the mark
		mark(t, b, "y", time.Minute, true)
		k.Clock.Pass(time.Minute)
		mark(t, b, "x", time.Minute, false) // the clock of b is behind
		mark(t, a, "x", time.Minute, true)
		other.Clock.Pass(time.Minute)
		mark(t, b, "x", time.Minute, false)
		other.Clock.Pass(time.Minute)
		mark(t, b, "x", time.Minute, true)
		if _, err := a.Take(t.Context(), "window", 1, 1, time.Minute); err != nil {
			t.Error(err)
		}
		if n := rows(t, k.DB); n != 2 {
			t.Errorf("rows: %d", n)
		}
	})
}

// TestRace checks that exactly one of many concurrent uses of a value is the first.
func TestRace(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		other := authtest.On(t, k.DB)
		nodes := []*once.Marks{once.New(k.Server), once.New(other.Server)}
		for round := range 10 {
			var first atomic.Int64
			var all sync.WaitGroup
			for i := range 16 {
				all.Go(func() {
					ok, err := nodes[i%2].SetNX(t.Context(), fmt.Sprint(round/2), time.Minute)
					if err != nil {
						t.Error(err)
					}
					if ok {
						first.Add(1)
					}
				})
			}
			all.Wait()
			if n := first.Load(); n != 1 {
				t.Errorf("round %d: %d were the first", round, n)
			}
			if round%2 == 0 { // the next round finds an expired mark
				k.Clock.Pass(time.Minute)
				other.Clock.Pass(time.Minute)
			}
		}
	})
}

// TestSweep checks that marks are removed once no node needs them, even if a clock is behind.
func TestSweep(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		m := once.New(k.Server)
		mark(t, m, "short", time.Minute, true)
		mark(t, m, "long", time.Hour, true)
		for _, step := range []struct {
			after   time.Duration
			removed int
		}{{0, 0}, {time.Minute, 0}, {10*time.Minute - time.Second, 0}, {time.Second, 1}, {time.Hour, 1}} {
			k.Clock.Pass(step.after)
			if n, err := m.Sweep(t.Context()); err != nil || n != step.removed {
				t.Errorf("%d were removed, want %d: %v", n, step.removed, err)
			}
		}
		if n := rows(t, k.DB); n != 0 {
			t.Errorf("%d are left", n)
		}
	})
}

// TestNothingAcceptedWithoutDatabase checks that no value is accepted without the database, since the value may have
// been used.
func TestNothingAcceptedWithoutDatabase(t *testing.T) {
	t.Parallel()
	authtest.OnBoth(t, func(t *testing.T, k authtest.Kernel) {
		m := once.New(k.Server)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if first, err := m.SetNX(ctx, "x", time.Minute); first || !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled caller: %v %v", first, err)
		}
		mark(t, m, "x", time.Minute, true)
		if err := k.DB.Close(); err != nil {
			t.Fatal(err)
		}
		if first, err := m.SetNX(t.Context(), "y", time.Minute); first || !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("no database: %v %v", first, err)
		}
	})
}

func BenchmarkMarks(b *testing.B) {
	sqlite := authtest.Durable(b)
	postgres := authtest.Postgres(b)
	for name, m := range map[string]counters.Store{"memory": sqlite.Counters, "sqlite": once.New(sqlite.Server), "postgres": once.New(postgres.Server)} {
		for _, callers := range []int{1, 8} {
			b.Run(fmt.Sprintf("%s/callers=%d", name, callers), func(b *testing.B) {
				b.ReportAllocs()
				var next atomic.Int64
				run := time.Now().UnixNano()
				b.SetParallelism(callers)
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if first, err := m.SetNX(b.Context(), fmt.Sprint(run, next.Add(1)), time.Minute); err != nil || !first {
							b.Error(first, err)
						}
					}
				})
			})
		}
	}
}
