package syntax

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// token is a token of PQL.
type token struct {
	kind   tokenKind
	text   string
	offset int
}

// tokenKind is the kind of a token.
type tokenKind int

const (
	tokenEnd    tokenKind = iota // the end of the query
	tokenName                    // a name or keyword, with the path that follows it
	tokenString                  // its text is without quotes and escapes
	tokenNumber
	tokenSign // an operator or a bracket
)

// maxTokens limits the number of tokens in a PQL query.
const maxTokens = maxValues

// PQLError is an error in a PQL query, as text for the client.
type PQLError string

// Error implements error.
func (e PQLError) Error() string { return string(e) }

func refuse(format string, args ...any) error { return PQLError(fmt.Sprintf(format, args...)) }

// pqlParser translates PQL to the clauses of the JSON language. It splits the query into tokens first. The methods that
// parse a part of the query return a clause or another value of the JSON language. The parameter depth of these methods
// is the number of parts that contain this one.
type pqlParser struct {
	in     string
	tokens []token
	pos    int // index of the next token
}

// PQL parses a PQL query. The error is a PQLError.
func PQL(input string) (*Value, error) {
	if len(input) > MaxBytes {
		return nil, refuse("the query is longer than %d bytes", MaxBytes)
	}
	p := &pqlParser{in: input}
	if err := p.scan(); err != nil {
		return nil, err
	}
	v, err := p.from(0)
	if err != nil {
		return nil, err
	}
	if p.peek().kind != tokenEnd {
		return nil, p.expected("the end of the query")
	}
	return v, nil
}

// fail returns an error for the given offset in the query. expected lists the tokens that would be valid there.
func (p *pqlParser) fail(offset int, expected ...string) error {
	prefix := p.in[:offset]
	line := strings.Count(prefix, "\n") + 1
	start := strings.LastIndexByte(prefix, '\n') + 1
	column := utf8.RuneCountInString(p.in[start:offset]) + 1
	excerpt, _, _ := strings.Cut(p.in[start:], "\n")
	// A long line is shortened to the text around the position.
	indent := column - 1 // of the caret below the excerpt
	if len(excerpt) > quotedMax {
		clipStart := max(0, offset-start-100)
		excerpt = strings.ToValidUTF8(excerpt[clipStart:min(len(excerpt), clipStart+200)], "")
		indent = min(indent, 100)
	}
	return refuse("PQL parse error at line %d, column %d:\n\n%s\n%s^\n\nExpected one of:\n\n%s",
		line, column, excerpt, strings.Repeat(" ", indent), strings.Join(expected, "\n"))
}

// expected returns an error for the next token. tokens lists the tokens that would be valid instead.
func (p *pqlParser) expected(tokens ...string) error { return p.fail(p.peek().offset, tokens...) }

// isNameStart reports whether a name can begin with c.
func isNameStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

// signs are the operators and brackets. A sign comes before every sign with which it begins: "!=" comes before "!".
var signs = []string{"!~", "!=", "~>", "<=", ">=", "=", "<", ">", "~", "!", "(", ")", "[", "]", "{", "}", ","}

// scan splits the query into tokens. The last token is tokenEnd.
func (p *pqlParser) scan() error {
	for i := 0; i < len(p.in); {
		c := p.in[i]
		if len(p.tokens) > maxTokens {
			return refuse("the query holds more than %d words", maxTokens)
		}
		switch {
		case strings.IndexByte(" \t\r\n", c) >= 0:
			i++
		case c == '\'' || c == '"':
			text, n, ok := pqlString(p.in[i:])
			if !ok {
				return p.fail(i, "the closing quote of a string")
			}
			p.tokens = append(p.tokens, token{tokenString, text, i})
			i += n
		case isDigit(c) || (c == '-' || c == '+') && i+1 < len(p.in) && isDigit(p.in[i+1]):
			n := pqlNumber(p.in[i:])
			p.tokens = append(p.tokens, token{tokenNumber, strings.TrimPrefix(p.in[i:i+n], "+"), i})
			i += n
		case isNameStart(c):
			n := 1
			for i+n < len(p.in) && (isNameStart(p.in[i+n]) || isDigit(p.in[i+n]) || p.in[i+n] == '?') {
				n++
			}
			if hasPath(p.in[i : i+n]) {
				length, ok := pqlPath(p.in[i+n:])
				if n += length; !ok {
					return p.fail(i+n, "the end of a part of a path")
				}
			}
			p.tokens = append(p.tokens, token{tokenName, p.in[i : i+n], i})
			i += n
		default:
			k := slices.IndexFunc(signs, func(sign string) bool { return strings.HasPrefix(p.in[i:], sign) })
			if k < 0 {
				return p.fail(i, "a name", "a string", "a number", "an operator")
			}
			p.tokens = append(p.tokens, token{tokenSign, signs[k], i})
			i += len(signs[k])
		}
	}
	p.tokens = append(p.tokens, token{kind: tokenEnd, offset: len(p.in)})
	return nil
}

// pqlNumber returns the length of the number at the start of input. Whether the number is valid is checked later; see
// value.
func pqlNumber(input string) (n int) {
	for n = 1; n < len(input); n++ {
		c := input[n]
		isExponentSign := (c == '-' || c == '+') && (input[n-1] == 'e' || input[n-1] == 'E')
		if !isWord(c) && c != '.' && !isExponentSign {
			break
		}
	}
	return n
}

// pqlString reads the string at the start of input, and returns its text and its length in the query, with the quotes.
// ok is false if the closing quote is missing. In double quotes, escapes are as in JSON, and in single quotes, a
// backslash escapes the quote. Any other backslash is part of the text, which is convenient for patterns.
func pqlString(input string) (text string, n int, ok bool) {
	quote := input[0]
	var b strings.Builder
	for i := 1; i < len(input); i++ {
		if input[i] == quote {
			return strings.ToValidUTF8(b.String(), "\uFFFD"), i + 1, true
		}
		if input[i] != '\\' || i+1 == len(input) {
			b.WriteByte(input[i])
			continue
		}
		if quote == '"' {
			jsonParser := parser{in: input, pos: i}
			if r, err := jsonParser.escape(); err == nil {
				b.WriteRune(r)
				i = jsonParser.pos - 1 // the loop skips the last character of the escape
				continue
			}
		}
		i++ // the character after the backslash
		if input[i] != quote {
			b.WriteByte('\\')
		}
		b.WriteByte(input[i])
	}
	return "", 0, false
}

// peek returns the next token.
func (p *pqlParser) peek() token { return p.tokens[p.pos] }

// next returns the next token and skips it. It does not skip the end of the query.
func (p *pqlParser) next() token {
	t := p.tokens[p.pos]
	if t.kind != tokenEnd {
		p.pos++
	}
	return t
}

// acceptSign reports whether the next token is the sign s, and skips it if so.
func (p *pqlParser) acceptSign(s string) bool {
	if t := p.peek(); t.kind == tokenSign && t.text == s {
		p.pos++
		return true
	}
	return false
}

// needSign skips the sign s. It returns an error if the next token is another one.
func (p *pqlParser) needSign(s string) error {
	if !p.acceptSign(s) {
		return p.expected(`"` + s + `"`)
	}
	return nil
}

// acceptWords reports whether the next tokens are the given words, and skips them if so.
func (p *pqlParser) acceptWords(words ...string) bool {
	for i, w := range words {
		if p.pos+i >= len(p.tokens) {
			return false
		}
		if t := p.tokens[p.pos+i]; t.kind != tokenName || t.text != w {
			return false
		}
	}
	p.pos += len(words)
	return true
}

// needName returns the next token, a name, and skips it. If the token is not a name, needName returns an error that
// says what is expected.
func (p *pqlParser) needName(expected string) (string, error) {
	if t := p.peek(); t.kind == tokenName {
		p.pos++
		return t.text, nil
	}
	return "", p.expected(expected)
}

// from parses entity[fields]{ clause group by … paging … }.
func (p *pqlParser) from(depth int) (*Value, error) {
	if depth > MaxDepth {
		return nil, refuse("the query is nested more than %d deep", MaxDepth)
	}
	entity, err := p.needName("the name of an entity")
	if err != nil {
		return nil, err
	}
	var columns *Value
	if p.acceptSign("[") {
		if columns, err = p.columns("]"); err != nil {
			return nil, err
		}
	}
	if err := p.needSign("{"); err != nil {
		return nil, err
	}
	var clause, group *Value
	if !p.atPredicateEnd() {
		if clause, err = p.or(depth + 1); err != nil {
			return nil, err
		}
	}
	if p.acceptWords("group", "by") {
		if group, err = p.groupBy(); err != nil {
			return nil, err
		}
	}
	out := ListValue(TextValue("from"), TextValue(entity))
	// Columns and groups are in an "extract" clause, which then also holds the condition.
	switch {
	case columns != nil || group != nil:
		if columns == nil {
			columns = ListValue()
		}
		extract := ListValue(TextValue("extract"), columns)
		if clause != nil {
			extract.Items = append(extract.Items, clause)
		}
		if group != nil {
			extract.Items = append(extract.Items, group)
		}
		out.Items = append(out.Items, extract)
	case clause != nil:
		out.Items = append(out.Items, clause)
	}
	paging, err := p.paging()
	if err != nil {
		return nil, err
	}
	out.Items = append(out.Items, paging...)
	return out, p.needSign("}")
}

// atPredicateEnd reports whether no predicate follows: the next token is the closing brace, or begins group by, order
// by, limit or offset.
func (p *pqlParser) atPredicateEnd() bool {
	t := p.peek()
	if t.kind == tokenSign {
		return t.text == "}"
	}
	if t.kind != tokenName {
		return false
	}
	following := p.tokens[p.pos+1] // at least tokenEnd
	switch t.text {
	case "group", "order":
		return following.text == "by"
	case "limit", "offset":
		return following.kind == tokenNumber
	}
	return false
}

// columns parses fields and functions up to the sign end.
func (p *pqlParser) columns(end string) (*Value, error) {
	out := ListValue()
	if p.acceptSign(end) {
		return out, nil
	}
	for {
		item, err := p.column()
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, item)
		if p.acceptSign(end) {
			return out, nil
		}
		if !p.acceptSign(",") {
			return nil, p.expected(`","`, `"`+end+`"`)
		}
	}
}

// column reads a field, or a function with its arguments, from a list of columns.
func (p *pqlParser) column() (*Value, error) {
	name, err := p.needName("a field or function")
	if err != nil || !p.acceptSign("(") {
		return TextValue(name), err
	}
	out := ListValue(TextValue("function"), TextValue(name))
	if p.acceptSign(")") {
		return out, nil
	}
	for {
		t := p.next()
		if t.kind != tokenName && t.kind != tokenString {
			p.pos = max(0, p.pos-1) // back to t, for the position in the error
			return nil, p.expected("a field", "a string")
		}
		out.Items = append(out.Items, TextValue(t.text))
		if p.acceptSign(")") {
			return out, nil
		}
		if !p.acceptSign(",") {
			return nil, p.expected(`","`, `")"`)
		}
	}
}

// groupBy parses the columns after "group by".
func (p *pqlParser) groupBy() (*Value, error) {
	out := ListValue(TextValue("group_by"))
	for {
		item, err := p.column()
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, item)
		if !p.acceptSign(",") {
			return out, nil
		}
	}
}

// orderTerms parses the terms after "order by".
func (p *pqlParser) orderTerms() (*Value, error) {
	terms := ListValue()
	for {
		name, err := p.needName("a field")
		if err != nil {
			return nil, err
		}
		term := TextValue(name)
		for _, direction := range []string{"asc", "desc"} {
			if p.acceptWords(direction) {
				term = ListValue(term, TextValue(direction))
				break
			}
		}
		terms.Items = append(terms.Items, term)
		if !p.acceptSign(",") {
			return terms, nil
		}
	}
}

// paging parses order by, limit and offset in any order, each at most once.
func (p *pqlParser) paging() ([]*Value, error) {
	var out []*Value
	for {
		t := p.peek()
		item := ListValue(TextValue(t.text))
		switch {
		case p.acceptWords("order", "by"):
			terms, err := p.orderTerms()
			if err != nil {
				return nil, err
			}
			item = ListValue(TextValue("order_by"), terms)
		case p.acceptWords("limit"), p.acceptWords("offset"):
			n := p.next()
			if n.kind != tokenNumber {
				p.pos = max(0, p.pos-1)
				return nil, p.expected("a number")
			}
			item.Items = append(item.Items, numberValue(n.text))
		default:
			return out, nil
		}
		if slices.ContainsFunc(out, func(v *Value) bool { return v.Operator() == item.Operator() }) {
			return nil, p.fail(t.offset, `"}"`)
		}
		out = append(out, item)
	}
}

// or parses conditions that are joined by "or". Likewise, p.and parses conditions that are joined by "and", which
// binds more tightly.
func (p *pqlParser) or(depth int) (*Value, error)  { return p.chain("or", depth, p.and) }
func (p *pqlParser) and(depth int) (*Value, error) { return p.chain("and", depth, p.not) }

// chain parses conditions that are joined by the given word, "and" or "or". It calls part to parse each condition. A
// single condition is returned unchanged.
func (p *pqlParser) chain(word string, depth int, part func(int) (*Value, error)) (*Value, error) {
	first, err := part(depth)
	if err != nil {
		return nil, err
	}
	out := ListValue(TextValue(word), first)
	for p.acceptWords(word) {
		next, err := part(depth)
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, next)
	}
	if len(out.Items) == 2 {
		return first, nil
	}
	return out, nil
}

// not parses a condition, which may be negated or in parentheses.
func (p *pqlParser) not(depth int) (*Value, error) {
	if depth > MaxDepth {
		return nil, refuse("the query is nested more than %d deep", MaxDepth)
	}
	if p.acceptSign("!") {
		negated, err := p.not(depth + 1)
		return ListValue(TextValue("not"), negated), err
	}
	if p.acceptSign("(") {
		v, err := p.or(depth + 1)
		if err != nil {
			return nil, err
		}
		return v, p.needSign(")")
	}
	return p.condition(depth)
}

// condition parses a comparison, an "in" condition, a test for null or a subquery.
func (p *pqlParser) condition(depth int) (*Value, error) {
	if p.acceptSign("[") {
		fields, err := p.columns("]")
		if err != nil {
			return nil, err
		}
		if !p.acceptWords("in") {
			return nil, p.expected(`"in"`)
		}
		return p.inCondition(fields, depth)
	}
	start := p.pos
	name, err := p.needName("a condition")
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind == tokenSign && t.text == "{" {
		p.pos = start
		v, err := p.from(depth + 1)
		if err != nil {
			return nil, err
		}
		// If there is no paging, the method from returns ["from", entity] or ["from", entity, clause].
		if len(v.Items) > 3 || len(v.Items) == 3 && v.Items[2].IsPaging() {
			return nil, p.fail(t.offset, "a subquery without paging")
		}
		v.Items[0].Text = "subquery"
		return v, nil
	}
	field := TextValue(name)
	switch {
	case p.acceptWords("in"):
		return p.inCondition(field, depth)
	case p.acceptWords("is", "not", "null"):
		return ListValue(TextValue("null?"), field, boolValue(false)), nil
	case p.acceptWords("is", "null"):
		return ListValue(TextValue("null?"), field, boolValue(true)), nil
	}
	op := p.peek()
	if op.kind != tokenSign || !slices.Contains(comparisons, op.text) {
		return nil, p.expected(`"="`, `"!="`, `"<"`, `"<="`, `">"`, `">="`, `"~"`, `"!~"`, `"~>"`, `"in"`, `"is"`)
	}
	p.pos++
	v, err := p.value()
	if err != nil {
		return nil, err
	}
	if opposite, negated := strings.CutPrefix(op.text, "!"); negated {
		return ListValue(TextValue("not"), ListValue(TextValue(opposite), field, v)), nil
	}
	return ListValue(TextValue(op.text), field, v), nil
}

// comparisons are the operators between a field and a value. "!" before an operator negates it.
var comparisons = []string{"=", "!=", "<", "<=", ">", ">=", "~", "!~", "~>"}

// value parses a string, number, boolean or list.
func (p *pqlParser) value() (*Value, error) {
	t := p.next()
	switch t.kind {
	case tokenString:
		return TextValue(t.text), nil
	case tokenNumber:
		v, err := JSON(t.text, QueryLimits)
		if err != nil || v == nil || v.Kind != Number {
			return nil, p.fail(t.offset, "a number")
		}
		return v, nil
	case tokenName:
		if t.text == "true" || t.text == "false" {
			return boolValue(t.text == "true"), nil
		}
	case tokenSign:
		if t.text == "[" {
			return p.list()
		}
	case tokenEnd:
	}
	return nil, p.fail(t.offset, "a string", "a number", "true", "false")
}

// list parses values up to the closing bracket.
func (p *pqlParser) list() (*Value, error) {
	out := ListValue()
	if p.acceptSign("]") {
		return out, nil
	}
	for {
		if t := p.peek(); t.kind == tokenSign && t.text == "[" {
			return nil, p.expected("a string", "a number", "true", "false")
		}
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, v)
		if p.acceptSign("]") {
			return out, nil
		}
		if !p.acceptSign(",") {
			return nil, p.expected(`","`, `"]"`)
		}
	}
}

// inCondition parses the rest of an "in" condition on fields: a list of values, or a query.
func (p *pqlParser) inCondition(fields *Value, depth int) (*Value, error) {
	if p.acceptSign("[") {
		values, err := p.list()
		return ListValue(TextValue("in"), fields, ListValue(TextValue("array"), values)), err
	}
	q, err := p.from(depth + 1)
	if err != nil {
		return nil, err
	}
	return ListValue(TextValue("in"), fields, q), nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
