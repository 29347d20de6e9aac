package kernel

import (
	"testing"
	"time"
)

// TestNewIDAt checks that ids are ordered by their times, differ within a millisecond, and are as long as those of
// NewID.
func TestNewIDAt(t *testing.T) {
	t.Parallel()
	previous := NewIDAt(time.UnixMilli(0))
	for _, timestamp := range []time.Time{
		time.UnixMilli(1),
		time.UnixMilli(31),
		time.UnixMilli(1 << 20),
		time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(2026, 1, 1, 0, 0, 0, 1e6, time.UTC),
		time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		id := NewIDAt(timestamp)
		if id <= previous {
			t.Errorf("%s at %v does not sort after %s", id, timestamp, previous)
		}
		if len(id) != len(NewID()) {
			t.Errorf("%s is not as long as %s", id, NewID())
		}
		if id == NewIDAt(timestamp) {
			t.Errorf("%s occurs twice", id)
		}
		previous = id
	}
}
