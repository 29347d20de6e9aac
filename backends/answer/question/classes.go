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

// term is a word, or several words, that indicate a class of questions: "capital expenditure*" indicates "finance", and
// "how much ~ spend" has two parts with any text between them.
type term struct {
	// parts are the strings to look for, in this order, with spaces around whole words. There are at most maxGap bytes
	// between a part and the next one. A term has at least one part.
	parts []string
}

// maxGap is the largest distance in bytes between two parts of a term.
const maxGap = 60

// classes returns the terms of each class in classes.txt. A line of the file is "class | language | terms".
var classes = sync.OnceValue(func() map[string][]term {
	all := make(map[string][]term)
	for line := range strings.Lines(classesText) {
		fields := strings.Split(strings.TrimSpace(line), " | ")
		if len(fields) != 3 || line[0] == '#' {
			continue
		}
		for text := range strings.SplitSeq(fields[2], ";") {
			if parsed := parseTerm(text); len(parsed.parts) > 0 {
				all[fields[0]] = append(all[fields[0]], parsed)
			}
		}
	}
	return all
})

// parseTerm parses a term of classes.txt: words, with "*" for the rest of a word and "~" for any text between two
// parts. The term has no parts if the text has no words.
func parseTerm(text string) term {
	var t term
	for part := range strings.SplitSeq(text, "~") {
		// "word*" stands for any word that begins with "word". What follows the "*" in a term is the term's next part.
		for i, piece := range strings.Split(part, "*") {
			words := strings.TrimSpace(plainWords(piece))
			if words == "" {
				continue
			}
			switch isPrefix := i < strings.Count(part, "*"); {
			case strings.ContainsFunc(words, isUnspaced):
			case isPrefix:
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

// plainWords returns the words of a text in lower case and without accents, with a space before, between and after
// them. Characters other than letters and digits separate words.
func plainWords(s string) string {
	var b strings.Builder
	b.WriteByte(' ')
	afterSpace := true
	for _, r := range norm.NFKD.String(s) {
		switch {
		case unicode.Is(unicode.Mn, r):
		case unicode.IsLetter(r), unicode.IsDigit(r):
			if r == 'ß' {
				r = 's'
			}
			b.WriteRune(unicode.ToLower(r))
			afterSpace = false
		case !afterSpace:
			b.WriteByte(' ')
			afterSpace = true
		}
	}
	if !afterSpace {
		b.WriteByte(' ')
	}
	return b.String()
}

// reading holds the words of a question, in the form of plainWords: " what was net income " for "What was net income?".
// Its methods look for terms of a class in it. classes.txt describes each class; "finance", for example, has the words
// of questions about investments, and "elsewhere" those of questions about anything else.
type reading struct{ text string }

// readingOf returns the reading of a text.
func readingOf(text string) reading { return reading{plainWords(text)} }

// find returns the start and the end of the first occurrence of a term in a text in the form of plainWords. The end is
// 0 if the text does not contain the term.
func (t term) find(text string) (start, end int) {
	for {
		found := strings.Index(text[start:], t.parts[0])
		if found < 0 {
			return 0, 0
		}
		start += found
		if end = t.endAt(text, start); end > 0 {
			return start, end
		}
		start++ // a later occurrence of the first part may be near enough to the second part
	}
}

// endAt returns the end of a term whose first part begins at the index start of a text, or 0 if its other parts do not
// follow closely enough.
func (t term) endAt(text string, start int) (end int) {
	end = start + len(t.parts[0])
	for i, part := range t.parts[1:] {
		position := end
		if strings.HasSuffix(t.parts[i], " ") { // the part may begin with the space that ends the previous one
			position--
		}
		gap := strings.Index(text[position:], part)
		if gap < 0 || gap > maxGap {
			return 0
		}
		end = position + gap + len(part)
	}
	return end
}

// hits returns how many terms of a class a question has. Repeated and overlapping terms are counted once.
func (r reading) hits(class string) int {
	type span struct{ start, end int }
	var found []span
	for _, t := range classes()[class] {
		if start, end := t.find(r.text); end > 0 {
			found = append(found, span{start, end - 1}) // the space after a term may begin the next one
		}
	}
	slices.SortFunc(found, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	n, lastEnd := 0, 0
	for _, s := range found {
		if s.start >= lastEnd {
			n++
			lastEnd = s.end
		}
	}
	return n
}

// has reports whether a question has a term of a class.
func (r reading) has(class string) bool {
	return slices.ContainsFunc(classes()[class], func(t term) bool {
		_, end := t.find(r.text)
		return end > 0
	})
}

// positions returns the positions in a question of the terms of a class. For each term that the question has, it
// returns the index of the first occurrence.
func (r reading) positions(class string) (starts []int) {
	for _, t := range classes()[class] {
		if start, end := t.find(r.text); end > 0 {
			starts = append(starts, start)
		}
	}
	return starts
}

// maxLead is the largest distance in bytes that the method precedes allows between two terms.
const maxLead = 60

// precedes reports whether a term of class begins at most maxLead bytes before a term of nextClass, or at the same
// place.
func (r reading) precedes(class, nextClass string) bool {
	positions := r.positions(nextClass)
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
	// The text begins with a space; first is the index of the space after the first word.
	first := strings.IndexByte(r.text[min(1, len(r.text)):], ' ') + 1
	return slices.ContainsFunc(r.positions(class), func(position int) bool { return position <= first })
}
