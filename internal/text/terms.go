package text

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// termMost bounds a term, in characters. The rest of what is longer is not looked for.
const termMost = 100

// Term is a word of a text as it is looked for.
type Term struct {
	Text string
	// Behind is set where nothing is between the term and the one before: a part of what is
	// written without spaces.
	Behind bool
}

// Terms are the words of a text as they are looked for: runs of letters, digits and
// marks, whatever their case, width and accents. What is written without spaces, as
// Chinese, Japanese and Thai are, has no end of words to find: each letter is a term.
func Terms(s string) (list []Term) {
	start, behind := -1, false // of the run, and whether the term before ends at it
	end := func(at int) {
		if start >= 0 {
			list = append(list, Term{fold(s[start:at]), behind})
		}
	}
	alone := false // the run is a letter by itself
	for i, r := range s {
		if start >= 0 && unicode.IsMark(r) {
			continue
		}
		letter := unicode.IsLetter(r)
		single := letter && unspaced(r)
		switch {
		case !letter && !unicode.IsDigit(r) && !unicode.IsMark(r):
			end(i)
			start, alone = -1, false
		case start < 0:
			start, behind, alone = i, false, single
		case single || alone:
			end(i)
			start, behind, alone = i, true, single
		}
	}
	end(len(s))
	return list
}

// unspaced reports whether a letter is of a script that puts no spaces between words.
func unspaced(r rune) bool {
	return r >= 0x0e00 && (r == 'ー' || r == 'ｰ' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar))
}

// fold is a word as it is compared: accents on Latin letters do not count.
func fold(word string) string {
	ascii := true
	for i := range len(word) {
		ascii = ascii && word[i] < 0x80
	}
	if ascii {
		return strings.ToLower(word[:min(len(word), termMost)])
	}
	var b strings.Builder
	latin, n := false, 0
	for _, r := range norm.NFKD.String(cases.Fold().String(norm.NFKC.String(word))) {
		if latin && r >= 0x300 && r < 0x370 {
			continue
		}
		if n++; n > termMost {
			break
		}
		latin = r < 0x80
		b.WriteRune(r)
	}
	return norm.NFC.String(b.String())
}
