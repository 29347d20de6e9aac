// Package terms defines the terms of passages and questions, and the vector of a passage. A term is a word in a form
// for comparison. The vector has the terms of the passage, and how often each term occurs in each part of the passage.
//
// A search reads vectors, of a few hundred bytes each, instead of texts. An issuer has only some thousands of passages,
// so a search can score all of them. The weight of a word is its rarity among these passages, which is determined in
// the same way on both databases. The full-text index is used for questions about no issuer, and for issuers with more
// passages.
//
// A word is what the function Each finds in a text, in lower case: "revenues". Its term is its stem, "revenu", which is
// also the term of "revenue". A stop word, such as "the", has no term.
package terms

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Term is the stem of a word, such as "revenu" for "revenues", or a number. Two words match if their terms are equal.
type Term string

// Set is a set of terms. A nil Set is empty.
type Set map[Term]bool

// NewSet returns the set of the terms in lists.
func NewSet(lists ...[]Term) Set {
	s := make(Set)
	for _, list := range lists {
		for _, t := range list {
			s[t] = true
		}
	}
	return s
}

// SetOf returns the set of the terms of texts.
func SetOf(texts ...string) Set {
	lists := make([][]Term, len(texts))
	for i, text := range texts {
		lists[i] = Of(text)
	}
	return NewSet(lists...)
}

// maxLetters bounds the characters of a word. The function Each leaves out longer runs of letters and digits.
const maxLetters = 40

// Of returns the terms of a text in their order, without stop words.
func Of(text string) []Term {
	list := make([]Term, 0, len(text)/6)
	Each(text, func(word string) {
		if t := Stem(word); t != "" {
			list = append(list, t)
		}
	})
	return list
}

// Each calls fn for each word of a text, in lower case. Digits with "." or "," between them are one word, without the
// commas. "&" within a word belongs to it ("r&d"). An apostrophe and the letters after it are left out ("company's").
func Each(text string, fn func(word string)) {
	var buffer [maxLetters * utf8.UTFMax]byte
	word := buffer[:0] // the current word, or its first maxLetters characters
	letters := 0       // counts the characters of the current word, even beyond maxLetters; 0 between words
	skip := false      // within the letters after an apostrophe
	var last rune
	flush := func() {
		if letters > 0 && letters <= maxLetters {
			fn(string(word))
		}
		word, letters, skip = buffer[:0], 0, false
	}
	for i, r := range text {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			if skip {
				break
			}
			if letters++; letters <= maxLetters {
				word = utf8.AppendRune(word, unicode.ToLower(r))
			}
		case letters == 0: // a mark between words
		case (r == '\'' || r == '’') && unicode.IsLetter(last):
			skip = true
		case (r == '.' || r == ',') && isDigit(last) && isDigit(next(text, i, r)):
			if r == '.' && letters < maxLetters {
				letters++
				word = append(word, '.')
			}
		case r == '&' && unicode.IsLetter(last) && unicode.IsLetter(next(text, i, r)) && letters < maxLetters:
			letters++
			word = append(word, '&')
		default:
			flush()
		}
		last = r
	}
	flush()
}

// next returns the character that follows r in text, or utf8.RuneError at the end. r is the character at the byte i.
func next(text string, i int, r rune) rune {
	following, _ := utf8.DecodeRuneInString(text[i+utf8.RuneLen(max(r, 0)):])
	return following
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// Stem returns the term of a word in lower case, or the empty string for a stop word. The word must not be empty.
func Stem(word string) Term {
	if stopWords[word] {
		return ""
	}
	if c := word[0]; isDigit(rune(c)) {
		return Term(number(word))
	}
	return Term(porter(word))
}

// number returns a number without its decimals if all of them are zero.
func number(word string) string {
	if whole, decimals, ok := strings.Cut(word, "."); ok && strings.Trim(decimals, "0") == "" {
		return whole
	}
	return word
}

// stopWords holds words that occur in every text and do not distinguish texts.
var stopWords = func() map[string]bool {
	set := make(map[string]bool)
	for w := range strings.FieldsSeq(`a an and are as at be been being by did do does for from had has have he her his how i if in into is it
		its me my of on or our she so than that the their them then there these they this those to us was we were what when where
		which who whom whose why will with would you your s t also any both can could each may might must shall should such
		about between during through over under per versus vs company companies corporation inc ltd group much many respectively
		please tell give regarding`) {
		set[w] = true
	}
	return set
}()

// Tokens estimates the number of language model tokens in a text: one for three digits, seven letters, an ideograph, or
// any other character except a space.
func Tokens(text string) (n int) {
	run, digits := 0, false // the length of the current run of letters, or of digits if digits is true
	flush := func() {
		switch {
		case run == 0:
		case digits: // both divisions round up
			n += (run + 2) / 3
		default:
			n += (run + 6) / 7
		}
		run = 0
	}
	for _, r := range text {
		switch {
		case isDigit(r):
			if !digits {
				flush()
			}
			digits = true
			run++
		case unicode.IsLetter(r):
			if digits {
				flush()
			}
			digits = false
			if run++; r > 0x2e80 { // an ideograph counts like seven letters
				run += 6
			}
		default:
			if flush(); r != ' ' {
				n++
			}
		}
	}
	flush()
	return n
}
