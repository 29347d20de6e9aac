// Package pipeline answers a question: it reads it, finds passages, computes what can be
// computed, has an answer drafted, checks it, and puts its references together. Each
// stage has a soft limit; the deadline of the whole is hard.
//
// Choices where the specification is silent:
//   - A question that one value of its own passages answers is not divided.
//   - Where the deadline comes before there is a draft, the outcome is Timeout; after
//     that, FailedToAnswer.
//   - A model that fails while it reads or judges is done without: the rules decide, and
//     a judge that cannot be asked passes nothing. One that fails while it writes makes
//     the service unavailable, or has the answer extracted (ExtractWhenDown).
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

// Reasons why there is no answer. Answered is the empty one.
const (
	Answered             = ""
	ContentFiltered      = string(question.Filtered)
	NonInvestmentRelated = string(question.NonInvestment)
	ShouldUseScreener    = string(question.Screener)
	FailedToAnswer       = "FailedToAnswer"
	Timeout              = "Timeout"
	ServiceUnavailable   = "ServiceUnavailable"
	InternalError        = "InternalError"
	Canceled             = "Canceled" // the client has left
)

// Request is a question as it came.
type Request struct {
	Text string
	// Force answers what is not about investments too.
	Force bool
	// Previous is the question that this one follows, as Outcome.Asked has it: what this one leaves out, the company and the period, is taken from it. Empty
	// for a question that stands alone.
	Previous string
}

// Outcome is what became of a question.
type Outcome struct {
	Reason string // Answered, or why not
	Query  string // as it came, trimmed
	// Asked is the question that was answered: Query, with what it takes from the previous one.
	Asked      string
	Answer     string // Markdown
	References []Reference
	Subqueries []Subquery
	// Claims are the sentences of Answer with what they stand on, for those who look
	// into answers. They are not sent to clients.
	Claims []Claim
	// Extracted tells that rules alone made it, because no model could be used.
	Extracted bool
	// Makeshift tells that a better one may come soon: rules alone made it, or there is no answer
	// where a model or a provider failed, or the time was over.
	Makeshift bool
}

// Claim is a sentence of an answer.
type Claim struct {
	Text string // without its marks
	// Passages are those that its marks name.
	Passages []kernel.Passage
	// Own tells that it is the service's own line, which stands on nothing; Break, that
	// a paragraph begins with it.
	Own, Break bool
}

// Reference is a document that an answer stands on.
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

// Searcher finds passages; retrieve.Retriever is one.
type Searcher interface {
	Search(ctx context.Context, q retrieve.Query) (retrieve.Result, error)
}

// Options are how a Pipeline works. The zero Options are good.
type Options struct {
	// Deadline is how long a question may take. Default: 115s.
	Deadline time.Duration
	// CompareMin is from how many issuers on a comparison is screening. Default: 2.
	CompareMin int
	// Unmarked leaves the numbered links out of the answers.
	Unmarked bool
	// SourceURL is the address of a document without a public one, by its URL
	// ("corpus:ID"). Default: the URL itself.
	SourceURL func(url string) string
	// Outside tells that more than the corpus is searched, so that an issuer that it does not have may be found.
	Outside bool
	// Judge is another model than the writer, for the evaluation. Default: the writer.
	Judge models.Model
	// Unhurried gives each stage all of the time that is left: what an evaluation tells is
	// not how busy the machine is.
	Unhurried bool
	// ExtractWhenDown answers by rules alone while no model can be used. Default: the
	// service is unavailable then.
	ExtractWhenDown bool
}

// Pipeline answers questions. It is used by many at once.
type Pipeline struct {
	reader  question.Reader
	search  Searcher
	issuers func(ctx context.Context) (map[int64]kernel.Issuer, *metrics.Directory, error)
	model   models.Model
	options Options
	now     func() time.Time
	known   *formula.Tables
}

// New makes a pipeline. A nil model is extractive mode: rules and templates alone.
func New(search Searcher, issuers func(ctx context.Context) (map[int64]kernel.Issuer, *metrics.Directory, error), model models.Model, now func() time.Time, o Options) *Pipeline {
	o.Deadline = cmp.Or(o.Deadline, 115*time.Second)
	if o.SourceURL == nil {
		o.SourceURL = func(url string) string { return url }
	}
	if o.Judge == nil {
		o.Judge = model
	}
	return &Pipeline{question.Reader{Issuers: issuers, CompareMin: o.CompareMin, Now: now}, search, issuers, model, o, now, new(formula.Tables)}
}

// Stage is one of an answer, for its progress and for its trace.
type Stage struct {
	Name string        `json:"name"`
	Part int           `json:"part,omitempty"` // of the question, from 1; 0: the whole
	Took time.Duration `json:"took"`
	// Decision is what came of it, without a word of the question.
	Decision string `json:"decision,omitempty"`
	Note     string `json:"note,omitempty"` // what ended it
}

// Call is one of a model.
type Call struct {
	Step  string       `json:"step"`
	Model string       `json:"model"`
	Usage models.Usage `json:"usage"`
	Error string       `json:"error,omitempty"`
}

// Trace is how an answer came about, for operators. It holds no text of the question.
type Trace struct {
	Stages   []Stage  `json:"stages"`
	Calls    []Call   `json:"calls"`
	Passages []int64  `json:"passages"` // that were found, best first
	Dropped  []string `json:"dropped"`  // filters that were given up
	Computed []string `json:"computed"` // formulas
	Problems []string `json:"problems"` // that checks have found
	// Gap is why nothing was computed of statements; empty: something was.
	Gap      string       `json:"gap,omitempty"`
	Repaired bool         `json:"repaired"`
	Usage    models.Usage `json:"usage"`

	mu       sync.Mutex
	progress func(stage string)
	drafted  bool
	lacking  bool // a model, or a provider of what may be found, has failed, or a model has judged an answer low
}

func (t *Trace) call(step string, r models.Response, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := Call{Step: step, Model: text.Short(r.Model, mostModel), Usage: r.Usage}
	if err != nil {
		c.Error, t.lacking = err.Error(), true
	}
	t.Calls = append(t.Calls, c)
	t.Usage.Add(r.Usage)
}

func (t *Trace) note(fn func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fn()
}

// Shares of the deadline that stages may take: what others are asked for in them, which an
// answer can do without. The corpus has until the deadline.
const (
	readingLimit  = 3 * time.Second
	planningLimit = 8 * time.Second
	searchLimit   = 5 * time.Second
	draftLimit    = 60 * time.Second
	judgeLimit    = 20 * time.Second
)

// mostModel bounds the name of a model in a trace, which the model tells.
const mostModel = 100

// atOnce is how many sub-queries are worked on at a time.
const atOnce = 4

// Ask answers a question. progress is told each stage as it begins; nil: nobody is. The
// trace is there whatever the outcome is.
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
	finished := make(chan done, 1)
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
	case <-ctx.Done(): // whatever hangs is not waited for
		d.err = ctx.Err()
	}
	query := question.Normalise(r.Text)
	o := d.Outcome
	o.Query = query
	if d.err != nil {
		o = Outcome{Reason: t.reason(ctx, d.err), Query: query}
	}
	o.Makeshift = o.Extracted
	if o.Reason != Answered {
		t.note(func() { o.Makeshift = o.Makeshift || t.lacking || d.err != nil })
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

// byRules is the pipeline without its models.
func (p *Pipeline) byRules() *Pipeline {
	rules := *p
	rules.model, rules.options.Judge = nil, nil
	return &rules
}

// reason is why an error ended a question.
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

// errStore is the error of a corpus that cannot be read.
var errStore = errors.New("the corpus cannot be read")

// copy is the trace as it is now: what was not waited for may go on writing.
func (t *Trace) copy() *Trace {
	t.mu.Lock()
	defer t.mu.Unlock()
	return &Trace{
		Stages: append([]Stage(nil), t.Stages...), Calls: append([]Call(nil), t.Calls...), Passages: append([]int64(nil), t.Passages...), Dropped: append([]string(nil), t.Dropped...),
		Computed: append([]string(nil), t.Computed...), Problems: append([]string(nil), t.Problems...), Gap: t.Gap, Repaired: t.Repaired, Usage: t.Usage,
	}
}

// share is how long a stage may take for that a limit is set.
func (p *Pipeline) share(limit time.Duration) time.Duration {
	if p.options.Unhurried {
		return p.options.Deadline
	}
	return limit
}

// stage runs a stage within its share of the time.
func (p *Pipeline) stage(ctx context.Context, t *Trace, name string, part int, limit time.Duration, fn func(ctx context.Context) (decision string, err error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.progress(name)
	begin := p.now()
	ctx, cancel := context.WithTimeout(ctx, p.share(limit))
	defer cancel()
	decision, err := fn(ctx)
	s := Stage{Name: name, Part: part, Took: p.now().Sub(begin), Decision: decision}
	if err != nil {
		s.Note = err.Error()
	}
	t.note(func() { t.Stages = append(t.Stages, s) })
	return err
}
