package pattern

import (
	"strings"
	"unicode/utf8"
)

// classes holds the members of the named classes, in the syntax of bracket expressions. The classes follow the Unicode
// rules of ICU.
var classes = map[string]string{
	"alpha":  `\p{L}`,
	"upper":  `\p{Lu}`,
	"lower":  `\p{Ll}`,
	"digit":  `\p{Nd}`,
	"alnum":  `\p{L}\p{Nd}`,
	"word":   `\p{L}\p{Nd}_`,
	"space":  "\\t-\\r\\x1c-\\x20\u0085\\p{Z}",
	"blank":  `\t\p{Zs}`,
	"cntrl":  `\p{Cc}`,
	"punct":  `\p{P}`,
	"graph":  `\p{L}\p{M}\p{N}\p{P}\p{S}`,
	"print":  `\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}`,
	"xdigit": `0-9A-Fa-f`,
	"ascii":  `\x00-\x7f`,
}

var (
	shorthands  = map[rune]string{'d': "digit", 's': "space", 'w': "word"}
	complements = map[rune]string{
		'D': `\P{Nd}`,
		// The rest of Unicode is listed explicitly, because bracket expressions cannot be nested.
		'S': `\x00-\x08\x0e-\x1b\x7f-` + "\u0084\u0086-\u009f" + `\p{L}\p{M}\p{N}\p{P}\p{S}\p{Cf}\p{Co}`,
		'W': "\\x00-/:-@\\[-\\^`\\{-\u00a9" + `\p{M}\p{Nl}\p{No}\p{Pd}\p{Ps}\p{Pe}\p{Pi}\p{Pf}\p{Po}‿⁀⁔︳︴﹍-﹏＿\p{S}\p{Z}\p{Cf}\p{Co}\p{Cc}`,
	}
	simple = map[rune]rune{'a': 7, 'b': 8, 'B': '\\', 'e': 27, 'f': 12, 'n': 10, 'r': 13, 't': 9, 'v': 11}
)

const (
	inWord    = `[\p{L}\p{Nd}_]`
	atStart   = `(?:(?<!` + inWord + `)(?=` + inWord + `))`
	atEnd     = `(?:(?<=` + inWord + `)(?!` + inWord + `))`
	atEither  = `(?:` + atStart + `|` + atEnd + `)`
	atNeither = `(?:(?<!` + inWord + `)(?!` + inWord + `)|(?<=` + inWord + `)(?=` + inWord + `))`
)

// escape translates an escape sequence outside of brackets; see atom for the results.
func (t *translator) escape() (cost int, constraint bool, err error) {
	if t.pos+1 == len(t.in) {
		return 0, false, errEscape
	}
	c := t.in[t.pos+1]
	if name, ok := shorthands[c]; ok {
		t.pos += 2
		t.out.WriteString("[" + classes[name] + "]")
		return 1, false, nil
	}
	if name, ok := shorthands[c-'A'+'a']; ok && isLetter(c) && c <= 'Z' {
		t.pos += 2
		t.out.WriteString("[^" + classes[name] + "]")
		return 1, false, nil
	}
	boundary := ""
	switch c {
	case 'A':
		t.pos += 2
		t.out.WriteString(`\A`)
		return 1, true, nil
	case 'Z':
		t.pos += 2
		t.out.WriteString(`\z`)
		return 1, true, nil
	case 'm':
		boundary = atStart
	case 'M':
		boundary = atEnd
	case 'y':
		boundary = atEither
	case 'Y':
		boundary = atNeither
	}
	if boundary != "" {
		t.pos += 2
		t.hard = true
		t.out.WriteString(boundary)
		return 1, true, nil
	}
	if c >= '1' && c <= '9' {
		if done, err := t.reference(); done || err != nil {
			return 1, false, err
		}
	}
	r, err := t.entry()
	if err != nil {
		return 0, false, err
	}
	t.char(r)
	return 1, false, nil
}

// reference translates a back reference. A number of two or more digits is a back reference only if the pattern has
// that many groups; otherwise it is an octal number, and done is false.
func (t *translator) reference() (done bool, err error) {
	end, n := t.pos+1, 0
	for ; end < len(t.in) && isDigit(t.in[end]) && n <= maxGroups; end++ {
		n = n*10 + int(t.in[end]-'0')
	}
	if end-t.pos > 2 && n > len(t.closed) {
		return false, nil
	}
	if n > len(t.closed) || !t.closed[n-1] || t.around > 0 {
		return false, errReference
	}
	t.out.WriteString(`(?:\` + string(t.in[t.pos+1:end]) + `)`)
	t.pos = end
	t.hard = true
	return true, nil
}

// entry parses an escape sequence that stands for a single character.
func (t *translator) entry() (rune, error) {
	if t.pos+1 >= len(t.in) {
		return 0, errEscape
	}
	c := t.in[t.pos+1]
	t.pos += 2
	if r, ok := simple[c]; ok {
		return r, nil
	}
	switch {
	case c == 'c':
		if t.pos == len(t.in) {
			return 0, errEscape
		}
		t.pos++
		return t.in[t.pos-1] & 0o37, nil
	case c == 'u':
		return t.digits(16, 4, 4)
	case c == 'U':
		return t.digits(16, 8, 8)
	case c == 'x':
		return t.digits(16, 1, 255)
	case isDigit(c):
		t.pos--
		return t.digits(8, 1, 3)
	case isLetter(c):
		return 0, errEscape
	}
	return c, nil
}

// maxChar is the largest character number that PostgreSQL accepts. Most of these numbers are not Unicode characters.
const maxChar = 0x7ffffffe

// digits parses a number of minimum to maximum digits in the given base, and returns the character with this number.
func (t *translator) digits(base, minimum, maximum int) (rune, error) {
	n, count := 0, 0
	for ; count < maximum && t.pos < len(t.in); count++ {
		d := strings.IndexRune("0123456789abcdef", t.in[t.pos]|0x20)
		if isDigit(t.in[t.pos]) {
			d = int(t.in[t.pos] - '0')
		}
		if d < 0 || d >= base {
			break
		}
		if n = n*base + d; n > maxChar {
			return 0, errEscape
		}
		t.pos++
	}
	if count < minimum {
		return 0, errEscape
	}
	return rune(n), nil
}

// bracket translates a bracket expression, [...]; see atom for the results.
func (t *translator) bracket() (cost int, constraint bool, err error) {
	if t.startsWith("[[:<:]]") || t.startsWith("[[:>:]]") {
		t.write(t.in[t.pos+3] == '<', atStart, atEnd)
		t.pos += len("[[:<:]]")
		t.hard = true
		return 1, true, nil
	}
	t.pos++
	negated := t.pos < len(t.in) && t.in[t.pos] == '^'
	var members strings.Builder
	if negated {
		t.pos++
		if t.dotExcludesNL {
			members.WriteString(`\n`)
		}
	}
	for first := true; ; first = false {
		if t.pos == len(t.in) {
			return 0, false, errBrackets
		}
		if t.in[t.pos] == ']' && !first {
			break
		}
		part, err := t.bracketPart(first)
		if err != nil {
			return 0, false, err
		}
		members.WriteString(part)
	}
	t.pos++
	switch {
	case members.Len() > 0:
		t.write(negated, "[^", "[")
		t.out.WriteString(members.String() + "]")
	default: // characters that no text has
		t.write(negated, `(?s:.)`, matchesNothing)
	}
	return 1, false, nil
}

// bracketPart parses a class, a character or a range in a bracket expression, and returns its members. first reports
// whether this is the first part.
func (t *translator) bracketPart(first bool) (members string, err error) {
	if t.in[t.pos] == '-' && !first && t.pos+1 < len(t.in) && t.in[t.pos+1] != ']' {
		return "", errRange
	}
	from, class, err := t.bracketItem()
	if err != nil {
		return "", err
	}
	ranged := t.pos+1 < len(t.in) && t.in[t.pos] == '-' && t.in[t.pos+1] != ']'
	if class != "" {
		if ranged {
			return "", errRange
		}
		return class, nil
	}
	if !ranged {
		return chars(from, from), nil
	}
	t.pos++
	to, class, err := t.bracketItem()
	if err != nil {
		return "", err
	}
	if class != "" || to < from {
		return "", errRange
	}
	return chars(from, to), nil
}

// chars returns the range of characters from from to to in the syntax of bracket expressions. It removes surrogates and
// numbers above Unicode at the ends of the range, and returns "" if no character is left.
func chars(from, to rune) string {
	const firstSurrogate, lastSurrogate = 0xd800, 0xdfff
	if from >= firstSurrogate && from <= lastSurrogate {
		from = lastSurrogate + 1
	}
	if to >= firstSurrogate && to <= lastSurrogate {
		to = firstSurrogate - 1
	}
	to = min(to, utf8.MaxRune)
	switch {
	case from > to:
		return ""
	case from == to:
		return quoteChar(from)
	}
	return quoteChar(from) + "-" + quoteChar(to)
}

// bracketItem parses a single character, or a class, in a bracket expression. For a class it returns the members.
func (t *translator) bracketItem() (r rune, class string, err error) {
	switch {
	case t.startsWith("[:"), t.startsWith("[="), t.startsWith("[."):
		kind := t.in[t.pos+1]
		rest := string(t.in[t.pos+2:])
		name, _, ok := strings.Cut(rest, string(kind)+"]")
		if !ok {
			return 0, "", errBrackets
		}
		t.pos += 2 + utf8.RuneCountInString(name) + 2
		if kind == ':' {
			members, ok := classes[name]
			if !ok {
				return 0, "", errClass
			}
			return 0, members, nil
		}
		r, ok := collating(name)
		if !ok {
			return 0, "", errCollating
		}
		return r, "", nil
	case t.in[t.pos] == '\\':
		if t.pos+1 < len(t.in) {
			c := t.in[t.pos+1]
			if name, ok := shorthands[c]; ok {
				t.pos += 2
				return 0, classes[name], nil
			}
			if members, ok := complements[c]; ok {
				t.pos += 2
				return 0, members, nil
			}
			if strings.ContainsRune("AmMyYZ123456789", c) {
				return 0, "", errEscape
			}
		}
		r, err := t.entry()
		return r, "", err
	}
	t.pos++
	return t.in[t.pos-1], "", nil
}
