package counters

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/testenv"
)

// clock is the time of a store under test.
type clock struct{ micros atomic.Int64 }

// newClock returns a clock that does not begin at the start of a bucket of any usual window.
func newClock() *clock {
	c := &clock{}
	c.micros.Store(1_700_000_123_456_789)
	return c
}

func (c *clock) now() time.Time          { return time.UnixMicro(c.micros.Load()) }
func (c *clock) advance(d time.Duration) { c.micros.Add(d.Microseconds()) }

// toBucket moves to the start of the next bucket of a window.
func (c *clock) toBucket(window time.Duration) {
	w := window.Microseconds()
	c.micros.Store((c.micros.Load()/w + 1) * w)
}

// redisStore returns a store on an empty database. Unless c is nil, it replaces the time of the server.
func redisStore(t testing.TB, c *clock) *Redis {
	t.Helper()
	// The machine that runs the tests may be busy. Another test checks the default time limit.
	r, err := NewRedis(testenv.Redis(t).URL(), RedisOptions{Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	if c != nil {
		r.clock = c.micros.Load
	}
	return r
}

// onBoth runs a test on every implementation.
func onBoth(t *testing.T, run func(t *testing.T, s Store, c *clock)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		c := newClock()
		run(t, NewMemory(c.now), c)
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		c := newClock()
		run(t, redisStore(t, c), c)
	})
}

func TestTake(t *testing.T) {
	t.Parallel()
	const window = time.Minute
	type step struct {
		after       time.Duration // since the previous step
		charge      bool
		cost, limit int64
		want        Result
	}
	const no, yes = false, true
	for name, steps := range map[string][]step{
		"spends to the limit and not beyond": {
			{cost: 4, limit: 10, want: Result{yes, 10, 6, window, 0}},
			{cost: 6, limit: 10, want: Result{yes, 10, 0, window, 0}},
			// The full bucket must fade to 9 of 10.
			{cost: 1, limit: 10, want: Result{no, 10, 0, window, window + 6*time.Second}},
			{cost: 1, limit: 10, after: 20 * time.Second, want: Result{no, 10, 0, 40 * time.Second, 46 * time.Second}},
		},
		"a refused take spends nothing": {
			{cost: 7, limit: 10, want: Result{yes, 10, 3, window, 0}},
			{cost: 4, limit: 10, want: Result{no, 10, 3, window, window + 60*time.Second - 51_428_571*time.Microsecond}},
			{cost: 3, limit: 10, want: Result{yes, 10, 0, window, 0}},
		},
		"the previous bucket fades": {
			{cost: 10, limit: 10, want: Result{yes, 10, 0, window, 0}},
			{after: window, cost: 1, limit: 10, want: Result{no, 10, 0, window, 6 * time.Second}},
			{after: 6*time.Second - time.Microsecond, cost: 1, limit: 10, want: Result{no, 10, 0, window - 6*time.Second + time.Microsecond, time.Microsecond}},
			{after: time.Microsecond, cost: 1, limit: 10, want: Result{yes, 10, 0, window - 6*time.Second, 0}},
			{after: window, limit: 10, want: Result{yes, 10, 9, window - 6*time.Second, 0}},
			{after: window, limit: 10, want: Result{yes, 10, 10, window - 6*time.Second, 0}},
		},
		"cost 0 reports and is always allowed": {
			{limit: 5, want: Result{yes, 5, 5, window, 0}},
			{charge: true, cost: 50},
			{limit: 5, want: Result{yes, 5, 0, window, 0}},
			{limit: 0, want: Result{yes, 0, 0, window, 0}},
		},
		"a cost above the limit never fits": {
			{cost: 6, limit: 5, want: Result{no, 5, 5, window, -1}},
			{cost: 1, limit: 0, want: Result{no, 0, 0, window, -1}},
		},
		"a charge overdraws": {
			{cost: 1, limit: 10, want: Result{yes, 10, 9, window, 0}},
			{charge: true, cost: 29},
			{cost: 10, limit: 10, want: Result{no, 10, 0, window, 2 * window}},
			// 30 units fade to 9 when 18 s of the next bucket are left.
			{cost: 1, limit: 10, want: Result{no, 10, 0, window, window + 42*time.Second}},
			{after: window + 42*time.Second, cost: 1, limit: 10, want: Result{yes, 10, 0, 18 * time.Second, 0}},
		},
		"a charge stops at 2^53-1": {
			{charge: true, cost: MaxUnits},
			{charge: true, cost: MaxUnits},
			{cost: 0, limit: MaxUnits, want: Result{yes, MaxUnits, 0, window, 0}},
			{after: window + window/2, limit: MaxUnits, want: Result{yes, MaxUnits, MaxUnits / 2, window / 2, 0}},
		},
		"the limit may change between takes": {
			{cost: 5, limit: 10, want: Result{yes, 10, 5, window, 0}},
			{cost: 1, limit: 5, want: Result{no, 5, 0, window, window + 12*time.Second}},
			{cost: 1, limit: 100, want: Result{yes, 100, 94, window, 0}},
		},
		"a clock set back spends nothing twice": {
			{cost: 5, limit: 10, want: Result{yes, 10, 5, window, 0}},
			{after: -time.Second, cost: 5, limit: 10, want: Result{yes, 10, 0, window, 0}},
			{cost: 1, limit: 10, want: Result{no, 10, 0, window, window + 6*time.Second}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBoth(t, func(t *testing.T, s Store, c *clock) {
				ctx := t.Context()
				c.toBucket(window)
				for i, st := range steps {
					c.advance(st.after)
					if st.charge {
						if err := s.Charge(ctx, "key", st.cost, window); err != nil {
							t.Fatal(err)
						}
						continue
					}
					got, err := s.Take(ctx, "key", st.cost, st.limit, window)
					if err != nil {
						t.Fatal(err)
					}
					if got != st.want {
						t.Fatalf("step %d: got %+v, want %+v", i, got, st.want)
					}
				}
			})
		})
	}
}

func TestKeysAndWindowsAreApart(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s Store, _ *clock) {
		for _, k := range []struct {
			key    string
			window time.Duration
		}{{"a", time.Minute}, {"b", time.Minute}, {"a", time.Hour}, {"a:60000000", time.Minute}, {"", time.Minute}} {
			for want := range 2 {
				got, err := s.Take(t.Context(), k.key, 1, 1, k.window)
				if err != nil || got.Allowed != (want == 0) {
					t.Errorf("take %d of %+v: %+v, %v", want, k, got, err)
				}
			}
		}
	})
}

func TestArgumentsAreChecked(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s Store, _ *clock) {
		ctx := t.Context()
		take := func(cost, limit int64, window time.Duration) error {
			_, err := s.Take(ctx, "key", cost, limit, window)
			return err
		}
		mark := func(ttl time.Duration) error {
			_, err := s.SetNX(ctx, "key", ttl)
			return err
		}
		for name, err := range map[string]error{
			"cost -1 ":       take(-1, 1, time.Second),
			"cost 90071":     take(MaxUnits+1, 1, time.Second),
			"limit -1":       take(1, -1, time.Second),
			"limit 90071":    take(1, MaxUnits+1, time.Second),
			"window 999µs":   take(1, 1, time.Millisecond-time.Microsecond),
			"window 744h0m1": take(1, 1, MaxWindow+time.Second),
			"cost -2":        s.Charge(ctx, "key", -2, time.Second),
			"window 0s":      s.Charge(ctx, "key", 1, 0),
			"time to live":   mark(0),
		} {
			if err == nil || errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), name) {
				t.Errorf("want an error about %q, got %v", name, err)
			}
		}
	})
}

func TestSetNX(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s Store, c *clock) {
		ctx := t.Context()
		for i, want := range []bool{true, false, false} {
			got, err := s.SetNX(ctx, "nonce", time.Hour)
			if err != nil || got != want {
				t.Errorf("mark %d: %v, %v; want %v", i, got, err, want)
			}
		}
		// A mark and a window with the same name are independent.
		if res, err := s.Take(ctx, "nonce", 1, 1, time.Minute); err != nil || !res.Allowed {
			t.Errorf("take: %+v, %v", res, err)
		}
		if _, ok := s.(*Memory); ok {
			c.advance(time.Hour - time.Microsecond)
			if got, _ := s.SetNX(ctx, "nonce", time.Hour); got {
				t.Error("the mark ended early")
			}
			c.advance(time.Microsecond)
		} else if _, err := s.SetNX(ctx, "short", 5*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		key := map[bool]string{true: "nonce", false: "short"}[isMemory(s)]
		for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
			if got, err := s.SetNX(ctx, key, time.Hour); err != nil {
				t.Fatal(err)
			} else if got {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the mark does not end")
			}
		}
	})
}

func isMemory(s Store) bool {
	_, ok := s.(*Memory)
	return ok
}

func TestClose(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s Store, _ *clock) {
		ctx := context.Background()
		if _, err := s.Take(ctx, "key", 1, 1, time.Minute); err != nil {
			t.Fatal(err)
		}
		if err := s.Ready(ctx); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Take(ctx, "key", 1, 1, time.Minute); !errors.Is(err, ErrUnavailable) {
			t.Errorf("take after close: %v", err)
		}
		if err := s.Charge(ctx, "key", 1, time.Minute); !errors.Is(err, ErrUnavailable) {
			t.Errorf("charge after close: %v", err)
		}
		if _, err := s.SetNX(ctx, "key", time.Minute); !errors.Is(err, ErrUnavailable) {
			t.Errorf("mark after close: %v", err)
		}
		if err := s.Ready(ctx); !errors.Is(err, ErrUnavailable) {
			t.Errorf("ready after close: %v", err)
		}
	})
}

// TestStoresMatchFormula drives both stores with the same random requests, small and huge,
// and compares each answer with the formula in unbounded arithmetic.
func TestStoresMatchFormula(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 7))
			c := newClock()
			stores := []Store{NewMemory(c.now), redisStore(t, c)}
			// Redis forgets in real time, so windows are long enough to outlive the test.
			window := []time.Duration{
				time.Minute, 5 * time.Minute, 24 * time.Hour, MaxWindow,
				61*time.Second + 7*time.Microsecond, MaxWindow - time.Microsecond,
			}[rng.IntN(6)]
			m := newModel(window.Microseconds())
			limit := []int64{10, 600, 1_000_003, MaxUnits}[seed%4]
			for range 600 {
				switch rng.IntN(4) {
				case 0:
					c.micros.Add(rng.Int64N(m.width/8 + 1))
				case 1:
					c.micros.Add(rng.Int64N(m.width/200 + 1))
				}
				if rng.IntN(40) == 0 {
					c.micros.Add(rng.Int64N(2*m.width + 1))
				}
				now := c.micros.Load()
				cost := rng.Int64N(limit/4 + 2)
				if rng.IntN(10) == 0 {
					cost = rng.Int64N(limit) + 1
				}
				if rng.IntN(30) == 0 {
					cost = 0
				}
				ask := limit
				if rng.IntN(10) == 0 {
					ask = rng.Int64N(limit + 1)
				}
				// A limit that is just met or just missed shows any error of the division.
				if exact := new(big.Int).Add(m.used(now), big.NewInt(cost-rng.Int64N(2))); rng.IntN(3) == 0 &&
					exact.Sign() >= 0 && exact.Cmp(big.NewInt(MaxUnits)) <= 0 {
					ask = exact.Int64()
				}
				if rng.IntN(15) == 0 {
					m.spend(now, cost)
					for _, s := range stores {
						if err := s.Charge(t.Context(), "key", cost, window); err != nil {
							t.Fatal(err)
						}
					}
					continue
				}
				admitted := cost == 0 || m.fits(now, cost, ask)
				if admitted {
					m.spend(now, cost)
				}
				for _, s := range stores {
					got, err := s.Take(t.Context(), "key", cost, ask, window)
					if err != nil {
						t.Fatal(err)
					}
					m.check(t, now, cost, ask, admitted, got)
				}
			}
		})
	}
}

func TestConcurrentTakesAreExact(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s Store, _ *clock) {
		if got := admitted(t, []Store{s}, 64, 40, 1000); got != 1000 {
			t.Errorf("admitted %d, want 1000", got)
		}
	})
}

// admitted lets goroutines, each on one of the stores in turn, take 1 of limit tries times and returns how many takes
// were admitted.
func admitted(t *testing.T, stores []Store, goroutines, tries int, limit int64) int64 {
	t.Helper()
	var (
		wg    sync.WaitGroup
		count atomic.Int64
	)
	for g := range goroutines {
		wg.Go(func() {
			for range tries {
				res, err := stores[g%len(stores)].Take(context.Background(), "shared", 1, limit, time.Hour)
				if err != nil {
					t.Error(err)
					return
				}
				if res.Allowed {
					count.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return count.Load()
}
