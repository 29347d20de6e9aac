// Package eval measures how well questions are answered: the class of the outcome, the
// passages that were found, the numbers, and whether each cited passage holds what it is
// cited for.
//
// Choices where the specification is silent:
//   - The result is what the first sentence of an answer says, or, in an answer of several
//     parts, the first one of each part; in a sentence "name: value", the value. The
//     calculation behind it has the inputs.
//   - A number is right as a rounding: it differs by at most half a unit of the coarser
//     last digit of the two. Where the answer is the coarser one, it is within 1 % too.
//   - A text is right when the answer has all parts of the expected one, letters and
//     digits compared, and is at most 900 letters longer.
//   - Where the expected number has no scale and the answer has, or the other way round,
//     the digits as printed are compared: the sets differ in what they write down.
//   - A question of the kind yesno is right when the answer begins as the expected one does. One of the kind
//     text is right when the answer has half of the words and of the figures that the expected one has.
//   - A gold page of a set with kinds is found by its number; a number on a first page must be in the passage.
//   - A gold passage without a text of its own has the expected answer, or all numbers
//     of its derivation. A question with several gold passages is as good as the worst.
//   - A mark is held where its passage has a figure of the sentence, or of its
//     calculation; and none of a sentence is, if it has a figure that no marked passage
//     has, and that was neither computed nor asked with.
//   - Where no answer is expected by its text, as in a set of classes, FailedToAnswer is of the class "answered".
//   - Wrong is an answer that is not the expected one. A refusal is no wrong answer.
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

// Question is one of a set, as a line of JSON has it.
type Question struct {
	ID    string `json:"id"`
	Query string `json:"query"`
	// Expect is "answered", or the reason why there is no answer.
	Expect string `json:"expect"`
	Gold   Gold   `json:"gold"`
	Type   string `json:"type"` // what it is counted under
	Group  string `json:"group"`
	// Issuer is whom it is about, where a set says so.
	Issuer string `json:"issuer"`
	// Held tells that it is of the part that rules are not made with: by its issuer where a set asks
	// each several questions, else by its ID.
	Held bool `json:"-"`
}

// Gold is what is expected of an answer.
type Gold struct {
	// Answer is a number, a text or a list of texts.
	Answer any `json:"answer"`
	// Kind is numeric, yesno, text or empty: then the answer tells it. A text of a kind is judged by its
	// words and figures, since people word it differently.
	Kind string `json:"kind,omitempty"`
	// Scale is what the number is in: 1000 for thousands. Percent tells that it is in per
	// cent.
	Scale   float64 `json:"scale,omitempty"`
	Percent bool    `json:"percent,omitempty"`
	// Derivation is how a number is computed, "(412.5-380.0)/380.0".
	Derivation string `json:"derivation,omitempty"`
	// Evidence are the passages that hold it.
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Evidence is a passage that holds an answer.
type Evidence struct {
	URL  string `json:"url"`
	Page int    `json:"page,omitempty"` // 0: any
	Text string `json:"text,omitempty"` // that the passage has; empty: the answer, or what it is derived of
}

// Half tells which half of a set something is of, by its name: half of all names are held
// back.
func Half(name string) (held bool) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return h.Sum32()>>3&1 == 1
}

// mostLine bounds a question of a set.
const mostLine = 1 << 20

// Read reads a set, a question a line.
func Read(r io.Reader) ([]Question, error) {
	var all []Question
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, mostLine)
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
		q.Held = Half(q.ID)
		all = append(all, q)
	}
	divide(all)
	return all, lines.Err()
}

// divide holds back three eighths of the issuers of a set that asks each at least two questions on the average:
// the last in the order of a hash of their names.
func divide(all []Question) {
	hash := func(name string) uint32 {
		h := fnv.New32a()
		_, _ = h.Write([]byte(name))
		return h.Sum32()
	}
	var names []string
	for i := range all {
		if all[i].Issuer == "" {
			return
		}
		names = append(names, all[i].Issuer)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(hash(a), hash(b)), cmp.Compare(a, b)) })
	names = slices.Compact(names)
	if 2*len(names) > len(all) {
		return
	}
	for i := range all {
		all[i].Held = slices.Index(names, all[i].Issuer) >= (len(names)*5+7)/8
	}
}

const (
	expectAnswer = "answered"
	// forced is the group of questions that are to be answered whatever they are about.
	forced = "force"
)

// Asker answers; a pipeline is one.
type Asker interface {
	Ask(ctx context.Context, r pipeline.Request, progress func(stage string)) (pipeline.Outcome, *pipeline.Trace)
}

// Setup is what is measured.
type Setup struct {
	Search pipeline.Searcher
	// Asker makes what answers, on a searcher that looks on.
	Asker func(pipeline.Searcher) Asker
	// Known reports whether a reference is of the corpus, or of a provider.
	Known func(ctx context.Context, url string) bool
	// Progress is told when a question is done; nil: nobody is.
	Progress func()
}

// Result is that of a question.
type Result struct {
	Question *Question
	Outcome  pipeline.Outcome
	Took     time.Duration
	// Class tells that the outcome is of the expected class; Right, that the answer is
	// the expected one.
	Class, Right bool
	// Answered tells that there was an answer.
	Answered bool
	// Cited is how many references there are; Foreign, how many are of no document.
	Cited, Foreign int
	// Document tells that one of the references is the document of a gold passage.
	Document bool
	// Marks are the citations of sentences with figures; Held those whose passage holds
	// one of them.
	Marks, Held int
	// Rank is the place of the gold passage in its search, from 1; 0: not found; -1: none
	// was looked for.
	Rank int
	// Cause is why it is not right; empty: it is.
	Cause string
}

// Run asks all questions, one after the other.
func Run(ctx context.Context, s Setup, all []Question) []Result {
	seen := &watcher{Searcher: s.Search}
	asker := s.Asker(seen)
	results := make([]Result, len(all))
	for i := range all {
		q := &all[i]
		seen.lists = nil
		begin := time.Now()
		o, trace := asker.Ask(ctx, pipeline.Request{Text: q.Query, Force: q.Group == forced}, nil)
		r := Result{Question: q, Outcome: o, Took: time.Since(begin), Answered: o.Reason == pipeline.Answered, Cited: len(o.References)}
		r.Class = r.Answered == (q.Expect == expectAnswer) && (r.Answered || o.Reason == q.Expect)
		if q.Gold.Answer == nil && q.Expect == expectAnswer { // a set of classes: whether there is an answer is another matter
			r.Class = r.Class || o.Reason == pipeline.FailedToAnswer
		}
		r.Right = r.Class && (!r.Answered || Matches(o.Claims, q.Gold))
		for _, ref := range o.References {
			if !s.Known(ctx, ref.URL) {
				r.Foreign++
			}
			r.Document = r.Document || slices.ContainsFunc(q.Gold.Evidence, func(e Evidence) bool { return e.URL == ref.URL })
		}
		r.Marks, r.Held = cite(q.Query, o.Claims)
		r.Rank = rank(&q.Gold, seen.lists)
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

// watcher keeps what searches find. Parts of a question search at the same time.
type watcher struct {
	pipeline.Searcher
	mu    sync.Mutex
	lists [][]kernel.Passage
}

// Search searches.
func (w *watcher) Search(ctx context.Context, q retrieve.Query) (retrieve.Result, error) {
	result, err := w.Searcher.Search(ctx, q)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lists = append(w.lists, result.Passages)
	return result, err
}

// rank is the place of the gold passage that was found last, in the search that found it
// first.
func rank(g *Gold, lists [][]kernel.Passage) int {
	if len(g.Evidence) == 0 {
		return -1
	}
	worst := 0
	for i := range g.Evidence {
		best := 0
		for _, list := range lists {
			for at := range list {
				if (best == 0 || at < best) && g.in(&g.Evidence[i], &list[at]) {
					best = at + 1
				}
			}
		}
		if best == 0 {
			return 0
		}
		worst = max(worst, best)
	}
	return worst
}
