package corpus

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/tollgate-gateway/tollgate/backends/answer/tables"
	"github.com/tollgate-gateway/tollgate/backends/answer/terms"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// block is a paragraph, a heading or a table.
type block struct {
	text   string // Markdown
	tokens int    // an estimate for the text (see terms.Tokens)
	level  int    // the level of a heading, from 1; 0 for other blocks
	table  bool
}

// blocks splits the Markdown of a page into paragraphs, headings and tables.
func blocks(text string) []block {
	var list []block
	var lines []string // of the current block
	inTable := false   // the current block is a table
	flush := func() {  // ends the current block, if there is one
		if body := strings.TrimSpace(strings.Join(lines, "\n")); body != "" {
			b := block{text: body, tokens: terms.Tokens(body), table: inTable}
			if !inTable && len(lines) == 1 {
				b.level = headingLevel(body)
			}
			list = append(list, b)
		}
		lines, inTable = lines[:0], false
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) == "" {
			if !inTable { // rows after an empty line belong to the same table
				flush()
			}
			continue
		}
		isRow := tables.IsRow(line)
		isHeading := !isRow && strings.HasPrefix(line, "#")
		if isHeading || isRow != inTable && len(lines) > 0 {
			flush()
		}
		inTable = isRow
		lines = append(lines, line)
		if isHeading {
			flush()
		}
	}
	flush()
	return list
}

// Patterns of headings without Markdown marks: "Item 7A. …", "Note 3 – …" and "2.1 …".
var (
	partHeading     = regexp.MustCompile(`^(?i:part|item|chapter)\s+[IVX0-9]+[A-Z]?\b[.:–—-]?\s*`)
	noteHeading     = regexp.MustCompile(`^(?i:note)s?\s+\d{1,2}[A-Z]?\b[.:–—-]*\s*`)
	numberedHeading = regexp.MustCompile(`^\(?\d{1,2}(?:\.\d{1,2}){0,2}[.)]?\s+\p{Lu}`)
)

// runningHead matches a line that is repeated at the top of every page and is not a heading.
var runningHead = regexp.MustCompile(`(?i)^(?:table of contents|contents|index(?: to (?:consolidated )?financial statements)?|back to top|page \d+.*)$`)

// maxHeading is the largest length of a heading in bytes.
const maxHeading = 120

// headingLevel returns the level of a heading, or 0 if the line is not a heading. A line without Markdown marks is a
// heading if it is short, begins with a capital letter and does not end like a sentence.
func headingLevel(line string) int {
	if hashes := len(line) - len(strings.TrimLeft(line, "#")); hashes > 0 {
		if hashes <= 6 && strings.HasPrefix(line[hashes:], " ") {
			return hashes
		}
		return 0
	}
	line = strings.Trim(line, "*_ ")
	if runningHead.MatchString(line) {
		return 0
	}
	if line == "" || len(line) > maxHeading || strings.ContainsAny(line[len(line)-1:], ".,;:") ||
		strings.HasPrefix(line, "|") {
		return 0
	}
	switch {
	case partHeading.MatchString(line):
		return 1
	case noteHeading.MatchString(line), numberedHeading.MatchString(line):
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
	return 3 // a heading of no known form ranks below parts and notes
}

// sections holds the headings above a block, one for each level of Markdown headings, outermost first. Levels without a
// heading are empty.
type sections [6]string

// enter returns the sections of the blocks below a heading of the given level. The heading replaces the previous
// heading of its level and ends the headings of deeper levels.
func (s sections) enter(level int, heading string) sections {
	s[level-1] = strings.Trim(heading, "#*_ ")
	for i := level; i < len(s); i++ {
		s[i] = ""
	}
	return s
}

// maxSection bounds the length of a chunk's section, in bytes.
const maxSection = 400

// String returns the headings, joined with " > " and cut after maxSection bytes.
func (s sections) String() string {
	var b strings.Builder
	for _, heading := range s {
		if heading == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(" > ")
		}
		b.WriteString(heading)
	}
	return text.CutBytes(b.String(), maxSection)
}
