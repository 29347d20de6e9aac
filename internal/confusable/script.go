package confusable

import (
	"unicode"
)

// writing is a set of writing systems, one per bit.
type writing uint32

// The writing systems that use more than one script. Each may be combined with Latin.
const (
	chinese writing = 1 << iota // Han and Bopomofo
	japanese
	korean
)

// eastAsian maps the scripts to the writing systems that use them.
var eastAsian = map[string]writing{
	"Han": chinese | japanese | korean, "Bopomofo": chinese, "Hiragana": japanese, "Katakana": japanese, "Hangul": korean,
}

// MixesScripts reports whether a text is not "highly restrictive" (UTS #39, section 5.2). A text is highly restrictive
// if it is written in one script, or in Latin together with the scripts of Chinese, Japanese or Korean. Characters that
// many scripts share, such as digits, are ignored.
func MixesScripts(text string) bool {
	const anyEastAsian = "East Asian" // stands for all scripts in eastAsian
	hasLatin := false
	other := ""                             // the script besides Latin; "" if there is none yet
	possible := chinese | japanese | korean // the writing systems that use all East Asian scripts so far
	for _, r := range text {
		script := scriptOf(r)
		systems, isEastAsian := eastAsian[script]
		switch {
		case script == "": // ignored
		case script == "Latin":
			hasLatin = true
		case isEastAsian:
			if other != "" && other != anyEastAsian {
				return true
			}
			other = anyEastAsian
			if possible &= systems; possible == 0 {
				return true
			}
		case other != "" && other != script:
			return true
		default:
			other = script
		}
	}
	return hasLatin && other != "" && other != anyEastAsian
}

// scriptOf returns the script of a character, or "" if it belongs to several or none.
func scriptOf(r rune) string {
	if r < unicode.MaxASCII {
		if unicode.IsLetter(r) {
			return "Latin"
		}
		return ""
	}
	if unicode.In(r, unicode.Common, unicode.Inherited) {
		return ""
	}
	for name, table := range unicode.Scripts {
		if unicode.Is(table, r) {
			return name
		}
	}
	return ""
}

// MixesDigits reports whether a text has decimal digits of more than one system (UTS #39, section 5.3).
func MixesDigits(text string) bool {
	previous := rune(-1) // the zero of the previous digit's system
	for _, r := range text {
		if !unicode.IsDigit(r) {
			continue
		}
		zero := zeroOf(r)
		if previous >= 0 && zero != previous {
			return true
		}
		previous = zero
	}
	return false
}

// zeroOf returns the zero of the numeral system to which a decimal digit belongs. Unicode has the digits in ranges of
// ten.
func zeroOf(r rune) rune {
	for _, t := range unicode.Nd.R16 {
		if low := rune(t.Lo); r >= low && r <= rune(t.Hi) {
			return r - (r-low)%10
		}
	}
	for _, t := range unicode.Nd.R32 {
		if low := rune(t.Lo); r >= low && r <= rune(t.Hi) { //nolint:gosec // code points are small
			return r - (r-low)%10
		}
	}
	return r
}
