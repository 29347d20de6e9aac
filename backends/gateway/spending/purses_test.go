package spending

import (
	"fmt"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// TestSpendingIsBounded adds more records than are kept in memory, and more keys than are remembered.
func TestSpendingIsBounded(t *testing.T) {
	t.Parallel()
	var s purses
	k := s.join(Purse{On: OwnKey, ID: "gk"}, "gk", start)
	k.set(start, StartOfDay(start), 0, false, new(WindowSums))
	const many = maxLocalSpends + 100
	for i := range int64(many) {
		s.addRecord(&Record{KeyID: "gk", At: start, InputTokens: 1}, i+1)
	}
	if sums, _ := k.cached(start, false); sums[InDay].Tokens != many || len(k.local) != maxLocalSpends {
		t.Errorf("%d tokens in %d records", sums[InDay].Tokens, len(k.local))
	}
	k.set(start, StartOfDay(start), many, true, &WindowSums{{Tokens: many}, {Tokens: many}, {Tokens: many}, {Tokens: many}})
	if sums, _ := k.cached(start, false); sums[InDay].Tokens != many || len(k.local) != 0 {
		t.Errorf("%d tokens, %d records left", sums[InDay].Tokens, len(k.local))
	}
	s.addRecord(&Record{KeyID: "gk", At: start, InputTokens: 1}, many) // a late record, which the last read has counted
	if sums, _ := k.cached(start, false); sums[InDay].Tokens != many {
		t.Errorf("%d tokens", sums[InDay].Tokens)
	}
	for i := range 1000 {
		id := fmt.Sprint("gk", i)
		s.join(Purse{On: OwnKey, ID: id}, id, start.Add(time.Second))
	}
	if s.join(Purse{On: OwnKey, ID: "late"}, "late", start.Add(forgetSpendAfter+time.Hour)); len(s.purses) != 1 {
		t.Errorf("%d keys are remembered", len(s.purses))
	}
}

// TestWritersAreForgotten checks that old rows are deleted from the table in which each writing process has a row.
func TestWritersAreForgotten(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, p place) {
		var last *node
		for i := range 3 {
			n := p.start(t)
			n.clock.Offset.Store(int64(i) * int64(writersKept) * 2 / 3)
			n.purses.tracked.Store(1)
			log := quietLog(n)
			for range 2 {
				log.Add(record(0))
				if err := log.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			last = n
		}
		var count, records int64
		err := last.db.Read(t.Context(), func(c store.Conn) error {
			return c.Row("SELECT count(*), max(records) FROM gateway_usage_writers").Scan(&count, &records)
		})
		if err != nil || count != 2 || records != 2 {
			t.Errorf("%d writers, %d records, error %v", count, records, err)
		}
	})
}
