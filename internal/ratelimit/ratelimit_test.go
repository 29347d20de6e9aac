package ratelimit

import (
	"math"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/instant"
)

func TestLimit(t *testing.T) {
	t.Parallel()
	l := Limit{Burst: 3, Interval: time.Second}
	full, now := instant.Moment(0), instant.Moment(1e9)
	take := func() (wait time.Duration) {
		next, wait := l.Take(full, now)
		if wait == 0 {
			full = next
		}
		return wait
	}
	for i := range 3 {
		if wait := take(); wait != 0 {
			t.Fatalf("event %d waits %s", i, wait)
		}
	}
	if wait := take(); wait != time.Second {
		t.Errorf("the fourth waits %s", wait)
	}
	now += 1_000_000
	if take() != 0 || take() == 0 {
		t.Error("not one a second")
	}
	now += 100_000_000
	for range 3 {
		if take() != 0 {
			t.Error("the bucket is not full after a pause")
		}
	}
	if take() == 0 {
		t.Error("the bucket has grown")
	}
}

// TestPerSecond checks that every rate and burst gives a limit that does not overflow.
func TestPerSecond(t *testing.T) {
	t.Parallel()
	if l := PerSecond(0.5, 3); l != (Limit{3, 2 * time.Second}) {
		t.Errorf("one in two seconds: %+v", l)
	}
	for _, rate := range []float64{math.SmallestNonzeroFloat64, 1e-9, 1, 3, 1e9, math.MaxFloat64} {
		for _, burst := range []int{1, 2, 1000, math.MaxInt} {
			l, full, now := PerSecond(rate, burst), instant.Moment(0), instant.Of(time.Now())
			if l.Interval < time.Microsecond {
				t.Errorf("%g per second: interval %s", rate, l.Interval)
			}
			for range min(burst, 1000) {
				next, wait := l.Take(full, now)
				if wait != 0 {
					t.Fatalf("%g per second, burst %d: %+v waits %s", rate, burst, l, wait)
				}
				full = next
			}
			if _, wait := l.Take(full, now); burst <= 1000 && wait <= 0 {
				t.Errorf("%g per second, burst %d: %+v admits one more", rate, burst, l)
			}
		}
	}
}
