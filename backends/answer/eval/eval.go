// Package eval measures how well questions are answered: the class of the outcome, the
// passages that were found, the numbers, and whether each cited passage holds what it is
// cited for.
//
// Choices where the specification is silent:
//   - A number is right within 1 %, or as a rounding. It must be in the first sentence
//     of the answer, which says the result; the calculation behind it has the inputs.
//   - A text is right when the answer has all parts of the expected one, letters and
//     digits compared, and is at most 900 letters longer.
//   - Where the expected number has no scale and the answer has, or the other way round,
//     the digits as printed are compared: the sets differ in what they write down.
//   - Wrong is an answer that is not the expected one. A refusal is no wrong answer.
package eval

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/tollgate-gateway/tollgate/backends/answer/draft"
	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/pipeline"
)

// Question is one of a set, as a line of JSON has it.
type Question struct {
	ID    string `json:"id"`
	Query string `json:"query"`
	// Expect is "answered", or the reason why there is no answer.
	Expect string `json:"expect"`
	Gold   Gold   `json:"gold"`
	Type   string `json:"type"` // what it is counted under
	// Held tells that it is of the half that rules are not made with.
	Held bool `json:"held,omitempty"`
}

// Gold is what is expected of an answer.
type Gold struct {
	// Answer is a number, a text or a list of texts.
	Answer any `json:"answer"`
	// Scale is what the number is in: 1000 for thousands. Percent tells that it is in per
	// cent.
	Scale   float64 `json:"scale"`
	Percent bool    `json:"percent"`
	// Evidence are the passages that hold it.
	Evidence []Evidence `json:"evidence"`
}

// Evidence is a page that holds an answer.
type Evidence struct {
	URL  string `json:"url"`
	Page int    `json:"page"`
	Text string `json:"text"` // that the passage has; empty: any of the page
}

// Read reads a set, a question a line.
func Read(r io.Reader) ([]Question, error) {
	var all []Question
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
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
			q.Expect = "answered"
		}
		all = append(all, q)
	}
	return all, lines.Err()
}

// Asker answers; a pipeline is one.
type Asker interface {
	Ask(ctx context.Context, r pipeline.Request, progress func(stage string)) (pipeline.Outcome, *pipeline.Trace)
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
	// Marks are the citations of sentences with numbers; Held those whose document holds
	// one of them.
	Marks, Held int
	// Rank is the place of the first passage with the gold, from 1; 0: not found;
	// -1: not looked for.
	Rank int
}

// Run asks all questions, one after the other. text gives the text of a document; nil:
// citations are not looked into.
func Run(ctx context.Context, a Asker, all []Question, text func(url string) (string, bool), passages func(ids []int64) []kernel.Passage) []Result {
	results := make([]Result, len(all))
	for i := range all {
		q := &all[i]
		begin := time.Now()
		o, trace := a.Ask(ctx, pipeline.Request{Text: q.Query}, nil)
		r := Result{Question: q, Outcome: o, Took: time.Since(begin), Answered: o.Reason == pipeline.Answered, Cited: len(o.References)}
		r.Class = r.Answered == (q.Expect == "answered") && (r.Answered || o.Reason == q.Expect)
		r.Right = r.Class && (!r.Answered || Matches(o.Answer, q.Gold))
		if text != nil {
			r.cite(text)
		}
		r.Rank = -1
		if passages != nil {
			r.Rank = rank(q, passages(trace.Passages))
		}
		results[i] = r
		if ctx.Err() != nil {
			return results[:i+1]
		}
	}
	return results
}

// rank is the place of the first passage that the gold stands in.
func rank(q *Question, found []kernel.Passage) int {
	for i := range found {
		for _, e := range q.Gold.Evidence {
			if found[i].URL == e.URL && (e.Page == 0 || found[i].Page == 0 || found[i].Page == e.Page) && strings.Contains(found[i].Text, e.Text) {
				return i + 1
			}
		}
	}
	return 0
}

// cite looks into what sentences with numbers are cited for.
func (r *Result) cite(text func(url string) (string, bool)) {
	texts := make([]string, len(r.Outcome.References))
	for i, ref := range r.Outcome.References {
		t, ok := text(ref.URL)
		if !ok {
			r.Foreign++
		}
		texts[i] = t
	}
	for _, s := range draft.Split(r.Outcome.Answer) {
		plain, marks := unmark(s)
		if strings.HasPrefix(plain, "Calculation:") || strings.Contains(plain, "Calculation:") {
			continue // made of numbers that are cited before it
		}
		numbers := figures.Find(plain)
		numbers = slices.DeleteFunc(numbers, func(m figures.Mention) bool { return m.Year })
		if len(numbers) == 0 || len(marks) == 0 {
			continue
		}
		for _, n := range marks {
			r.Marks++
			if n < 1 || n > len(texts) {
				continue
			}
			if holdsAny(texts[n-1], numbers) || strings.Contains(r.Outcome.Answer, "Calculation:") {
				r.Held++
			}
		}
	}
}

func holdsAny(text string, numbers []figures.Mention) bool {
	for _, m := range numbers {
		digits := strings.Trim(strings.TrimLeft(m.Text, "-−$€£¥( "), "() %")
		if first, _, _ := strings.Cut(digits, " "); strings.Contains(text, first) {
			return true
		}
	}
	return false
}

// unmark takes the numbered links out of a sentence.
func unmark(s string) (plain string, marks []int) {
	for {
		begin := strings.Index(s, "[")
		if begin < 0 {
			return s, marks
		}
		middle := strings.Index(s[begin:], "](")
		if middle < 0 {
			return s, marks
		}
		end := strings.IndexByte(s[begin+middle:], ')')
		if end < 0 {
			return s, marks
		}
		if n, err := strconv.Atoi(s[begin+1 : begin+middle]); err == nil {
			marks = append(marks, n)
		}
		s = strings.TrimRight(s[:begin], " ") + s[begin+middle+end+1:]
	}
}

// Matches reports whether an answer says what is expected.
func Matches(answer string, g Gold) bool {
	plain, _ := unmark(answer)
	switch gold := g.Answer.(type) {
	case float64:
		return said(first(plain), gold, g)
	case string:
		return part(plain, gold, g)
	case []any:
		total := 0
		for _, one := range gold {
			s := fmt.Sprint(one)
			total += len(s)
			if !part(plain, s, g) {
				return false
			}
		}
		return len(gold) > 0 && len(plain) <= total+900
	}
	return g.Answer == nil
}

// first is the sentence that says the result.
func first(plain string) string {
	head, _, _ := strings.Cut(plain, "Calculation:")
	return head
}

// part reports whether an answer has a part: a number, or the letters and digits of a
// text.
func part(plain, gold string, g Gold) bool {
	if found := figures.Find(gold); len(found) == 1 && len(strings.Trim(letters(gold), "0123456789.")) <= len("million") {
		if found[0].Year {
			return strings.Contains(plain, strconv.Itoa(int(found[0].Value)))
		}
		return said(first(plain), found[0].Value, g)
	}
	return strings.Contains(letters(plain), letters(gold))
}

// said reports whether a text says a number, in the scale of the gold or as printed.
func said(text string, value float64, g Gold) bool {
	scale := g.Scale
	if scale == 0 {
		scale = 1
	}
	loose := strings.Contains(text, "as printed; the source names no unit")
	for _, m := range figures.Find(text) {
		if m.Year && value != m.Value {
			continue
		}
		if near(m.Value, value*scale, m.Step) || g.Percent && near(m.Value, value, m.Step) || m.Unit == kernel.Percent && near(m.Value/100, value, m.Step/100) {
			return true
		}
		digits := figures.Find(strings.Trim(strings.Split(strings.TrimLeft(m.Text, "$€£¥-−( "), " ")[0], "()"))
		if (scale == 1 || loose) && len(digits) > 0 && near(math.Copysign(digits[0].Value, m.Value), value, digits[0].Step) {
			return true
		}
	}
	return false
}

// near is within 1 %, or within half a unit of the last digit.
func near(a, b, step float64) bool {
	return math.Abs(a-b) <= math.Abs(b)*0.01+1e-9 || math.Abs(a-b) <= step/2 && step < math.Abs(b)*0.2
}

// letters are those of a text and its digits, in lower case.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}
