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
	MaxLetters = 6000 // the largest length of an answer, in characters
	minWords   = 0.5  // the share of a sentence's words that must be in its marked passages
)

// The numbers of the checks in the specification. Check 5 is the judgment: see Scores.
const (
	checkMarks   = 1 // every mark refers to a passage, and the sentence has no address and no instruction to a model
	checkMarked  = 2 // the sentence has a mark
	checkNumbers = 3 // every number is in a marked passage or was computed
	checkSubject = 4 // the marked passages are about the issuers, quarters and halves that the sentence names
	checkWhole   = 6 // the whole answer has an acceptable length and language
	checkClaims  = 7 // the words and denials of the sentence are in the marked passages
)

// Material is the input of a check: the question, the passages that were found and the values that were computed. The
// marks of a draft are indexes of Passages.
type Material struct {
	Question  *question.Question
	Passages  []kernel.Passage
	Computed  []*formula.Value
	Directory *metrics.Directory // finds the names of issuers in sentences; with nil, names are not checked
}

// Problem is the reason why a sentence, or a whole draft, fails, for example {3, "Net sales were $5 million.",
// "$5 million is in no marked passage"}.
type Problem struct {
	Check    int    // the number of the check in the specification, from 1 to 7
	Sentence string // the text of the sentence; empty for a problem of the whole draft
	What     string // the problem in words
}

// String returns the problem and the beginning of the sentence in one line.
func (p Problem) String() string { return fmt.Sprintf("%s (%q)", p.What, short(p.Sentence)) }

// short cuts a sentence after about 120 bytes.
func short(s string) string {
	if len(s) > 120 {
		return strings.ToValidUTF8(s[:120], "") + "…"
	}
	return s
}

// Checker checks the sentences of drafts against a Material. It is not safe for concurrent use.
type Checker struct {
	material      Material
	figures       [][]kernel.Figure // of each passage, read on demand (see figuresOf)
	words         []terms.Set       // of each passage, read on demand (see inPassage)
	results       []kernel.Figure   // the computed figures and their inputs
	calculations  []kernel.Figure   // the figures in the texts of the computed values, such as their formulas
	questionWords terms.Set
}

// New returns a Checker for drafts that are written from the material m.
func New(m Material) *Checker {
	c := &Checker{
		material: m, figures: make([][]kernel.Figure, len(m.Passages)),
		words: make([]terms.Set, len(m.Passages)), questionWords: terms.SetOf(m.Question.Text),
	}
	for _, v := range m.Computed {
		c.results = append(c.results, v.Figures...)
		for _, input := range v.Inputs {
			c.results = append(c.results, input.Figure)
		}
		for _, text := range append([]string{v.Label, v.Sentence, v.Formula}, v.Words...) {
			for _, mention := range figures.Find(text) {
				if !mention.Year {
					c.calculations = append(c.calculations, mention.Figure)
				}
			}
		}
	}
	return c
}

// Sentences checks each sentence of a draft by itself: its marks, addresses, numbers, issuers, periods and words. These
// are the checks 1 to 4 and 7 of the specification. Sentences returns a draft with the sentences that pass, and the
// first problem of each other sentence. If a computed sentence fails, the returned draft is empty, because a
// calculation says nothing without its result.
func (c *Checker) Sentences(d draft.Draft) (passed draft.Draft, problems []Problem) {
	passed.Confidence = d.Confidence
	for _, s := range d.Sentences {
		problem := c.firstProblem(s)
		if problem == nil {
			passed.Sentences = append(passed.Sentences, s)
			continue
		}
		problems = append(problems, *problem)
		if s.Computed {
			return draft.Draft{}, problems
		}
	}
	return passed, problems
}

// firstProblem returns the first problem of a sentence, or nil if the sentence passes.
func (c *Checker) firstProblem(s draft.Sentence) *Problem {
	if s.Fixed { // the service's own line, which is based on no passage
		return nil
	}
	problem := func(check int, format string, args ...any) *Problem {
		return &Problem{check, s.Text, fmt.Sprintf(format, args...)}
	}
	for _, index := range s.Marks {
		if index < 0 || index >= len(c.material.Passages) {
			return problem(checkMarks, "a mark refers to a passage that does not exist")
		}
	}
	if len(s.Marks) == 0 {
		return problem(checkMarked, "the sentence has no mark")
	}
	hasMarkup := strings.Contains(s.Text, "](") || strings.ContainsAny(s.Text, "<>")
	if hasMarkup || draft.Suspicious(c.withoutNames(s)) {
		return problem(checkMarks, "the sentence contains an address, markup or an instruction to a model")
	}
	if number, ok := c.allNumbersFound(s); !ok {
		return problem(checkNumbers, "%s is in no marked passage", number)
	}
	if name := c.unsupportedIssuer(s); name != "" {
		return problem(checkSubject, "the marked passages are not about %s", name)
	}
	if part := c.unsupportedPart(s); part != "" {
		return problem(checkSubject, "the marked passages are not about %s", part)
	}
	if s.Computed { // the words of a computed sentence are the service's own
		return nil
	}
	if word := c.unsupportedDenial(s); word != "" {
		return problem(checkClaims, "the sentence denies %q, but no marked passage does", word)
	}
	if !c.grounded(s) {
		return problem(checkClaims, "too few words of the sentence are in the marked passages")
	}
	return nil
}

// withoutNames returns the text of a computed sentence without the names of the question's issuers, so that a name such
// as "Amazon.com, Inc." is not taken for a web address. For other sentences it returns the whole text.
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

// maxNamesakes is the largest number of issuers with one name. A name of more issuers is probably an ordinary word.
const maxNamesakes = 3

// unsupportedIssuer looks for names of issuers in a sentence. It returns the first of these names for which the
// sentence marks no passage about the issuer. It returns the empty string if there is no such name.
func (c *Checker) unsupportedIssuer(s draft.Sentence) string {
	if c.material.Directory == nil {
		return ""
	}
	for _, mention := range c.material.Directory.Find(s.Text) {
		if mention.Slip || len(mention.Issuers) > maxNamesakes {
			continue // the text may mean something else
		}
		name := s.Text[mention.Start:mention.End]
		supported := slices.ContainsFunc(s.Marks, func(index int) bool {
			p := &c.material.Passages[index]
			return slices.Contains(mention.Issuers, p.Issuer) || strings.Contains(p.Text, name) ||
				p.Issuer == 0 && c.namesIssuer(p, mention.Issuers) // the issuer of the passage is unknown
		})
		if !supported {
			return name
		}
	}
	return ""
}

// namesIssuer reports whether the title, section or text of a passage names one of the issuers.
func (c *Checker) namesIssuer(p *kernel.Passage, issuers []int64) bool {
	mentions := c.material.Directory.Find(p.Title + "\n" + p.Section + "\n" + p.Text)
	return slices.ContainsFunc(mentions, func(m metrics.IssuerMention) bool {
		return !m.Slip && slices.ContainsFunc(m.Issuers, func(id int64) bool { return slices.Contains(issuers, id) })
	})
}

// grounded reports whether at least half of a sentence's words are in its marked passages. If the sentence has a
// figure, a word of the question counts as found in any case, because another check looks up the figure. If it has
// none, words of the question and names of issuers are not counted at all.
func (c *Checker) grounded(s draft.Sentence) bool {
	found, all := 0, 0
	hasFigure := len(figures.Find(s.Text)) > 0 || len(figures.Spelled(s.Text)) > 0
	text := s.Text
	if !hasFigure { // another check, unsupportedIssuer, looks up the names
		text = c.withoutIssuers(text)
	}
	for word := range terms.SetOf(text) {
		if word[0] >= '0' && word[0] <= '9' {
			continue // allNumbersFound looks up numbers
		}
		if c.questionWords[word] || templateWords[word] { // a passage need not have it
			if hasFigure {
				found, all = found+1, all+1
			}
			continue
		}
		all++
		if slices.ContainsFunc(s.Marks, func(index int) bool { return c.inPassage(index, word) }) {
			found++
		}
	}
	return all == 0 || float64(found) >= minWords*float64(all)
}

// inPassage reports whether the title, section or text of the passage with the given index contains a word.
func (c *Checker) inPassage(index int, word terms.Term) bool {
	if c.words[index] == nil {
		p := &c.material.Passages[index]
		c.words[index] = terms.SetOf(p.Title, p.Section, p.Text)
	}
	return c.words[index][word]
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

// unsupportedDenial returns the first word that a sentence denies and that none of its marked passages denies, or the
// empty string. The denied word is the first word after the denial that is not in templateWords. A denial needs this
// check because it has no figure that could be looked up.
func (c *Checker) unsupportedDenial(s draft.Sentence) string {
	for _, match := range denial.FindAllStringIndex(s.Text, 20) {
		following := slices.DeleteFunc(terms.Of(s.Text[match[1]:]), func(t terms.Term) bool { return templateWords[t] })
		if len(following) == 0 {
			continue
		}
		denied := following[0]
		supported := slices.ContainsFunc(s.Marks, func(index int) bool {
			return denies(c.material.Passages[index].Text, denied)
		})
		if !supported {
			return string(denied)
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

// templateWords holds function words and the words of the templates that package draft writes sentences from. A
// sentence needs no passage to use them.
var templateWords = terms.SetOf(`change percentage change difference average sum ratio compound annual growth rate number years quarters with above below period highest lowest items
	under calculation respectively reported increased decreased rose fell to from compared up down was were as printed source names no unit net total of fiscal year`)

// Whole checks the draft that Sentences has returned: it must still have an answer, of at most MaxLetters, in the
// language of the question. It returns nil if there is no problem.
func (c *Checker) Whole(d draft.Draft) *Problem {
	text := d.Text()
	switch n := len([]rune(text)); {
	case n == 0, !Answers(d):
		return &Problem{checkClaims, "", "no sentence that answers the question has passed the checks"}
	case n > MaxLetters:
		return &Problem{checkWhole, "", fmt.Sprintf("the answer has more than %d characters", MaxLetters)}
	}
	if c.material.Question.Lang == "en" && isForeign(text) {
		return &Problem{checkWhole, "", "the question is in English, but the answer is not in Latin script"}
	}
	return nil
}

// Answers reports whether a draft has a sentence that is not one of the service's fixed lines.
func Answers(d draft.Draft) bool {
	return slices.ContainsFunc(d.Sentences, func(s draft.Sentence) bool { return !s.Fixed })
}

// isForeign reports whether a text has more characters of other scripts than of the Latin script. It does not
// distinguish English from other languages in Latin script.
func isForeign(s string) bool {
	latin, other := 0, 0
	for _, r := range s {
		switch {
		case r < 0x250: // Latin letters, and digits and punctuation of English texts
			latin++
		case r >= 0x370 && r < 0x2000 || r >= 0x2E80: // from Greek on, except punctuation and symbols
			other++
		}
	}
	return other > latin
}
