package answer

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/api"
	"github.com/tollgate-gateway/tollgate/backends/answer/pipeline"
)

// counting answers with how often it was asked.
type counting struct{ asked int }

func (c *counting) Ask(_ context.Context, q pipeline.Request, progress func(string)) api.Outcome {
	c.asked++
	progress("search")
	if q.Text == "fault" {
		return api.Outcome{Reason: pipeline.Timeout}
	}
	if q.Text == "makeshift" {
		return api.Outcome{Reason: pipeline.FailedToAnswer, Makeshift: true}
	}
	if q.Text == "no" {
		return api.Outcome{Reason: pipeline.FailedToAnswer}
	}
	return api.Outcome{Answer: fmt.Sprint(c.asked), Trace: "first"}
}

// TestRemember checks that a repeated question gets the same answer for a while, and only as long as the
// corpus has not changed.
func TestRemember(t *testing.T) {
	t.Parallel()
	now, version := time.Unix(1_800_000_000, 0), int64(1)
	var down error
	counter := new(counting)
	r := &remembering{
		Asker: counter, lasts: 15 * time.Minute, now: func() time.Time { return now },
		version: func(context.Context) (int64, error) { return version, down }, outcomes: make(map[string]remembered),
	}
	ask := func(query string, force bool) api.Outcome {
		return r.Ask(t.Context(), pipeline.Request{Text: query, Force: force}, func(string) {})
	}
	for i, step := range []struct {
		query  string
		force  bool
		change func()
		asked  int
	}{
		{"What was revenue?", false, nil, 1},
		{"  What was\trevenue? ", false, nil, 1},
		{"What was revenue?", true, nil, 2},
		{"What was profit?", false, nil, 3},
		{"no", false, nil, 4},
		{"no", false, nil, 4},
		{"fault", false, nil, 5},
		{"fault", false, nil, 6},
		{"makeshift", false, nil, 7},
		{"makeshift", false, nil, 8},
		{"What was revenue?", false, func() { now = now.Add(14 * time.Minute) }, 8},
		{"What was revenue?", false, func() { now = now.Add(2 * time.Minute) }, 9},
		{"What was revenue?", false, func() { version++ }, 10},
		{"What was revenue?", false, func() { now = now.Add(-time.Hour) }, 11},
		{"What was revenue?", false, func() { down = errors.New("gone") }, 12},
	} {
		if step.change != nil {
			step.change()
		}
		before := counter.asked
		o := ask(step.query, step.force)
		if counter.asked != step.asked {
			t.Errorf("step %d: asked %d times, want %d", i, counter.asked, step.asked)
		}
		if seen, ok := o.Trace.(rememberedTrace); o.Answer != "" && (ok != (counter.asked == before) || ok && seen.First != "first") {
			t.Errorf("step %d: trace %v", i, o.Trace)
		}
	}
	down = nil
	for i := range 3 * maxRemembered {
		ask(fmt.Sprint("question ", i), false)
	}
	if len(r.outcomes) > maxRemembered {
		t.Errorf("%d are remembered", len(r.outcomes))
	}
}
