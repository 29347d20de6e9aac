package ratelimit

import (
	"testing"
	"time"
)

// TestLimiter checks that the number of buckets is bounded for very many addresses.
func TestLimiter(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	l := New(PerSecond(10, 1), func() time.Time { return now })
	buf := make([]byte, 4)
	for i := range 300_000 {
		buf[0], buf[1], buf[2] = byte(i), byte(i>>8), byte(i>>16)
		if !l.Allow(string(buf)) {
			t.Fatal("a newcomer is refused")
		}
	}
	if n := len(l.full); n > 100_000 {
		t.Errorf("%d buckets", n)
	}
	now = now.Add(time.Minute)
	l.Allow("x")
	if n := len(l.full); n != 1 {
		t.Errorf("%d buckets after a while", n)
	}
}

// TestBorrow checks that a borrowed token is taken from those that the bucket gains later.
func TestBorrow(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	l := New(PerSecond(1, 2), func() time.Time { return now })
	for i, step := range []struct {
		pause  time.Duration
		borrow bool
		want   bool
	}{
		{0, false, true},
		{0, false, true},
		{0, false, false},
		{0, true, true},
		{0, true, false},
		{time.Second, false, false},
		{0, true, true},
		{2 * time.Second, false, true},
		{0, false, false},
		{time.Minute, false, true},
	} {
		now = now.Add(step.pause)
		allow := l.Allow
		if step.borrow {
			allow = l.Borrow
		}
		if got := allow("a"); got != step.want {
			t.Errorf("step %d: %t", i, got)
		}
	}
	if !l.Allow("b") {
		t.Error("another key has no token")
	}
}
