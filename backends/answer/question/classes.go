package question

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

//go:embed classes.txt
var classesText string

// term is a word, or several words, that indicate a class of questions.
type term struct {
	// parts are the strings to look for, with spaces around whole words. There are at most maxGap bytes between two of
	// them.
	parts []string
}

const maxGap = 60

// classes returns the terms of each class in classes.txt.
var classes = sync.OnceValue(func() map[string][]term {
	all := make(map[string][]term)
	for line := range strings.Lines(classesText) {
		fields := strings.Split(strings.TrimSpace(line), " | ")
		if len(fields) != 3 || line[0] == '#' {
			continue
		}
		for text := range strings.SplitSeq(fields[2], ";") {
			if parsed := termOf(text); len(parsed.parts) > 0 {
				all[fields[0]] = append(all[fields[0]], parsed)
			}
		}
	}
	return all
})

func termOf(text string) term {
	var t term
	for part := range strings.SplitSeq(text, "~") {
		// "word*" is the beginning of a word; within a term, the next part follows it.
		for i, piece := range strings.Split(part, "*") {
			words := strings.TrimSpace(plainWords(piece))
			if words == "" {
				continue
			}
			switch open := i < strings.Count(part, "*"); {
			case strings.ContainsFunc(words, isUnspaced):
			case open:
				words = " " + words
			default:
				words = " " + words + " "
			}
			t.parts = append(t.parts, words)
		}
	}
	return t
}

// isUnspaced reports whether a letter belongs to a script without spaces between words.
func isUnspaced(r rune) bool { return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) }

// plainWords returns the words of a text in lower case and without accents, with a space before, between and
// after them.
func plainWords(s string) string {
	var b strings.Builder
	b.WriteByte(' ')
	blank := true
	for _, r := range norm.NFKD.String(s) {
		switch {
		case unicode.Is(unicode.Mn, r):
		case unicode.IsLetter(r), unicode.IsDigit(r):
			if r == 'ß' {
				r = 's'
			}
			b.WriteRune(unicode.ToLower(r))
			blank = false
		case !blank:
			b.WriteByte(' ')
			blank = true
		}
	}
	if !blank {
		b.WriteByte(' ')
	}
	return b.String()
}

// reading holds the words of a question, in the form of plainWords.
type reading struct{ text string }

func readingOf(text string) reading { return reading{plainWords(text)} }

// find returns the start and the end of a term in a text. The end is 0 if the text does not contain the term.
func (t term) find(text string) (start, end int) {
	position := 0
	for i, part := range t.parts {
		found := strings.Index(text[position:], part)
		if found < 0 || i > 0 && found > maxGap {
			return 0, 0
		}
		if i == 0 {
			start = found
		}
		position += found + len(part)
		end = position
		if strings.HasSuffix(part, " ") { // the next part may begin with the same space
			position--
		}
	}
	return start, end
}

// hits returns how many terms of a class a question has. Overlapping terms are counted once.
func (r reading) hits(class string) int {
	var found [][2]int
	for _, t := range classes()[class] {
		if start, end := t.find(r.text); end > 0 {
			found = append(found, [2]int{start, end - 1})
		}
	}
	slices.SortFunc(found, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	n, last := 0, 0
	for _, span := range found {
		if span[0] >= last {
			n++
			last = span[1]
		}
	}
	return n
}

func (r reading) has(class string) bool {
	return slices.ContainsFunc(classes()[class], func(t term) bool {
		_, end := t.find(r.text)
		return end > 0
	})
}

// positions returns the indexes at which terms of a class begin in a question.
func (r reading) positions(class string) (starts []int) {
	for _, t := range classes()[class] {
		if start, end := t.find(r.text); end > 0 {
			starts = append(starts, start)
		}
	}
	return starts
}

// maxLead is the largest distance in bytes between two terms for precedes.
const maxLead = 60

// precedes reports whether a term of class precedes a term of other by at most maxLead bytes.
func (r reading) precedes(class, other string) bool {
	positions := r.positions(other)
	return slices.ContainsFunc(r.positions(class), func(start int) bool {
		return slices.ContainsFunc(positions, func(position int) bool {
			return start <= position && position-start <= maxLead
		})
	})
}

// terse reports whether a question consists of a few words only, like a text in a search box.
func (r reading) terse() bool {
	return strings.Count(r.text, " ") <= 8 && !informational.MatchString(r.text)
}

// begins reports whether a question begins with a term of a class, possibly after one other word.
func (r reading) begins(class string) bool {
	first := strings.IndexByte(r.text[min(1, len(r.text)):], ' ') + 1
	return slices.ContainsFunc(r.positions(class), func(position int) bool { return position <= first })
}
