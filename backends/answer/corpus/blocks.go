package corpus

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/tollgate-gateway/tollgate/backends/answer/tables"
	"github.com/tollgate-gateway/tollgate/backends/answer/terms"
)

// block is a paragraph, a heading or a table.
type block struct {
	text   string
	tokens int
	level  int // of a heading, from 1; 0: it is none
	table  bool
}

// blocks divides the Markdown of a page.
func blocks(text string) []block {
	var list []block
	var lines []string
	inTable := false
	flush := func() {
		if body := strings.TrimSpace(strings.Join(lines, "\n")); body != "" {
			b := block{text: body, tokens: terms.Tokens(body), table: inTable}
			if !inTable && len(lines) == 1 {
				b.level = heading(body)
			}
			list = append(list, b)
		}
		lines, inTable = lines[:0], false
	}
	for line := range strings.SplitSeq(text, "\n") {
		row := tables.IsRow(line)
		switch {
		case strings.TrimSpace(line) == "":
			if !inTable {
				flush()
			}
			continue
		case row != inTable && len(lines) > 0:
			flush()
		case !row && strings.HasPrefix(line, "#"):
			flush()
		}
		inTable = row
		lines = append(lines, line)
		if !row && strings.HasPrefix(line, "#") {
			flush()
		}
	}
	flush()
	return list
}

var (
	part     = regexp.MustCompile(`^(?i:part|item|chapter)\s+[IVX0-9]+[A-Z]?\b[.:–—-]?\s*`)
	note     = regexp.MustCompile(`^(?i:note)s?\s+\d{1,2}[A-Z]?\b[.:–—-]*\s*`)
	numbered = regexp.MustCompile(`^\(?\d{1,2}(?:\.\d{1,2}){0,2}[.)]?\s+\p{Lu}`)
)

// running is a line at the head of each page, which names nothing below it.
var running = regexp.MustCompile(`(?i)^(?:table of contents|contents|index(?: to (?:consolidated )?financial statements)?|back to top|page \d+.*)$`)

// mostHeading is how long a heading is, in bytes.
const mostHeading = 120

// heading is the level of a line that is one; 0: it is none. Without marks a line is
// one that is short, begins with a capital and does not end as a sentence.
func heading(line string) int {
	if hashes := len(line) - len(strings.TrimLeft(line, "#")); hashes > 0 {
		if hashes <= 6 && strings.HasPrefix(line[hashes:], " ") {
			return hashes
		}
		return 0
	}
	line = strings.Trim(line, "*_ ")
	if running.MatchString(line) {
		return 0
	}
	if line == "" || len(line) > mostHeading || strings.ContainsAny(line[len(line)-1:], ".,;:") || strings.HasPrefix(line, "|") {
		return 0
	}
	switch {
	case part.MatchString(line):
		return 1
	case note.MatchString(line), numbered.MatchString(line):
		return 2
	}
	first := []rune(line)[0]
	if !unicode.IsUpper(first) || len(strings.Fields(line)) > 12 {
		return 0
	}
	letters, digits := 0, 0
	for _, r := range line {
		switch {
		case unicode.IsLetter(r):
			letters++
		case unicode.IsDigit(r):
			digits++
		}
	}
	if digits > letters || strings.Contains(line, ". ") {
		return 0
	}
	return 3
}

// sections are the headings above a place, outermost first.
type sections [6]string

// enter is the sections below a heading.
func (s sections) enter(level int, line string) sections {
	s[level-1] = strings.Trim(line, "#*_ ")
	for i := level; i < len(s); i++ {
		s[i] = ""
	}
	return s
}

// mostSection bounds the headings of a chunk, in bytes.
const mostSection = 400

// String is the headings with " > " between.
func (s sections) String() string {
	var b strings.Builder
	for _, line := range s {
		if line == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(" > ")
		}
		b.WriteString(line)
	}
	return cut(b.String(), mostSection)
}

// cut is the first bytes of a text, no letter divided.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && s[most]&0xc0 == 0x80 {
		most--
	}
	return s[:most]
}
