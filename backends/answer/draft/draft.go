package draft

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Sentence is a sentence of a draft: "Net sales were $1,577 million. [P1]" has the Text "Net sales were $1,577
// million." and the Marks [0].
type Sentence struct {
	Text  string // without its marks
	Marks []int  // the indexes of passages in the order of the marks; -1 for an invalid mark
	// Fixed reports that the sentence is the service's own line, such as the information line or the line about parts
	// that were not found.
	Fixed bool
	// Computed reports that the words of the sentence are the service's own and its figures are computed.
	Computed bool
	// Break reports that the sentence begins a new line.
	Break bool
}

// Draft is an answer before it is assembled.
type Draft struct {
	Sentences []Sentence
	// Confidence is how certain the rules are that the draft answers the question, from 0 to 1. It is 0 for the draft
	// of a model.
	Confidence float64
}

// Information is the last line of an answer to a question for advice.
const Information = "This is information, not investment advice."

// mark matches the mark by which a sentence refers to a passage, such as "[P3]". Its group is the number of the
// passage.
var mark = regexp.MustCompile(`\s*\[\s*[pP]\s?(\d{1,4})\s*\]`)

// anyMark also matches texts that look like marks but are not valid marks, such as "[3]" or "[P3](https://…)".
var anyMark = regexp.MustCompile(`\s*\[\s*(?:[pP]?\s?\d{1,6}|[pP][^\]]{0,20}|source[^\]]{0,20})\s*\](?:\([^)]*\))?`)

// Parse parses the text that a model wrote. passages is the number of passages in the prompt. A mark for a passage that
// is not among them becomes -1.
func Parse(text string, passages int) Draft {
	var d Draft
	for line := range strings.Lines(text) {
		beginsLine := true
		for _, s := range Split(strings.TrimSpace(line)) {
			sentence := Sentence{
				Text: strings.TrimSpace(anyMark.ReplaceAllString(s, "")), Marks: parseMarks(s, passages),
				Break: beginsLine && len(d.Sentences) > 0,
			}
			if strings.Trim(sentence.Text, ".*#-_ ") != "" {
				d.Sentences = append(d.Sentences, sentence)
				beginsLine = false
				continue
			}
			if n := len(d.Sentences); n > 0 && !sentence.Break { // marks alone belong to the sentence before them
				previous := &d.Sentences[n-1]
				for _, index := range sentence.Marks {
					if !slices.Contains(previous.Marks, index) {
						previous.Marks = append(previous.Marks, index)
					}
				}
			}
		}
	}
	return d
}

// parseMarks returns the indexes of the passages that a sentence marks, without repetitions. For an invalid mark the
// index is -1.
func parseMarks(sentence string, passages int) (indexes []int) {
	for _, m := range anyMark.FindAllString(sentence, 40) {
		index := -1
		if found := mark.FindStringSubmatch(m); found != nil && !strings.Contains(m, "(") { // not a link
			if n, err := strconv.Atoi(found[1]); err == nil && n >= 1 && n <= passages {
				index = n - 1
			}
		}
		if !slices.Contains(indexes, index) {
			indexes = append(indexes, index)
		}
	}
	return indexes
}

// Text returns the text of the draft without marks.
func (d Draft) Text() string {
	var b strings.Builder
	for i, s := range d.Sentences {
		if i > 0 {
			if s.Break {
				b.WriteString("\n")
			} else {
				b.WriteByte(' ')
			}
		}
		b.WriteString(s.Text)
	}
	return b.String()
}

// Marked returns the draft in one line, with marks in the form in which models write them.
func (d Draft) Marked() string {
	var b strings.Builder
	for i, s := range d.Sentences {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(s.Text)
		for _, m := range s.Marks {
			b.WriteString(" [p" + strconv.Itoa(m+1) + "]")
		}
	}
	return b.String()
}

// abbreviations holds words after which a point does not end a sentence.
var abbreviations = map[string]bool{
	"inc": true, "corp": true, "co": true, "ltd": true, "no": true, "mr": true, "ms": true, "mrs": true, "dr": true,
	"vs": true, "approx": true, "st": true,
	"u.s": true, "u.k": true, "e.g": true, "i.e": true, "jan": true, "feb": true, "mar": true, "apr": true, "aug": true,
	"sept": true, "oct": true, "nov": true, "dec": true, "jr": true, "sr": true, "plc": true, "etc": true, "fig": true,
	"al": true, "vol": true, "art": true,
}

// maxSentences bounds the sentences of a text.
const maxSentences = 2000

// Split splits a paragraph into sentences. A mark after the full stop belongs to the sentence before it.
func Split(text string) []string {
	var all []string
	start := 0
	for i := 0; i < len(text) && len(all) < maxSentences; i++ {
		c := text[i]
		if c != '.' && c != '!' && c != '?' {
			continue
		}
		end := i + 1
		for end < len(text) && strings.IndexByte(`"')”’`, text[end]) >= 0 {
			end++
		}
		if end < len(text) && text[end] != ' ' && text[end] != '[' { // a point within a number or an address
			continue
		}
		if c == '.' && isAbbreviation(text[start:i], text[end:]) {
			continue
		}
		for { // marks after the full stop
			location := anyMark.FindStringIndex(text[end:])
			if location == nil || location[0] != 0 {
				break
			}
			end += location[1]
		}
		if s := strings.TrimSpace(text[start:end]); s != "" {
			all = append(all, s)
		}
		start = end
		i = end - 1 // the loop adds 1
	}
	if s := strings.TrimSpace(text[start:]); s != "" {
		all = append(all, s)
	}
	return all
}

// isAbbreviation reports whether the point between two texts ends an abbreviation or an initial and not a sentence.
func isAbbreviation(left, right string) bool {
	word := left[strings.LastIndexAny(left, " (")+1:]
	right = strings.TrimLeft(right, " ")
	if right == "" {
		return false
	}
	if right[0] >= 'a' && right[0] <= 'z' { // no sentence begins with a lower-case letter
		return true
	}
	isInitial := len(word) == 1 && word[0] >= 'A' && word[0] <= 'Z'
	return right[0] != '[' && (isInitial || abbreviations[strings.ToLower(word)])
}
