package inquiry

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

// Period is a fiscal year, or a quarter of one. Quarter is 0 for the whole year.
type Period struct{ Year, Quarter int }

// String returns the period as "FY2018" or "Q2 FY2023".
func (p Period) String() string {
	if p.Quarter != 0 {
		return fmt.Sprintf("Q%d FY%d", p.Quarter, p.Year)
	}
	return "FY" + strconv.Itoa(p.Year)
}

// compare orders periods by their end: the result is negative if p ends before q, positive if it ends after
// q, and 0 otherwise. A year ends with its fourth quarter.
func (p Period) compare(q Period) int {
	last := func(p Period) int { return 5*p.Year + cmp.Or(p.Quarter, 4) }
	return last(p) - last(q)
}

// Before returns the same period a year earlier.
func (p Period) Before() Period { return Period{p.Year - 1, p.Quarter} }

// Need is a metric in a period that an inquiry is computed from.
type Need struct {
	Metric string
	Period
}

// twins maps a metric to those that replace it if a report does not tell them apart, best first.
var twins = map[string][]string{
	"equity": {"total_equity"}, "total_equity": {"equity"}, "net_income": {"profit"},
	"eps_basic": {"eps_diluted"},
}

// minSureness is the least certainty of a fact that is computed with: that of a fact from a statement.
const minSureness = 80

// maxSteps bounds the evaluation steps of one answer.
const maxSteps = 4000

// Book holds the facts of one issuer and the state of one computation. It is not safe for concurrent use.
type Book struct {
	facts map[Need][]kernel.Fact
	// latest is the fiscal year of the latest report with annual figures.
	latest int
	target int              // the latest year that the inquiry names
	own    map[string]*expr // formulas that the question itself states
	steps  int
	used   []Used
	short  []Need
}

// Used is a fact that was used in a computation.
type Used struct {
	kernel.Fact
	Period Period
}

// Signs returns the metrics whose presence shows that statements are there.
func Signs() []string {
	return []string{"total_assets", "current_liabilities", "net_income", "revenue", "operating_cash_flow"}
}

// NewBook returns a book of the facts that are certain enough.
func NewBook(facts []kernel.Fact) *Book {
	b := &Book{facts: make(map[Need][]kernel.Fact)}
	for _, f := range facts {
		if f.Sure < minSureness {
			continue
		}
		m, _ := metrics.Metric(f.Metric)
		year, quarter := f.Period.AnyYear(), f.Period.Quarter
		switch {
		case m.Instant, f.Period.Months == 12 && quarter == 0, f.Period.Months == 3 && quarter != 0:
		default:
			continue
		}
		if quarter == 0 && f.Report.Quarter == 0 {
			b.latest = max(b.latest, year)
		}
		n := Need{f.Metric, Period{year, quarter}}
		b.facts[n] = append(b.facts[n], f)
		if m.Instant && quarter == 0 { // the end of a year is the end of its fourth quarter
			n.Quarter = 4
			b.facts[n] = append(b.facts[n], f)
		}
	}
	return b
}

// Used returns the facts that the last answer was computed from, or that were found before one was missing.
func (b *Book) Used() []Used { return b.used }

// Empty reports whether a book has no facts.
func (b *Book) Empty() bool { return len(b.facts) == 0 }

// find returns the fact of a need from the report of the latest year that is asked for, or else from the next
// report after it, or else from the latest one before it.
func (b *Book) find(n Need) (kernel.Fact, bool) {
	for _, key := range append([]string{n.Metric}, twins[n.Metric]...) {
		list := b.facts[Need{key, n.Period}]
		if len(list) == 0 {
			continue
		}
		away := func(f kernel.Fact) int {
			d := f.Report.AnyYear() - b.target
			switch {
			case d < 0:
				d = 100 - d
			case n.Quarter == 0 && f.Report.Quarter != 0:
				d += 50
			}
			return 2*d + 1 - f.Sure/minSureness
		}
		best := slices.MinFunc(list, func(x, y kernel.Fact) int {
			if d := away(x) - away(y); d != 0 {
				return d
			}
			return y.Sure - x.Sure
		})
		return best, true
	}
	return kernel.Fact{}, false
}

// result is a number with its calculation.
type result struct {
	value   float64
	figure  kernel.Figure // set if the result is a single fact
	fact    bool
	written string
	names   string
	loose   bool // written is a sum, which needs brackets
}

// eval computes an expression for a period. It returns false if a figure is missing, or if the expression is
// too deep or takes too many steps.
func (b *Book) eval(e *expr, p Period, depth int) (result, bool) {
	if b.steps++; e == nil || depth > maxDepth || b.steps > maxSteps {
		return result{}, false
	}
	switch e.op {
	case '#':
		text := strconv.FormatFloat(e.value, 'f', -1, 64)
		return result{value: e.value, written: text, names: text}, true
	case 'm':
		if len(e.at) == 1 {
			p = e.at[0]
		}
		return b.metric(e, p, depth)
	case 'a', 'd':
		return b.twoDays(e, p, depth)
	}
	left, ok := b.eval(e.args[0], p, depth+1)
	if !ok {
		return left, false
	}
	right, ok := b.eval(e.args[1], p, depth+1)
	if !ok {
		return right, false
	}
	r := result{fact: false, loose: e.op == '+' || e.op == '-'}
	switch e.op {
	case '+':
		r.value = left.value + right.value
	case '-':
		r.value = left.value - right.value
	case '*':
		r.value = left.value * right.value
	case '/':
		if right.value == 0 {
			return r, false
		}
		r.value = left.value / right.value
	}
	join := func(a, b string) string {
		if a == "" {
			return b
		}
		if b == "" {
			return a
		}
		if !r.loose {
			if left.loose {
				a = "(" + a + ")"
			}
			if right.loose || e.op == '/' && strings.Contains(b, " / ") {
				b = "(" + b + ")"
			}
		} else if e.op == '-' && right.loose {
			b = "(" + b + ")"
		}
		return a + " " + string(e.op) + " " + b
	}
	r.written, r.names = join(left.written, right.written), join(left.names, right.names)
	return r, true
}

// twoDays returns the average of a metric over two days, or its change between them. For an average whose
// first day is missing it returns the value of the last day.
func (b *Book) twoDays(e *expr, p Period, depth int) (result, bool) {
	from, to := p.Before(), p
	if len(e.at) == 2 {
		from, to = e.at[0], e.at[1]
	}
	one := &expr{op: 'm', key: e.key}
	last, ok := b.metric(one, to, depth)
	if !ok {
		return last, false
	}
	missing := len(b.short)
	first, ok := b.metric(one, from, depth)
	if !ok {
		if e.op == 'd' || len(e.at) == 2 { // both days are needed
			return first, false
		}
		b.short = b.short[:missing]
		last.fact = false
		return last, true // the end of the year alone
	}
	if e.op == 'd' {
		return result{
			value: last.value - first.value, written: last.written + " - " + figures.Bracket(first.written),
			names: "change in " + last.names, loose: true,
		}, true
	}
	return result{value: (first.value + last.value) / 2, written: "(" + first.written + " + " + last.written +
		") / 2", names: "average " + last.names}, true
}

// metric returns the value of a metric: the fact if there is one, or else the result of its formula. A
// formula that the question states comes first. An optional metric (e.may) that its statement does not
// contain is 0.
func (b *Book) metric(e *expr, p Period, depth int) (result, bool) {
	if own := b.own[e.key]; own != nil && depth < maxDepth {
		return b.eval(own, p, depth+1)
	}
	if f, ok := b.find(Need{e.key, p}); ok {
		f.Figure.Value = b.signed(e.key, p, f.Figure.Value)
		b.use(f, p)
		m, _ := metrics.Metric(e.key)
		written := figures.Plain(f.Figure)
		return result{value: f.Figure.Value, figure: f.Figure, fact: true, written: written, names: m.Name}, true
	}
	if own := formula(e.key); own != nil {
		r, ok := b.eval(own, p, depth+1)
		return r, ok
	}
	if e.may && b.stated(e.key, p) {
		return result{}, true
	}
	b.short = append(b.short, Need{e.key, p})
	return result{}, false
}

// signs lists the metrics by which each statement is known to be there.
var signs = map[kernel.Statement][]string{
	kernel.Balance: {"total_assets", "current_liabilities"}, kernel.Income: {"net_income", "revenue"},
	kernel.CashFlow: {"operating_cash_flow"},
}

// Beside returns the facts of the needs. For a need without a fact it returns another fact of the same
// statement.
func (b *Book) Beside(needs []Need) (facts []kernel.Fact) {
	for _, n := range needs {
		b.target = max(b.target, n.Year)
	}
	for _, n := range needs {
		m, _ := metrics.Metric(n.Metric)
		for _, key := range append([]string{n.Metric}, signs[m.Statement]...) {
			if f, ok := b.find(Need{key, n.Period}); ok {
				facts = append(facts, f)
				break
			}
		}
	}
	return facts
}

// stated reports whether the statement that a metric belongs to is there for a period.
func (b *Book) stated(key string, p Period) bool {
	m, _ := metrics.Metric(key)
	for _, sign := range signs[m.Statement] {
		if len(b.facts[Need{sign, p}]) > 0 {
			return true
		}
	}
	return false
}

// Refuses reports whether a missing figure belongs to a statement that is there but does not contain it, so
// that no other figure that is found may stand in for it.
func (b *Book) Refuses(missing []Need) bool {
	for _, n := range missing {
		if b.stated(n.Metric, n.Period) {
			return true
		}
	}
	return false
}

// has reports whether a metric is stated for any period.
func (b *Book) has(key string) bool {
	for n := range b.facts {
		if n.Metric == key {
			return true
		}
	}
	return false
}

// last returns the latest fact of a metric.
func (b *Book) last(key string) (fact kernel.Fact, ok bool) {
	for n, list := range b.facts {
		if f := list[0]; n.Metric == key && (!ok || f.Period.End > fact.Period.End) {
			fact, ok = f, true
		}
	}
	return fact, ok
}

// signed returns a value with the sign that formulas expect: spending is positive, and income tax has the
// sign with which it leads from income before taxes to net income.
func (b *Book) signed(key string, p Period, value float64) float64 {
	if metrics.Spent(key) {
		return math.Abs(value)
	}
	if key != "income_tax" {
		return value
	}
	before, ok := b.find(Need{"pretax_income", p})
	after, ok2 := b.find(Need{"net_income", p})
	if ok && ok2 && math.Abs(before.Figure.Value+value-after.Figure.Value) <
		math.Abs(before.Figure.Value-value-after.Figure.Value) {
		return -value
	}
	return value
}

func (b *Book) use(f kernel.Fact, p Period) {
	for _, u := range b.used {
		if u.Metric == f.Metric && u.Period == p && u.Document == f.Document {
			return
		}
	}
	b.used = append(b.used, Used{f, p})
}
