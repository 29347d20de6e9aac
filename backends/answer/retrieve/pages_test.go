package retrieve_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/answertest"
	"github.com/tollgate-gateway/tollgate/backends/answer/answertest/filings"
	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
	"github.com/tollgate-gateway/tollgate/backends/answer/retrieve"
)

// hits counts questions by the rank of the right page.
type hits struct{ asked, one, five, twelve int }

func (h *hits) add(rank int) {
	h.asked++
	if rank < 1 {
		h.one++
	}
	if rank < 5 {
		h.five++
	}
	if rank < 12 {
		h.twelve++
	}
}

func (h *hits) String() string {
	share := func(n int) string { return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(max(h.asked, 1))) }
	return fmt.Sprintf("%d questions: first %s, hit@5 %s, hit@12 %s", h.asked, share(h.one), share(h.five), share(h.twelve))
}

// TestPages checks that in reports of more than a hundred pages the right page is among the first twelve
// passages. Half of the questions were held back while rules were developed.
func TestPages(t *testing.T) {
	t.Parallel()
	k := answertest.SQLite(t)
	c := corpus.New(k.Server)
	r := retrieve.New(c, retrieve.Options{})
	written, held := new(hits), new(hits)
	var took []time.Duration
	for seed := range uint64(2) {
		reports, questions, err := filings.Long(seed)
		if err != nil {
			t.Fatal(err)
		}
		for _, report := range reports {
			if _, err := c.Put(t.Context(), report); err != nil {
				t.Fatal(err)
			}
		}
		_, directory, err := c.Issuers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range questions {
			f := kernel.Filters{}
			for _, m := range directory.Find(q.Text) {
				f.Issuers = append(f.Issuers, m.Issuers...)
			}
			for _, m := range metrics.Periods(q.Text) {
				f.Periods = append(f.Periods, m.Period)
			}
			begun := time.Now()
			found, err := r.Search(t.Context(), retrieve.Query{Text: q.Text, Filters: f})
			if err != nil {
				t.Fatal(err)
			}
			took = append(took, time.Since(begun))
			rank := slices.IndexFunc(found.Passages, func(p kernel.Passage) bool { return p.URL == q.URL && p.Page == q.Page })
			if rank < 0 {
				rank = 1000
			}
			if q.HeldBack {
				held.add(rank)
				continue
			}
			written.add(rank)
			if rank > 11 && os.Getenv("TOLLGATE_SHOW_MISSES") != "" {
				t.Logf("page %d: %s", q.Page, q.Text)
			}
		}
	}
	slices.Sort(took)
	for half, h := range map[string]*hits{"seen": written, "held back": held} {
		if h.asked < 250 || 100*h.twelve < 90*h.asked || 100*h.five < 83*h.asked {
			t.Errorf("%s: %s", half, h)
		}
	}
	t.Logf("seen: %s", written)
	t.Logf("held back: %s", held)
	t.Logf("median %s, p95 %s", took[len(took)/2], took[len(took)*95/100])
}
