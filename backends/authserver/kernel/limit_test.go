package kernel

import (
	"testing"
	"time"
)

// TestLimiter has very many addresses come.
func TestLimiter(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	l := NewLimiter(10, 1, func() time.Time { return now })
	buf := make([]byte, 4)
	for i := range 300_000 {
		buf[0], buf[1], buf[2] = byte(i), byte(i>>8), byte(i>>16)
		if !l.Allow(string(buf)) {
			t.Fatal("a newcomer is refused")
		}
	}
	if n := l.Size(); n > 100_000 {
		t.Errorf("%d buckets", n)
	}
	now = now.Add(time.Minute)
	l.Allow("x")
	if n := l.Size(); n != 1 {
		t.Errorf("%d buckets after a while", n)
	}
}
