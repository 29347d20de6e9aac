package counters

import (
	"math/big"
	"testing"
)

// model is the formula in unbounded arithmetic, with the whole history.
type model struct {
	width int64
	spent map[int64]*big.Int // by bucket
}

func newModel(width int64) *model {
	return &model{width: width, spent: map[int64]*big.Int{}}
}

func (m *model) in(bucket int64) *big.Int {
	if v := m.spent[bucket]; v != nil {
		return v
	}
	return new(big.Int)
}

// used returns current + ceil(previous * rest / width) at now.
func (m *model) used(now int64) *big.Int {
	bucket := now / m.width
	rest := (bucket+1)*m.width - now
	v := new(big.Int).Mul(m.in(bucket-1), big.NewInt(rest))
	v.Add(v, big.NewInt(m.width-1)).Div(v, big.NewInt(m.width))
	return v.Add(v, m.in(bucket))
}

func (m *model) fits(now, cost, limit int64) bool {
	return new(big.Int).Add(m.used(now), big.NewInt(cost)).Cmp(big.NewInt(limit)) <= 0
}

func (m *model) spend(now, cost int64) {
	bucket := now / m.width
	v := new(big.Int).Add(m.in(bucket), big.NewInt(cost))
	if v.Cmp(big.NewInt(MaxUnits)) > 0 {
		v.SetInt64(MaxUnits)
	}
	m.spent[bucket] = v
}

func (m *model) remaining(now, limit int64) int64 {
	v := new(big.Int).Sub(big.NewInt(limit), m.used(now))
	if v.Sign() < 0 {
		return 0
	}
	return v.Int64()
}

// check compares a result with the model, which has already spent an admitted cost.
func (m *model) check(t *testing.T, now, cost, limit int64, admitted bool, got Result) {
	t.Helper()
	if got.Allowed != admitted {
		t.Fatalf("now %d cost %d limit %d: allowed %v, want %v", now, cost, limit, got.Allowed, admitted)
	}
	if want := m.remaining(now, limit); got.Remaining != want {
		t.Fatalf("now %d cost %d limit %d: remaining %d, want %d", now, cost, limit, got.Remaining, want)
	}
	if want := m.width - now%m.width; got.Reset.Microseconds() != want {
		t.Fatalf("now %d: reset %s, want %dµs", now, got.Reset, want)
	}
	wait := got.RetryAfter.Microseconds()
	switch {
	case admitted:
		if got.RetryAfter != 0 {
			t.Fatalf("allowed with RetryAfter %s", got.RetryAfter)
		}
	case cost > limit:
		if got.RetryAfter != -1 {
			t.Fatalf("cost %d limit %d: RetryAfter %s, want -1ns", cost, limit, got.RetryAfter)
		}
	default:
		if wait <= 0 || !m.fits(now+wait, cost, limit) {
			t.Fatalf("now %d cost %d limit %d: does not fit after %dµs", now, cost, limit, wait)
		}
		if m.fits(now+wait-1, cost, limit) {
			t.Fatalf("now %d cost %d limit %d: fits before %dµs", now, cost, limit, wait)
		}
	}
}

// bound folds any number into 0..limit.
func bound(v, limit int64) int64 {
	if v < 0 {
		v = -(v + 1)
	}
	return v % (limit + 1)
}

func FuzzState(f *testing.F) {
	f.Add(int64(0), int64(0), int64(1), int64(1000), int64(1), int64(1))
	f.Add(int64(MaxUnits), int64(MaxUnits), int64(2_678_400_000_000), int64(2_678_400_000_000), int64(1), int64(MaxUnits))
	f.Add(int64(3), int64(7), int64(59_999_999), int64(60_000_000), int64(5), int64(10))
	f.Add(int64(0), int64(MaxUnits), int64(1), int64(2_678_400_000_000), int64(MaxUnits), int64(MaxUnits))
	f.Fuzz(func(t *testing.T, current, previous, rest, width, cost, limit int64) {
		width = 1000 + bound(width, MaxWindow.Microseconds()-1000)
		rest = 1 + bound(rest, width-1)
		current, previous = bound(current, MaxUnits), bound(previous, MaxUnits)
		cost, limit = bound(cost, MaxUnits), bound(limit, MaxUnits)

		now := 2*width - rest
		m := newModel(width)
		m.spend(0, previous)
		m.spend(now, current)
		s := state{current: current, previous: previous, rest: rest, window: width}

		if used := big.NewInt(s.carried()); used.Add(used, big.NewInt(current)).Cmp(m.used(now)) != 0 {
			t.Fatalf("used %s, want %s", used, m.used(now))
		}
		fits := m.fits(now, cost, limit)
		if got := s.fits(cost, limit); got != fits {
			t.Fatalf("fits %v, want %v", got, fits)
		}
		if cost == 0 {
			fits = true
		}
		if fits {
			s.spend(cost)
			m.spend(now, cost)
		}
		m.check(t, now, cost, limit, fits, s.result(fits, cost, limit))
	})
}

func TestRoll(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		stored, now       int64
		bucket            int64
		current, previous int64
		rest              int64
	}{
		"same bucket":            {10, 10, 10, 5, 3, 40},
		"next bucket":            {10, 11, 11, 0, 5, 40},
		"later":                  {10, 12, 12, 0, 0, 40},
		"clock back by one":      {10, 9, 10, 5, 3, 100},
		"clock back by a lot":    {10, 8, 8, 0, 0, 40},
		"clock back to the past": {10, 0, 0, 0, 0, 40},
	} {
		s := state{current: 5, previous: 3, rest: 40, window: 100}
		bucket := s.roll(tt.stored, tt.now)
		want := state{current: tt.current, previous: tt.previous, rest: tt.rest, window: 100}
		if bucket != tt.bucket || s != want {
			t.Errorf("%s: bucket %d state %+v, want %d %+v", name, bucket, s, tt.bucket, want)
		}
	}
}
