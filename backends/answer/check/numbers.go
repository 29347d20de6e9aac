package check

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/tollgate-gateway/tollgate/backends/answer/draft"
	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/formula"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
	"github.com/tollgate-gateway/tollgate/backends/answer/tables"
)

// listNumber matches the number at the beginning of a list item.
var listNumber = regexp.MustCompile(`^\s*\(?\d{1,2}[.)]\s`)

// allNumbersFound looks up each number of a sentence. If ok is false, number is the first number that was not found.
func (c *Checker) allNumbersFound(s draft.Sentence) (number string, ok bool) {
	text := listNumber.ReplaceAllString(s.Text, "")
	for _, m := range figures.Find(text) {
		if m.Year {
			if !c.hasYear(s.Marks, int(m.Value)) {
				return m.Text, false
			}
			continue
		}
		if !c.hasFigure(s, m) {
			return m.Text, false
		}
	}
	for _, m := range figures.Spelled(text) {
		if m.Value <= maxSmall && m.Unit == kernel.NoUnit || c.hasFigure(s, m) {
			continue
		}
		return m.Text, false
	}
	for _, name := range namesWithDigits(text) {
		if !c.mentioned(s.Marks, name) && !c.hasPeriod(s.Marks, name) {
			return name, false
		}
	}
	return "", true
}

// maxSmall is the largest spelled-out number that is treated as a word: "two segments".
const maxSmall = 10

// ordinary matches names with digits that are common to all reports, such as Q1 and 10-K.
var ordinary = regexp.MustCompile(`(?i)^(?:[QH][1-4]|\d{0,3}(?:1st|2nd|3rd|\dth)|(?:10|20|8|6)-[KQF])$`)

// namesWithDigits returns the words of a text that have digits but are not figures: parts of names, numbers too long
// for a figure, and digits of other scripts. It returns at most maxNames.
func namesWithDigits(text string) (list []string) {
	found := figures.Find(text)
	inFigure := func(start, end int) bool {
		return slices.ContainsFunc(found, func(m figures.Mention) bool { return m.Start < end && start < m.End })
	}
	part := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsNumber(r) || r == '-' || r == '.' || r == ',' || r == '/'
	}
	for next := 0; next < len(text) && len(list) < maxNames; {
		start := next + strings.IndexFunc(text[next:], part)
		if start < next {
			break
		}
		end := len(text)
		if n := strings.IndexFunc(text[start:], func(r rune) bool { return !part(r) }); n >= 0 {
			end = start + n
		}
		next = end
		word := strings.Trim(text[start:end], "-.,/")
		foreign := strings.ContainsFunc(word, func(r rune) bool { return r > unicode.MaxASCII && unicode.IsNumber(r) })
		if foreign || strings.ContainsAny(word, "0123456789") && !inFigure(start, end) && !ordinary.MatchString(word) {
			list = append(list, word)
		}
	}
	return list
}

// maxNames bounds the names of a sentence.
const maxNames = 200

// mentioned reports whether a name occurs in a marked passage or in the question.
func (c *Checker) mentioned(marks []int, name string) bool {
	name = strings.ToLower(name)
	contains := func(text string) bool { return containsNumber(strings.ToLower(text), name) }
	return contains(c.material.Question.Text) || c.anywhere(marks, contains)
}

// anywhere reports whether accepts returns true for the text, title or section of one of the marked passages.
func (c *Checker) anywhere(marks []int, accepts func(text string) bool) bool {
	return slices.ContainsFunc(marks, func(m int) bool {
		p := &c.material.Passages[m]
		return accepts(p.Text) || accepts(p.Title) || accepts(p.Section)
	})
}

// containsNumber reports whether a text contains a number, or a name with digits, other than as a part of a longer
// number.
func containsNumber(text, number string) bool {
	isDigit := func(at int) bool { return at >= 0 && at < len(text) && text[at] >= '0' && text[at] <= '9' }
	for start := 0; ; start++ {
		next := strings.Index(text[start:], number)
		if next < 0 {
			return false
		}
		start += next
		end := start + len(number)
		if (!isDigit(start) || !isDigit(start-1)) && (!isDigit(end-1) || !isDigit(end)) {
			return true
		}
	}
}

// hasPeriod reports whether a name is the name of a year, such as FY19, and the marked passages or the computed values
// have that year.
func (c *Checker) hasPeriod(marks []int, name string) bool {
	years := metrics.Years(name)
	for _, year := range years {
		if !c.hasYear(marks, year) {
			return false
		}
	}
	return len(years) > 0
}

func (c *Checker) hasYear(marks []int, year int) bool {
	digits := strconv.Itoa(year)
	for _, m := range marks {
		p := &c.material.Passages[m]
		if p.Period.AnyYear() == year || p.Published.Year() == year || containsNumber(p.Text, digits) ||
			containsNumber(p.Title, digits) || containsNumber(p.Section, digits) {
			return true
		}
		if slices.Contains(metrics.Years(p.Text), year) { // such as FY19
			return true
		}
	}
	for _, v := range c.material.Computed {
		if slices.Contains(v.Words, digits) || containsNumber(v.Label, digits) {
			return true
		}
	}
	return false
}

// gainWords matches words for a gain, lossWords words for a loss or a payment.
var (
	gainWords = regexp.MustCompile(`(?i)\b(?:net income|profits?|earnings|eps|operating income|income (?:from|before)|gain(?:s|ed)?|surplus|grew|grown|growth|rose|risen|increas\w+)\b`)
	lossWords = regexp.MustCompile(`(?i)\b(?:loss(?:es)?|lost|deficits?|negative|minus|decreas\w+|declin\w+|fell|fall(?:s|en)?|drop\w*|down|lower|reduc\w+|outflows?|used|pays?|paid|payments?|spent|expenses?|costs?|tax(?:es)?|charges?|write-?(?:offs?|downs?)|impair\w+|swung)\b`)
)

func (c *Checker) hasFigure(s draft.Sentence, shown figures.Mention) bool {
	marks := s.Marks
	fits := func(exact kernel.Figure) bool { return States(shown.Figure, exact) }
	if gainWords.MatchString(s.Text) && !lossWords.MatchString(s.Text) { // here a loss must not lose its sign
		fits = func(exact kernel.Figure) bool { return figures.Shows(shown.Figure, exact) }
	}
	if slices.ContainsFunc(c.results, fits) {
		return true
	}
	if slices.ContainsFunc(c.calculations, fits) {
		return true
	}
	for _, m := range marks {
		if slices.ContainsFunc(c.figuresOf(m), fits) {
			return true
		}
	}
	return c.anywhere(marks, func(text string) bool {
		return slices.ContainsFunc(figures.Spelled(text), func(spelled figures.Mention) bool { return fits(spelled.Figure) })
	})
}

// States reports whether the printed figure shown states the exact figure. A loss may be written without its sign.
func States(shown, exact kernel.Figure) bool {
	if figures.Shows(shown, exact) {
		return true
	}
	if shown.Value >= 0 && exact.Value < 0 {
		exact.Value = -exact.Value
		return figures.Shows(shown, exact)
	}
	return false
}

// figuresOf returns the figures of the passage with an index. They are computed once.
func (c *Checker) figuresOf(passage int) []kernel.Figure {
	if c.figures[passage] != nil {
		return c.figures[passage]
	}
	c.figures[passage] = Figures(&c.material.Passages[passage])
	return c.figures[passage]
}

// Figures returns all figures of a passage, as printed and with their scale: those in its title, section and
// text and in the cells of its tables. The result is never nil.
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
