package tables

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// fullLine is the least length of a line of text that may continue on the next line.
const fullLine = 60

// paragraphs writes lines of text. A full line is joined with the next line, so that sentences are not divided. On a
// page with two columns the left column comes first.
func paragraphs(b *strings.Builder, lines []layoutLine) {
	for i := 0; i < len(lines); {
		end, split := twoColumns(lines, i)
		if end == i { // one column, up to the next lines in two columns
			end = i + 1
			for end < len(lines) {
				if next, _ := twoColumns(lines, end); next > end {
					break
				}
				end++
			}
			joinLines(b, lines[i:end], fullLine)
		} else {
			left, right := make([]layoutLine, 0, end-i), make([]layoutLine, 0, end-i)
			for _, l := range lines[i:end] {
				runes := []rune(l.text)
				cut := min(split, len(runes))
				left, right = append(left, parseLine(string(runes[:cut]))), append(right, parseLine(string(runes[cut:])))
			}
			joinLines(b, left, fullLine/2)
			joinLines(b, right, fullLine/2)
		}
		i = end
	}
}

// minTwoColumns is the least number of lines in two columns.
const minTwoColumns = 5

// twoColumns finds the text in two columns that begins at lines[offset]. The text consists of lines[offset:end], and
// its second column begins at the character split. If the text at lines[offset] has one column, end is offset.
func twoColumns(lines []layoutLine, offset int) (end, split int) {
	// secondStart returns where the second column of a line begins, or 0 if the line has one column.
	secondStart := func(l *layoutLine) int {
		if l.role != textLine || len(l.cells) != 2 || len(l.cells[0].text) < fullLine/3 || len(l.cells[1].text) < fullLine/3 {
			return 0
		}
		return l.cells[1].start
	}
	if split = secondStart(&lines[offset]); split == 0 {
		return offset, 0
	}
	paired := 0
	for i := offset; i < len(lines); i++ {
		l := &lines[i]
		if start := secondStart(l); abs(start-split) <= 1 {
			split = min(split, start)
			paired, end = paired+1, i+1
			continue
		}
		crosses := slices.ContainsFunc(l.cells, func(c cell) bool { return c.start < split && c.end > split })
		if l.role == blankLine || crosses || len(l.cells) > 2 {
			break
		}
		if l.role == textLine { // only one of the columns has text on this line
			end = i + 1
		}
	}
	if paired < minTwoColumns {
		return offset, 0
	}
	return end, split
}

// joinLines writes lines. If a line has at least fullLength bytes, it is joined with the next line, unless the next
// line begins a list item.
func joinLines(b *strings.Builder, lines []layoutLine, fullLength int) {
	previous := ""
	for i := range lines {
		line := unmarked(lines[i].text)
		switch {
		case i == 0: // nothing to join with
		case line == "" || len(previous) < fullLength || !mayContinue(previous, &lines[i-1]) || bullet.MatchString(line):
			b.WriteByte('\n')
		case hyphenated.MatchString(previous) && unicode.IsLower([]rune(line)[0]): // join without a space
		default:
			b.WriteByte(' ')
		}
		b.WriteString(line)
		previous = line
	}
	b.WriteByte('\n')
}

var (
	bullet     = regexp.MustCompile(`^(?:[•●▪■◦‣\x{F0B7}\x{F0A7}*–—-]|\(?(?:\d{1,2}|[a-z]{1,4})[.)])\s`)
	hyphenated = regexp.MustCompile(`\pL-$`)
)

// mayContinue reports whether a line of text may continue on the next line.
func mayContinue(text string, l *layoutLine) bool {
	return l.role == textLine && len(l.cells) < 3 && !strings.HasSuffix(text, ":")
}
