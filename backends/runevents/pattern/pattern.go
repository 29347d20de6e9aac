// Package pattern implements PostgreSQL's advanced regular expressions for databases of any kind. It validates the
// expressions, reports errors with the texts of PostgreSQL, and matches texts by the same rules.
package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/dlclark/regexp2/v2"
)

// Limits of a regular expression.
const (
	maxBytes     = 1_000
	maxCost      = 10_000 // atoms, with repetitions counted
	matchTimeout = 2 * time.Second
)

// ErrTimeout is the error of a match that exceeds the time limit for one text.
var ErrTimeout = errors.New("the regular expression takes too long on one value")

// Pattern is a valid regular expression.
type Pattern struct {
	Source string
	// Matcher returns the matcher, which is compiled at the first call. It returns an error if the pattern is too
	// complex. PostgreSQL needs no matcher.
	Matcher func() (Matcher, error)
}

// Matcher matches texts. The only error is ErrTimeout.
type Matcher interface {
	MatchString(s string) (bool, error)
}

// linear is a matcher whose time is linear in the length of the text.
type linear struct{ re *regexp.Regexp }

// MatchString implements Matcher.
func (l linear) MatchString(s string) (bool, error) { return l.re.MatchString(s), nil }

// backtracking is a matcher, with a time limit, for patterns that the linear matcher does not support: those with
// look-around, back references or word boundaries.
type backtracking struct{ re *regexp2.Regexp }

// MatchString implements Matcher.
func (b backtracking) MatchString(s string) (bool, error) {
	ok, err := b.re.MatchString(s)
	if err != nil { // the only error of regexp2
		return false, ErrTimeout
	}
	return ok, nil
}

// Compile validates an advanced regular expression. The error has the text of PostgreSQL's error.
func Compile(source string) (*Pattern, error) {
	if len(source) > maxBytes {
		return nil, fmt.Errorf("a regular expression may have up to %d bytes", maxBytes)
	}
	t := &translator{in: []rune(source)}
	if err := t.run(); err != nil {
		return nil, invalid(err)
	}
	text, hard := t.out.String(), t.needsBacktracking
	return &Pattern{source, sync.OnceValues(func() (Matcher, error) {
		if !hard {
			re, err := regexp.Compile(text)
			if err != nil {
				return nil, invalid(errTooComplex)
			}
			return linear{re}, nil
		}
		re, err := regexp2.Compile(text)
		if err != nil {
			return nil, invalid(errTooComplex)
		}
		re.MatchTimeout = matchTimeout
		return backtracking{re}, nil
	})}, nil
}

// invalid returns err with the prefix of PostgreSQL's errors.
func invalid(err error) error {
	return fmt.Errorf("ERROR: invalid regular expression: %w", err)
}

// The errors for invalid patterns, with the texts of PostgreSQL.
var (
	errParens     = errors.New("parentheses () not balanced")
	errBrackets   = errors.New("brackets [] not balanced")
	errBraces     = errors.New("braces {} not balanced")
	errOperand    = errors.New("quantifier operand invalid")
	errEscape     = errors.New(`invalid escape \ sequence`)
	errOption     = errors.New("invalid embedded option")
	errRange      = errors.New("invalid character range")
	errCount      = errors.New("invalid repetition count(s)")
	errClass      = errors.New("invalid character class")
	errCollating  = errors.New("invalid collating element")
	errReference  = errors.New("invalid backreference number")
	errTooComplex = errors.New("regular expression is too complex")
)

// translator translates an advanced regular expression to the syntax that both matchers understand. Its methods read a
// part of the expression in, beginning at pos, and write the translation to out.
type translator struct {
	in  []rune
	pos int // index of the next character
	out strings.Builder
	// needsBacktracking means that the pattern needs the backtracking matcher, because of a back reference or a constraint
	// that looks around.
	needsBacktracking bool

	literal, expanded    bool
	ignoreCase           bool
	lines, dotExcludesNL bool // ^ and $ match at lines; . and [^ do not match a newline

	captures  int    // capturing groups opened so far
	closed    []bool // whether each of these groups has ended; a back reference to it is valid only then
	lookDepth int    // depth of look-around, in which groups do not capture
	depth     int    // nesting depth of groups of any kind, including look-around
}

// maxGroups limits the number of capturing groups, and the depth of all groups.
const maxGroups = 100

// run translates the whole pattern into t.out.
func (t *translator) run() error {
	if err := t.prefix(); err != nil {
		return err
	}
	if t.ignoreCase {
		t.out.WriteString("(?i:")
	}
	if t.literal {
		for _, r := range t.in[t.pos:] {
			t.char(r)
		}
	} else {
		cost, err := t.alternatives()
		if err != nil {
			return err
		}
		if t.pos < len(t.in) {
			return errParens // a closing parenthesis; nothing else ends the loop early
		}
		if cost > maxCost {
			return errTooComplex
		}
	}
	if t.ignoreCase {
		t.out.WriteString(")")
	}
	return nil
}

// startsWith reports whether the rest of the pattern starts with s, which is ASCII.
func (t *translator) startsWith(s string) bool {
	return strings.HasPrefix(string(t.in[t.pos:min(len(t.in), t.pos+len(s))]), s)
}

// prefix parses the prefix of a pattern and sets the options of t: ***: or ***=, which PostgreSQL calls a director, and
// embedded options such as (?i).
func (t *translator) prefix() error {
	switch {
	case t.startsWith("***="):
		t.pos += 4
		t.literal = true
		return nil
	case t.startsWith("***:"):
		t.pos += 4
	case t.startsWith("***"):
		return errOperand
	}
	if !t.startsWith("(?") || t.pos+2 >= len(t.in) || !isLetter(t.in[t.pos+2]) {
		return nil
	}
	for t.pos += 2; ; t.pos++ {
		if t.pos == len(t.in) {
			return errOption
		}
		switch t.in[t.pos] {
		case ')':
			t.pos++
			return nil
		case 'c':
			t.ignoreCase = false
		case 'i':
			t.ignoreCase = true
		case 'm', 'n':
			t.lines, t.dotExcludesNL = true, true
		case 'p':
			t.lines, t.dotExcludesNL = false, true
		case 'w':
			t.lines, t.dotExcludesNL = true, false
		case 's':
			t.lines, t.dotExcludesNL = false, false
		case 'x':
			t.expanded = true
		case 't':
			t.expanded = false
		case 'q':
			t.literal = true
		default:
			return errOption
		}
	}
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
func isDigit(r rune) bool  { return r >= '0' && r <= '9' }

// skipComments skips comments and, in the expanded syntax, white space.
func (t *translator) skipComments() {
	for t.pos < len(t.in) {
		switch {
		case t.startsWith("(?#"):
			for t.pos < len(t.in) && t.in[t.pos] != ')' {
				t.pos++
			}
			t.pos = min(t.pos+1, len(t.in)) // a comment that is not closed extends to the end
		case t.expanded && strings.ContainsRune(" \t\n\r\v\f", t.in[t.pos]):
			t.pos++
		case t.expanded && t.in[t.pos] == '#':
			for t.pos < len(t.in) && t.in[t.pos] != '\n' {
				t.pos++
			}
		default:
			return
		}
	}
}

// alternatives translates the alternatives of a pattern or a group, up to the end or the closing parenthesis. The cost
// counts atoms, with their repetitions, and alternatives.
func (t *translator) alternatives() (cost int, err error) {
	if t.depth++; t.depth > maxGroups {
		return 0, errTooComplex
	}
	defer func() { t.depth-- }()
	for {
		branchCost, err := t.branch()
		if err != nil {
			return 0, err
		}
		if cost += branchCost + 1; cost > maxCost {
			return 0, errTooComplex
		}
		if t.pos == len(t.in) || t.in[t.pos] != '|' {
			return cost, nil
		}
		t.pos++
		t.out.WriteByte('|')
	}
}

// branch translates one alternative: the atoms up to the end, a bar or a closing parenthesis.
func (t *translator) branch() (cost int, err error) {
	for {
		t.skipComments()
		if t.pos == len(t.in) || t.in[t.pos] == '|' || t.in[t.pos] == ')' {
			return cost, nil
		}
		atomCost, constraint, err := t.atom()
		if err != nil {
			return 0, err
		}
		if !constraint {
			if atomCost, err = t.quantifier(atomCost); err != nil {
				return 0, err
			}
		}
		if cost += atomCost; cost > maxCost {
			return 0, errTooComplex
		}
	}
}

// atom translates an atom and returns its cost. constraint reports whether the atom is a constraint, such as ^, which
// cannot be repeated.
func (t *translator) atom() (cost int, constraint bool, err error) {
	switch c := t.in[t.pos]; c {
	case '(':
		return t.group()
	case '*', '+', '?':
		return 0, false, errOperand
	case '{':
		if t.isBound() { // any other brace is a literal
			return 0, false, errOperand
		}
	case '^':
		t.pos++
		t.writeEither(t.lines, `(?m:^)`, `\A`)
		return 1, true, nil
	case '$':
		t.pos++
		t.writeEither(t.lines, `(?m:$)`, `\z`)
		return 1, true, nil
	case '.':
		t.pos++
		t.writeEither(t.dotExcludesNL, `[^\n]`, `(?s:.)`)
		return 1, false, nil
	case '[':
		return t.bracket()
	case '\\':
		return t.escape()
	}
	t.char(t.in[t.pos])
	t.pos++
	return 1, false, nil
}

// writeEither writes a if first is true, and otherwise b.
func (t *translator) writeEither(first bool, a, b string) {
	if first {
		t.out.WriteString(a)
	} else {
		t.out.WriteString(b)
	}
}

// matchesNothing is an expression that matches no text. It replaces characters that no text contains.
const matchesNothing = `[^\s\S]`

// char writes the character r as a literal.
func (t *translator) char(r rune) { t.writeEither(utf8.ValidRune(r), quoteChar(r), matchesNothing) }

// quoteChar returns r as a literal in the syntax of both matchers, inside and outside of brackets.
func quoteChar(r rune) string {
	const hex = "0123456789abcdef"
	switch {
	case r < 0x20 || r == 0x7f:
		return `\x` + string(hex[r>>4]) + string(hex[r&15])
	case isLetter(r) || isDigit(r) || r == '_' || r == ' ' || r > 0x7f:
		return string(r)
	}
	return `\` + string(r)
}

// group translates a group of any kind, and returns its cost. constraint reports whether the group is a look-around
// constraint, within which groups do not capture.
func (t *translator) group() (cost int, constraint bool, err error) {
	closedIndex := -1 // index in t.closed, if the group captures
	switch {
	case t.startsWith("(?:"):
		t.pos += 3
		t.out.WriteString("(?:")
	case t.startsWith("(?="), t.startsWith("(?!"):
		t.out.WriteString(string(t.in[t.pos : t.pos+3]))
		t.pos += 3
		constraint = true
	case t.startsWith("(?<="), t.startsWith("(?<!"):
		t.out.WriteString(string(t.in[t.pos : t.pos+4]))
		t.pos += 4
		constraint = true
	case t.startsWith("(?"):
		return 0, false, errOperand
	default:
		t.pos++
		if t.lookDepth > 0 {
			t.out.WriteString("(?:")
			break
		}
		if t.captures++; t.captures > maxGroups {
			return 0, false, errTooComplex
		}
		closedIndex = len(t.closed)
		t.closed = append(t.closed, false)
		t.out.WriteByte('(')
	}
	if constraint {
		t.needsBacktracking = true
		t.lookDepth++
	}
	cost, err = t.alternatives()
	if err != nil {
		return 0, false, err
	}
	if t.pos == len(t.in) {
		return 0, false, errParens
	}
	t.pos++
	t.out.WriteByte(')')
	if constraint {
		t.lookDepth--
	}
	if closedIndex >= 0 {
		t.closed[closedIndex] = true
	}
	return cost, constraint, nil
}

// quantifier translates the quantifier that follows an atom, if any. It returns the cost of the atom with its
// repetitions.
func (t *translator) quantifier(cost int) (int, error) {
	t.skipComments()
	if t.pos == len(t.in) {
		return cost, nil
	}
	switch t.in[t.pos] {
	case '*', '+', '?':
		t.out.WriteRune(t.in[t.pos])
		t.pos++
	case '{':
		if !t.isBound() {
			return cost, nil // a literal brace
		}
		limit, err := t.bound()
		if err != nil {
			return 0, err
		}
		cost *= max(1, limit)
	default:
		return cost, nil
	}
	if t.pos < len(t.in) && t.in[t.pos] == '?' {
		t.out.WriteByte('?')
		t.pos++
	}
	t.skipComments()
	// PostgreSQL does not allow a second quantifier.
	if t.pos < len(t.in) && (strings.ContainsRune("*+?", t.in[t.pos]) || t.isBound()) {
		return 0, errOperand
	}
	return cost, nil
}

// isBound reports whether a bound such as {2,3} is next: a brace and a digit.
func (t *translator) isBound() bool {
	return t.pos+1 < len(t.in) && t.in[t.pos] == '{' && isDigit(t.in[t.pos+1])
}

// bound translates {m}, {m,} or {m,n}, and returns the largest of these numbers.
func (t *translator) bound() (largest int, err error) {
	const limit = 255
	start := t.pos
	t.pos++
	number := func() (n int, present bool) {
		for ; t.pos < len(t.in) && isDigit(t.in[t.pos]); t.pos++ {
			n, present = min(n*10+int(t.in[t.pos]-'0'), limit+1), true // limit+1 means too large
		}
		return n, present
	}
	minimum, _ := number()
	largest = minimum
	if minimum > limit {
		return 0, errCount
	}
	if t.pos < len(t.in) && t.in[t.pos] == ',' {
		t.pos++
		if maximum, present := number(); present {
			largest = maximum
		}
		if largest > limit || largest < minimum {
			return 0, errCount
		}
	}
	if t.pos == len(t.in) {
		return 0, errBraces
	}
	if t.in[t.pos] != '}' {
		return 0, errCount
	}
	t.pos++
	t.out.WriteString(string(t.in[start:t.pos]))
	return largest, nil
}
