package figures

import (
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// Mention is a figure with its byte offsets in a text. The range from Start to End includes the currency, the sign, the
// scale and the unit: in "It was $1,577 million." it is "$1,577 million".
type Mention struct {
	kernel.Figure
	Start, End int
	// Year reports that the figure may be a year: four digits from 1900 to 2099 and nothing else.
	Year bool
	// Bracketed reports that the figure is in brackets, which in a table are the sign of a loss.
	Bracketed bool
}

// maxMentions bounds the figures of one text.
const maxMentions = 5000

// Doubt replaces a point or a comma between digits if its meaning is unknown. It looks like a point. A number that
// contains it is not a figure.
const Doubt = "\u2024"

// maxDigits bounds the digits of a number. Longer numbers are not figures.
const maxDigits = 18

// Find returns the figures of a text, in order.
func Find(text string) []Mention {
	var found []Mention
	for i := 0; i < len(text) && len(found) < maxMentions; {
		if !digit(text[i]) && (text[i] != '.' || i+1 >= len(text) || !digit(text[i+1])) {
			i++
			continue
		}
		m, end, ok := parseAt(text, i)
		if ok {
			found = append(found, m)
		}
		i = end
	}
	return found
}

// parseAt parses the number that begins at i, with its currency, sign, scale and unit. ok is false if it is not a
// figure. end is the index at which the search for further figures continues.
func parseAt(text string, i int) (m Mention, end int, ok bool) {
	value, step, end := number(text, i)
	if end < 0 { // too long, a version, or doubtful
		return m, i + len(text[i:]) - len(strings.TrimLeft(text[i:], "0123456789,."+Doubt)), false
	}
	m.Value, m.Step = value, step
	start, glued := m.parseBefore(text, i)
	if glued {
		return m, end, false
	}
	last, glued := m.parseAfter(text, end)
	if glued {
		return m, end, false
	}
	m.Start, m.End = start, last
	m.Text = text[start:last]
	m.Year = m.Unit == kernel.NoUnit && m.Start == i && m.End == i+4 && m.Step == 1 && m.Value >= 1900 && m.Value < 2100
	return m, last, true
}

// number parses the digits at i, with commas between groups of three and a fraction, and returns the index after them.
// step is the value of one unit of the last digit. end is -1 if the text at i is not a number, or not a clear one.
func number(text string, i int) (value, step float64, end int) {
	var digits []byte
	end = i
	for end < len(text) && digit(text[end]) {
		digits = append(digits, text[end])
		end++
	}
	if n := end - i; n >= 1 && n <= 3 { // only a group of up to three digits may be followed by groups of exactly three
		for end+3 < len(text) && text[end] == ',' && digit(text[end+1]) && digit(text[end+2]) && digit(text[end+3]) &&
			(end+4 >= len(text) || !digit(text[end+4])) {
			digits = append(digits, text[end+1:end+4]...)
			end += 4
		}
	}
	if strings.HasPrefix(text[end:], Doubt) {
		return 0, 0, -1
	}
	decimals := 0
	if end+1 < len(text) && text[end] == '.' && digit(text[end+1]) {
		digits = append(digits, '.')
		for end++; end < len(text) && digit(text[end]); end++ {
			digits = append(digits, text[end])
			decimals++
		}
		if end+1 < len(text) && text[end] == '.' && digit(text[end+1]) { // a version such as 1.2.3
			return 0, 0, -1
		}
	}
	if len(digits) > maxDigits {
		return 0, 0, -1
	}
	value, err := strconv.ParseFloat(string(digits), 64)
	if err != nil {
		return 0, 0, -1
	}
	return value, math.Pow10(-decimals), end
}

// parseBefore parses the sign, the currency and the bracket before the number at i. It sets these in m and returns
// where they start. glued reports that the number is part of a word, such as "Q3", and not a figure.
func (m *Mention) parseBefore(text string, i int) (start int, glued bool) {
	start = i
	sign := func() { // parses a minus sign that ends at start, unless it is a hyphen after a word or number: "2018-2019"
		r, size := utf8.DecodeLastRuneInString(text[:start])
		if !minus(r) {
			return
		}
		if prev, _ := utf8.DecodeLastRuneInString(text[:start-size]); start == size || unicode.IsSpace(prev) ||
			strings.ContainsRune("($€£¥|", prev) {
			m.Value, start = -m.Value, start-size
		}
	}
	sign()
	if currency, size := currencyBefore(text[:start]); size > 0 {
		m.Unit, m.Currency, start = kernel.Money, currency, start-size
		if m.Value >= 0 { // the sign is either after the currency, "$-3.1", or before it, "-$3.1"
			sign()
		}
	}
	if start > 0 && text[start-1] == '(' {
		m.Bracketed = true
		start--
		if currency, size := currencyBefore(text[:start]); size > 0 && m.Unit == kernel.NoUnit { // $(3.1)
			m.Unit, m.Currency, start = kernel.Money, currency, start-size
		}
	}
	r, _ := utf8.DecodeLastRuneInString(text[:start])
	return start, start > 0 && start == i && (unicode.IsLetter(r) || r == '_')
}

// parseAfter parses the bracket, the scale and the unit after the number that ends at end. It sets these in m and
// returns where they end. glued reports that the number is part of a word, such as "5G", and not a figure.
func (m *Mention) parseAfter(text string, end int) (last int, glued bool) {
	last = end
	isOpen := m.Bracketed // a bracket before the number is still to be closed
	closing := func() {   // parses a closing bracket at the offset last; the bracket makes the figure negative
		if isOpen && last < len(text) && text[last] == ')' {
			last++
			m.Value = -math.Abs(m.Value)
			isOpen = false
		}
	}
	closing() // the bracket may be closed before the unit, "(3.1)%", or after it, "(3.1%)"
	word, size, spaced := wordAfter(text[last:])
	// A short word after a space is a scale only in an amount: "$5 m", but not "5 m".
	isScale := len(word) > 2 || !spaced || m.Unit == kernel.Money && word != "b" && word != "t"
	if factor, ok := scales[word]; ok && isScale {
		m.Value, m.Step = m.Value*factor, m.Step*factor
		last += size
		word, size, spaced = wordAfter(text[last:])
	} else if !spaced && word != "" && units[word] == "" { // letters that are neither a scale nor a unit: "5G"
		return last, true
	}
	switch unit := units[word]; {
	case unit != "":
		second, secondSize, _ := wordAfter(text[last+size:])
		isPair := word == "per" && second == "cent" ||
			(word == "basis" || word == "percentage") && strings.HasPrefix(second, "point")
		switch {
		case isPair:
			m.Unit = unit
			last += size + secondSize
		case word == "per" || word == "basis" || word == "percentage": // not a unit without the second word
			m.Unit = kernel.NoUnit
		default:
			m.Unit = unit
			last += size
		}
	case codes[strings.ToUpper(word)] != "" && m.Unit == kernel.NoUnit && spaced:
		m.Unit, m.Currency = kernel.Money, codes[strings.ToUpper(word)]
		last += size
	}
	closing()
	// A bracket that is not closed right after the number is not its sign: "(2019: 5)".
	m.Bracketed = m.Bracketed && !isOpen
	return last, false
}

// wordAfter returns the word or the per cent sign with which a text begins, in lower case. A word has up to eleven
// letters from a to z, after at most three spaces. size is the number of bytes up to the end of the word, including
// the spaces, and spaced reports whether there are spaces. A hyphen or a longer word at the beginning of the text
// does not belong to a number before the text. For such a text wordAfter returns an empty word, 0 and true, as if a
// space separated the text from the number.
func wordAfter(text string) (word string, size int, spaced bool) {
	i := 0
	for i < len(text) && i < 3 && (text[i] == ' ' || strings.HasPrefix(text[i:], "\u00a0")) {
		if text[i] == ' ' {
			i++
		} else {
			i += len("\u00a0")
		}
	}
	if i == 0 && strings.HasPrefix(text, "-") && len(text) > 1 { // 12-month contains a number
		return "", 0, true
	}
	if i < len(text) && text[i] == '%' {
		return "%", i + 1, i > 0
	}
	start := i
	for i < len(text) && i-start < 12 && (text[i]|0x20 >= 'a' && text[i]|0x20 <= 'z') {
		i++
	}
	if i < len(text) && i-start == 12 {
		return "", 0, true
	}
	return strings.ToLower(text[start:i]), i, start > 0
}

// scales maps words for a scale to their factors.
var scales = map[string]float64{
	"k": 1e3, "thousand": 1e3, "thousands": 1e3, "m": 1e6, "mn": 1e6, "mm": 1e6, "million": 1e6, "millions": 1e6,
	"b": 1e9, "bn": 1e9, "billion": 1e9, "billions": 1e9, "t": 1e12, "tn": 1e12, "trillion": 1e12, "trillions": 1e12,
}

// units maps words for a unit, or their first words as in "basis points", to the units.
var units = map[string]kernel.Unit{
	"%": kernel.Percent, "percent": kernel.Percent, "per": kernel.Percent, "pct": kernel.Percent,
	"percentage": kernel.Percent, "pp": kernel.Percent,
	"bp": kernel.BasisPoints, "bps": kernel.BasisPoints, "basis": kernel.BasisPoints, "x": kernel.Times,
	"times":  kernel.Times,
	"shares": kernel.Shares,
}

// codes maps spellings of currencies to their ISO 4217 codes.
var codes = map[string]string{
	"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "US$": "USD", "C$": "CAD", "A$": "AUD", "HK$": "HKD",
	"NT$": "TWD", "S$": "SGD", "R$": "BRL",
	"USD": "USD", "EUR": "EUR", "GBP": "GBP", "JPY": "JPY", "CHF": "CHF", "CAD": "CAD", "AUD": "AUD", "RMB": "CNY",
	"CNY": "CNY", "INR": "INR", "RM": "MYR",
	"SEK": "SEK", "NOK": "NOK", "DKK": "DKK", "HKD": "HKD", "SGD": "SGD", "DOLLARS": "USD", "EUROS": "EUR", "EURO": "EUR",
	"POUNDS": "GBP", "YEN": "JPY",
}

// currencyBefore returns the currency at the end of a text, and the size of its spelling, including the spaces after
// it.
func currencyBefore(text string) (code string, size int) {
	trimmed := strings.TrimRight(text, " \u00a0")
	if len(text)-len(trimmed) > 4 {
		return "", 0
	}
	for _, width := range [...]int{3, 2, 1} { // the longest spelling first, so that "NT$" is not read as "$"
		start := len(trimmed) - width
		if start < 0 || !utf8.RuneStart(trimmed[start]) {
			continue
		}
		code, ok := codes[trimmed[start:]]
		if !ok {
			continue
		}
		prev, _ := utf8.DecodeLastRuneInString(trimmed[:start])
		isInWord := start > 0 && unicode.IsLetter(prev)
		if isInWord && trimmed[start:] != "$" { // letters before "$" name an unknown dollar
			continue
		}
		return code, len(text) - start
	}
	return "", 0
}

// digit reports whether a byte is an ASCII digit.
func digit(b byte) bool { return b >= '0' && b <= '9' }

// minus reports whether a character is a minus sign, or a hyphen or dash in its place.
func minus(r rune) bool { return r == '-' || r == '−' || r == '–' || r == '‐' }
