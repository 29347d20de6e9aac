package inquiry

import (
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

// expr is a calculation over metrics: a number, a metric, or an operation on other expressions. The formula
// "gross_profit / revenue" has the op '/' and two args with the op opMetric. The fields that an op does not use are
// zero.
type expr struct {
	op    byte    // opNumber, opMetric, opAverage, opChange, or one of + - * /
	value float64 // of a number
	key   string  // of a metric
	// optional reports that a metric is 0 if its statement does not contain the metric.
	optional bool
	// periods are the periods that the question names for this metric. If it is empty, the periods of the whole
	// expression are used.
	periods []Period
	args    []*expr // the two operands of + - * /
}

// The values of expr.op other than arithmetic operators.
const (
	opNumber  = '#'
	opMetric  = 'm'
	opAverage = 'a' // the average of a metric over two days
	opChange  = 'd' // the change of a metric between two days
)

// metricExpr returns the expression for a metric.
func metricExpr(key string) *expr { return &expr{op: opMetric, key: key} }

// parser parses an expression by recursive descent.
type parser struct {
	tokens   []string
	position int
	// leaf returns the operand for the words between operators, or nil if they name no operand.
	leaf  func(words string) *expr
	depth int // the number of brackets around the position
}

// Bounds of an expression.
const (
	maxTokens = 200
	maxDepth  = 20
)

// parse parses all tokens. It returns nil if they are not an expression.
func parse(tokens []string, leaf func(string) *expr) *expr {
	if len(tokens) == 0 || len(tokens) > maxTokens {
		return nil
	}
	p := &parser{tokens: tokens, leaf: leaf}
	e := p.sum()
	if p.position < len(p.tokens) {
		return nil
	}
	return e
}

// next returns the token at the position, or the empty string at the end.
func (p *parser) next() string {
	if p.position < len(p.tokens) {
		return p.tokens[p.position]
	}
	return ""
}

// sum parses operands of + and -, or a single one. Like all methods that parse, it returns nil on a syntax error.
func (p *parser) sum() *expr { return p.chain("+-", p.product) }

// product parses operands of * and /, or a single one.
func (p *parser) product() *expr { return p.chain("*/", p.operand) }

// chain parses operands that are separated by operators. operators lists the possible operators, which are
// left-associative.
func (p *parser) chain(operators string, operand func() *expr) *expr {
	left := operand()
	for left != nil && p.next() != "" && strings.Contains(operators, p.next()) {
		op := p.next()[0]
		p.position++
		right := operand()
		if right == nil {
			return nil
		}
		left = &expr{op: op, args: []*expr{left, right}}
	}
	return left
}

// operand parses a number, a leaf, or an expression in brackets.
func (p *parser) operand() *expr {
	if p.depth++; p.depth > maxDepth {
		return nil
	}
	defer func() { p.depth-- }()
	token := p.next()
	p.position++
	switch {
	case token == "(":
		e := p.sum()
		if p.next() != ")" {
			return nil
		}
		p.position++
		return e
	case token == "" || strings.Contains("+-*/)", token):
		return nil
	}
	if n, err := strconv.ParseFloat(strings.ReplaceAll(token, ",", ""), 64); err == nil {
		return &expr{op: opNumber, value: n}
	}
	return p.leaf(token)
}

// formula returns the formula of a metric in the vocabulary, or nil.
func formula(key string) *expr {
	if e, ok := formulas.Load(key); ok {
		return e.(*expr) // the map has no other values
	}
	text := metrics.Formula(key)
	e := parse(dataTokens(text), dataLeaf)
	formulas.Store(key, e)
	return e
}

// formulas caches the parsed formulas by metric.
var formulas sync.Map

// dataTokens splits a formula of the vocabulary. avg(x) and change(x) are one token each.
func dataTokens(text string) []string {
	var tokens []string
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == ' ':
			i++
		case strings.IndexByte("+-*/()", c) >= 0:
			tokens = append(tokens, text[i:i+1])
			i++
		default:
			end := i
			for end < len(text) && strings.IndexByte("+-*/() ", text[end]) < 0 {
				end++
			}
			if end < len(text) && text[end] == '(' {
				end += strings.IndexByte(text[end:], ')') + 1
			}
			tokens = append(tokens, text[i:end])
			i = end
		}
	}
	return tokens
}

// dataLeaf returns the operand for a token of a formula in the vocabulary: the key of a metric, possibly followed by
// "?" if it is optional, alone or within avg() or change(). It returns nil for an unknown key.
func dataLeaf(token string) *expr {
	e := metricExpr(token)
	if name, inner, ok := strings.Cut(strings.TrimSuffix(token, ")"), "("); ok { // avg(x) or change(x)
		e.key, e.op = inner, opAverage
		if name == "change" {
			e.op = opChange
		}
	}
	if key, optional := strings.CutSuffix(e.key, "?"); optional {
		e.key, e.optional = key, true
	}
	if _, ok := metrics.Metric(e.key); !ok {
		return nil
	}
	return e
}

// parseWords parses a formula that a question writes in words: "365 * (average accounts payable between FY2016 and
// FY2017) / (FY2017 COGS + change in inventory between FY2016 and FY2017)". It returns nil if the text is not a
// formula.
func parseWords(text string) *expr { return parse(wordTokens(text), wordLeaf) }

var operatorWords = strings.NewReplacer(" divided by ", " / ", " multiplied by ", " * ", " times ", " * ", " plus ", " + ",
	" minus ", " - ", " less ", " - ",
	"×", "*", "÷", "/", "–", " - ", "−", " - ", " x ", " * ", "[", "(", "]", ")", "{", "(", "}", ")")

// wordTokens splits a text at operators. A minus or a slash within a word is not an operator.
func wordTokens(text string) []string {
	text = operatorWords.Replace(" " + text + " ")
	var tokens []string
	var word strings.Builder
	flush := func() {
		if s := strings.Join(strings.Fields(word.String()), " "); s != "" {
			tokens = append(tokens, s)
		}
		word.Reset()
	}
	runes := []rune(text)
	isBoundary := func(i int) bool {
		return i < 0 || i >= len(runes) || unicode.IsSpace(runes[i]) || runes[i] == '(' || runes[i] == ')'
	}
	for i, r := range runes {
		switch {
		case r == '(', r == ')', r == '+', r == '*', (r == '-' || r == '/') && (isBoundary(i-1) || isBoundary(i+1)):
			flush()
			tokens = append(tokens, string(r))
		default:
			word.WriteRune(r)
		}
	}
	flush()
	return tokens
}

// wordLeaf returns the operand for a metric that words name, with the periods that they name. It returns nil if they
// name no metric, or more periods than the operand may have.
func wordLeaf(words string) *expr {
	text, periods := splitPeriods(words)
	e := &expr{op: opMetric, periods: periods}
	lower := strings.ToLower(text)
	for _, lead := range []struct {
		words string
		op    byte
	}{
		{"average ", opAverage},
		{"the average ", opAverage},
		{"mean ", opAverage},
		{"change in ", opChange},
		{"the change in ", opChange},
		{"increase in ", opChange},
	} {
		if strings.HasPrefix(lower, lead.words) {
			e.op, text = lead.op, text[len(lead.words):]
			break
		}
	}
	key, ok := metricNamed(text)
	if !ok || e.op == opMetric && len(periods) > 1 || len(periods) > 2 {
		return nil
	}
	e.key = key
	return e
}

// metricNamed returns the key of the metric that a text names, if all other words of the text are filler.
func metricNamed(text string) (key string, ok bool) {
	if m, ok := metrics.ByLabel(strings.TrimSpace(text)); ok {
		return m.Key, true
	}
	found := metrics.Find(text)
	if len(found) != 1 || !onlyFiller(text[:found[0].Start]+" "+text[found[0].End:]) {
		return "", false
	}
	return found[0].Metric.Key, true
}

// addKeys adds the keys of the metrics in e to a set, including the keys in the formulas of these metrics. A nil e
// has no keys. addKeys returns even if a formula contains itself, because the key of its metric is then in the set
// already.
func (e *expr) addKeys(set map[string]bool) {
	if e == nil || len(set) > maxTokens {
		return
	}
	if e.key != "" && !set[e.key] {
		set[e.key] = true
		formula(e.key).addKeys(set)
	}
	for _, arg := range e.args {
		arg.addKeys(set)
	}
}
