package routes

import (
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
	param   string
	regex   string // of a parameter; empty for [^/]+
}

// parse splits an endpoint into its variants: the endpoint without its optional suffixes, then with the first suffix,
// with the first two suffixes, and so on.
func parse(endpoint string) ([][]piece, error) {
	var variants [][]piece
	var now []piece
	names := make(map[string]bool)
	open := 0
	var literal strings.Builder
	flush := func() {
		if literal.Len() > 0 {
			now = append(now, piece{literal: literal.String()})
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
			name, regex, custom := strings.Cut(endpoint[i+1:i+end], ":")
			if custom && regex == "" {
				return nil, fmt.Errorf("has the parameter %q with an empty pattern", name)
			}
			switch {
			case !handler.Identifier(name):
				return nil, fmt.Errorf("has a parameter %q, whose name is not of letters, digits and _", name)
			case names[name]:
				return nil, fmt.Errorf("has the parameter %q twice", name)
			case name == "userId":
				return nil, fmt.Errorf("has a parameter userId, which the server sets")
			case len(names) == maxParams:
				return nil, fmt.Errorf("has more than %d parameters", maxParams)
			}
			names[name] = true
			now = append(now, piece{param: name, regex: regex})
			i += end
		case '}':
			return nil, fmt.Errorf("has a } without {")
		case '[':
			flush()
			if open++; open > maxOptional {
				return nil, fmt.Errorf("has more than %d optional suffixes", maxOptional)
			}
			variants = append(variants, slices.Clip(now))
		case ']':
			if strings.Trim(endpoint[i:], "]") != "" || len(endpoint)-i != open {
				return nil, fmt.Errorf("has a ] that is not at its end, or without [")
			}
			if endpoint[i-1] == '[' {
				return nil, fmt.Errorf("has an empty optional suffix")
			}
			flush()
			return append(variants, now), nil
		default:
			literal.WriteByte(c)
		}
	}
	if open > 0 {
		return nil, fmt.Errorf("has a [ without ]")
	}
	flush()
	return append(variants, now), nil
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
	literal string // if there is no parameter
	params  []string
	match   *matcher // nil for a single parameter that matches any text
}

// matcher is the compiled pattern of one segment, or of the entire rest of a path.
type matcher struct {
	regex  *regexp.Regexp
	groups []int // index of the capturing group of each parameter
}

// find reports whether text matches, and returns values with the values of the parameters appended.
func (m *matcher) find(text string, values []string) ([]string, bool) {
	if len(m.groups) == 0 {
		return values, m.regex.MatchString(text)
	}
	indexes := m.regex.FindStringSubmatchIndex(text)
	if indexes == nil {
		return values, false
	}
	for _, group := range m.groups {
		if indexes[2*group] < 0 {
			values = append(values, "")
			continue
		}
		values = append(values, text[indexes[2*group]:indexes[2*group+1]])
	}
	return values, true
}

// compiler caches compiled patterns, so that each pattern is compiled only once.
type compiler map[string]*matcher

// variant compiles the pieces of a variant, as parse returns them, to segments. Literal text is split at its slashes.
// The first parameter whose regular expression can match a slash, and everything after it, become one last segment, the
// tail, which is matched against the entire rest of the path. The result tail reports whether there is such a segment.
func (c compiler) variant(pieces []piece) (segments []segment, tail bool, err error) {
	var parts []piece // of the segment being made
	end := func() error {
		s, err := c.segment(parts)
		segments, parts = append(segments, s), nil
		return err
	}
	for _, p := range pieces {
		if p.param == "" && !tail {
			before, after, slash := strings.Cut(p.literal, "/")
			for ; slash; before, after, slash = strings.Cut(after, "/") {
				parts = appendLiteral(parts, before)
				if len(parts) == 0 && len(segments) == 0 { // the slash of an optional suffix at the root
					continue
				}
				if err := end(); err != nil {
					return nil, false, err
				}
			}
			parts = appendLiteral(parts, before)
			continue
		}
		if p.param != "" && p.regex != "" {
			slash, err := mayBeSlash(p)
			if err != nil {
				return nil, false, err
			}
			tail = tail || slash
		}
		parts = append(parts, p)
	}
	if len(parts) > 0 {
		err = end()
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

// segment compiles one segment.
func (c compiler) segment(parts []piece) (s segment, err error) {
	switch {
	case len(parts) == 0:
		return s, fmt.Errorf("has an empty segment")
	case len(parts) == 1 && parts[0].param == "":
		s.literal = parts[0].literal
		if s.literal == "." || s.literal == ".." {
			err = fmt.Errorf("has a segment %s", s.literal)
		}
		return s, err
	case len(parts) == 1 && parts[0].regex == "":
		s.params = []string{parts[0].param}
		return s, nil
	}
	var text strings.Builder
	text.WriteString(`\A`)
	group := 1
	var groups []int
	for _, p := range parts {
		if p.param == "" {
			text.WriteString(regexp.QuoteMeta(p.literal))
			continue
		}
		s.params = append(s.params, p.param)
		groups = append(groups, group)
		regex := p.regex
		if regex == "" {
			regex = "[^/]+"
		}
		parsed, err := syntax.Parse(regex, syntax.Perl)
		if err != nil {
			return s, fmt.Errorf("has the parameter %q whose pattern is not good: %w", p.param, err)
		}
		group += 1 + parsed.MaxCap()
		text.WriteString("(" + regex + ")")
	}
	text.WriteString(`\z`)
	if s.match = c[text.String()]; s.match == nil {
		regex, err := regexp.Compile(text.String())
		if err != nil {
			return s, fmt.Errorf("has a pattern that is not good: %w", err)
		}
		s.match = &matcher{regex, groups}
		c[text.String()] = s.match
	}
	return s, nil
}

// mayBeSlash reports whether the pattern of a parameter can match a slash.
func mayBeSlash(p piece) (bool, error) {
	parsed, err := syntax.Parse(p.regex, syntax.Perl)
	if err != nil {
		return false, fmt.Errorf("has the parameter %q whose pattern is not good: %w", p.param, err)
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
		for i := 0; i+1 < len(re.Rune); i += 2 {
			if re.Rune[i] <= '/' && '/' <= re.Rune[i+1] {
				return true
			}
		}
	}
	return slices.ContainsFunc(re.Sub, hasSlash)
}
