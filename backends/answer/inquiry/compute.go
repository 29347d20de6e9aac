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

// Period is a fiscal year, or a quarter of one. Quarter is 0 for the whole year. Unlike kernel.Period it says nothing
// about days, so that two Periods are the same if they are equal. A balance belongs to the period whose last day is the
// day of the balance.
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
	end := func(p Period) int { return 5*p.Year + cmp.Or(p.Quarter, 4) }
	return end(p) - end(q)
}

// Before returns the same period a year earlier.
func (p Period) Before() Period { return Period{p.Year - 1, p.Quarter} }

// Need is a metric in a period that a calculation needs: {"revenue", {2019, 0}} is the revenue of FY2019.
type Need struct {
	Metric string
	Period
}

// substitutes maps a metric to the metrics that replace it if a report does not distinguish them, the best first.
var substitutes = map[string][]string{
	"equity": {"total_equity"}, "total_equity": {"equity"}, "net_income": {"profit"},
	"eps_basic": {"eps_diluted"},
}

// minSureness is the least certainty of a fact that calculations use. Facts from tables other than statements are less
// certain.
const minSureness = 80

// maxSteps bounds the evaluation steps of one answer.
const maxSteps = 4000

// Book holds the facts of one issuer and the state of one computation. The methods of Calculation read the facts and
// change the state; Answer begins with a fresh state. A Book is not safe for concurrent use.
type Book struct {
	facts map[Need][]kernel.Fact // several documents may state the same figure
	// latest is the fiscal year of the latest report with annual figures.
	latest      int
	target      int              // the latest year that the question names, whose report is preferred
	definitions map[string]*expr // the formulas that the question states, by metric
	steps       int              // the evaluation steps so far, at most maxSteps
	used        []Used           // the facts that were used so far
	missing     []Need           // the figures that were missing so far
}

// Used is a fact that was used in a computation.
type Used struct {
	kernel.Fact
	Period Period
}

// StatementSigns returns the keys of metrics that nearly all statements contain. A fact of one of them shows that the
// statement was read.
func StatementSigns() []string {
	return []string{"total_assets", "current_liabilities", "net_income", "revenue", "operating_cash_flow"}
}

// NewBook returns a book of those facts that are certain enough and are for a whole year, a quarter or a day.
func NewBook(facts []kernel.Fact) *Book {
	b := &Book{facts: make(map[Need][]kernel.Fact)}
	for _, f := range facts {
		if f.Sure < minSureness {
			continue
		}
		m, _ := metrics.Metric(f.Metric)
		year, quarter := f.Period.AnyYear(), f.Period.Quarter
		isYear, isQuarter := f.Period.Months == 12 && quarter == 0, f.Period.Months == 3 && quarter != 0
		if !m.Instant && !isYear && !isQuarter { // such as six months
			continue
		}
		if quarter == 0 && f.Report.Quarter == 0 { // not from a quarterly report
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

// Used returns the facts from which the last answer was computed. If a figure was missing, these are the facts found
// before it.
func (b *Book) Used() []Used { return b.used }

// Empty reports whether a book has no facts.
func (b *Book) Empty() bool { return len(b.facts) == 0 }

// find returns the fact of a need, or of a substitute for its metric. It prefers the report for b.target, the latest
// year that the question names, then the next report after it, then the latest report before it. Of equally preferred
// facts it returns the most certain.
func (b *Book) find(n Need) (kernel.Fact, bool) {
	for _, key := range append([]string{n.Metric}, substitutes[n.Metric]...) {
		list := b.facts[Need{key, n.Period}]
		if len(list) == 0 {
			continue
		}
		// distance returns a smaller number for a fact from a better report. The constants rank annual reports first,
		// then quarterly reports, and reports before the target last.
		distance := func(f kernel.Fact) int {
			years := f.Report.AnyYear() - b.target
			switch {
			case years < 0:
				return 100 - years
			case n.Quarter == 0 && f.Report.Quarter != 0: // a quarterly report for a figure of a whole year
				return 50 + years
			}
			return years
		}
		best := slices.MinFunc(list, func(x, y kernel.Fact) int {
			if d := distance(x) - distance(y); d != 0 {
				return d
			}
			return y.Sure - x.Sure
		})
		return best, true
	}
	return kernel.Fact{}, false
}

// result is the value of an expression with its calculation: for gross_profit / revenue the value 0.42, the numbers
// "630 / 1,500" and the names "gross profit / revenue". The value is not rounded, and a share is not in per cent.
type result struct {
	value   float64
	fact    bool          // the result is a single fact
	figure  kernel.Figure // the figure of the fact
	numbers string        // the calculation in numbers
	names   string        // the calculation in names of metrics
	isSum   bool          // the calculation is a sum or a difference, which needs brackets within another calculation
}

// eval computes an expression for a period. depth is the depth of the expression in the whole calculation. eval returns
// false if e is nil, if a figure is missing, on a division by zero, or if the expression is too deep or takes too many
// steps.
func (b *Book) eval(e *expr, p Period, depth int) (result, bool) {
	if b.steps++; e == nil || depth > maxDepth || b.steps > maxSteps {
		return result{}, false
	}
	switch e.op {
	case opNumber:
		text := strconv.FormatFloat(e.value, 'f', -1, 64)
		return result{value: e.value, numbers: text, names: text}, true
	case opMetric:
		if len(e.periods) == 1 {
			p = e.periods[0]
		}
		return b.metric(e, p, depth)
	case opAverage, opChange:
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
	r := result{isSum: e.op == '+' || e.op == '-'}
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
	r.numbers = joinCalculations(e.op, left.isSum, right.isSum, left.numbers, right.numbers)
	r.names = joinCalculations(e.op, left.isSum, right.isSum, left.names, right.names)
	return r, true
}

// joinCalculations returns the calculation a op b, with brackets around a and b where they are necessary. aIsSum and
// bIsSum report that a and b are sums or differences. An optional metric that is absent has an empty calculation. If
// a or b is empty, joinCalculations returns the other one.
func joinCalculations(op byte, aIsSum, bIsSum bool, a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	isSum := op == '+' || op == '-'
	if aIsSum && !isSum {
		a = "(" + a + ")"
	}
	if bIsSum && op != '+' || op == '/' && strings.Contains(b, " / ") {
		b = "(" + b + ")"
	}
	return a + " " + string(op) + " " + b
}

// twoDays returns the average of a metric over two days, or the change between them. If the first day of an average is
// missing and the question does not name both days, it returns the value of the last day.
func (b *Book) twoDays(e *expr, p Period, depth int) (result, bool) {
	firstDay, lastDay := p.Before(), p
	if len(e.periods) == 2 {
		firstDay, lastDay = e.periods[0], e.periods[1]
	}
	metric := metricExpr(e.key)
	last, ok := b.metric(metric, lastDay, depth)
	if !ok {
		return last, false
	}
	missing := len(b.missing)
	first, ok := b.metric(metric, firstDay, depth)
	if !ok {
		if e.op == opChange || len(e.periods) == 2 { // both days are needed
			return first, false
		}
		b.missing = b.missing[:missing] // the first day is not reported as missing
		last.fact = false
		return last, true // the end of the year alone
	}
	if e.op == opChange {
		return result{
			value: last.value - first.value, numbers: last.numbers + " - " + figures.Bracket(first.numbers),
			names: "change in " + last.names, isSum: true,
		}, true
	}
	return result{value: (first.value + last.value) / 2, numbers: "(" + first.numbers + " + " + last.numbers +
		") / 2", names: "average " + last.names}, true
}

// metric returns the value of the metric in e for the period p. A formula that the question states comes first, then a
// fact, then the formula of the vocabulary. An optional metric that its statement does not contain is 0. metric returns
// false if a figure is missing, and adds the figure to b.missing.
func (b *Book) metric(e *expr, p Period, depth int) (result, bool) {
	if definition := b.definitions[e.key]; definition != nil && depth < maxDepth {
		return b.eval(definition, p, depth+1)
	}
	if f, ok := b.find(Need{e.key, p}); ok {
		f.Figure.Value = b.withFormulaSign(e.key, p, f.Figure.Value)
		b.use(f, p)
		m, _ := metrics.Metric(e.key)
		numbers := figures.Plain(f.Figure)
		return result{value: f.Figure.Value, figure: f.Figure, fact: true, numbers: numbers, names: m.Name}, true
	}
	if known := formula(e.key); known != nil {
		return b.eval(known, p, depth+1)
	}
	if e.optional && b.hasStatement(e.key, p) {
		return result{}, true
	}
	b.missing = append(b.missing, Need{e.key, p})
	return result{}, false
}

// signs lists, for each statement, metrics that show that the statement was read.
var signs = map[kernel.Statement][]string{
	kernel.Balance: {"total_assets", "current_liabilities"}, kernel.Income: {"net_income", "revenue"},
	kernel.CashFlow: {"operating_cash_flow"},
}

// FactsFor returns a fact for each need. For a need without a fact it returns another fact of the same statement, if
// there is one.
func (b *Book) FactsFor(needs []Need) (facts []kernel.Fact) {
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

// hasStatement reports whether the book has the statement that a metric belongs to, for a period.
func (b *Book) hasStatement(key string, p Period) bool {
	m, _ := metrics.Metric(key)
	for _, sign := range signs[m.Statement] {
		if len(b.facts[Need{sign, p}]) > 0 {
			return true
		}
	}
	return false
}

// Refuses reports whether one of the missing figures belongs to a statement that the book has. Such a statement does
// not contain the figure, so that no other figure may be used instead.
func (b *Book) Refuses(missing []Need) bool {
	for _, n := range missing {
		if b.hasStatement(n.Metric, n.Period) {
			return true
		}
	}
	return false
}

// has reports whether the book has a fact of a metric for any period.
func (b *Book) has(key string) bool {
	for n := range b.facts {
		if n.Metric == key {
			return true
		}
	}
	return false
}

// last returns the fact of a metric with the latest last day. It returns false if there is no fact of the metric.
func (b *Book) last(key string) (fact kernel.Fact, ok bool) {
	for n, list := range b.facts { // the lists are never empty
		if f := list[0]; n.Metric == key && (!ok || f.Period.End > fact.Period.End) {
			fact, ok = f, true
		}
	}
	return fact, ok
}

// withFormulaSign returns value, a figure of a metric in the period p, with the sign that formulas expect. Spending is
// positive. Income tax is positive if it makes net income less than income before taxes.
func (b *Book) withFormulaSign(key string, p Period, value float64) float64 {
	if metrics.Spent(key) {
		return math.Abs(value)
	}
	if key != "income_tax" {
		return value
	}
	pretax, hasPretax := b.find(Need{"pretax_income", p})
	net, hasNet := b.find(Need{"net_income", p})
	if !hasPretax || !hasNet {
		return value
	}
	// Some statements print the tax as a negative figure, which has to be added to the income before taxes. In the others
	// it has to be subtracted. The right way is the one whose result is closer to the net income.
	ifAdded := math.Abs(pretax.Figure.Value + value - net.Figure.Value)
	ifSubtracted := math.Abs(pretax.Figure.Value - value - net.Figure.Value)
	if ifAdded < ifSubtracted {
		return -value
	}
	return value
}

// use adds a fact to b.used, unless it is there already.
func (b *Book) use(f kernel.Fact, p Period) {
	for _, u := range b.used {
		if u.Metric == f.Metric && u.Period == p && u.Document == f.Document {
			return
		}
	}
	b.used = append(b.used, Used{f, p})
}
