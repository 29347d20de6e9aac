package inquiry

import (
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

// expr is a calculation over metrics: a number, a metric, or an operation on other expressions.
type expr struct {
	// op is '#' for a number, 'm' for a metric, 'a' for the average of a metric over two days, 'd' for its change
	// between them, and otherwise one of + - * /.
	op    byte
	value float64
	key   string
	// optional reports that a metric is 0 if its statement does not contain the metric.
	optional bool
	// periods are the periods that the question names for this metric. If it is empty, the periods of the whole
	// expression are used.
	periods []Period
	args    []*expr
}

// parser parses an expression by recursive descent.
type parser struct {
	tokens   []string
	position int
	// leaf returns the operand for the words between operators, or nil if they name no operand.
	leaf  func(words string) *expr
	depth int
}

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

func (p *parser) next() string {
	if p.position < len(p.tokens) {
		return p.tokens[p.position]
	}
	return ""
}

func (p *parser) sum() *expr     { return p.chain("+-", p.product) }
func (p *parser) product() *expr { return p.chain("*/", p.operand) }

// chain parses left-associative operators between operands.
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
		return &expr{op: '#', value: n}
	}
	return p.leaf(token)
}

// formula returns the formula of a metric in the vocabulary, or nil.
func formula(key string) *expr {
	if e, ok := formulas.Load(key); ok {
		return e.(*expr) //nolint:forcetypeassert // nothing else is kept
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

func dataLeaf(token string) *expr {
	e := &expr{op: 'm', key: token}
	if name, inner, ok := strings.Cut(strings.TrimSuffix(token, ")"), "("); ok {
		e.key, e.op = inner, name[0]
		if name == "change" {
			e.op = 'd'
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
	e := &expr{op: 'm', periods: periods}
	lower := strings.ToLower(text)
	for _, lead := range []struct {
		words string
		op    byte
	}{
		{"average ", 'a'},
		{"the average ", 'a'},
		{"mean ", 'a'},
		{"change in ", 'd'},
		{"the change in ", 'd'},
		{"increase in ", 'd'},
	} {
		if strings.HasPrefix(lower, lead.words) {
			e.op, text = lead.op, text[len(lead.words):]
			break
		}
	}
	m, ok := metricNamed(text)
	if !ok || e.op == 'm' && len(periods) > 1 || len(periods) > 2 {
		return nil
	}
	e.key = m
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

// addKeys adds the metrics of a calculation to a set, including the metrics of their formulas.
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
