package tables

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// fullLine is the least length of a line of text that is continued on the next one.
const fullLine = 60

// paragraphs writes lines of text. A full line is joined with the next one, so that sentences are whole. On a
// page with two columns the left one comes first.
func paragraphs(b *strings.Builder, lines []laid) {
	for i := 0; i < len(lines); {
		end, at := columned(lines, i)
		if end == i {
			end = i + 1
			for end < len(lines) {
				if next, _ := columned(lines, end); next > end {
					break
				}
				end++
			}
			flow(b, lines[i:end], fullLine)
		} else {
			left, right := make([]laid, 0, end-i), make([]laid, 0, end-i)
			for _, l := range lines[i:end] {
				runes := []rune(l.text)
				cut := min(at, len(runes))
				left, right = append(left, lay(string(runes[:cut]))), append(right, lay(string(runes[cut:])))
			}
			flow(b, left, fullLine/2)
			flow(b, right, fullLine/2)
		}
		i = end
	}
}

// minBeside is the least number of lines with a second column.
const minBeside = 5

// columned returns the end of the lines in two columns of text that begin at the line from, and where the
// second column begins. If the text has one column, the end is from.
func columned(lines []laid, from int) (end, at int) {
	second := func(l *laid) int {
		if l.role != isText || len(l.cells) != 2 || len(l.cells[0].text) < fullLine/3 || len(l.cells[1].text) < fullLine/3 {
			return 0
		}
		return l.cells[1].start
	}
	if at = second(&lines[from]); at == 0 {
		return from, 0
	}
	both := 0
	for i := from; i < len(lines); i++ {
		l := &lines[i]
		crosses := slices.ContainsFunc(l.cells, func(c cell) bool { return c.start < at && c.end > at })
		switch {
		case abs(second(l)-at) <= 1:
			at = min(at, second(l))
			both, end = both+1, i+1
		case l.role == isBlank || crosses || len(l.cells) > 2:
			i = len(lines)
		case l.role == isText:
			end = i + 1
		}
	}
	if both < minBeside {
		return from, 0
	}
	return end, at
}

// flow writes lines and joins those that are full with the next one.
func flow(b *strings.Builder, lines []laid, full int) {
	before := ""
	for i := range lines {
		line := unmarked(lines[i].text)
		switch {
		case i == 0:
		case line == "" || len(before) < full || !goesOn(before, &lines[i-1]) || bullet.MatchString(line):
			b.WriteByte('\n')
		case hyphenated.MatchString(before) && unicode.IsLower([]rune(line)[0]):
		default:
			b.WriteByte(' ')
		}
		b.WriteString(line)
		before = line
	}
	b.WriteByte('\n')
}

var (
	bullet     = regexp.MustCompile(`^(?:[•●▪■◦‣\x{F0B7}\x{F0A7}*–—-]|\(?(?:\d{1,2}|[a-z]{1,4})[.)])\s`)
	hyphenated = regexp.MustCompile(`\pL-$`)
)

// goesOn reports whether a line of text may be continued on the next one.
func goesOn(text string, l *laid) bool {
	return l.role == isText && len(l.cells) < 3 && !strings.HasSuffix(text, ":")
}
