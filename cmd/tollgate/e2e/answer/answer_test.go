package answer

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/tidwall/gjson"
)

// outcomes asks many questions at once and counts their results.
func (d *desk) outcomes(questions []string) map[string]int {
	var mu sync.Mutex
	var work sync.WaitGroup
	counts := make(map[string]int)
	for _, q := range questions {
		work.Go(func() {
			a := d.ask(q)
			mu.Lock()
			defer mu.Unlock()
			counts[fmt.Sprint(a.Status, " ", outcome(a))]++
			if a.Status == http.StatusTooManyRequests && a.Header.Get("Retry-After") == "" {
				d.T.Errorf("no Retry-After: %v", a.Header)
			}
		})
	}
	work.Wait()
	return counts
}

func times(n int, question string) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = question
	}
	return list
}

// TestAnswersRate checks that 5 of 50 simultaneous questions are accepted and charged once, and that the sixth is
// accepted after a minute.
func TestAnswersRate(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, dsn string) {
		d := newDesk(t, dsn, "\t\tcache off\n")
		for round := range 2 {
			counts := d.outcomes(times(50, asked))
			if len(counts) != 2 || counts["200 Answered"] != 5 || counts["429 RateLimited"] != 45 {
				t.Errorf("%v", counts)
			}
			d.settled(5 * (round + 1))
			d.later(minuteLater)
		}
		d.Stop()
	})
}

// TestAnswersQuota checks that of 200 simultaneous questions, some of them free, no more are answered than the quota
// allows, and that the whole quota can be used.
func TestAnswersQuota(t *testing.T) {
	t.Parallel()
	const limit = 7
	onBoth(t, func(t *testing.T, dsn string) {
		d := newDesk(t, dsn, quick+"\t\tqueued 1000\n")
		d.Tool("answer", "key", "create", "--label", "more", "--account", "desk", "--limit", fmt.Sprint(limit))
		stop := make(chan struct{})
		var watch sync.WaitGroup
		watch.Go(func() { // asking for the quota is limited to 60 times a minute
			for range 30 {
				select {
				case <-stop:
					return
				default:
					d.used()
				}
			}
		})
		counts := d.outcomes(append(times(100, asked), times(100, "How do I bake sourdough bread?")...))
		close(stop)
		watch.Wait()
		answered := counts["200 Answered"]
		if free := counts["200 NonInvestmentRelated"]; answered > limit || answered+free+counts["429 QuotaExceeded"] != 200 {
			t.Errorf("%v", counts)
		}
		d.settled(answered)
		for range limit - answered {
			if a := d.ask(asked); outcome(a) != "Answered" {
				t.Errorf("%d %s", a.Status, a.Body)
			}
		}
		d.settled(limit)
		if counts := d.outcomes(times(20, asked)); counts["429 QuotaExceeded"] != 20 {
			t.Errorf("%v", counts)
		}
		d.settled(limit)
		d.Stop()
	})
}

// TestAnswersIdempotencyKey checks that a question with an Idempotency-Key is answered and charged once, however often
// it is repeated.
func TestAnswersIdempotencyKey(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, dsn string) {
		d := newDesk(t, dsn, quick)
		first := d.ask(asked, "Idempotency-Key", "k", "Prefer", "respond-async")
		id := gjson.Get(first.Body, "result.id").Str
		if first.Status != http.StatusAccepted || first.Header.Get("Location") != "/v1/answers/"+id || id == "" {
			t.Fatalf("%d %s %v", first.Status, first.Body, first.Header)
		}
		waited := d.ask(asked, "Idempotency-Key", "k")
		if outcome(waited) != "Answered" || gjson.Get(waited.Body, "result.id").Str != id {
			t.Errorf("%d %s", waited.Status, waited.Body)
		}
		if replay := d.ask(asked, "Idempotency-Key", "k", "Prefer", "respond-async"); replay.Status != http.StatusOK || replay.Body != waited.Body {
			t.Errorf("%d %s, want %s", replay.Status, replay.Body, waited.Body)
		}
		if other := d.ask("What was the revenue of Cobaltine in 2025?", "Idempotency-Key", "k"); other.Status != http.StatusBadRequest || outcome(other) != "InvalidRequest" {
			t.Errorf("%d %s", other.Status, other.Body)
		}
		d.settled(1)
		d.Stop()
	})
}
