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

// Terms splits a text into the words by which it is found: runs of letters, digits and
// marks, whatever their case, width and accents. Chinese, Japanese and Thai have no spaces
// between words, and Korean writes particles behind a word without one, so that each
// letter of these is a term, and a word is found by its letters in a row.
func Terms(s string) (list []Term) {
	s = norm.NFC.String(s)     // a syllable of Hangul is one letter, also when it is given in parts
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

// unspaced reports whether a letter is of a script in which spaces do not tell where a
// word begins and ends.
func unspaced(r rune) bool {
	return r >= 0x0e00 && (r == 'ー' || r == 'ｰ' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar))
}

// fold returns a word in the form in which words are compared: without the accents of
// Latin letters, and with plain letters for those such as ł and ø, which Unicode does not
// divide into a letter and an accent.
func fold(word string) string {
	if IsASCII(word) {
		return strings.ToLower(word[:min(len(word), termMost)])
	}
	var b strings.Builder
	plain, n := false, 0
	for _, r := range latin.Replace(norm.NFKD.String(cases.Fold().String(norm.NFKC.String(word)))) {
		if plain && r >= 0x300 && r < 0x370 {
			continue
		}
		if n++; n > termMost {
			break
		}
		plain = r < 0x80
		b.WriteRune(r)
	}
	return norm.NFC.String(b.String())
}
