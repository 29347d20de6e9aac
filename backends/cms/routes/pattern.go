package routes

import (
	"cmp"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/cms/handler"
)

const (
	// maxParams limits the path parameters of a pattern, and maxOptional its optional suffixes.
	maxParams   = 16
	maxOptional = 8
)

// piece is a part of a pattern: literal text or a parameter.
type piece struct {
	literal string
	param   string // name of the parameter; empty for literal text
	regex   string // of a parameter; empty for [^/]+
}

// parse splits an endpoint into its variants: the endpoint without its optional suffixes, then with the first suffix,
// with the first two suffixes, and so on. For example, a[/{b}] has the variants a and a/{b}. The text of an error
// continues a sentence such as "the endpoint x", as do the errors of the other functions in this file.
func parse(endpoint string) (variants [][]piece, err error) {
	var pieces []piece // of the endpoint up to byte i; text that is still in the builder literal is missing
	var literal strings.Builder
	names := make(map[string]bool)
	openBrackets := 0
	flush := func() {
		if literal.Len() > 0 {
			pieces = append(pieces, piece{literal: literal.String()})
			literal.Reset()
		}
	}
	for i := 0; i < len(endpoint); i++ {
		switch c := endpoint[i]; c {
		case '{':
			end := closing(endpoint[i:])
			if end < 0 {
				return nil, fmt.Errorf("has a { without }")
			}
			flush()
			p, err := parameter(endpoint[i+1:i+end], names)
			if err != nil {
				return nil, err
			}
			names[p.param] = true
			pieces = append(pieces, p)
			i += end
		case '}':
			return nil, fmt.Errorf("has a } without {")
		case '[':
			flush()
			if openBrackets++; openBrackets > maxOptional {
				return nil, fmt.Errorf("has more than %d optional suffixes", maxOptional)
			}
			variants = append(variants, slices.Clip(pieces))
		case ']': // all suffixes end here, because each begins within the previous one
			if endpoint[i:] != strings.Repeat("]", openBrackets) {
				return nil, fmt.Errorf("has a ] that is not at its end, or without [")
			}
			if endpoint[i-1] == '[' {
				return nil, fmt.Errorf("has an empty optional suffix")
			}
			flush()
			return append(variants, pieces), nil
		default:
			literal.WriteByte(c)
		}
	}
	if openBrackets > 0 {
		return nil, fmt.Errorf("has a [ without ]")
	}
	flush()
	return append(variants, pieces), nil
}

// parameter parses the text between the braces of a parameter: its name, or its name, a colon and a regular expression.
// names holds the names of the previous parameters of the endpoint.
func parameter(text string, names map[string]bool) (piece, error) {
	name, regex, custom := strings.Cut(text, ":")
	switch {
	case custom && regex == "":
		return piece{}, fmt.Errorf("has the parameter %q with an empty pattern", name)
	case !handler.Identifier(name):
		return piece{}, fmt.Errorf("has the parameter %q, whose name must consist of letters, digits and _", name)
	case names[name]:
		return piece{}, fmt.Errorf("has the parameter %q twice", name)
	case name == "userId":
		return piece{}, fmt.Errorf("has the parameter userId, which the server sets: use another name")
	case len(names) == maxParams:
		return piece{}, fmt.Errorf("has more than %d parameters", maxParams)
	}
	return piece{param: name, regex: regex}, nil
}

// closing returns the index of the brace that closes the brace at the start of s, or -1. It skips nested pairs of
// braces and characters after a backslash.
func closing(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// segment is the part of a variant between two slashes.
type segment struct {
	literal string   // the whole text, if there is no parameter
	params  []string // names of the parameters
	match   *matcher // nil if there is no parameter, or a single one that matches any text
}

// matcher is the compiled pattern of one segment, or of the entire rest of a path.
type matcher struct {
	regex  *regexp.Regexp
	groups []int // number of the capturing group of each parameter
}

// find reports whether text matches. It appends the values of the parameters to values and returns the result.
func (m *matcher) find(text string, values []string) ([]string, bool) {
	if len(m.groups) == 0 {
		return values, m.regex.MatchString(text)
	}
	indexes := m.regex.FindStringSubmatchIndex(text)
	if indexes == nil {
		return values, false
	}
	for _, group := range m.groups {
		if indexes[2*group] < 0 { // the group did not take part in the match
			values = append(values, "")
			continue
		}
		values = append(values, text[indexes[2*group]:indexes[2*group+1]])
	}
	return values, true
}

// compiler caches matchers by their regular expression, so that each pattern is compiled only once.
type compiler map[string]*matcher

// variant compiles the pieces of a variant, as parse returns them, to segments. Literal text is split at its slashes.
// The segment with the first parameter whose regular expression can match a slash is the last one: it also contains
// everything after this parameter. This segment, the tail, is matched against the entire rest of the path. The result
// tail reports whether there is such a segment.
func (c compiler) variant(pieces []piece) (segments []segment, tail bool, err error) {
	var parts []piece // pieces of the current segment
	endSegment := func() error {
		s, err := c.segment(parts)
		segments, parts = append(segments, s), nil
		return err
	}
	for _, p := range pieces {
		if p.param == "" && !tail { // once tail is true, a slash does not end a segment any more
			head, rest, slash := strings.Cut(p.literal, "/")
			for ; slash; head, rest, slash = strings.Cut(rest, "/") {
				parts = appendLiteral(parts, head)
				if len(parts) == 0 && len(segments) == 0 { // the slash of a suffix at the root, as in [/{a}]
					continue
				}
				if err := endSegment(); err != nil {
					return nil, false, err
				}
			}
			parts = appendLiteral(parts, head) // the text after the last slash
			continue
		}
		if p.param != "" && p.regex != "" {
			slash, err := mayMatchSlash(p)
			if err != nil {
				return nil, false, err
			}
			tail = tail || slash
		}
		parts = append(parts, p)
	}
	if len(parts) > 0 {
		err = endSegment()
	}
	return segments, tail, err
}

// appendLiteral appends literal text to parts. If the last part is literal, too, it extends that part.
func appendLiteral(parts []piece, text string) []piece {
	switch n := len(parts); {
	case text == "":
		return parts
	case n > 0 && parts[n-1].param == "":
		return append(parts[:n-1:n-1], piece{literal: parts[n-1].literal + text})
	}
	return append(parts, piece{literal: text})
}

// segment compiles the pieces of one segment.
func (c compiler) segment(parts []piece) (s segment, err error) {
	switch {
	case len(parts) == 0:
		return s, fmt.Errorf("has an empty segment")
	case len(parts) == 1 && parts[0].param == "":
		s.literal = parts[0].literal
		if s.literal == "." || s.literal == ".." {
			err = fmt.Errorf("has a segment %s, which is not allowed", s.literal)
		}
		return s, err
	case len(parts) == 1 && parts[0].regex == "":
		s.params = []string{parts[0].param}
		return s, nil
	}
	var expression strings.Builder
	expression.WriteString(`\A`)
	nextGroup := 1
	var groups []int // the regular expression's group for each parameter
	for _, p := range parts {
		if p.param == "" {
			expression.WriteString(regexp.QuoteMeta(p.literal))
			continue
		}
		s.params = append(s.params, p.param)
		groups = append(groups, nextGroup)
		regex := cmp.Or(p.regex, "[^/]+")
		parsed, err := parseRegex(p.param, regex)
		if err != nil {
			return s, err
		}
		nextGroup += 1 + parsed.MaxCap() // the group of the parameter and the groups within its pattern
		expression.WriteString("(" + regex + ")")
	}
	expression.WriteString(`\z`)
	if s.match = c[expression.String()]; s.match == nil {
		regex, err := regexp.Compile(expression.String())
		if err != nil {
			return s, fmt.Errorf("has an invalid pattern: %w", err)
		}
		s.match = &matcher{regex, groups}
		c[expression.String()] = s.match
	}
	return s, nil
}

// parseRegex parses the regular expression of a parameter.
func parseRegex(param, regex string) (*syntax.Regexp, error) {
	parsed, err := syntax.Parse(regex, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("has the parameter %q with an invalid pattern: %w", param, err)
	}
	return parsed, nil
}

// mayMatchSlash reports whether the pattern of a parameter can match a slash.
func mayMatchSlash(p piece) (bool, error) {
	parsed, err := parseRegex(p.param, p.regex)
	if err != nil {
		return false, err
	}
	return hasSlash(parsed), nil
}

// hasSlash reports whether a character of the expression can be a slash.
func hasSlash(re *syntax.Regexp) bool {
	switch re.Op { //nolint:exhaustive // the others have no characters of their own
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return true
	case syntax.OpLiteral:
		return strings.ContainsRune(string(re.Rune), '/')
	case syntax.OpCharClass:
		for i := 0; i+1 < len(re.Rune); i += 2 { // pairs of the first and last character of a range
			if re.Rune[i] <= '/' && '/' <= re.Rune[i+1] {
				return true
			}
		}
	}
	return slices.ContainsFunc(re.Sub, hasSlash)
}
