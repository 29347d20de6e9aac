package answer

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/api"
	"github.com/tollgate-gateway/tollgate/backends/answer/pipeline"
	"github.com/tollgate-gateway/tollgate/backends/answer/question"
)

// maxRemembered bounds how many outcomes a node remembers.
const maxRemembered = 1000

// remembering is an api.Asker that answers a repeated question with its earlier outcome as long as the corpus has not
// changed. The question may be repeated by another account. Faults and makeshift answers are not remembered. Each node
// has its own memory.
type remembering struct {
	api.Asker
	lasts   time.Duration // how long an outcome is remembered
	now     func() time.Time
	version func(ctx context.Context) (int64, error) // returns the version of the corpus

	mu       sync.Mutex            // guards outcomes
	outcomes map[string]remembered // keyed by what Ask makes from the question and the corpus version
}

// remembered is an outcome that is remembered until a time.
type remembered struct {
	outcome api.Outcome
	until   time.Time
}

// rememberedTrace is the trace of a remembered outcome.
type rememberedTrace struct {
	Remembered bool `json:"remembered"`
	First      any  `json:"first"` // the trace of the first time the question was answered
}

// Ask implements api.Asker. If it remembers an outcome of the same question and the corpus has not changed since, it
// returns that outcome. Otherwise it asks the question. It remembers only outcomes that the same question would have
// again. It does not remember a fault, for example, because the fault may not recur.
func (r *remembering) Ask(ctx context.Context, q pipeline.Request, progress func(stage string)) api.Outcome {
	version, err := r.version(ctx)
	if err != nil { // the pipeline reports this error
		return r.Asker.Ask(ctx, q, progress)
	}
	// A normalised question has no line end, so the first line end of a key is where the question stops and q.Previous
	// begins. Equal keys therefore mean equal questions.
	key := strconv.FormatInt(version, 10) + " " + strconv.FormatBool(q.Force) + " " + question.Normalise(q.Text) + "\n" +
		q.Previous
	if found, ok := r.find(key); ok {
		found.Trace = rememberedTrace{Remembered: true, First: found.Trace}
		return found
	}
	o := r.Asker.Ask(ctx, q, progress)
	if o.Makeshift {
		return o
	}
	switch o.Reason {
	case pipeline.Answered, pipeline.ContentFiltered, pipeline.NonInvestmentRelated, pipeline.ShouldUseScreener,
		pipeline.FailedToAnswer:
		r.keep(key, o)
	}
	return o
}

// find returns the outcome that is remembered under a key, or false if there is none or if it has expired.
func (r *remembering) find(key string) (api.Outcome, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, ok := r.outcomes[key]
	remaining := found.until.Sub(r.now())
	if !ok || remaining <= 0 || remaining > r.lasts { // with more than r.lasts remaining, the clock was set back
		return api.Outcome{}, false
	}
	return found.outcome, true
}

// keep remembers an outcome for r.lasts. When the memory is full, keep drops the expired outcomes first, and then
// arbitrary ones.
func (r *remembering) keep(key string, o api.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if len(r.outcomes) >= maxRemembered {
		for other, entry := range r.outcomes {
			if !now.Before(entry.until) {
				delete(r.outcomes, other)
			}
		}
		for other := range r.outcomes {
			if len(r.outcomes) < maxRemembered {
				break
			}
			delete(r.outcomes, other)
		}
	}
	r.outcomes[key] = remembered{o, now.Add(r.lasts)}
}
