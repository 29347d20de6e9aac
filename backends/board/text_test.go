package board

import (
	"strings"
	"testing"
	"time"
)

func TestRateLimit(t *testing.T) {
	t.Parallel()
	l := rateLimit{burst: 3, interval: time.Second}
	full, now := int64(0), int64(1e9)
	take := func() (wait time.Duration) {
		next, wait := l.take(full, now)
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

func TestTokenForm(t *testing.T) {
	t.Parallel()
	text, lookup, hash := newToken()
	gotLookup, gotHash, ok := parseToken(text)
	if !ok || gotLookup != lookup || gotHash != hash {
		t.Errorf("%q parses to %q", text, gotLookup)
	}
	for _, bad := range []string{"", "brd_pat_", text[1:], text + "A", strings.ToUpper(text), text[:len(text)-1] + "!", strings.Replace(text, "_pat_", "_pit_", 1)} {
		if _, _, ok := parseToken(bad); ok {
			t.Errorf("%q is a token", bad)
		}
	}
}
