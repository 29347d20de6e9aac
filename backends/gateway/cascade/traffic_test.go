package cascade

import (
	"testing"
	"time"
)

func TestTraffic(t *testing.T) {
	t.Parallel()
	clock := newClock()
	traffic := newTraffic(clock.now)
	wants := func(minute, day int64) {
		t.Helper()
		if m, d := traffic.Lookup("p", "k"); m != minute || d != day {
			t.Errorf("%s: %d in the last minute and %d in the last day, want %d and %d", clock.now().Format(time.TimeOnly), m, d, minute, day)
		}
	}
	wants(0, 0)
	for range 3 {
		traffic.add("p", "k")
	}
	traffic.add("p", "other")
	traffic.add("q", "k")
	wants(3, 3)
	clock.advance(50 * time.Second)
	traffic.add("p", "k")
	wants(4, 4)
	clock.advance(15 * time.Second)
	wants(1, 4)
	clock.advance(time.Minute)
	wants(0, 4)
	clock.advance(20 * time.Hour)
	traffic.add("p", "k")
	wants(1, 5)
	clock.advance(5 * time.Hour)
	wants(0, 1)
	clock.advance(40 * time.Hour)
	wants(0, 0)
}

func TestTrafficIsBounded(t *testing.T) {
	t.Parallel()
	clock := newClock()
	traffic := newTraffic(clock.now)
	for i := range maxCounted + 10 {
		traffic.add("p", time.Duration(i).String())
	}
	if n := len(traffic.keys); n > maxCounted {
		t.Errorf("%d keys are counted", n)
	}
}

func BenchmarkTraffic(b *testing.B) {
	traffic := newTraffic(time.Now)
	b.ReportAllocs()
	for b.Loop() {
		traffic.add("p", "k")
	}
}
