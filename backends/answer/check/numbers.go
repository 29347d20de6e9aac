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

// numbers looks up each number of a sentence. If ok is false, number is the first one that is found nowhere.
func (c *Checker) numbers(s draft.Sentence) (number string, ok bool) {
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
	for _, name := range names(text) {
		if !c.says(s.Marks, name) && !c.hasPeriod(s.Marks, name) {
			return name, false
		}
	}
	return "", true
}

// maxSmall is the largest spelled-out number that is treated as a word: "two segments".
const maxSmall = 10

// ordinary matches names with digits that may be used about every report.
var ordinary = regexp.MustCompile(`(?i)^(?:[QH][1-4]|\d{0,3}(?:1st|2nd|3rd|\dth)|(?:10|20|8|6)-[KQF])$`)

// names returns the words of a text with digits that are no figures: parts of names, numbers too long for a
// figure, and digits of other scripts.
func names(text string) (list []string) {
	found := figures.Find(text)
	inFigure := func(start, end int) bool {
		return slices.ContainsFunc(found, func(m figures.Mention) bool { return m.Start < end && start < m.End })
	}
	part := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsNumber(r) || r == '-' || r == '.' || r == ',' || r == '/'
	}
	for at := 0; at < len(text) && len(list) < maxNames; {
		start := at + strings.IndexFunc(text[at:], part)
		if start < at {
			break
		}
		end := len(text)
		if n := strings.IndexFunc(text[start:], func(r rune) bool { return !part(r) }); n >= 0 {
			end = start + n
		}
		at = end
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

// says reports whether a name occurs in a marked passage or in the question.
func (c *Checker) says(marks []int, name string) bool {
	name = strings.ToLower(name)
	contains := func(text string) bool { return holds(strings.ToLower(text), name) }
	return contains(c.m.Question.Text) || c.anywhere(marks, contains)
}

// anywhere reports whether has accepts the text, title or section of one of the marked passages.
func (c *Checker) anywhere(marks []int, accepts func(text string) bool) bool {
	return slices.ContainsFunc(marks, func(m int) bool {
		p := &c.m.Passages[m]
		return accepts(p.Text) || accepts(p.Title) || accepts(p.Section)
	})
}

// holds reports whether a text contains a number, or a name with one, that is not a part of a longer number.
func holds(text, number string) bool {
	digit := func(at int) bool { return at >= 0 && at < len(text) && text[at] >= '0' && text[at] <= '9' }
	for at := 0; ; at++ {
		next := strings.Index(text[at:], number)
		if next < 0 {
			return false
		}
		at += next
		end := at + len(number)
		if (!digit(at) || !digit(at-1)) && (!digit(end-1) || !digit(end)) {
			return true
		}
	}
}

// hasPeriod reports whether a name is that of a year, such as FY19, that the passages have.
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
		p := &c.m.Passages[m]
		if p.Period.AnyYear() == year || p.Published.Year() == year || holds(p.Text, digits) || holds(p.Title, digits) ||
			holds(p.Section, digits) {
			return true
		}
		if slices.Contains(metrics.Years(p.Text), year) { // such as FY19
			return true
		}
	}
	for _, v := range c.m.Computed {
		if slices.Contains(v.Words, digits) || holds(v.Label, digits) {
			return true
		}
	}
	return false
}

// gaining matches words for a gain, losing those for a loss or a payment.
var (
	gaining = regexp.MustCompile(`(?i)\b(?:net income|profits?|earnings|eps|operating income|income (?:from|before)|gain(?:s|ed)?|surplus|grew|grown|growth|rose|risen|increas\w+)\b`)
	losing  = regexp.MustCompile(`(?i)\b(?:loss(?:es)?|lost|deficits?|negative|minus|decreas\w+|declin\w+|fell|fall(?:s|en)?|drop\w*|down|lower|reduc\w+|outflows?|used|pays?|paid|payments?|spent|expenses?|costs?|tax(?:es)?|charges?|write-?(?:offs?|downs?)|impair\w+|swung)\b`)
)

func (c *Checker) hasFigure(s draft.Sentence, shown figures.Mention) bool {
	marks := s.Marks
	fits := func(exact kernel.Figure) bool { return Says(shown.Figure, exact) }
	if gaining.MatchString(s.Text) && !losing.MatchString(s.Text) { // here a loss must not lose its sign
		fits = func(exact kernel.Figure) bool { return figures.Shows(shown.Figure, exact) }
	}
	if slices.ContainsFunc(c.own, fits) {
		return true
	}
	if slices.ContainsFunc(c.computed, fits) {
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

// Says reports whether a printed figure states the exact one. A loss may be written without its sign.
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

// figuresOf returns the figures of a passage. They are computed once.
func (c *Checker) figuresOf(at int) []kernel.Figure {
	if c.figures[at] != nil {
		return c.figures[at]
	}
	c.figures[at] = Figures(&c.m.Passages[at])
	return c.figures[at]
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
