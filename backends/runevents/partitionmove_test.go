package runevents

import (
	"testing"
	"time"
)

// TestMovedTo checks that the partitions of moved rows contain these rows, do not overlap, have names that the
// service knows, and are not more than a query can lock.
func TestMovedTo(t *testing.T) {
	t.Parallel()
	const ms = int64(day / time.Millisecond)
	for name, c := range map[string]struct {
		oldest, newest int64
		length         int64 // days
	}{
		"one row":       {5 * ms, 5 * ms, daily},
		"two weeks":     {100 * ms, 114 * ms, daily},
		"a season":      {-30 * ms, 60*ms - 1, weekly},
		"years":         {0, 2000 * ms, monthly},
		"for ever":      {-1 << 60, 1 << 60, monthly},
		"before 1970":   {-3*ms - 1, -ms, daily},
		"a day's width": {0, 30 * ms, daily},
	} {
		for _, key := range []int64{c.oldest, c.oldest + 1, c.oldest/2 + c.newest/2, c.newest - 1, c.newest} {
			p := movedTo("run_events", key, c.oldest, c.newest)
			if p.From > key || key >= p.Until || p.Until-p.From != c.length*ms || p.From%ms != 0 {
				t.Errorf("%s: %d is in %+v, want %d days", name, key, p, c.length)
			}
			if d, ok := parsePartition("run_events", p.Name); !ok || d.from*ms != p.From || d.until*ms != p.Until {
				t.Errorf("%s: the name %s is read as %+v", name, p.Name, d)
			}
			if first, last := movedTo("run_events", p.From, c.oldest, c.newest), movedTo("run_events", p.Until-1, c.oldest, c.newest); first != p || last != p {
				t.Errorf("%s: %+v overlaps %+v and %+v", name, p, first, last)
			}
		}
	}
}
