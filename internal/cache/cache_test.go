package cache

import (
	"context"
	"strconv"
	"testing"
	"time"
)

func TestCache(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	reads, value := 0, "old"
	var c *Cache[string]
	onRead := func() {}
	c = New(10, func() time.Time { return now }, func(context.Context, string) (string, error) {
		reads++
		read := value
		onRead()
		return read, nil
	})
	want := func(want string, wantReads int) {
		t.Helper()
		if got, err := c.Get(t.Context(), "k"); got != want || err != nil || reads != wantReads {
			t.Fatalf("%q, error %v, after %d reads; want %q after %d", got, err, reads, want, wantReads)
		}
	}
	want("old", 1)
	value = "new"
	want("old", 1)
	now = now.Add(Age)
	want("new", 2)
	value = "newer"
	c.Drop("k")
	want("newer", 3)
	now = now.Add(-time.Hour)
	want("newer", 4) // the clock was set back
	// A value that is dropped while it is read is not cached.
	c.Drop("")
	onRead = func() { value = "newest"; c.Drop("k") }
	want("newer", 5)
	onRead = func() {}
	want("newest", 6)
	for i := range 100 {
		if _, err := c.Get(t.Context(), strconv.Itoa(i)); err != nil || len(c.entries) > 10 {
			t.Fatalf("%d entries, error %v", len(c.entries), err)
		}
	}
}
