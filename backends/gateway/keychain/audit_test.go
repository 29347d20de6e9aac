package keychain

import (
	"testing"
	"time"
)

// TestExpiredAudit checks that only audit entries older than 400 days are deleted.
func TestExpiredAudit(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		for _, team := range []string{"first", "second", "third"} {
			if _, err := n.AddTeam(t.Context(), team); err != nil {
				t.Fatal(err)
			}
			n.clock.Offset.Add(int64(201 * 24 * time.Hour))
		}
		n.clock.Offset.Add(int64(-200 * 24 * time.Hour))
		statement, args := ExpiredAudit(n.now(), 100)
		n.sql(t, statement, args...)
		if entries, err := n.Audit(t.Context(), 0, 100); err != nil || len(entries) != 2 {
			t.Errorf("%d entries are left, want 2; error %v", len(entries), err)
		}
	})
}
