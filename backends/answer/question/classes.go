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

// term is a word, or several words, of a class.
type term struct {
	// parts are the strings to look for, with spaces around whole words. There are at most maxGap bytes between
	// two of them.
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
			if one := termOf(text); len(one.parts) > 0 {
				all[fields[0]] = append(all[fields[0]], one)
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
			case strings.ContainsFunc(words, unspaced):
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

// unspaced reports whether a letter belongs to a script without spaces between words.
func unspaced(r rune) bool { return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) }

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

// reading holds the words of a question.
type reading struct{ text string }

func readingOf(text string) reading { return reading{plainWords(text)} }

// find returns where a term stands in a text, or an end of 0 if it does not.
func (t term) find(text string) (start, end int) {
	at := 0
	for i, part := range t.parts {
		found := strings.Index(text[at:], part)
		if found < 0 || i > 0 && found > maxGap {
			return 0, 0
		}
		if i == 0 {
			start = found
		}
		at += found + len(part)
		end = at
		if strings.HasSuffix(part, " ") { // the next part may begin with this space
			at--
		}
	}
	return start, end
}

// hits returns how many terms of a class a question has. Overlapping ones are counted once.
func (r reading) hits(class string) int {
	var found [][2]int
	for _, t := range classes()[class] {
		if start, end := t.find(r.text); end > 0 {
			found = append(found, [2]int{start, end - 1})
		}
	}
	slices.SortFunc(found, func(a, b [2]int) int { return cmp.Compare(a[0], b[0]) })
	n, last := 0, 0
	for _, one := range found {
		if one[0] >= last {
			n++
			last = one[1]
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

// places returns where a question has terms of a class.
func (r reading) places(class string) (starts []int) {
	for _, t := range classes()[class] {
		if start, end := t.find(r.text); end > 0 {
			starts = append(starts, start)
		}
	}
	return starts
}

// nearBy is the largest distance in bytes between a word that asks and what it asks for.
const nearBy = 60

// leads reports whether a term of class stands before one of other, at most nearBy bytes away.
func (r reading) leads(class, other string) bool {
	to := r.places(other)
	return slices.ContainsFunc(r.places(class), func(from int) bool {
		return slices.ContainsFunc(to, func(at int) bool { return from <= at && at-from <= nearBy })
	})
}

// terse reports whether a question consists of a few words, as in a search box.
func (r reading) terse() bool {
	return strings.Count(r.text, " ") <= 8 && !informing.MatchString(r.text)
}

// begins reports whether a question begins with a term of a class, possibly after one other word.
func (r reading) begins(class string) bool {
	first := strings.IndexByte(r.text[min(1, len(r.text)):], ' ') + 1
	return slices.ContainsFunc(r.places(class), func(at int) bool { return at <= first })
}
