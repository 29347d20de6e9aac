package kernel

import (
	"testing"
	"time"
)

func TestRateLimit(t *testing.T) {
	t.Parallel()
	l := RateLimit{Burst: 3, Interval: time.Second}
	full, now := Moment(0), Moment(1e9)
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
