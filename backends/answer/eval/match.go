package eval

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/tollgate-gateway/tollgate/backends/answer/check"
	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/pipeline"
	"github.com/tollgate-gateway/tollgate/backends/answer/terms"
)

// maxExtra is the largest number of letters that an answer may have in addition to the expected text.
const maxExtra = 900

// Matches reports whether an answer, which consists of claims, states the expected answer g. Without an expected answer
// it returns true.
func Matches(claims []pipeline.Claim, g Gold) bool {
	parts := g.parts()
	if len(parts) == 0 { // nothing is expected, or something that cannot be compared
		return g.Answer == nil
	}
	if g.Kind == "yesno" || g.Kind == "text" {
		return g.matchesWords(claims)
	}
	stated := results(claims)
	text, expectedLength := "", 0
	for _, c := range claims {
		if !c.Fixed && !isCalculation(c.Text) {
			text += c.Text + " "
		}
	}
	for _, p := range parts {
		expectedLength += len(p)
		if f, ok := number(p); ok {
			if !slices.ContainsFunc(stated, func(s string) bool { return states(s, f, g) }) {
				return false
			}
			continue
		}
		if !strings.Contains(letters(text), letters(p)) {
			return false
		}
	}
	return g.isNumeric() || len(text) <= expectedLength+maxExtra
}

// verdict matches the beginning of an answer to a yes/no question.
var verdict = regexp.MustCompile(`(?i)^\W*(?:[^:]{0,60}: )?(yes|no)\b`)

// matchesWords reports whether an answer agrees with an expected text of the kind yesno or text: it has the same yes or
// no, or half of the words and half of the figures of the expected text.
func (g *Gold) matchesWords(claims []pipeline.Claim) bool {
	gold := fmt.Sprint(g.Answer)
	var all strings.Builder
	for _, c := range claims {
		if !c.Fixed {
			all.WriteString(c.Text + "\n")
		}
	}
	answer := all.String()
	if expected := verdict.FindStringSubmatch(gold); g.Kind == "yesno" && expected != nil {
		got := verdict.FindStringSubmatch(answer)
		return got != nil && strings.EqualFold(got[1], expected[1])
	}
	expectedWords, answerWords := terms.SetOf(gold), terms.SetOf(answer)
	foundWords := 0
	for t := range expectedWords {
		if answerWords[t] {
			foundWords++
		}
	}
	foundFigures, expectedFigures := 0, mentioned(gold)
	for _, m := range expectedFigures {
		if states(answer, m, Gold{}) {
			foundFigures++
		}
	}
	return 2*foundWords >= len(expectedWords) && 2*foundFigures >= len(expectedFigures)
}

// parts returns the parts of the expected answer as text: the items of a list, or the answer itself. It returns nil if
// there is no expected answer.
func (g *Gold) parts() []string {
	switch gold := g.Answer.(type) {
	case float64:
		return []string{strconv.FormatFloat(gold, 'f', -1, 64)}
	case string:
		return []string{gold}
	case []any:
		list := make([]string, len(gold))
		for i, part := range gold {
			list[i] = fmt.Sprint(part)
		}
		return list
	}
	return nil
}

// isNumeric reports whether the expected answer consists of numbers other than years.
func (g *Gold) isNumeric() bool {
	parts := g.parts()
	return len(parts) > 0 && !slices.ContainsFunc(parts, func(s string) bool {
		f, ok := number(s)
		return !ok || f.Year
	})
}

// number parses a text that is a number with its unit, or a year. It returns false if the text contains
// anything else.
func number(s string) (figures.Mention, bool) {
	found := figures.Find(s)
	if len(found) != 1 {
		return figures.Mention{}, false
	}
	around := s[:found[0].Start] + s[found[0].End:]
	return found[0], letters(around) == ""
}

// isCalculation reports whether a sentence is the calculation of a result.
func isCalculation(s string) bool { return strings.HasPrefix(s, "Calculation: ") }

// results returns the results that the parts of an answer state, one for each part: the first sentence, or the value in
// a sentence "name: value".
func results(claims []pipeline.Claim) []string {
	var list []string
	for _, c := range claims {
		if c.Fixed || !c.Break && len(list) > 0 { // only the first sentence of a part states its result
			continue
		}
		s := c.Text
		colon := strings.LastIndex(s, ": ")
		if colon >= 0 && len(figures.Find(s[colon:])) > 0 && !strings.Contains(s[colon:], ")") {
			s = s[colon+2:]
		}
		list = append(list, s)
	}
	return list
}

// states reports whether a text contains the expected number gold in the scale of g. If g or the text has no scale,
// it is enough that the digits are the same.
func states(text string, gold figures.Mention, g Gold) bool {
	if gold.Year {
		return strings.Contains(text, strconv.Itoa(int(gold.Value)))
	}
	scale := g.Scale
	if scale == 0 {
		scale = 1
	}
	value, step := gold.Value, gold.Step
	comparesDigits := scale == 1 || strings.Contains(text, "as printed; the source names no unit")
	for _, m := range figures.Find(text) {
		if m.Year {
			continue
		}
		// The text may also give a share in per cent, such as 5% for 0.05.
		if equal(m.Value, m.Step, value*scale, step*scale) || g.Percent && equal(m.Value, m.Step, value, step) ||
			m.Unit == kernel.Percent && equal(m.Value/100, m.Step/100, value, step) {
			return true
		}
		if !comparesDigits {
			continue
		}
		withoutScale, _, _ := strings.Cut(strings.TrimLeft(m.Text, "$€£¥-−( "), " ")
		digits := figures.Find(strings.Trim(withoutScale, "()"))
		if len(digits) > 0 && equal(math.Copysign(digits[0].Value, m.Value), digits[0].Step, value, step) {
			return true
		}
	}
	return false
}

// equal reports whether a number of an answer equals the expected number gold within the precision of their last
// digits. step is the value of one unit of the last digit of number, and goldStep that of gold.
func equal(number, step, gold, goldStep float64) bool {
	difference, tolerance := math.Abs(number-gold), 1e-9*math.Abs(gold)+1e-12
	if difference <= goldStep/2+tolerance {
		return true
	}
	return difference <= step/2+tolerance && difference <= math.Abs(gold)*0.01
}

// isEvidence reports whether the passage p is the gold passage e: it is on the page of e, and it contains the text of e
// or, if e has no text, the expected answer. Where pages are numbered reliably, the page is enough.
func (g *Gold) isEvidence(e *Evidence, p *kernel.Passage) bool {
	if p.URL != e.URL || e.Page != 0 && p.Page != 0 && p.Page != e.Page {
		return false
	}
	pageSuffices := g.Kind == "text" || g.Kind == "yesno" || g.Kind != "" && e.Page > 1
	if pageSuffices && p.Page == e.Page {
		return true
	}
	if e.Text != "" {
		return strings.Contains(strings.Join(strings.Fields(p.Text), " "), strings.Join(strings.Fields(e.Text), " "))
	}
	expected := g.parts()
	if derived := g.derived(); derived != nil { // a passage with the inputs of a number is enough
		expected = derived
	}
	found := check.Figures(p)
	text := letters(p.Text)
	for _, part := range expected {
		if strings.Contains(text, letters(part)) {
			continue
		}
		f, ok := number(part)
		if !ok || f.Year {
			return false
		}
		unsigned := kernel.Figure{Value: math.Abs(f.Value), Step: f.Step}
		if !slices.ContainsFunc(found, func(exact kernel.Figure) bool {
			return check.States(f.Figure, exact) || check.States(unsigned, exact)
		}) {
			return false
		}
	}
	return len(expected) > 0
}

// derived returns the numbers from which the expected number is derived. If the expected number is a count of names,
// it returns these names, which the derivation separates by "##". It returns nil if the expected answer is not a
// number.
func (g *Gold) derived() (list []string) {
	if !g.isNumeric() {
		return nil
	}
	if strings.Contains(g.Derivation, "##") {
		return strings.Split(g.Derivation, "##")
	}
	for _, m := range figures.Find(g.Derivation) {
		if m.Value != 100 { // a factor for per cent
			list = append(list, strings.Trim(m.Text, "-()"))
		}
	}
	return list
}

// letters returns the letters and digits of a text in lower case.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// deviation returns how an answer differs from the expected number: "scale" or "sign" if only that is different, or
// "another figure". stated are the results of the answer.
func (g *Gold) deviation(stated []string) string {
	for _, part := range g.parts() {
		gold, ok := number(part)
		if !ok || gold.Value == 0 {
			continue
		}
		expected := gold.Value * max(g.Scale, 1)
		for _, s := range stated {
			for _, m := range mentioned(s) {
				switch power := math.Log10(math.Abs(m.Value / expected)); {
				case math.Abs(power-math.Round(power)) > 0.002: // not a power of ten: the digits are different
				case math.Round(power) != 0:
					return "scale"
				case m.Value*expected < 0:
					return "sign"
				}
			}
		}
	}
	return "another figure"
}
