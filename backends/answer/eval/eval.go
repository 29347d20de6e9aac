// Package eval measures the quality of answers: the class of the outcome, the passages that were found, the numbers,
// and whether each cited passage supports its sentence. The gold answer of a question is the expected one, and its gold
// passages contain it. The class of an outcome is "answered" or the reason why there is no answer. The rank of a gold
// passage is its place in the result of the search. A mark is a citation of a passage by a sentence.
//
// Choices where the specification is silent:
//   - The result is in the first sentence of an answer, or in the first sentence of each part if the answer has
//     several. In a sentence "name: value" the result is the value. The calculation after it contains the inputs.
//   - A number is right if it is a rounding: it differs by at most half a unit of the coarser last digit of the
//     two. If the answer is the coarser one, it must also be within 1 %.
//   - A text is right if the answer has all parts of the expected text, compared by letters and digits, and is
//     at most 900 letters longer.
//   - If only one of the expected number and the answer has a scale, the digits are compared as printed,
//     because sets of questions differ in whether they write the scale.
//   - A question of the kind yesno is right if the answer and the expected answer have the same yes or no. A question
//     of the kind text is right if the answer has half of the words and half of the figures of the expected answer.
//   - In a set with kinds, each passage on the gold page counts as the gold passage. If the expected answer is a
//     number and the gold page is page 1, the passage must also contain the number.
//   - A gold passage without a text of its own contains the expected answer, or all numbers of its derivation.
//     A question with several gold passages has the rank of the worst of them.
//   - A mark is supported if its passage has a figure of the sentence or of its calculation. No mark of a sentence
//     is supported if the sentence has a figure that no marked passage has and that was neither computed nor part of
//     the question.
//   - If a set does not have the texts of the answers, FailedToAnswer belongs to the class "answered".
//   - A wrong answer is an answer that differs from the expected one. A refusal is not a wrong answer.
package eval

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/pipeline"
	"github.com/tollgate-gateway/tollgate/backends/answer/retrieve"
)

// Question is a question of a set, in the form of a JSON line.
type Question struct {
	ID    string `json:"id"`
	Query string `json:"query"`
	// Expect is "answered", or the reason why there is no answer.
	Expect string `json:"expect"`
	Gold   Gold   `json:"gold"`
	Type   string `json:"type"`  // the type under which it is counted
	Group  string `json:"group"` // the default of Type; "force" makes the service answer whatever the subject is
	// Issuer is the issuer that the question is about, if the set has it.
	Issuer string `json:"issuer"`
	// HeldBack reports that the question belongs to the part that is not used to develop rules. The part is chosen by
	// issuer if a set has several questions for each, and by ID otherwise.
	HeldBack bool `json:"-"`
}

// Gold is the expected answer.
type Gold struct {
	// Answer is a number, a text or a list of texts.
	Answer any `json:"answer"`
	// Kind is numeric, yesno, text or empty. If it is empty, the type of Answer decides. A text with a kind is
	// compared by its words and figures, because people word it differently.
	Kind string `json:"kind,omitempty"`
	// Scale is the scale of the number: 1000 for thousands; 0 means 1. Percent reports that the number is in per cent.
	Scale   float64 `json:"scale,omitempty"`
	Percent bool    `json:"percent,omitempty"`
	// Derivation is the calculation of a number, "(412.5-380.0)/380.0".
	Derivation string `json:"derivation,omitempty"`
	// Evidence lists the passages that contain the answer.
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Evidence is a passage that contains an answer.
type Evidence struct {
	URL  string `json:"url"`
	Page int    `json:"page,omitempty"` // 0 for any page
	// Text is a text in the passage. If it is empty, the passage contains the answer or its inputs.
	Text string `json:"text,omitempty"`
}

// Half reports whether an item of a set belongs to the half that is held back, by a hash of the item's name.
func Half(name string) (held bool) { return hash(name)>>3&1 == 1 }

// hash returns a hash of a name, which decides whether an item is held back.
func hash(name string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // never fails
	return h.Sum32()
}

// maxLine bounds the length of a line in a set, in bytes.
const maxLine = 1 << 20

// Read reads a set with one question per line in JSON. It returns an error with the number of a line that is not valid.
func Read(r io.Reader) ([]Question, error) {
	var all []Question
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var q Question
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if q.Query == "" {
			return nil, fmt.Errorf("line %d: query is missing", n)
		}
		if q.Expect == "" {
			q.Expect = expectAnswer
		}
		q.Type = cmp.Or(q.Type, q.Group)
		q.HeldBack = Half(q.ID)
		all = append(all, q)
	}
	divide(all)
	return all, lines.Err()
}

// divide holds questions back by issuer, if a set has on average at least two questions per issuer. It selects about
// three eighths of the issuers by a hash of their names, and holds back all of their questions and no others.
func divide(questions []Question) {
	var names []string
	for i := range questions {
		if questions[i].Issuer == "" { // the set does not have the issuers
			return
		}
		names = append(names, questions[i].Issuer)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(hash(a), hash(b)), cmp.Compare(a, b)) })
	names = slices.Compact(names)
	if 2*len(names) > len(questions) {
		return
	}
	usable := (len(names)*5 + 7) / 8 // five eighths, rounded up
	for i := range questions {
		questions[i].HeldBack = slices.Index(names, questions[i].Issuer) >= usable
	}
}

const (
	// expectAnswer is the value of Question.Expect for a question that has an answer.
	expectAnswer = "answered"
	// forced is the group of questions that have to be answered whatever their subject is.
	forced = "force"
)

// Asker answers questions. *pipeline.Pipeline implements it.
type Asker interface {
	Ask(ctx context.Context, r pipeline.Request, progress func(stage string)) (pipeline.Outcome, *pipeline.Trace)
}

// Setup is the configuration of a measurement.
type Setup struct {
	Search pipeline.Searcher
	// Asker returns the Asker that is measured. It must search with the given Searcher, which records the results.
	Asker func(pipeline.Searcher) Asker
	// Known reports whether a reference is in the corpus or comes from a provider.
	Known func(ctx context.Context, url string) bool
	// Progress is called after each question. It may be nil.
	Progress func()
}

// Result is the result of one question.
type Result struct {
	Question *Question
	Outcome  pipeline.Outcome
	Took     time.Duration
	// Class reports that the outcome has the expected class: an answer, or the expected reason why there is none. Right
	// reports that it also is the expected answer, if there is one.
	Class, Right bool
	// Answered reports that there was an answer.
	Answered bool
	// Foreign is the number of references that are not known documents.
	Foreign int
	// Document reports that one of the references is the document of a gold passage.
	Document bool
	// Marks is the number of citations in sentences with figures. Supported is the number of those citations whose passage
	// has one of the figures.
	Marks, Supported int
	// Rank is the rank of the gold passage in its search, from 1. It is 0 if the passage was not found, and -1 if the
	// question has no gold passage.
	Rank int
	// Cause is the reason why the result is not right. It is empty if the result is right.
	Cause string
}

// Run asks the questions one after the other and returns their results. If ctx ends, it returns the results so far.
func Run(ctx context.Context, s Setup, questions []Question) []Result {
	searches := &recorder{Searcher: s.Search}
	asker := s.Asker(searches)
	results := make([]Result, len(questions))
	for i := range questions {
		q := &questions[i]
		searches.lists = nil
		start := time.Now()
		o, trace := asker.Ask(ctx, pipeline.Request{Text: q.Query, Force: q.Group == forced}, nil)
		r := Result{
			Question: q, Outcome: o, Took: time.Since(start), Answered: o.Reason == pipeline.Answered,
		}
		if q.Expect == expectAnswer {
			// If a question has no expected answer to compare with, FailedToAnswer counts as answered.
			r.Class = r.Answered || q.Gold.Answer == nil && o.Reason == pipeline.FailedToAnswer
		} else {
			r.Class = !r.Answered && o.Reason == q.Expect
		}
		r.Right = r.Class && (!r.Answered || Matches(o.Claims, q.Gold))
		for _, ref := range o.References {
			if !s.Known(ctx, ref.URL) {
				r.Foreign++
			}
			r.Document = r.Document || slices.ContainsFunc(q.Gold.Evidence, func(e Evidence) bool { return e.URL == ref.URL })
		}
		r.Marks, r.Supported = cite(q.Query, o.Claims)
		r.Rank = rank(&q.Gold, searches.lists)
		r.Cause = r.cause(trace)
		results[i] = r
		if s.Progress != nil {
			s.Progress()
		}
		if ctx.Err() != nil {
			return results[:i+1]
		}
	}
	return results
}

// recorder records the passages that searches return. It is safe for concurrent use, because the parts of a question
// search at the same time.
type recorder struct {
	pipeline.Searcher
	mu    sync.Mutex
	lists [][]kernel.Passage // the result of each search, best passage first
}

// Search implements pipeline.Searcher.
func (r *recorder) Search(ctx context.Context, q retrieve.Query) (retrieve.Result, error) {
	result, err := r.Searcher.Search(ctx, q)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lists = append(r.lists, result.Passages)
	return result, err
}

// rank returns the rank of the gold passages, from 1: for each passage the best rank in any search, and of these ranks
// the worst. It is 0 if a passage was not found, and -1 if there are no gold passages. lists are the results of the
// searches.
func rank(g *Gold, lists [][]kernel.Passage) int {
	if len(g.Evidence) == 0 {
		return -1
	}
	worst := 0
	for i := range g.Evidence {
		best := 0
		for _, list := range lists {
			index := slices.IndexFunc(list, func(p kernel.Passage) bool { return g.isEvidence(&g.Evidence[i], &p) })
			if index >= 0 && (best == 0 || index+1 < best) {
				best = index + 1
			}
		}
		if best == 0 {
			return 0
		}
		worst = max(worst, best)
	}
	return worst
}
