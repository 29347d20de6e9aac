package text

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// maxTerm limits a term, in characters. The rest of a longer word is not searched for.
const maxTerm = 100

// Term is a word to search for.
type Term struct {
	Text string
	// Behind means that the term directly follows the previous term, in a text that is written without spaces.
	Behind bool
}

// Terms splits a text into the words by which it is found: runs of letters, digits and marks, without differences of
// case, width and accents. Chinese, Japanese and Thai have no spaces between words, and Korean appends particles to
// words. Each letter of these scripts is therefore a term, and a word is found by its consecutive letters.
func Terms(s string) (list []Term) {
	s = norm.NFC.String(s) // a Hangul syllable that is given in parts becomes one letter
	start := -1            // start of the current term, or -1 if there is none
	behind := false        // the previous term ends at start
	singleLetter := false  // the current term is a single letter of a script without spaces
	end := func(index int) {
		if start >= 0 {
			list = append(list, Term{fold(s[start:index]), behind})
		}
	}
	for i, r := range s {
		if start >= 0 && unicode.IsMark(r) {
			continue // it belongs to the letter before
		}
		isLetter := unicode.IsLetter(r)
		isUnspaced := isLetter && unspaced(r)
		switch {
		case !isLetter && !unicode.IsDigit(r) && !unicode.IsMark(r):
			end(i)
			start, singleLetter = -1, false
		case start < 0:
			start, behind, singleLetter = i, false, isUnspaced
		case isUnspaced || singleLetter:
			end(i)
			start, behind, singleLetter = i, true, isUnspaced
		}
	}
	end(len(s))
	return list
}

// unspaced reports whether a letter is of a script in which spaces do not separate words.
func unspaced(r rune) bool {
	return r >= 0x0e00 && (r == 'ー' || r == 'ｰ' || unicode.In(r,
		unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar))
}

// fold returns a word in the form in which words are compared. It removes the accents of Latin letters, and replaces
// letters such as ł and ø, which Unicode does not decompose, by plain letters.
func fold(word string) string {
	if IsASCII(word) {
		return strings.ToLower(word[:min(len(word), maxTerm)])
	}
	var b strings.Builder
	afterLatin := false // the previous letter is an ASCII letter, so accents are dropped
	n := 0
	for _, r := range latin.Replace(norm.NFKD.String(cases.Fold().String(norm.NFKC.String(word)))) {
		isAccent := r >= 0x300 && r < 0x370
		if afterLatin && isAccent {
			continue
		}
		if n++; n > maxTerm {
			break
		}
		afterLatin = r < 0x80
		b.WriteRune(r)
	}
	return norm.NFC.String(b.String())
}
