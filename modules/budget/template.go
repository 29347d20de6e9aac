package budget

import (
	"errors"
	"fmt"
	"strings"

	"github.com/caddyserver/caddy/v2"

	"github.com/tollgate-gateway/tollgate/internal/counters"
)

// template is a parsed text with placeholders. Evaluating it looks up each placeholder once and does not interpret
// braces in the values.
type template struct {
	parts []part
}

// part is a placeholder, or literal text if name is empty.
type part struct {
	name, literal string
	optional      bool // an unknown placeholder is empty instead of an error
}

// compileTemplate parses a text. Placeholders of the environment and of files do not depend on the request and are
// replaced at once.
func compileTemplate(text string, repl *caddy.Replacer) (template, error) {
	var t template
	for text != "" {
		literal, rest, open := strings.Cut(text, "{")
		t.addLiteral(literal)
		if !open {
			break
		}
		name, rest, closed := strings.Cut(rest, "}")
		if !closed || name == "" || strings.Contains(name, "{") {
			return template{}, errors.New("a brace does not enclose a placeholder: write {name}")
		}
		if strings.HasPrefix(name, "env.") || strings.HasPrefix(name, "file.") {
			value, _ := repl.GetString(name)
			t.addLiteral(value)
		} else {
			t.parts = append(t.parts, part{name: name})
		}
		text = rest
	}
	return t, nil
}

// addLiteral appends literal text, merging it with a preceding literal.
func (t *template) addLiteral(text string) {
	if n := len(t.parts); n > 0 && t.parts[n-1].name == "" {
		t.parts[n-1].literal += text
	} else if text != "" {
		t.parts = append(t.parts, part{literal: text})
	}
}

// constant returns the template's text and true if the template has no placeholders.
func (t template) constant() (text string, ok bool) {
	switch len(t.parts) {
	case 0:
		return "", true
	case 1:
		return t.parts[0].literal, t.parts[0].name == ""
	}
	return "", false
}

// text evaluates the template. An unknown placeholder is an error: it is misspelt, or the handler that sets it does not
// come before the budget.
func (t template) text(repl *caddy.Replacer) (string, error) {
	if len(t.parts) == 1 {
		return t.parts[0].text(repl)
	}
	var b strings.Builder
	for _, p := range t.parts {
		value, err := p.text(repl)
		if err != nil {
			return "", err
		}
		b.WriteString(value)
	}
	return b.String(), nil
}

// text returns the part's text for a request. repl is the request's replacer; it may be nil.
func (p part) text(repl *caddy.Replacer) (string, error) {
	if p.name == "" {
		return p.literal, nil
	}
	if repl != nil {
		if value, known := repl.GetString(p.name); known {
			return value, nil
		}
	}
	if p.optional {
		return "", nil
	}
	return "", fmt.Errorf("unknown placeholder {%s}", p.name)
}

// number is a configured number of units: a constant or a placeholder.
type number struct {
	source template
	fixed  bool  // the number does not depend on the request
	units  int64 // the number, if fixed
	set    bool  // false if the text is empty, which means that no number is configured; valid if fixed
}

// compileNumber parses a number or a placeholder, or an empty text.
func compileNumber(text string, repl *caddy.Replacer) (number, error) {
	source, err := compileTemplate(text, repl)
	if err != nil {
		return number{}, err
	}
	n := number{source: source}
	if constant, ok := source.constant(); ok {
		n.fixed = true
		n.units, n.set, err = parseUnits(constant)
	}
	return n, err
}

// value returns the number for a request. set is false if the text is empty, which means that the number is not set.
func (n *number) value(repl *caddy.Replacer) (units int64, set bool, err error) {
	if n.fixed {
		return n.units, n.set, nil
	}
	text, err := n.source.text(repl)
	if err != nil {
		return 0, false, err
	}
	return parseUnits(text)
}

// parseUnits parses a whole number from 0 to 2^53-1, written as in JSON. set is false if the text is empty.
func parseUnits(text string) (units int64, set bool, err error) {
	if text == "" {
		return 0, false, nil
	}
	malformed := len(text) > 16 || (text[0] == '0' && len(text) > 1)
	for i := 0; i < len(text) && !malformed; i++ {
		digit := text[i] - '0' // characters below '0' wrap around
		malformed = digit > 9
		units = units*10 + int64(digit)
	}
	if malformed || units > counters.MaxUnits {
		return 0, true, fmt.Errorf("%.40q is not a whole number from 0 to 2^53-1", text)
	}
	return units, true, nil
}
