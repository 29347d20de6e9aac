// Package check decides whether a draft may be sent: every sentence must stand on passages that were found,
// its numbers must be in them or be computed, and it must be about their issuer and period. What fails is
// removed; the rest is judged.
//
// Choices where the specification is silent:
//   - Every sentence needs a mark, whether or not it names somebody. Only the service's own lines have none.
//   - Half of the words of a sentence must be in the passages that it marks. If it has a figure, words of the
//     question and names of issuers count too. A judge that is a model can be fooled; a count of words cannot.
//   - What a sentence denies must be denied by a passage that it marks.
//   - A sentence with an address is removed, whoever wrote it.
//   - A quarter or half of a year is looked up in the same way as a year.
//   - A loss may be written without its sign, but not in a sentence that states a gain.
//   - A number up to ten that is spelled out and is no percentage is not looked up. A name with digits in it
//     (10-K, A320) must stand in a marked passage, or in the question, as it is.
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
	MostLetters = 6000
	minWords    = 0.5 // the share of a sentence's words that must be in its passages
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

// Checker checks sentences against what they stand on. It is not safe for concurrent use.
type Checker struct {
	m        Material
	figures  [][]kernel.Figure // of each passage, computed on demand
	words    []map[terms.Term]bool
	own      []kernel.Figure // the computed figures and their inputs
	computed []kernel.Figure // the figures in their calculations
	asked    map[terms.Term]bool
}

// New returns a Checker.
func New(m Material) *Checker {
	c := &Checker{
		m: m, figures: make([][]kernel.Figure, len(m.Passages)),
		words: make([]map[terms.Term]bool, len(m.Passages)), asked: wordsOf(m.Question.Text),
	}
	for _, v := range m.Computed {
		c.own = append(c.own, v.Figures...)
		for _, in := range v.Inputs {
			c.own = append(c.own, in.Figure)
		}
		for _, text := range append([]string{v.Label, v.Sentence, v.Formula}, v.Words...) {
			for _, m := range figures.Find(text) {
				if !m.Year {
					c.computed = append(c.computed, m.Figure)
				}
			}
		}
	}
	return c
}

// Sentences applies the checks 1 to 4 and 7 to each sentence. It returns those that pass and the problems of
// the others. If a computed sentence fails, nothing is kept.
func (c *Checker) Sentences(d draft.Draft) (kept draft.Draft, problems []Problem) {
	kept.Confidence = d.Confidence
	for _, s := range d.Sentences {
		if p := c.sentence(s); p != nil {
			problems = append(problems, *p)
			if s.Computed { // a calculation says nothing without its result
				return draft.Draft{}, problems
			}
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
	if draft.Speaks(c.unnamed(s)) || strings.Contains(s.Text, "](") || strings.ContainsAny(s.Text, "<>") {
		return problem(1, "a sentence names an address, or speaks to a model")
	}
	if number, ok := c.numbers(s); !ok {
		return problem(3, "%s is in no marked passage", number)
	}
	if what := c.about(s); what != "" {
		return problem(4, "%s", what)
	}
	if name := c.otherPart(s); name != "" {
		return problem(4, "the marked passages are not about %s", name)
	}
	if s.Computed { // its words are the service's own
		return nil
	}
	if what := c.denied(s); what != "" {
		return problem(7, "no marked passage denies %q", what)
	}
	if !c.grounded(s) {
		return problem(7, "the marked passages do not say so")
	}
	return nil
}

// unnamed returns a sentence that the service has written without the names of the question's issuers:
// "Amazon.com, Inc." is a name, and not an address from a document. Other sentences are returned as they are.
func (c *Checker) unnamed(s draft.Sentence) string {
	text := s.Text
	if !s.Computed {
		return text
	}
	for _, name := range c.m.Question.Names {
		if !strings.Contains(name, "/") && !strings.Contains(strings.ToLower(name), "www.") {
			text = strings.ReplaceAll(text, name, " ")
		}
	}
	return text
}

// about returns the problem of a sentence that names an issuer which its passages are not about, or the empty
// string.
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
			ok = ok || slices.Contains(mention.Issuers, p.Issuer) || strings.Contains(p.Text, name) ||
				p.Issuer == 0 && c.names(p, mention.Issuers)
		}
		if !ok {
			return "the marked passages are not about " + name
		}
	}
	return ""
}

// names reports whether a passage names one of the issuers.
func (c *Checker) names(p *kernel.Passage, issuers []int64) bool {
	return slices.ContainsFunc(c.m.Directory.Find(p.Title+"\n"+p.Section+"\n"+p.Text), func(m metrics.IssuerMention) bool {
		return !m.Slip && slices.ContainsFunc(m.Issuers, func(id int64) bool { return slices.Contains(issuers, id) })
	})
}

// grounded reports whether the words of a sentence are in its passages. Words of the question and names of
// issuers count only if the sentence has a figure, which is looked up; without a figure they prove nothing.
func (c *Checker) grounded(s draft.Sentence) bool {
	got, all := 0, 0
	counted := len(figures.Find(s.Text)) > 0 || len(figures.Spelled(s.Text)) > 0
	text := s.Text
	if !counted {
		text = c.nameless(text)
	}
	for t := range wordsOf(text) {
		if len(t) > 0 && t[0] >= '0' && t[0] <= '9' {
			continue // numbers are looked up elsewhere
		}
		if c.asked[t] || frame[t] {
			if counted {
				got, all = got+1, all+1
			}
			continue
		}
		all++
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
	return all == 0 || float64(got) >= minWords*float64(all)
}

// nameless returns a text without the names of issuers.
func (c *Checker) nameless(text string) string {
	if c.m.Directory == nil {
		return text
	}
	var b strings.Builder
	at := 0
	for _, mention := range c.m.Directory.Find(text) {
		if mention.Start >= at {
			b.WriteString(text[at:mention.Start] + " ")
			at = mention.End
		}
	}
	return b.String() + text[at:]
}

// denial matches a word that denies what follows it.
var denial = regexp.MustCompile(`(?i)\b(?:no|not|never|without|none|neither|nor|cannot|[a-z]+n['’]t)\b`)

// denied returns the word that a sentence denies without support from its passages, or the empty string. A
// denial has no figure that could be looked up.
func (c *Checker) denied(s draft.Sentence) string {
	for _, at := range denial.FindAllStringIndex(s.Text, 20) {
		behind := slices.DeleteFunc(terms.Of(s.Text[at[1]:]), func(t terms.Term) bool { return frame[t] })
		if len(behind) > 0 && !slices.ContainsFunc(s.Marks,
			func(m int) bool { return denies(c.m.Passages[m].Text, behind[0]) }) {
			return string(behind[0])
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

// frame holds the words of templates and conjunctions.
var frame = wordsOf(`change percentage change difference average sum ratio compound annual growth rate number years quarters with above below period highest lowest items
	under calculation respectively reported increased decreased rose fell to from compared up down was were as printed source names no unit net total of fiscal year`)

func wordsOf(s string) map[terms.Term]bool {
	m := make(map[terms.Term]bool)
	for _, t := range terms.Of(s) {
		m[t] = true
	}
	return m
}

// Whole applies check 6 to the rest of the draft, and checks that there is any. It returns nil if there is no
// problem.
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

// foreign reports whether most letters are not Latin.
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
