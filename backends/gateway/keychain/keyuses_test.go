package keychain

import (
	"testing"
	"time"
)

// TestExpiredKeyIsRecorded checks that the use of an expired key appears in its owner's log, once a minute.
func TestExpiredKeyIsRecorded(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p cluster) {
		n := p.start(t)
		n.user(t, "alice")
		end := n.now().Add(time.Hour)
		key, err := n.CreateKey(t.Context(), "alice", KeyOptions{Limits: Limits{ExpiresAt: &end}})
		if err != nil {
			t.Fatal(err)
		}
		log := quietLog(n)
		defer func() { _ = log.Close(t.Context()) }()
		for range 3 {
			n.clock.Offset.Add(int64(time.Hour))
			for range 5 {
				_, _ = n.Authenticate(t.Context(), key.Key)
			}
		}
		if err := log.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		recent, err := n.ledger.Recent(t.Context(), "alice", 0, 10)
		if err != nil || len(recent) != 3 {
			t.Fatalf("%d records, error %v", len(recent), err)
		}
		for _, r := range recent {
			if r.KeyID != key.ID || r.Status != 401 || r.Code != CodeKeyExpired {
				t.Errorf("%+v", r)
			}
		}
	})
}
