// Package check decides whether a draft may be sent. Every sentence must be supported by passages that were found: its
// numbers must be in them or be computed, and the passages must be about the issuer and the period of the sentence. A
// sentence names its passages by marks, such as "[P3]". Sentences that fail are removed; the rest is judged.
//
// Choices where the specification is silent:
//   - Every sentence needs a mark, whether or not it names an issuer. Only the service's own lines have none.
//   - Half of a sentence's words must be in the passages that it marks. If the sentence has a figure, words of the
//     question and names of issuers count too. A judge that is a model can be fooled; a count of words cannot.
//   - A denial in a sentence must be in a passage that the sentence marks.
//   - A sentence with an address is removed, whoever wrote it.
//   - A quarter or half of a year is looked up in the same way as a year.
//   - A loss may be written without its sign, but not in a sentence that states a gain.
//   - A number up to ten that is spelled out and is not a percentage is not looked up. A name with digits in it
//     (10-K, A320) must occur unchanged in a marked passage or in the question.
package check

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/draft"
	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/formula"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
	"github.com/tollgate-gateway/tollgate/backends/answer/question"
	"github.com/tollgate-gateway/tollgate/backends/answer/terms"
)

// Bounds of an answer.
const (
	MaxLetters = 6000
	minWords   = 0.5 // the share of a sentence's words that must be in its passages
)

// Material is the input of a check: the question, the passages that were found and the values that were computed.
type Material struct {
	Question  *question.Question
	Passages  []kernel.Passage
	Computed  []*formula.Value
	Directory *metrics.Directory
}

// Problem is the reason why a sentence fails.
type Problem struct {
	Check    int // 1 to 7, as in the specification
	Sentence string
	What     string
}

// String returns the problem in one line.
func (p Problem) String() string { return fmt.Sprintf("%s (%q)", p.What, short(p.Sentence)) }

func short(s string) string {
	if len(s) > 120 {
		return strings.ToValidUTF8(s[:120], "") + "…"
	}
	return s
}

// Checker checks the sentences of drafts against a Material. It is not safe for concurrent use.
type Checker struct {
	material      Material
	figures       [][]kernel.Figure // of each passage, computed on demand
	words         []map[terms.Term]bool
	results       []kernel.Figure // the computed figures and their inputs
	calculations  []kernel.Figure // the figures in their calculations
	questionWords map[terms.Term]bool
}

// New returns a Checker.
func New(m Material) *Checker {
	c := &Checker{
		material: m, figures: make([][]kernel.Figure, len(m.Passages)),
		words: make([]map[terms.Term]bool, len(m.Passages)), questionWords: wordsOf(m.Question.Text),
	}
	for _, v := range m.Computed {
		c.results = append(c.results, v.Figures...)
		for _, input := range v.Inputs {
			c.results = append(c.results, input.Figure)
		}
		for _, text := range append([]string{v.Label, v.Sentence, v.Formula}, v.Words...) {
			for _, m := range figures.Find(text) {
				if !m.Year {
					c.calculations = append(c.calculations, m.Figure)
				}
			}
		}
	}
	return c
}

// Sentences applies the checks 1 to 4 and 7 of the specification to each sentence: its marks, addresses, numbers,
// issuers, periods and words. It returns the sentences that pass and the problems of the others. If a computed sentence
// fails, the returned draft is empty.
func (c *Checker) Sentences(d draft.Draft) (passed draft.Draft, problems []Problem) {
	passed.Confidence = d.Confidence
	for _, s := range d.Sentences {
		if p := c.sentence(s); p != nil {
			problems = append(problems, *p)
			if s.Computed { // a calculation says nothing without its result
				return draft.Draft{}, problems
			}
			continue
		}
		passed.Sentences = append(passed.Sentences, s)
	}
	return passed, problems
}

func (c *Checker) sentence(s draft.Sentence) *Problem {
	if s.Fixed {
		return nil
	}
	problem := func(check int, format string, args ...any) *Problem {
		return &Problem{check, s.Text, fmt.Sprintf(format, args...)}
	}
	for _, m := range s.Marks {
		if m < 0 || m >= len(c.material.Passages) {
			return problem(1, "a mark names no passage")
		}
	}
	if len(s.Marks) == 0 {
		return problem(2, "a sentence has no mark")
	}
	if draft.Suspicious(c.withoutNames(s)) || strings.Contains(s.Text, "](") || strings.ContainsAny(s.Text, "<>") {
		return problem(1, "a sentence names an address, or speaks to a model")
	}
	if number, ok := c.allNumbersFound(s); !ok {
		return problem(3, "%s is in no marked passage", number)
	}
	if reason := c.wrongIssuer(s); reason != "" {
		return problem(4, "%s", reason)
	}
	if part := c.unsupportedPart(s); part != "" {
		return problem(4, "the marked passages are not about %s", part)
	}
	if s.Computed { // the words of a computed sentence are the service's own
		return nil
	}
	if word := c.unsupportedDenial(s); word != "" {
		return problem(7, "no marked passage denies %q", word)
	}
	if !c.grounded(s) {
		return problem(7, "the marked passages do not say so")
	}
	return nil
}

// withoutNames returns a computed sentence without the names of the question's issuers, so that a name such as
// "Amazon.com, Inc." is not taken for a web address. Other sentences are returned unchanged.
func (c *Checker) withoutNames(s draft.Sentence) string {
	text := s.Text
	if !s.Computed {
		return text
	}
	for _, name := range c.material.Question.Names {
		if !strings.Contains(name, "/") && !strings.Contains(strings.ToLower(name), "www.") {
			text = strings.ReplaceAll(text, name, " ")
		}
	}
	return text
}

// wrongIssuer returns the problem of a sentence that names an issuer without marking a passage about that issuer, or
// the empty string.
func (c *Checker) wrongIssuer(s draft.Sentence) string {
	if c.material.Directory == nil {
		return ""
	}
	for _, mention := range c.material.Directory.Find(s.Text) {
		if mention.Slip || len(mention.Issuers) > 3 {
			continue
		}
		name := s.Text[mention.Start:mention.End]
		ok := false
		for _, m := range s.Marks {
			p := &c.material.Passages[m]
			ok = ok || slices.Contains(mention.Issuers, p.Issuer) || strings.Contains(p.Text, name) ||
				p.Issuer == 0 && c.namesIssuer(p, mention.Issuers)
		}
		if !ok {
			return "the marked passages are not about " + name
		}
	}
	return ""
}

// namesIssuer reports whether a passage names one of the issuers.
func (c *Checker) namesIssuer(p *kernel.Passage, issuers []int64) bool {
	mentions := c.material.Directory.Find(p.Title + "\n" + p.Section + "\n" + p.Text)
	return slices.ContainsFunc(mentions, func(m metrics.IssuerMention) bool {
		return !m.Slip && slices.ContainsFunc(m.Issuers, func(id int64) bool { return slices.Contains(issuers, id) })
	})
}

// grounded reports whether at least half of a sentence's words are in its passages. Words of the question and names of
// issuers count only if the sentence has a figure, because only figures are looked up in the passages by another check.
func (c *Checker) grounded(s draft.Sentence) bool {
	found, all := 0, 0
	hasFigure := len(figures.Find(s.Text)) > 0 || len(figures.Spelled(s.Text)) > 0
	text := s.Text
	if !hasFigure {
		text = c.withoutIssuers(text)
	}
	for t := range wordsOf(text) {
		if len(t) > 0 && t[0] >= '0' && t[0] <= '9' {
			continue // numbers are looked up elsewhere
		}
		if c.questionWords[t] || templateWords[t] {
			if hasFigure {
				found, all = found+1, all+1
			}
			continue
		}
		all++
		for _, m := range s.Marks {
			if c.words[m] == nil {
				p := &c.material.Passages[m]
				c.words[m] = wordsOf(p.Title + " " + p.Section + " " + p.Text)
			}
			if c.words[m][t] {
				found++
				break
			}
		}
	}
	return all == 0 || float64(found) >= minWords*float64(all)
}

// withoutIssuers returns a text without the names of issuers.
func (c *Checker) withoutIssuers(text string) string {
	if c.material.Directory == nil {
		return text
	}
	var b strings.Builder
	end := 0
	for _, mention := range c.material.Directory.Find(text) {
		if mention.Start >= end {
			b.WriteString(text[end:mention.Start] + " ")
			end = mention.End
		}
	}
	return b.String() + text[end:]
}

// denial matches a word such as "not" that denies the words after it.
var denial = regexp.MustCompile(`(?i)\b(?:no|not|never|without|none|neither|nor|cannot|[a-z]+n['’]t)\b`)

// unsupportedDenial returns the word that a sentence denies although no marked passage denies it, or the empty string.
// A denial needs this check because it has no figure that could be looked up.
func (c *Checker) unsupportedDenial(s draft.Sentence) string {
	for _, match := range denial.FindAllStringIndex(s.Text, 20) {
		following := slices.DeleteFunc(terms.Of(s.Text[match[1]:]), func(t terms.Term) bool { return templateWords[t] })
		if len(following) > 0 && !slices.ContainsFunc(s.Marks,
			func(m int) bool { return denies(c.material.Passages[m].Text, following[0]) }) {
			return string(following[0])
		}
	}
	return ""
}

// denies reports whether a sentence of a text contains both a denial and the word.
func denies(text string, word terms.Term) bool {
	for line := range strings.Lines(text) {
		if !denial.MatchString(line) {
			continue
		}
		for _, s := range draft.Split(line) {
			if denial.MatchString(s) && slices.Contains(terms.Of(s), word) {
				return true
			}
		}
	}
	return false
}

// templateWords holds conjunctions and the words of the service's sentence templates.
var templateWords = wordsOf(`change percentage change difference average sum ratio compound annual growth rate number years quarters with above below period highest lowest items
	under calculation respectively reported increased decreased rose fell to from compared up down was were as printed source names no unit net total of fiscal year`)

func wordsOf(s string) map[terms.Term]bool {
	m := make(map[terms.Term]bool)
	for _, t := range terms.Of(s) {
		m[t] = true
	}
	return m
}

// Whole checks the draft that is left after Sentences: it must have an answer, and pass check 6 of the specification
// (length and language). It returns nil if there is no problem.
func (c *Checker) Whole(d draft.Draft) *Problem {
	text := d.Text()
	switch n := len([]rune(text)); {
	case n == 0, !Answers(d):
		return &Problem{7, "", "nothing is left of the answer"}
	case n > MaxLetters:
		return &Problem{6, "", "the answer is too long"}
	}
	if c.material.Question.Lang == "en" && isForeign(text) {
		return &Problem{6, "", "the answer is in another language"}
	}
	return nil
}

// Answers reports whether a draft has a sentence that is not one of the service's fixed lines.
func Answers(d draft.Draft) bool {
	return slices.ContainsFunc(d.Sentences, func(s draft.Sentence) bool { return !s.Fixed })
}

// isForeign reports whether a text has more letters of other scripts than Latin ones.
func isForeign(s string) bool {
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
