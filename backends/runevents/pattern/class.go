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

// The escape sequences of one letter. The keys are the letters after the backslash.
var (
	// shorthands maps each shorthand to the name of its class. An upper-case letter denotes the complement of the
	// class.
	shorthands = map[rune]string{'d': "digit", 's': "space", 'w': "word"}
	// complements maps each upper-case shorthand to the members of the complement, for use in brackets.
	complements = map[rune]string{
		'D': `\P{Nd}`,
		// The characters outside of the class are listed explicitly, because bracket expressions cannot be nested.
		'S': `\x00-\x08\x0e-\x1b\x7f-` + "\u0084\u0086-\u009f" + `\p{L}\p{M}\p{N}\p{P}\p{S}\p{Cf}\p{Co}`,
		'W': "\\x00-/:-@\\[-\\^`\\{-\u00a9" + `\p{M}\p{Nl}\p{No}\p{Pd}\p{Ps}\p{Pe}\p{Pi}\p{Pf}\p{Po}‿⁀⁔︳︴﹍-﹏＿\p{S}\p{Z}\p{Cf}\p{Co}\p{Cc}`,
	}
	// constraints maps each constraint to its expression: the beginning and the end of the text, and word boundaries.
	constraints = map[rune]string{
		'A': `\A`, 'Z': `\z`, 'm': wordStart, 'M': wordEnd, 'y': wordBoundary, 'Y': noWordBoundary,
	}
	// charEscapes maps each escape sequence for a single character to the character.
	charEscapes = map[rune]rune{'a': 7, 'b': 8, 'B': '\\', 'e': 27, 'f': 12, 'n': 10, 'r': 13, 't': 9, 'v': 11}
)

const (
	wordChar       = `[\p{L}\p{Nd}_]`
	wordStart      = `(?:(?<!` + wordChar + `)(?=` + wordChar + `))`
	wordEnd        = `(?:(?<=` + wordChar + `)(?!` + wordChar + `))`
	wordBoundary   = `(?:` + wordStart + `|` + wordEnd + `)`
	noWordBoundary = `(?:(?<!` + wordChar + `)(?!` + wordChar + `)|(?<=` + wordChar + `)(?=` + wordChar + `))`
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
	if name, ok := shorthands[c-'A'+'a']; ok && c >= 'A' && c <= 'Z' { // a capital
		t.pos += 2
		t.out.WriteString("[^" + classes[name] + "]")
		return 1, false, nil
	}
	if constraint, ok := constraints[c]; ok {
		t.pos += 2
		t.needsBacktracking = t.needsBacktracking || c != 'A' && c != 'Z' // the others look around
		t.out.WriteString(constraint)
		return 1, true, nil
	}
	if c >= '1' && c <= '9' {
		if done, err := t.reference(); done || err != nil {
			return 1, false, err
		}
	}
	r, err := t.charEscape()
	if err != nil {
		return 0, false, err
	}
	t.char(r)
	return 1, false, nil
}

// reference translates a back reference. A number of two or more digits is a back reference only if it is at most the
// number of groups that have been opened before. Otherwise it is an octal number. Then isReference is false, and
// nothing has been read.
func (t *translator) reference() (isReference bool, err error) {
	end, n := t.pos+1, 0
	for ; end < len(t.in) && isDigit(t.in[end]) && n <= maxGroups; end++ {
		n = n*10 + int(t.in[end]-'0')
	}
	if severalDigits := end-t.pos > 2; severalDigits && n > len(t.closed) { // a backslash is at t.pos
		return false, nil
	}
	if n > len(t.closed) || !t.closed[n-1] || t.lookDepth > 0 {
		return false, errReference
	}
	t.out.WriteString(`(?:\` + string(t.in[t.pos+1:end]) + `)`)
	t.pos = end
	t.needsBacktracking = true
	return true, nil
}

// charEscape parses an escape sequence that denotes a single character, and returns the character.
func (t *translator) charEscape() (rune, error) {
	if t.pos+1 >= len(t.in) {
		return 0, errEscape
	}
	c := t.in[t.pos+1]
	t.pos += 2
	if r, ok := charEscapes[c]; ok {
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

// digits parses a number of minimum to maximum digits in the given base, 8 or 16, and returns the character with this
// number.
func (t *translator) digits(base, minimum, maximum int) (rune, error) {
	n, count := 0, 0
	for ; count < maximum && t.pos < len(t.in); count++ {
		d := -1
		switch c := t.in[t.pos]; {
		case isDigit(c):
			d = int(c - '0')
		case isLetter(c):
			d = strings.IndexRune("0123456789abcdef", c|0x20) // in lower case
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
		t.writeEither(t.in[t.pos+3] == '<', wordStart, wordEnd)
		t.pos += len("[[:<:]]")
		t.needsBacktracking = true
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
	for first := true; ; first = false { // a closing bracket at the first position is a member
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
	if members.Len() > 0 {
		t.writeEither(negated, "[^", "[")
		t.out.WriteString(members.String() + "]")
	} else { // all members are characters that no text contains
		t.writeEither(negated, `(?s:.)`, matchesNothing)
	}
	return 1, false, nil
}

// bracketPart parses a class, a character or a range in a bracket expression, and returns its members. first reports
// whether this is the first part.
func (t *translator) bracketPart(first bool) (members string, err error) {
	// A part that begins with a hyphen must be the first or the last one.
	if t.in[t.pos] == '-' && !first && t.pos+1 < len(t.in) && t.in[t.pos+1] != ']' {
		return "", errRange
	}
	lo, class, err := t.bracketItem()
	if err != nil {
		return "", err
	}
	isRange := t.pos+1 < len(t.in) && t.in[t.pos] == '-' && t.in[t.pos+1] != ']'
	if class != "" {
		if isRange {
			return "", errRange
		}
		return class, nil
	}
	if !isRange {
		return chars(lo, lo), nil
	}
	t.pos++
	hi, class, err := t.bracketItem()
	if err != nil {
		return "", err
	}
	if class != "" || hi < lo {
		return "", errRange
	}
	return chars(lo, hi), nil
}

// chars returns the range of characters from lo to hi in the syntax of bracket expressions. It removes surrogates and
// numbers above Unicode at the ends of the range, and returns "" if no character is left.
func chars(lo, hi rune) string {
	const firstSurrogate, lastSurrogate = 0xd800, 0xdfff
	if lo >= firstSurrogate && lo <= lastSurrogate {
		lo = lastSurrogate + 1
	}
	if hi >= firstSurrogate && hi <= lastSurrogate {
		hi = firstSurrogate - 1
	}
	hi = min(hi, utf8.MaxRune)
	switch {
	case lo > hi:
		return ""
	case lo == hi:
		return quoteChar(lo)
	}
	return quoteChar(lo) + "-" + quoteChar(hi)
}

// bracketItem parses a single character, or a class, in a bracket expression. It returns the character r, or the
// members of the class; class is empty for a character.
func (t *translator) bracketItem() (r rune, class string, err error) {
	switch {
	case t.startsWith("[:"), t.startsWith("[="), t.startsWith("[."):
		kind := t.in[t.pos+1]
		following := string(t.in[t.pos+2:])
		name, _, ok := strings.Cut(following, string(kind)+"]")
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
		r, ok := collatingElement(name)
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
			if strings.ContainsRune("AmMyYZ123456789", c) { // constraints and back references
				return 0, "", errEscape
			}
		}
		r, err := t.charEscape()
		return r, "", err
	}
	t.pos++
	return t.in[t.pos-1], "", nil
}
