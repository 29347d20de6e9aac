// Package check tells whether a draft may be sent: every sentence stands on passages
// that were found, its numbers are in them or were computed, and it speaks of their
// issuer and period. What fails is removed; what is left is judged.
//
// Choices where the specification is silent:
//   - Every sentence has a mark, named person or not; the service's own lines alone have
//     none.
//   - Half of a sentence's words must be in the passages that it marks, or in the
//     question: a model's judge may be fooled, words are counted.
//   - A sentence with an address is removed, whoever wrote it.
//   - A number in words is not looked up.
package check

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/draft"
	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/formula"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
	"github.com/tollgate-gateway/tollgate/backends/answer/question"
	"github.com/tollgate-gateway/tollgate/backends/answer/tables"
	"github.com/tollgate-gateway/tollgate/backends/answer/terms"
)

// Bounds of an answer.
const (
	MostLetters = 6000
	leastWords  = 0.5 // of a sentence, in its passages
)

// Material is what a draft stands on.
type Material struct {
	Question  *question.Question
	Passages  []kernel.Passage
	Computed  []*formula.Value
	Directory *metrics.Directory
}

// Problem is what is wrong with a sentence.
type Problem struct {
	Check    int // 1 to 7, as the specification numbers them
	Sentence string
	What     string
}

// String is the problem in a line.
func (p Problem) String() string { return fmt.Sprintf("%s (%q)", p.What, short(p.Sentence)) }

func short(s string) string {
	if len(s) > 120 {
		return strings.ToValidUTF8(s[:120], "") + "…"
	}
	return s
}

// Checker checks sentences against what they stand on.
type Checker struct {
	m       Material
	figures [][]kernel.Figure // of each passage, as they are needed
	words   []map[terms.Term]bool
	own     []kernel.Figure
	asked   map[terms.Term]bool
}

// New makes a checker.
func New(m Material) *Checker {
	c := &Checker{m: m, figures: make([][]kernel.Figure, len(m.Passages)), words: make([]map[terms.Term]bool, len(m.Passages)), asked: wordsOf(m.Question.Text)}
	for _, v := range m.Computed {
		c.own = append(c.own, v.Figures...)
		for _, in := range v.Inputs {
			c.own = append(c.own, in.Figure)
		}
	}
	return c
}

// Sentences are the checks 1 to 4 and 7: what passes is kept.
func (c *Checker) Sentences(d draft.Draft) (kept draft.Draft, problems []Problem) {
	kept.Confidence = d.Confidence
	for _, s := range d.Sentences {
		if p := c.sentence(s); p != nil {
			problems = append(problems, *p)
			continue
		}
		kept.Sentences = append(kept.Sentences, s)
	}
	return kept, problems
}

func (c *Checker) sentence(s draft.Sentence) *Problem {
	if s.Fixed {
		return nil
	}
	problem := func(check int, format string, args ...any) *Problem {
		return &Problem{check, s.Text, fmt.Sprintf(format, args...)}
	}
	for _, m := range s.Marks {
		if m < 0 || m >= len(c.m.Passages) {
			return problem(1, "a mark names no passage")
		}
	}
	if len(s.Marks) == 0 {
		return problem(2, "a sentence has no mark")
	}
	if draft.Speaks(s.Text) || strings.Contains(s.Text, "](") || strings.ContainsAny(s.Text, "<>") {
		return problem(1, "a sentence names an address, or speaks to a model")
	}
	if number, ok := c.numbers(s); !ok {
		return problem(3, "%s is in no marked passage", number)
	}
	if what := c.about(s); what != "" {
		return problem(4, "%s", what)
	}
	if !c.grounded(s) {
		return problem(7, "the marked passages do not say so")
	}
	return nil
}

// ordinary are words that a number is part of as a name.
var listNumber = regexp.MustCompile(`^\s*\(?\d{1,2}[.)]\s`)

// numbers looks each number of a sentence up. number is the first that is nowhere.
func (c *Checker) numbers(s draft.Sentence) (number string, ok bool) {
	text := listNumber.ReplaceAllString(s.Text, "")
	for _, m := range figures.Find(text) {
		if m.Year {
			if !c.hasYear(s.Marks, int(m.Value)) {
				return m.Text, false
			}
			continue
		}
		if !c.hasFigure(s.Marks, m) {
			return m.Text, false
		}
	}
	return "", true
}

func (c *Checker) hasYear(marks []int, year int) bool {
	digits := strconv.Itoa(year)
	for _, m := range marks {
		p := &c.m.Passages[m]
		if p.Period.AnyYear() == year || p.Published.Year() == year || strings.Contains(p.Text, digits) || strings.Contains(p.Title, digits) || strings.Contains(p.Section, digits) {
			return true
		}
		if slices.Contains(metrics.Years(p.Text), year) { // FY19
			return true
		}
	}
	for _, v := range c.m.Computed {
		if slices.Contains(v.Words, digits) || strings.Contains(v.Label, digits) {
			return true
		}
	}
	return false
}

func (c *Checker) hasFigure(marks []int, shown figures.Mention) bool {
	fits := func(exact kernel.Figure) bool { return Says(shown.Figure, exact) }
	if slices.ContainsFunc(c.own, fits) {
		return true
	}
	for _, v := range c.m.Computed {
		for _, w := range append(v.Words, v.Label, v.Formula) {
			if strings.Contains(w, shown.Text) {
				return true
			}
		}
	}
	for _, m := range marks {
		if slices.ContainsFunc(c.figuresOf(m), fits) {
			return true
		}
	}
	return false
}

// Says reports whether a printed figure says what exact is. A loss may be written
// without its sign.
func Says(shown, exact kernel.Figure) bool {
	if figures.Shows(shown, exact) {
		return true
	}
	if shown.Value >= 0 && exact.Value < 0 {
		exact.Value = -exact.Value
		return figures.Shows(shown, exact)
	}
	return false
}

// figuresOf are the figures of a passage, read once.
func (c *Checker) figuresOf(at int) []kernel.Figure {
	if c.figures[at] != nil {
		return c.figures[at]
	}
	c.figures[at] = Figures(&c.m.Passages[at])
	return c.figures[at]
}

// Figures are all figures of a passage: in its title, its section and its text, and in
// the cells of its tables, as printed and with their scale. It is never nil.
func Figures(p *kernel.Passage) []kernel.Figure {
	list := append([]kernel.Figure{}, formula.Figures(p)...)
	for _, text := range []string{p.Title, p.Section} {
		list = append(list, inText(text)...)
	}
	for line := range strings.Lines(p.Text) {
		if tables.IsRow(strings.TrimSpace(line)) {
			for _, cell := range tables.Split(line) {
				if f, ok := figures.Cell(cell, figures.Units{}); ok {
					list = append(list, f)
				} else {
					list = append(list, inText(cell)...)
				}
			}
			continue
		}
		list = append(list, inText(line)...)
	}
	return list
}

func inText(s string) (list []kernel.Figure) {
	for _, m := range figures.Find(s) {
		list = append(list, m.Figure)
	}
	return list
}

// about tells what a sentence names that its passages are not about; empty: nothing.
func (c *Checker) about(s draft.Sentence) string {
	if c.m.Directory == nil {
		return ""
	}
	for _, mention := range c.m.Directory.Find(s.Text) {
		if mention.Slip || len(mention.Issuers) > 3 {
			continue
		}
		name := s.Text[mention.Start:mention.End]
		ok := false
		for _, m := range s.Marks {
			p := &c.m.Passages[m]
			ok = ok || p.Issuer == 0 || slices.Contains(mention.Issuers, p.Issuer) || strings.Contains(p.Text, name)
		}
		if !ok {
			return "the marked passages are not about " + name
		}
	}
	return ""
}

// grounded reports whether the words of a sentence are those of its passages.
func (c *Checker) grounded(s draft.Sentence) bool {
	got, all := 0, 0
	for t := range wordsOf(s.Text) {
		if len(t) > 0 && t[0] >= '0' && t[0] <= '9' {
			continue // numbers are looked up
		}
		all++
		if c.asked[t] || frame[t] {
			got++
			continue
		}
		for _, m := range s.Marks {
			if c.words[m] == nil {
				p := &c.m.Passages[m]
				c.words[m] = wordsOf(p.Title + " " + p.Section + " " + p.Text)
			}
			if c.words[m][t] {
				got++
				break
			}
		}
	}
	return all == 0 || float64(got) >= leastWords*float64(all)
}

// frame are the words of templates and of joining.
var frame = wordsOf(`change percentage change difference average sum ratio compound annual growth rate number years quarters with above below period highest lowest items
	under calculation respectively reported increased decreased rose fell to from compared up down was were as printed source names no unit net total of fiscal year`)

func wordsOf(s string) map[terms.Term]bool {
	m := make(map[terms.Term]bool)
	for _, t := range terms.Of(s) {
		m[t] = true
	}
	return m
}

// Whole are the checks of what is left: 6, and that anything is.
func (c *Checker) Whole(d draft.Draft) *Problem {
	text := d.Text()
	switch n := len([]rune(text)); {
	case n == 0, !Answers(d):
		return &Problem{7, "", "nothing is left of the answer"}
	case n > MostLetters:
		return &Problem{6, "", "the answer is too long"}
	}
	if c.m.Question.Lang == "en" && foreign(text) {
		return &Problem{6, "", "the answer is in another language"}
	}
	return nil
}

// Answers reports whether a draft has a sentence that is not the service's own.
func Answers(d draft.Draft) bool {
	return slices.ContainsFunc(d.Sentences, func(s draft.Sentence) bool { return !s.Fixed })
}

// foreign reports whether most letters are not of the Latin alphabet.
func foreign(s string) bool {
	latin, other := 0, 0
	for _, r := range s {
		switch {
		case r < 0x250:
			latin++
		case r >= 0x370 && r < 0x2000 || r >= 0x2E80:
			other++
		}
	}
	return other > latin
}
