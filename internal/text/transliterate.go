package text

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// latin has the Latin letters that Unicode does not decompose into a letter and marks.
var latin = strings.NewReplacer(
	"ß", "ss", "ẞ", "ss", "æ", "ae", "Æ", "ae", "œ", "oe", "Œ", "oe", "ø", "o", "Ø", "o", "ł", "l", "Ł", "l",
	"đ", "d", "Đ", "d",
	"ð", "d", "Ð", "d", "þ", "th", "Þ", "th", "ħ", "h", "Ħ", "h", "ı", "i", "ŋ", "n", "Ŋ", "n",
)

// scripts maps the letters of Greek and Cyrillic, in lower case, to Latin letters.
var scripts = strings.NewReplacer(
	"α", "a", "β", "v", "γ", "g", "δ", "d", "ε", "e", "ζ", "z", "η", "i", "θ", "th", "ι", "i", "κ", "k", "λ", "l",
	"μ", "m", "ν", "n", "ξ", "x",
	"ο", "o", "π", "p", "ρ", "r", "σ", "s", "ς", "s", "τ", "t", "υ", "y", "φ", "f", "χ", "ch", "ψ", "ps", "ω", "o",
	"а", "a", "б", "b", "в", "v", "г", "g", "ґ", "g", "д", "d", "ђ", "dj", "е", "e", "є", "ye", "ж", "zh",
	"з", "z", "и", "i", "і", "i", "й", "j",
	"ј", "j", "к", "k", "л", "l", "љ", "lj", "м", "m", "н", "n", "њ", "nj", "о", "o", "п", "p", "р", "r",
	"с", "s", "т", "t", "ћ", "c", "у", "u",
	"ф", "f", "х", "h", "ц", "c", "ч", "ch", "џ", "dz", "ш", "sh", "щ", "sch", "ъ", "", "ы", "y", "ь", "",
	"э", "e", "ю", "yu", "я", "ya",
)

// Transliterate converts a text to lower case, and letters of the Latin, Greek and Cyrillic scripts to Latin letters
// without marks. All other characters stay unchanged.
func Transliterate(s string) string {
	bare := strings.Map(func(r rune) rune {
		if unicode.IsMark(r) {
			return -1
		}
		return unicode.ToLower(r)
	}, norm.NFKD.String(latin.Replace(s)))
	return scripts.Replace(bare)
}
