// Package pipeline answers a question in stages: it reads the question, finds passages, computes values if it can, has
// an answer drafted, checks the draft, and adds its references. A stage that exceeds its time limit is skipped if an
// answer is possible without it; the deadline of the whole question ends the answer.
//
// A request is a question as it was received, and an outcome is its answer or the reason why there is none. A part is a
// sub-query with an answer of its own. A draft becomes the answer when it has passed the check. A claim is a sentence
// of the answer with the passages on which it is based, and a reference is the document of such a passage. The trace
// records what each stage decided.
//
// Choices where the specification is silent:
//   - A question that is answered by one value from its own passages is not divided.
//   - If the deadline passes before there is a draft, the outcome is Timeout. If it passes later, the outcome is
//     FailedToAnswer.
//   - If a model fails while it reads a question, the rules decide. If the judge fails, nothing passes. If the
//     model fails while it writes, the service is unavailable, or the answer is extracted (ExtractWhenDown).
package pipeline

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/formula"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
	"github.com/tollgate-gateway/tollgate/backends/answer/models"
	"github.com/tollgate-gateway/tollgate/backends/answer/question"
	"github.com/tollgate-gateway/tollgate/backends/answer/retrieve"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Reasons why there is no answer. Answered, the empty reason, means that there is an answer.
const (
	Answered             = ""
	ContentFiltered      = string(question.Filtered)
	NonInvestmentRelated = string(question.NonInvestment)
	ShouldUseScreener    = string(question.Screener)
	FailedToAnswer       = "FailedToAnswer"
	Timeout              = "Timeout"
	ServiceUnavailable   = "ServiceUnavailable"
	InternalError        = "InternalError"
	Canceled             = "Canceled" // the client has closed the connection or withdrawn the question
)

// Request is a question in the form in which it was received.
type Request struct {
	Text string
	// Force lifts the refusal of questions that are not about investments.
	Force bool
	// Previous is the earlier question that this question follows, in the form of Outcome.Asked. A company or a period
	// that this question leaves out is taken from Previous. It is empty for a question that stands alone.
	Previous string
}

// Outcome is the result of a question.
type Outcome struct {
	Reason string // Answered, or why there is no answer
	Query  string // as received, trimmed
	// Asked is the question that was answered: Query, completed from the previous question.
	Asked      string
	Answer     string // Markdown
	References []Reference
	Subqueries []Subquery
	// Claims are the sentences of Answer with the passages that they are based on, for people who inspect answers. They
	// are not part of the API's answer.
	Claims []Claim
	// Extracted reports that rules alone made the answer, because no model could be used.
	Extracted bool
	// Makeshift reports that a better outcome may be available soon: rules alone made the answer, or there is no answer
	// because a model or a provider failed or because the deadline passed.
	Makeshift bool
}

// Claim is a sentence of an answer.
type Claim struct {
	Text string // without its marks
	// Passages are the passages that the sentence's marks name.
	Passages []kernel.Passage
	// Fixed reports that the sentence is the service's own and is based on no passage. Break reports that the sentence
	// begins a paragraph.
	Fixed, Break bool
}

// Reference is a document that an answer is based on.
type Reference struct {
	Title string `json:"title"`
	URL   string `json:"url"`
}

// Subquery is a part of a question with its own answer.
type Subquery struct {
	Query      string      `json:"query"`
	Answer     string      `json:"answer"`
	References []Reference `json:"references"`
}

// Searcher finds passages. retrieve.Retriever implements it.
type Searcher interface {
	Search(ctx context.Context, q retrieve.Query) (retrieve.Result, error)
}

// Options configure a Pipeline. The zero Options are usable.
type Options struct {
	// Deadline is how long a question may take. Default: 115s.
	Deadline time.Duration
	// CompareMin is the least number of issuers in a comparison that counts as screening. Default: 2.
	CompareMin int
	// SourceURL returns the public URL of a document from its URL in the corpus, which is "corpus:ID" for a document
	// without a public URL. Default: the same URL.
	SourceURL func(url string) string
	// Outside reports that searches also look outside the corpus, so that they may find an issuer that the corpus does
	// not have.
	Outside bool
	// Judge is the model that evaluates answers. It should differ from the model that writes them. Default: the same
	// model.
	Judge models.Model
	// Unhurried gives each stage all of the time that is left, so that an evaluation does not measure how busy
	// the machine is.
	Unhurried bool
	// ExtractWhenDown answers by rules alone while no model can be used. Default: while no model can be used, the
	// service is unavailable.
	ExtractWhenDown bool
}

// Pipeline answers questions. It is safe for concurrent use.
type Pipeline struct {
	reader  question.Reader
	search  Searcher
	issuers func(ctx context.Context) (map[int64]kernel.Issuer, *metrics.Directory, error)
	model   models.Model
	options Options
	now     func() time.Time
	tables  *formula.TableCache // the parsed tables of passages
}

// New returns a Pipeline. The Pipeline finds passages with search, and it finds issuers by the directory that the
// function issuers returns. With a nil model answers are made by rules and templates alone. now is the clock.
func New(search Searcher, issuers func(ctx context.Context) (map[int64]kernel.Issuer, *metrics.Directory, error),
	model models.Model, now func() time.Time, o Options,
) *Pipeline {
	o.Deadline = cmp.Or(o.Deadline, 115*time.Second)
	if o.SourceURL == nil {
		o.SourceURL = func(url string) string { return url }
	}
	if o.Judge == nil {
		o.Judge = model
	}
	return &Pipeline{
		question.Reader{Issuers: issuers, CompareMin: o.CompareMin, Now: now},
		search, issuers, model, o, now,
		new(formula.TableCache),
	}
}

// Stage is one stage of an answer in its trace.
type Stage struct {
	Name string        `json:"name"`
	Part int           `json:"part,omitempty"` // the number of the sub-query, from 1; 0 for the whole question
	Took time.Duration `json:"took"`
	// Decision describes the result without a word of the question.
	Decision string `json:"decision,omitempty"`
	Note     string `json:"note,omitempty"` // the error that ended the stage
}

// Call is one call of a model.
type Call struct {
	Step  string       `json:"step"`
	Model string       `json:"model"`
	Usage models.Usage `json:"usage"`
	Error string       `json:"error,omitempty"`
}

// Trace records for operators how an answer was reached. It contains no text of the question.
type Trace struct {
	Stages   []Stage  `json:"stages"`
	Calls    []Call   `json:"calls"`
	Passages []int64  `json:"passages"` // the ids of the passages found, best first
	Dropped  []string `json:"dropped"`  // the filters that were dropped
	Computed []string `json:"computed"` // the values and formulas computed
	Problems []string `json:"problems"` // the problems that the checks found
	// Gap is the reason why nothing was computed from statements. It is empty if a value was computed.
	Gap      string       `json:"gap,omitempty"`
	Repaired bool         `json:"repaired"`
	Usage    models.Usage `json:"usage"`

	mu       sync.Mutex         // guards all fields except progress, because the parts of a question run at the same time
	progress func(stage string) // called with the name of each stage when it begins
	drafted  bool               // there is a draft
	degraded bool               // a model or a provider has failed, or a model has given an answer a low score
}

// call records a call of a model in the step of the given name, with its response or its error.
func (t *Trace) call(step string, r models.Response, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := Call{Step: step, Model: text.Short(r.Model, maxModel), Usage: r.Usage}
	if err != nil {
		c.Error, t.degraded = err.Error(), true
	}
	t.Calls = append(t.Calls, c)
	t.Usage.Add(r.Usage)
}

// note calls fn with the trace locked, so that fn may change the trace.
func (t *Trace) note(fn func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fn()
}

// Time limits of the stages that call a model or a provider. An answer is possible without the results of these stages.
// A search of the corpus may take until the deadline.
const (
	readingLimit  = 3 * time.Second
	planningLimit = 8 * time.Second
	searchLimit   = 5 * time.Second
	draftLimit    = 60 * time.Second
	judgeLimit    = 20 * time.Second
)

// maxModel bounds the length of a model's name in a trace, because the name comes from the model's provider.
const maxModel = 100

// maxParallel is how many sub-queries are answered at the same time.
const maxParallel = 4

// Ask answers a question. It calls progress, which may be nil, with the name of each stage when the stage begins,
// possibly from several goroutines at once. The trace is never nil. Ask returns when ctx or the deadline ends, even if
// a stage hangs.
func (p *Pipeline) Ask(ctx context.Context, r Request, progress func(stage string)) (Outcome, *Trace) {
	if progress == nil {
		progress = func(string) {}
	}
	t := &Trace{progress: progress}
	ctx, cancel := context.WithTimeout(ctx, p.options.Deadline)
	defer cancel()
	type done struct {
		Outcome
		err error
	}
	finished := make(chan done, 1) // with room for the result, so that the goroutine ends even if nobody waits for it
	go func() {
		var o Outcome
		err := kernel.Caught(func() (err error) {
			o, err = p.ask(ctx, r, t)
			if p.options.ExtractWhenDown && errors.Is(err, models.ErrUnavailable) {
				t.note(func() { t.Problems = append(t.Problems, err.Error()) })
				o, err = p.byRules().ask(ctx, r, t)
				o.Extracted = true
			}
			return err
		})
		finished <- done{o, err}
	}()
	var d done
	select {
	case d = <-finished:
	case <-ctx.Done(): // a stage that hangs is not waited for
		d.err = ctx.Err()
	}
	o := d.Outcome
	if d.err != nil {
		o = Outcome{Reason: t.reason(ctx, d.err)}
	}
	o.Query = question.Normalise(r.Text)
	o.Makeshift = o.Extracted
	if o.Reason != Answered {
		t.note(func() { o.Makeshift = o.Makeshift || t.degraded || d.err != nil })
		o.Answer, o.References, o.Subqueries, o.Claims = "", nil, nil, nil
	}
	if o.References == nil {
		o.References = []Reference{}
	}
	if o.Subqueries == nil {
		o.Subqueries = []Subquery{}
	}
	return o, t.copy()
}

// byRules returns a copy of the pipeline without models.
func (p *Pipeline) byRules() *Pipeline {
	rules := *p
	rules.model, rules.options.Judge = nil, nil
	return &rules
}

// reason returns the Reason of an Outcome for err, the error that ended a question. ctx is the context of the question.
// reason adds err to the problems in the trace unless ctx has ended.
func (t *Trace) reason(ctx context.Context, err error) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return Canceled
	case errors.Is(ctx.Err(), context.DeadlineExceeded) && t.drafted:
		return FailedToAnswer
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return Timeout
	case errors.Is(err, models.ErrUnavailable), errors.Is(err, errStore):
		t.Problems = append(t.Problems, err.Error())
		return ServiceUnavailable
	}
	t.Problems = append(t.Problems, err.Error())
	return InternalError
}

// errStore means that the corpus cannot be read.
var errStore = errors.New("the corpus cannot be read")

// copy returns a copy of the trace. A stage that was not waited for may still write to the original.
func (t *Trace) copy() *Trace {
	t.mu.Lock()
	defer t.mu.Unlock()
	return &Trace{
		Stages: append([]Stage(nil), t.Stages...), Calls: append([]Call(nil), t.Calls...),
		Passages: append([]int64(nil), t.Passages...), Dropped: append([]string(nil), t.Dropped...),
		Computed: append([]string(nil), t.Computed...), Problems: append([]string(nil), t.Problems...), Gap: t.Gap,
		Repaired: t.Repaired, Usage: t.Usage,
	}
}

// limitFor returns how long a stage with a limit may take: the limit, or the whole deadline if the pipeline is
// unhurried.
func (p *Pipeline) limitFor(limit time.Duration) time.Duration {
	if p.options.Unhurried {
		return p.options.Deadline
	}
	return limit
}

// stage calls fn as a stage of the given name, with a context that ends after the stage's limit, records the stage in
// the trace, and returns the error of fn. fn returns what the stage decided, for the trace. part is the number of the
// sub-query, or 0. If ctx has ended, stage returns its error without calling fn.
func (p *Pipeline) stage(ctx context.Context, t *Trace, name string, part int, limit time.Duration,
	fn func(ctx context.Context) (decision string, err error),
) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.progress(name)
	start := p.now()
	ctx, cancel := context.WithTimeout(ctx, p.limitFor(limit))
	defer cancel()
	decision, err := fn(ctx)
	s := Stage{Name: name, Part: part, Took: p.now().Sub(start), Decision: decision}
	if err != nil {
		s.Note = err.Error()
	}
	t.note(func() { t.Stages = append(t.Stages, s) })
	return err
}
