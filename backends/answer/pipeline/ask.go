package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tollgate-gateway/tollgate/backends/answer/check"
	"github.com/tollgate-gateway/tollgate/backends/answer/draft"
	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/formula"
	"github.com/tollgate-gateway/tollgate/backends/answer/inquiry"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
	"github.com/tollgate-gateway/tollgate/backends/answer/models"
	"github.com/tollgate-gateway/tollgate/backends/answer/question"
	"github.com/tollgate-gateway/tollgate/backends/answer/retrieve"
)

// task is a question, or a part of a question, with the results of the stages so far. The stages find, compute, draft
// and evaluate change it. The parts of a question are tasks of their own, each with its own goroutine until divide
// returns.
type task struct {
	q         *question.Question
	filters   kernel.Filters
	directory *metrics.Directory
	passages  []kernel.Passage
	facts     []kernel.Fact
	value     *formula.Value // the value that answers the question, or nil if none could be computed
	refused   bool           // the statements do not have the figure, and no other figure may be used instead
	draft     draft.Draft    // the sentences that have passed the checks
	parts     []*task        // the sub-queries; empty if the question is not divided
	part      int            // the number of the part in its question, from 1; 0 for a whole question
	tier      models.Tier    // of the model that drafts the answer
	failed    bool           // there is no answer
}

// ask answers a question in stages and records them in t. A question that is refused or that has no answer is no error;
// the outcome then has the reason. Errors are those of the corpus, of a model that drafts or checks, and of ctx.
func (p *Pipeline) ask(ctx context.Context, r Request, t *Trace) (o Outcome, err error) {
	var q *question.Question // set by the first stage
	defer func() {           // also an outcome without an answer has the question
		if q != nil {
			o.Asked = q.Text
		}
	}()
	_, directory, err := p.issuers(ctx)
	if err != nil {
		return Outcome{}, fmt.Errorf("%w: %w", errStore, err)
	}
	err = p.stage(ctx, t, "question", 0, readingLimit, func(limited context.Context) (string, error) {
		if q, err = p.reader.Follow(ctx, r.Text, r.Previous); err != nil {
			return "", fmt.Errorf("%w: %w", errStore, err)
		}
		decidedBy := p.classify(limited, t, q)
		return fmt.Sprintf("%s, by %s: %s, %s, %s", cmp.Or(string(q.Verdict), "to be answered"), decidedBy,
			plural(len(q.Issuers), "issuer"), plural(len(q.Periods), "period"), plural(len(q.Metrics), "metric")), nil
	})
	if err != nil {
		return Outcome{}, err
	}
	w := &task{q: q, filters: q.Filters(), directory: directory, tier: models.High}
	switch {
	case q.Verdict == question.NonInvestment && r.Force: // search for the question although its subject is unclear
		w.filters = kernel.Filters{}
	case q.Verdict != question.Ask:
		return Outcome{Reason: string(q.Verdict)}, nil
	}
	if q.Absent != "" && !p.options.Outside {
		t.note(func() { t.Gap = "the corpus has no documents of the issuer" })
		return Outcome{Reason: FailedToAnswer}, nil
	}
	if err := p.find(ctx, t, w, false); err != nil {
		return Outcome{}, err
	}
	if w.value == nil || q.Several { // a value from the question's own passages needs no parts
		if err := p.divide(ctx, t, w); err != nil {
			return Outcome{}, err
		}
	}
	if len(w.parts) == 0 {
		err = p.answer(ctx, t, w)
	} else {
		err = p.combine(ctx, t, w)
	}
	if err != nil {
		return Outcome{}, err
	}
	if w.failed {
		return Outcome{Reason: FailedToAnswer}, nil
	}
	return p.assemble(ctx, t, w)
}

// find searches for passages and facts and computes a value from them. wide is true in the second round, whose search
// ignores the filter of periods. An error other than the end of the context wraps errStore.
func (p *Pipeline) find(ctx context.Context, t *Trace, w *task, wide bool) error {
	query := retrieve.Query{
		Text: w.q.SearchText(), Filters: w.filters, Inquiry: w.q.Inquiry.Calculation, Wide: wide,
		ProviderLimit: p.limitFor(searchLimit),
	}
	err := p.stage(ctx, t, "search", w.part, p.options.Deadline, func(ctx context.Context) (string, error) {
		result, err := p.search.Search(ctx, query)
		if err != nil {
			return "", err
		}
		w.passages, w.facts = result.Passages, result.Facts
		for i := range w.passages {
			passage := &w.passages[i]
			passage.Text, passage.Section = draft.WithoutInstructions(passage.Text), draft.WithoutInstructions(passage.Section)
			passage.Title = cmp.Or(draft.WithoutInstructions(passage.Title), passage.URL)
		}
		t.note(func() {
			t.degraded = t.degraded || result.Degraded
			t.Dropped = append(t.Dropped, result.Dropped...)
			for i := range result.Passages {
				t.Passages = append(t.Passages, result.Passages[i].ID)
			}
		})
		decision := plural(len(result.Passages), "passage") + ", " + plural(len(result.Facts), "fact")
		if wide {
			decision += ", of all periods"
		}
		if len(result.Dropped) > 0 {
			decision += "; dropped filters: " + strings.Join(result.Dropped, ", ")
		}
		return decision, nil
	})
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%w: %w", errStore, err)
	}
	w.compute(p.tables, t)
	return nil
}

// compute sets w.value to the value that answers the question. It computes the value from the facts of statements, or
// else from tables in the passages. If it computes no value, w.value is nil. compute also sets w.refused, and notes
// in the trace what it computed or why it computed nothing from statements.
func (w *task) compute(cache *formula.TableCache, t *Trace) {
	var gap string
	w.value, w.refused, gap = w.fromStatements()
	t.note(func() { t.Gap = gap })
	if w.refused {
		return
	}
	if w.value != nil {
		t.note(func() { t.Computed = append(t.Computed, w.value.Sentence) })
		return
	}
	// A figure alone does not answer a question for a verdict or for several parts.
	if draft.Verdict(w.q.Body) || byParts.MatchString(w.q.Body) {
		return
	}
	src := formula.Source{Passages: w.passages, Cache: cache}
	if w.value = formula.Compute(w.q.Inquiry, src); w.value != nil && howMany.MatchString(w.q.Body) &&
		slices.ContainsFunc(w.value.Figures, isMoneyOrPercent) {
		w.value = nil // an amount is not a number of things
	}
	if w.value != nil {
		t.note(func() { t.Computed = append(t.Computed, describeValue(w.value)) })
	}
}

// howMany matches a question for the number of some things.
var howMany = regexp.MustCompile(`(?i)\bhow many (?:[a-z-]+ )?[a-z-]+s\b`)

// byParts matches a question for a figure of each of several parts, such as revenue by segment.
var byParts = regexp.MustCompile(`(?i)^\W*(?:what|how (?:much|many))\b.*\bby (?:reportable |operating |business |product |geographic )*(?:segments?|regions?|area|geograph(?:y|ies)|product|country)\b`)

// isMoneyOrPercent reports whether a figure is an amount of money or a percentage.
func isMoneyOrPercent(f kernel.Figure) bool {
	return f.Unit == kernel.Money || f.Unit == kernel.Percent
}

// fromStatements answers the question from the facts of statements. If it returns nil, gap is the reason, and refused
// reports that the statements do not have a figure for which no other figure may be used.
func (w *task) fromStatements() (v *formula.Value, refused bool, gap string) {
	switch {
	case len(w.q.Names) != 1:
		return nil, false, "the question names " + plural(len(w.q.Names), "issuer") + ", not one"
	case w.q.Inquiry.Calculation == nil:
		return nil, false, "the question was not recognised as a calculation"
	}
	book := inquiry.NewBook(w.facts)
	a, missing := w.q.Inquiry.Calculation.Answer(book)
	if a == nil {
		if book.Empty() {
			return nil, false, "the corpus has no statements of the issuer"
		}
		gap = "the calculation is not possible with these periods or figures"
		if len(missing) > 0 {
			gap = "missing figure: " + missing[0].Metric + " " + missing[0].Period.String()
		}
		return nil, book.Refuses(missing), gap
	}
	v = &formula.Value{
		Op: w.q.Inquiry.Calculation.Op, Sentence: w.q.Names[0] + ": " + a.Text, Formula: a.Calculation,
		Figures: a.Figures, Confidence: statementConfidence,
	}
	if a.Verdict != "" {
		v.Sentence = a.Verdict + ". " + v.Sentence
	}
	for _, used := range a.Used {
		// The id is 0 both in a fact without a passage and in a passage from the web; these do not match.
		index := slices.IndexFunc(w.passages, func(p kernel.Passage) bool { return p.ID == used.Passage && p.ID != 0 })
		if index < 0 {
			return nil, false, "the search did not return the passage with the figure: " + used.Metric
		}
		v.Inputs = append(v.Inputs, formula.Input{
			Name:  used.Label,
			Point: formula.Point{Figure: used.Figure, Period: used.Fact.Period, Head: used.Fact.Period.String(), Passage: index},
		})
	}
	return v, false, ""
}

// statementConfidence is the confidence of a value that an inquiry has computed.
const statementConfidence = 0.95

// describeValue formats a value for a trace: its label, its figures, and its formula.
func describeValue(v *formula.Value) string {
	values := slices.Clone(v.Words)
	for _, f := range v.Figures {
		values = append(values, figures.Print(f))
	}
	text := v.Label + ": " + strings.Join(values, ", ")
	if v.Formula != "" {
		text += " (" + v.Formula + ")"
	}
	return text
}

// plural formats a number of things, such as "1 part" or "2 parts". It adds "s" to thing unless n is 1.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// divide answers the sub-queries of a question, at most maxParallel at a time, and puts the results into w.parts. If
// the rules have not divided the question, the model may divide it. With fewer than two sub-queries divide leaves
// w.parts empty. It returns the first error of a part, after all parts have ended.
func (p *Pipeline) divide(ctx context.Context, t *Trace, w *task) error {
	subs := w.q.Subs
	if len(subs) == 0 && p.model != nil {
		err := p.stage(ctx, t, "plan", 0, planningLimit, func(ctx context.Context) (string, error) {
			subs = p.plan(ctx, t, w.q)
			return plural(len(subs), "part"), nil
		})
		if err != nil {
			return err
		}
	}
	if len(subs) < 2 {
		return nil
	}
	var group sync.WaitGroup
	slots := make(chan struct{}, maxParallel)
	errs := make([]error, len(subs))
	w.parts = make([]*task, len(subs))
	for i, sub := range subs { // each goroutine writes only its own elements of errs and w.parts
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			errs[i] = kernel.Caught(func() (err error) {
				w.parts[i], err = p.answerPart(ctx, t, w, i+1, sub)
				return err
			})
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// answerPart answers sub, a sub-query of the question parent. number is the number of the part, from 1. If the
// sub-query was refused or has no answer, the result has its field named failed set.
func (p *Pipeline) answerPart(ctx context.Context, t *Trace, parent *task, number int, sub string) (*task, error) {
	q, err := p.reader.Read(ctx, sub)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errStore, err)
	}
	w := &task{q: q, filters: q.Filters(), directory: parent.directory, tier: models.Medium, part: number}
	if len(q.Issuers) == 0 { // a part that names no issuer is about the issuers of the whole question
		w.filters.Issuers = parent.filters.Issuers
	}
	if q.Verdict == question.Filtered || q.Verdict == question.Screener {
		w.failed = true
		return w, nil
	}
	if err := p.find(ctx, t, w, false); err != nil {
		return nil, err
	}
	return w, p.answer(ctx, t, w)
}

// answer drafts an answer and checks it. If the check fails, it tries once more, with passages of all periods. After
// the second failure it sets w.failed.
func (p *Pipeline) answer(ctx context.Context, t *Trace, w *task) error {
	var problems []string
	for round := range 2 {
		if round > 0 {
			t.note(func() { t.Repaired = true })
			if err := p.find(ctx, t, w, true); err != nil {
				return err
			}
		}
		if len(w.passages) == 0 { // the second round may find some
			continue
		}
		d, err := p.draft(ctx, t, w, nil, problems)
		if err != nil {
			return err
		}
		ok, found, err := p.evaluate(ctx, t, w, d)
		if err != nil {
			return err
		}
		if ok {
			return nil
		}
		problems = found
	}
	w.failed = true
	return nil
}

// draft returns a draft written by the model. Without a model it uses templates and quotes. The draft is empty if the
// passages have no answer or if the stage exceeds its limit. parts are the answers of sub-queries, and problems
// describes what was wrong with an earlier draft; both may be nil.
func (p *Pipeline) draft(ctx context.Context, t *Trace, w *task, parts, problems []string) (d draft.Draft, err error) {
	err = p.stage(ctx, t, "draft", w.part, draftLimit, func(ctx context.Context) (string, error) {
		if p.model == nil && w.refused {
			return "the statements do not have the figure", nil
		}
		if p.model == nil {
			d = draft.Extractive(w.q, w.value, w.passages)
			return plural(len(d.Sentences), "sentence") + " from templates and quotes", nil
		}
		response, err := p.model.Complete(ctx,
			models.Request{Tier: w.tier, Name: "draft", Messages: draft.Prompt(w.q.Text, w.value, w.passages, parts, problems)})
		t.call("draft", response, err)
		if err != nil {
			return "", err
		}
		text := strings.TrimSpace(response.Text)
		if strings.HasPrefix(text, draft.NotFound) {
			return "the model found no answer in the passages", nil
		}
		d = draft.Parse(text, len(w.passages)).Explain(w.value)
		return plural(len(d.Sentences), "sentence") + " from the model", nil
	})
	if err == nil {
		t.note(func() { t.drafted = true })
	}
	// A wrapped DeadlineExceeded comes from the model's client and is a failure.
	if err != nil && ctx.Err() == nil && context.DeadlineExceeded == err { //nolint:errorlint // the error of the stage's own context is not wrapped
		return d, nil // only the stage took too long, not the whole question
	}
	return d, err
}

// evaluate checks a draft by rules and with the judge, if there is a model. It stores in w.draft those sentences that
// pass the rules. ok reports whether the draft is good enough. problems describes what is wrong with the draft, for
// the model's next draft. An error of the judge is returned only with Options.ExtractWhenDown; otherwise the draft
// fails.
func (p *Pipeline) evaluate(
	ctx context.Context, t *Trace, w *task, d draft.Draft,
) (ok bool, problems []string, err error) {
	err = p.stage(ctx, t, "check", w.part, judgeLimit, func(ctx context.Context) (decision string, _ error) {
		material := check.Material{Question: w.q, Passages: w.passages, Directory: w.directory}
		if w.value != nil {
			material.Computed = append(material.Computed, w.value)
		}
		for _, part := range w.parts {
			if part.value != nil {
				material.Computed = append(material.Computed, part.value)
			}
		}
		c := check.New(material)
		passed, found := c.Sentences(d)
		decision = fmt.Sprintf("%d of %d sentences are supported by passages", len(passed.Sentences), len(d.Sentences))
		problem := c.Whole(passed)
		if problem != nil {
			found = append(found, *problem)
		}
		for _, problem := range found {
			problems = append(problems, problem.String())
		}
		if problem == nil {
			scores := check.Rules(passed)
			if p.model != nil {
				judgment, response, err := c.Judge(ctx, p.options.Judge, passed)
				t.call("judge", response, err)
				if p.options.ExtractWhenDown && errors.Is(err, models.ErrUnavailable) {
					return decision, err // so that Ask answers by rules
				}
				scores = judgment
				if err != nil {
					scores = check.Scores{} // which does not pass
				}
			}
			scoreText := fmt.Sprintf("grounded %.2f, responsive %.2f", scores.Grounded, scores.Responsive)
			if ok = scores.Pass(); !ok {
				problems = append(problems, scoreText)
				if p.model != nil { // the model may give a better score the next time
					t.note(func() { t.degraded = true })
				}
			}
			decision += "; " + scoreText
		}
		if ok {
			decision += ": passed"
		} else {
			decision += ": refused"
		}
		w.draft = passed
		t.note(func() { t.Problems = append(t.Problems, problems...) })
		return decision, nil
	})
	return ok, problems, err
}

// joinParts joins the drafts of the sub-queries to one draft, and adds their facts and passages to those of w. parts
// are the answers of the sub-queries in the form for the model's prompt. unanswered are the sub-queries that have
// failed.
func (w *task) joinParts() (joined draft.Draft, parts, unanswered []string) {
	indexes := make(map[int64]int) // of w.passages, by the id of the passage
	for i := range w.passages {
		indexes[w.passages[i].ID] = i
	}
	joined.Confidence = 1
	for _, part := range w.parts {
		if part.failed {
			unanswered = append(unanswered, part.q.Text)
			continue
		}
		w.facts = append(w.facts, part.facts...)
		newIndexes := make([]int, len(part.passages)) // the index of each passage in w.passages
		for i, passage := range part.passages {
			index, ok := indexes[passage.ID]
			if !ok || passage.ID == 0 { // passages of the web have no id
				index = len(w.passages)
				w.passages = append(w.passages, passage)
				indexes[passage.ID] = index
			}
			newIndexes[i] = index
		}
		start := len(joined.Sentences)
		for n, s := range part.draft.Sentences {
			s.Break = n == 0 && len(joined.Sentences) > 0 || s.Break
			marks := make([]int, len(s.Marks))
			for i, m := range s.Marks { // evaluate has accepted the draft, so that no mark is -1
				marks[i] = newIndexes[m]
			}
			s.Marks = marks
			joined.Sentences = append(joined.Sentences, s)
		}
		joined.Confidence = min(joined.Confidence, part.draft.Confidence)
		parts = append(parts, draft.Draft{Sentences: joined.Sentences[start:]}.Marked())
	}
	return joined, parts, unanswered
}

// combine makes one answer out of the answers of the sub-queries. If more than half of these have failed, or if the
// combined draft does not pass the check, it sets w.failed. Otherwise the answer names the sub-queries that have
// failed.
func (p *Pipeline) combine(ctx context.Context, t *Trace, w *task) error {
	joined, parts, unanswered := w.joinParts()
	if 2*len(unanswered) > len(w.parts) {
		w.failed = true
		return nil
	}
	w.value = nil
	if !w.q.Several { // the question wants one value, which is computed from the values of the parts
		w.compute(p.tables, t)
	}
	d := joined
	switch {
	case p.model != nil:
		written, err := p.draft(ctx, t, w, parts, nil)
		if err != nil {
			return err
		}
		if check.Answers(written) {
			d = written
		}
	case w.value != nil:
		d = draft.Extractive(w.q, w.value, w.passages)
	default:
		t.note(func() { t.drafted = true })
		if !w.q.Several { // the parts alone do not answer the question
			w.failed = true
			return nil
		}
	}
	ok, problems, err := p.evaluate(ctx, t, w, d)
	if err != nil {
		return err
	}
	if !ok && p.model != nil {
		t.note(func() { t.Repaired = true })
		if d, err = p.draft(ctx, t, w, parts, problems); err != nil {
			return err
		}
		if ok, _, err = p.evaluate(ctx, t, w, d); err != nil {
			return err
		}
	}
	if !ok {
		w.failed = true
		return nil
	}
	for _, s := range unanswered {
		w.draft.Sentences = append(w.draft.Sentences,
			draft.Sentence{Text: "The sources do not answer: " + s, Fixed: true, Break: true})
	}
	return nil
}
