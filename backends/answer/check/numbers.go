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

// allNumbersFound reports whether every number of a sentence is in its marked passages or was computed. That includes
// years, spelled-out numbers and names with digits. If ok is false, number is the text of the first number that was
// not found.
func (c *Checker) allNumbersFound(s draft.Sentence) (number string, ok bool) {
	text := listNumber.ReplaceAllString(s.Text, "")
	for _, mention := range figures.Find(text) {
		if mention.Year {
			if !c.hasYear(s.Marks, int(mention.Value)) {
				return mention.Text, false
			}
			continue
		}
		if !c.hasFigure(s, mention) {
			return mention.Text, false
		}
	}
	for _, mention := range figures.Spelled(text) {
		isWord := mention.Value <= maxSmall && mention.Unit == kernel.NoUnit // as in "two segments"
		if !isWord && !c.hasFigure(s, mention) {
			return mention.Text, false
		}
	}
	for _, name := range namesWithDigits(text) {
		if !c.hasName(s.Marks, name) && !c.hasPeriod(s.Marks, name) {
			return name, false
		}
	}
	return "", true
}

// maxSmall is the largest number that is treated as a word if it is spelled out, as in "two segments".
const maxSmall = 10

// ordinary matches names with digits that are common to all reports, such as Q1 and 10-K.
var ordinary = regexp.MustCompile(`(?i)^(?:[QH][1-4]|\d{0,3}(?:1st|2nd|3rd|\dth)|(?:10|20|8|6)-[KQF])$`)

// namesWithDigits returns the words of a text that have digits but are not figures: parts of names, numbers too long
// for a figure, and digits of other scripts. It returns at most maxNames.
func namesWithDigits(text string) (list []string) {
	mentions := figures.Find(text)
	overlapsFigure := func(start, end int) bool {
		return slices.ContainsFunc(mentions, func(m figures.Mention) bool { return m.Start < end && start < m.End })
	}
	inWord := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsNumber(r) || r == '-' || r == '.' || r == ',' || r == '/'
	}
	for next := 0; next < len(text) && len(list) < maxNames; { // each round reads the next word, from start to end
		skipped := strings.IndexFunc(text[next:], inWord)
		if skipped < 0 {
			break
		}
		start, end := next+skipped, len(text)
		if n := strings.IndexFunc(text[start:], func(r rune) bool { return !inWord(r) }); n >= 0 {
			end = start + n
		}
		next = end
		word := strings.Trim(text[start:end], "-.,/")
		foreign := strings.ContainsFunc(word, func(r rune) bool { return r > unicode.MaxASCII && unicode.IsNumber(r) })
		isName := strings.ContainsAny(word, "0123456789") && !overlapsFigure(start, end) && !ordinary.MatchString(word)
		if foreign || isName {
			list = append(list, word)
		}
	}
	return list
}

// maxNames bounds the names with digits of a sentence.
const maxNames = 200

// hasName reports whether a name occurs in a marked passage or in the question.
func (c *Checker) hasName(marks []int, name string) bool {
	name = strings.ToLower(name)
	contains := func(text string) bool { return containsNumber(strings.ToLower(text), name) }
	return contains(c.material.Question.Text) || c.inMarkedPassage(marks, contains)
}

// inMarkedPassage reports whether one of the marked passages has a text, title or section for which accepts returns
// true.
func (c *Checker) inMarkedPassage(marks []int, accepts func(text string) bool) bool {
	return slices.ContainsFunc(marks, func(index int) bool {
		p := &c.material.Passages[index]
		return accepts(p.Text) || accepts(p.Title) || accepts(p.Section)
	})
}

// containsNumber reports whether a text contains a number, or a name with digits. An occurrence that is a part of a
// longer number, such as "201" in "2019", does not count.
func containsNumber(text, number string) bool {
	isDigit := func(i int) bool { return i >= 0 && i < len(text) && text[i] >= '0' && text[i] <= '9' }
	for start := 0; ; start++ {
		next := strings.Index(text[start:], number)
		if next < 0 {
			return false
		}
		start += next
		end := start + len(number)
		continuesBefore := isDigit(start-1) && isDigit(start)
		continuesAfter := isDigit(end-1) && isDigit(end)
		if !continuesBefore && !continuesAfter {
			return true
		} // a part of a longer number; search on from the next byte
	}
}

// hasPeriod reports whether a name consists of years, such as FY19, that are all in the marked passages or in the
// computed values.
func (c *Checker) hasPeriod(marks []int, name string) bool {
	years := metrics.Years(name)
	for _, year := range years {
		if !c.hasYear(marks, year) {
			return false
		}
	}
	return len(years) > 0
}

// hasYear reports whether a marked passage names the year, is about the year or was published in the year, or whether
// a computed value is for the year.
func (c *Checker) hasYear(marks []int, year int) bool {
	digits := strconv.Itoa(year)
	for _, index := range marks {
		p := &c.material.Passages[index]
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

// hasFigure reports whether a figure that the sentence s shows agrees with a computed figure, or with a figure of a
// passage that s marks. mention is the figure that s shows. A loss may be shown without its sign, but not in a
// sentence that states a gain.
func (c *Checker) hasFigure(s draft.Sentence, mention figures.Mention) bool {
	fits := func(exact kernel.Figure) bool { return States(mention.Figure, exact) }
	if gainWords.MatchString(s.Text) && !lossWords.MatchString(s.Text) { // the sign must agree too
		fits = func(exact kernel.Figure) bool { return figures.Shows(mention.Figure, exact) }
	}
	if slices.ContainsFunc(c.results, fits) || slices.ContainsFunc(c.calculations, fits) {
		return true
	}
	for _, index := range s.Marks {
		if slices.ContainsFunc(c.figuresOf(index), fits) {
			return true
		}
	}
	return c.inMarkedPassage(s.Marks, func(text string) bool {
		return slices.ContainsFunc(figures.Spelled(text), func(spelled figures.Mention) bool { return fits(spelled.Figure) })
	})
}

// States reports whether a printed figure, which may be rounded, states an exact figure. A loss may be printed
// without its sign.
func States(printed, exact kernel.Figure) bool {
	if figures.Shows(printed, exact) {
		return true
	}
	if printed.Value >= 0 && exact.Value < 0 {
		exact.Value = -exact.Value
		return figures.Shows(printed, exact)
	}
	return false
}

// figuresOf returns the figures of the passage with the given index. It reads them from the passage only once.
func (c *Checker) figuresOf(index int) []kernel.Figure {
	if c.figures[index] == nil {
		c.figures[index] = Figures(&c.material.Passages[index])
	}
	return c.figures[index]
}

// Figures returns all figures in the title, section and text of a passage and in the cells of its tables. A figure of a
// table occurs twice: in the unit that the table declares, such as thousands, and as printed. The result is never nil.
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

// inText returns the figures in a text.
func inText(s string) (list []kernel.Figure) {
	for _, mention := range figures.Find(s) {
		list = append(list, mention.Figure)
	}
	return list
}
