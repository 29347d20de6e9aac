package terms

import "strings"

// porter returns the stem of an English word in lower case, by the algorithm of M. F. Porter, "An algorithm for suffix
// stripping" (1980). Words with letters other than a to z are returned unchanged.
func porter(word string) string {
	if len(word) < 3 {
		return word
	}
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return word
		}
	}
	w := stemmer(word)
	w = w.withoutPlural().withoutPast()
	if w.ends("y") && w.hasVowel(len(w)-1) { // step 1c of the algorithm
		w = w[:len(w)-1] + "i"
	}
	w = w.replace(0, step2)
	w = w.replace(0, step3)
	w = w.withoutSuffix()
	if w.ends("e") { // step 5a
		if m := w.measure(len(w) - 1); m > 1 || m == 1 && !w.endsClosed(len(w)-1) {
			w = w[:len(w)-1]
		}
	}
	if w.ends("ll") && w.measure(len(w)) > 1 { // step 5b
		w = w[:len(w)-1]
	}
	return string(w)
}

// stemmer is a word in the course of the algorithm.
type stemmer string

// ends reports whether the word ends with s.
func (w stemmer) ends(s string) bool { return strings.HasSuffix(string(w), s) }

// consonant reports whether letter i is a consonant.
func (w stemmer) consonant(i int) bool {
	switch w[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return false
	case 'y':
		return i == 0 || !w.consonant(i-1)
	}
	return true
}

// measure counts the sequences of vowels followed by consonants in the first n letters.
func (w stemmer) measure(n int) (m int) {
	vowel := false
	for i := range n {
		if !w.consonant(i) {
			vowel = true
		} else if vowel {
			m++
			vowel = false
		}
	}
	return m
}

// hasVowel reports whether there is a vowel among the first n letters.
func (w stemmer) hasVowel(n int) bool {
	for i := range n {
		if !w.consonant(i) {
			return true
		}
	}
	return false
}

// endsDouble reports whether the word ends with two equal consonants.
func (w stemmer) endsDouble() bool {
	n := len(w)
	return n > 1 && w[n-1] == w[n-2] && w.consonant(n-1)
}

// endsClosed reports whether the first n letters end with consonant, vowel, consonant, where the last consonant is not
// w, x or y.
func (w stemmer) endsClosed(n int) bool {
	return n > 2 && w.consonant(n-3) && !w.consonant(n-2) && w.consonant(n-1) && w[n-1] != 'w' && w[n-1] != 'x' &&
		w[n-1] != 'y'
}

// withoutPlural removes the ending of a plural (step 1a of the algorithm).
func (w stemmer) withoutPlural() stemmer {
	switch {
	case w.ends("sses"), w.ends("ies"):
		return w[:len(w)-2]
	case w.ends("ss"):
		return w
	case w.ends("s"):
		return w[:len(w)-1]
	}
	return w
}

// withoutPast removes "ed" and "ing" (step 1b of the algorithm).
func (w stemmer) withoutPast() stemmer {
	n := len(w)
	switch {
	case w.ends("eed"):
		if w.measure(n-3) > 0 {
			return w[:n-1]
		}
		return w
	case w.ends("ed") && w.hasVowel(n-2):
		w = w[:n-2]
	case w.ends("ing") && w.hasVowel(n-3):
		w = w[:n-3]
	default:
		return w
	}
	switch {
	case w.ends("at"), w.ends("bl"), w.ends("iz"): // "conflat(ed)" becomes "conflate"
		return w + "e"
	case w.endsDouble() && !w.ends("l") && !w.ends("s") && !w.ends("z"): // "hopp(ing)" becomes "hop"
		return w[:len(w)-1]
	case w.measure(len(w)) == 1 && w.endsClosed(len(w)): // "fil(ing)" becomes "file"
		return w + "e"
	}
	return w
}

// ending is a suffix and its replacement.
type ending struct{ from, to string }

// step2 and step3 are the endings of the steps 2 and 3 of the algorithm. A long ending, such as "ational", precedes the
// shorter endings that it ends with, such as "tional".
var step2 = []ending{
	{"ational", "ate"},
	{"tional", "tion"},
	{"enci", "ence"},
	{"anci", "ance"},
	{"izer", "ize"},
	{"abli", "able"},
	{"alli", "al"},
	{"entli", "ent"},
	{"eli", "e"},
	{"ousli", "ous"},
	{"ization", "ize"},
	{"ation", "ate"},
	{"ator", "ate"},
	{"alism", "al"},
	{"iveness", "ive"},
	{"fulness", "ful"},
	{"ousness", "ous"},
	{"aliti", "al"},
	{"iviti", "ive"},
	{"biliti", "ble"},
}

var step3 = []ending{
	{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""}, {"ness", ""},
}

// replace replaces the first of the endings that the word has, if the measure of the letters before it is greater than
// minMeasure.
func (w stemmer) replace(minMeasure int, endings []ending) stemmer {
	for _, e := range endings {
		if w.ends(e.from) {
			if head := len(w) - len(e.from); w.measure(head) > minMeasure {
				return w[:head] + stemmer(e.to)
			}
			return w
		}
	}
	return w
}

// step4 holds the suffixes of step 4 of the algorithm.
var step4 = []string{
	"ement", "ment", "ent", "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ion", "ou", "ism", "ate", "iti",
	"ous", "ive", "ize",
}

// withoutSuffix removes a suffix if the measure of the letters before it is greater than 1 (step 4 of the algorithm).
// It removes "ion" only after s and t.
func (w stemmer) withoutSuffix() stemmer {
	for _, s := range step4 {
		if !w.ends(s) {
			continue
		}
		head := len(w) - len(s)
		if w.measure(head) > 1 && (s != "ion" || head > 0 && (w[head-1] == 's' || w[head-1] == 't')) {
			return w[:head]
		}
		return w
	}
	return w
}
