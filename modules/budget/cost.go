package budget

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// costRule is a compiled Cost.
type costRule struct {
	units   number
	method  string // empty for all methods
	pattern pattern
}

// compileCost parses a cost. repl resolves the placeholders of the environment and of files.
func compileCost(c Cost, repl *caddy.Replacer) (rule costRule, err error) {
	if c.Cost == "" {
		return rule, errors.New("the number is missing")
	}
	if rule.units, err = compileNumber(c.Cost, repl); err != nil {
		return rule, err
	}
	if rule.units.fixed && !rule.units.set {
		return rule, errors.New("the number is empty")
	}
	if c.Method != "*" { // otherwise it stays empty, which matches all methods
		rule.method = strings.ToUpper(c.Method)
	}
	for _, letter := range rule.method {
		if letter < 'A' || letter > 'Z' {
			return rule, fmt.Errorf("%q is not a method", c.Method)
		}
	}
	rule.pattern, err = compilePattern(c.Pattern)
	return rule, err
}

// cost returns the cost of a request: that of the first rule that matches, or 1 if no rule matches.
func (h *Handler) cost(r *http.Request, repl *caddy.Replacer) (int64, error) {
	var (
		path    string
		escaped bool
	)
	if h.byPath {
		path, escaped = matchPath(r.URL)
	}
	for i := range h.costs {
		rule := &h.costs[i]
		if !rule.matchesMethod(r.Method) || !rule.pattern.matches(path, escaped) {
			continue
		}
		units, set, err := rule.units.value(repl)
		if err == nil && !set {
			err = errors.New("the value is empty")
		}
		return units, err
	}
	return 1, nil
}

// matchesMethod reports whether the rule applies to a request method.
func (c *costRule) matchesMethod(method string) bool {
	return c.method == "" || c.method == method || (c.method == http.MethodGet && method == http.MethodHead)
}

// matchPath returns the path that patterns are matched against. escaped means that it is percent-encoded, because the
// client sent escapes that decoding would lose, such as %2F inside a segment. Doubled slashes and dot segments, escaped
// dots included, are resolved: an upstream may resolve them, and the cost must be the cost of the resource that the
// upstream then serves.
func matchPath(u *url.URL) (path string, escaped bool) {
	path = u.Path
	if u.RawPath != "" {
		path, escaped = u.EscapedPath(), true
		if strings.Contains(path, "%2") {
			path = escapedDots.Replace(path)
		}
	}
	if strings.Contains(path, "//") || strings.Contains(path, "/.") {
		path = caddyhttp.CleanPath(path, true)
	}
	return path, escaped
}

var escapedDots = strings.NewReplacer("%2e", ".", "%2E", ".")

// pattern is a path pattern in the syntax of http.ServeMux. ServeMux itself is not used, because it prefers the most
// specific pattern and rejects patterns that overlap. Here, the first pattern that matches applies.
type pattern struct {
	all      bool // "*"
	segments []segment
	end      ending
}

// segment is a literal segment of a path. The empty segment is a wildcard.
type segment string

// ending is the kind of path that may follow the segments of a pattern.
type ending int

const (
	endHere  ending = iota // /a
	endSlash               // /a/{$}
	endTree                // /a/ or /a/{rest...}
)

// compilePattern parses a path pattern; see Handler for the syntax.
func compilePattern(text string) (p pattern, err error) {
	if text == "*" {
		return pattern{all: true}, nil
	}
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return p, fmt.Errorf("pattern %q must start with / or be *", text)
	}
	names := make(map[string]bool) // names of the wildcards so far
	parts := strings.Split(rest, "/")
	for i, part := range parts {
		isLast := i == len(parts)-1
		name, isWildcard := strings.CutPrefix(part, "{")
		if isWildcard {
			var closed bool
			if name, closed = strings.CutSuffix(name, "}"); !closed {
				return p, fmt.Errorf("pattern %q: bad wildcard %q", text, part)
			}
		}
		switch {
		case part == "" && isLast: // the pattern ends in a slash
			p.end = endTree
			continue
		case part == "" || part == "." || part == "..":
			return p, fmt.Errorf("pattern %q is not a clean path", text)
		case !isWildcard:
			literal, err := literalSegment(text, part)
			if err != nil {
				return p, err
			}
			p.segments = append(p.segments, literal)
			continue
		case name == "$" && isLast:
			p.end = endSlash
			continue
		case strings.HasSuffix(name, "...") && isLast:
			name = strings.TrimSuffix(name, "...")
			p.end = endTree
		default:
			p.segments = append(p.segments, "") // a wildcard
		}
		if !isIdentifier(name) || names[name] {
			return p, fmt.Errorf("pattern %q: bad wildcard name %q", text, name)
		}
		names[name] = true
	}
	return p, nil
}

// literalSegment parses a segment that is not a wildcard. pattern is the whole pattern, for errors.
func literalSegment(pattern, part string) (segment, error) {
	if strings.ContainsAny(part, "{}") {
		return "", fmt.Errorf("pattern %q: a wildcard must be a whole segment", pattern)
	}
	if strings.Contains(part, "*") { // it has a meaning in Caddy's matchers, but not here
		return "", fmt.Errorf("pattern %q has a *, which matches nothing here: write /x/ or /x/{rest...} for all below /x, {name} for one segment", pattern)
	}
	literal, err := url.PathUnescape(part)
	if err != nil {
		return "", fmt.Errorf("pattern %q: %w", pattern, err)
	}
	return segment(literal), nil
}

// isIdentifier reports whether name can be the name of a wildcard: ASCII letters, digits and _, not beginning with a
// digit.
func isIdentifier(name string) bool {
	for i, c := range name {
		letter := c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

// matches reports whether a path matches the pattern. escaped means that the path is still percent-encoded.
func (p *pattern) matches(path string, escaped bool) bool {
	if p.all {
		return true
	}
	for _, segment := range p.segments {
		if path == "" || path[0] != '/' {
			return false
		}
		got, rest := path[1:], ""
		if slash := strings.IndexByte(got, '/'); slash >= 0 {
			got, rest = got[:slash], got[slash:]
		}
		isWildcard := segment == ""
		if got == "" || (!isWildcard && !sameSegment(got, string(segment), escaped)) {
			return false
		}
		path = rest
	}
	switch p.end {
	case endSlash:
		return path == "/"
	case endTree:
		return strings.HasPrefix(path, "/") // the * of an OPTIONS request is not below any path
	default:
		return path == ""
	}
}

// sameSegment reports whether a segment of a path equals a literal. escaped means that segment is percent-encoded;
// literal never is.
func sameSegment(segment, literal string, escaped bool) bool {
	if segment == literal {
		return !escaped || !strings.Contains(segment, "%")
	}
	if !escaped || !strings.Contains(segment, "%") {
		return false
	}
	plain, err := url.PathUnescape(segment)
	return err == nil && plain == literal
}
