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
	// may reports that a metric is 0 if its statement does not contain it.
	may bool
	// at are the periods that the question names for this metric. If it is empty, those of the whole expression
	// count.
	at   []Period
	args []*expr
}

// parser parses an expression by recursive descent.
type parser struct {
	tokens []string
	at     int
	// leaf makes an operand of the words between operators, or nil if they name none.
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
	if p.at < len(p.tokens) {
		return nil
	}
	return e
}

func (p *parser) next() string {
	if p.at < len(p.tokens) {
		return p.tokens[p.at]
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
		p.at++
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
	p.at++
	switch {
	case token == "(":
		e := p.sum()
		if p.next() != ")" {
			return nil
		}
		p.at++
		return e
	case token == "" || strings.Contains("+-*/)", token):
		return nil
	}
	if n, err := strconv.ParseFloat(strings.ReplaceAll(token, ",", ""), 64); err == nil {
		return &expr{op: '#', value: n}
	}
	return p.leaf(token)
}

// formula returns the formula that the vocabulary has for a metric, or nil.
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
	if key, may := strings.CutSuffix(e.key, "?"); may {
		e.key, e.may = key, true
	}
	if _, ok := metrics.Metric(e.key); !ok {
		return nil
	}
	return e
}

// said parses a formula that a question writes in words: "365 * (average accounts payable between FY2016 and
// FY2017) / (FY2017 COGS + change in inventory between FY2016 and FY2017)". It returns nil if the text is not
// a formula.
func said(text string) *expr { return parse(wordTokens(text), wordLeaf) }

var inWords = strings.NewReplacer(" divided by ", " / ", " multiplied by ", " * ", " times ", " * ", " plus ", " + ",
	" minus ", " - ", " less ", " - ",
	"×", "*", "÷", "/", "–", " - ", "−", " - ", " x ", " * ", "[", "(", "]", ")", "{", "(", "}", ")")

// wordTokens splits a text at operators. A minus or a slash within a word is no operator.
func wordTokens(text string) []string {
	text = inWords.Replace(" " + text + " ")
	var tokens []string
	var word strings.Builder
	flush := func() {
		if s := strings.Join(strings.Fields(word.String()), " "); s != "" {
			tokens = append(tokens, s)
		}
		word.Reset()
	}
	runes := []rune(text)
	apart := func(i int) bool {
		return i < 0 || i >= len(runes) || unicode.IsSpace(runes[i]) || runes[i] == '(' || runes[i] == ')'
	}
	for i, r := range runes {
		switch {
		case r == '(', r == ')', r == '+', r == '*', (r == '-' || r == '/') && (apart(i-1) || apart(i+1)):
			flush()
			tokens = append(tokens, string(r))
		default:
			word.WriteRune(r)
		}
	}
	flush()
	return tokens
}

// wordLeaf makes a metric from words, with the periods that they name. It returns nil if they name no metric.
func wordLeaf(words string) *expr {
	text, periods := apartFromPeriods(words)
	e := &expr{op: 'm', at: periods}
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
	m, ok := named(text)
	if !ok || e.op == 'm' && len(periods) > 1 || len(periods) > 2 {
		return nil
	}
	e.key = m
	return e
}

// named returns the metric that a text names, if the text contains nothing else but filler.
func named(text string) (key string, ok bool) {
	if m, ok := metrics.ByLabel(strings.TrimSpace(text)); ok {
		return m.Key, true
	}
	found := metrics.Find(text)
	if len(found) != 1 || !filling(text[:found[0].Start]+" "+text[found[0].End:]) {
		return "", false
	}
	return found[0].Metric.Key, true
}

// keys adds the metrics that a calculation needs to a set, including those of their formulas.
func (e *expr) keys(into map[string]bool) {
	if e == nil || len(into) > maxTokens {
		return
	}
	if e.key != "" && !into[e.key] {
		into[e.key] = true
		formula(e.key).keys(into)
	}
	for _, arg := range e.args {
		arg.keys(into)
	}
}
