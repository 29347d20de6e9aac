package fileformat

import (
	"cmp"
	"math"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/html"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
	"github.com/tollgate-gateway/tollgate/backends/answer/statements"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Bounds of the inline XBRL tags in a document.
const (
	maxTags     = 100_000
	maxContexts = 50_000
	maxScale    = 15 // the largest power of ten in a scale
)

// tagging holds the inline XBRL tags of a document.
type tagging struct {
	contexts    map[string]tagContext // by id
	units       map[string]string     // by id, such as "iso4217:USD"
	figures     []tag
	coverValues map[string]string // values about the document and its issuer, by concept of the taxonomy "dei"
}

// tagContext is the period of a tagged figure. The figure is for the whole issuer unless the context has a dimension,
// such as a segment. If start is empty, the figure is for a single day, which is end.
type tagContext struct {
	start, end   kernel.Day // start is empty if the figure is for the day end
	hasDimension bool
}

// tag is a tagged figure with its attributes as they are written: <ix:nonFraction name="us-gaap:Revenues"
// contextRef="c1" unitRef="usd" scale="6">1,577</ix:nonFraction> has the concept "us-gaap:Revenues", the scale "6" and
// the text "1,577". context and unit are ids.
type tag struct{ concept, context, unit, format, sign, scale, text string }

// readTags reads the tags of a document. It returns nil if no figure is tagged.
func readTags(root *html.Node) *tagging {
	t := &tagging{
		contexts: make(map[string]tagContext), units: make(map[string]string), coverValues: make(map[string]string),
	}
	t.walk(root, 0)
	if len(t.figures) == 0 {
		return nil
	}
	return t
}

// walk collects the tags in a node. The parser writes the names of elements and attributes in lower case.
func (t *tagging) walk(n *html.Node, depth int) {
	if depth > maxDepth {
		return
	}
	// The elements "context" and "unit" have a prefix, which varies, as in "xbrli:context". They contain no further tags.
	switch _, name, _ := strings.Cut(n.Data, ":"); {
	case n.Type != html.ElementNode: // a text, or the document itself
	case n.Data == "ix:nonfraction" && len(t.figures) < maxTags:
		t.figures = append(t.figures, tag{
			attr(n, "name"), attr(n, "contextref"), attr(n, "unitref"), attr(n, "format"), attr(n, "sign"), attr(n, "scale"),
			collapse(textOf(n, depth)),
		})
	case n.Data == "ix:nonnumeric":
		if concept, ok := strings.CutPrefix(attr(n, "name"), "dei:"); ok && t.coverValues[concept] == "" &&
			len(t.coverValues) < maxContexts {
			t.coverValues[concept] = text.CutBytes(collapse(textOf(n, depth)), MaxTitle)
		}
	case name == "context" && len(t.contexts) < maxContexts:
		c := tagContext{}
		c.read(n, 0)
		t.contexts[attr(n, "id")] = c
		return
	case name == "unit" && len(t.units) < maxContexts:
		t.units[attr(n, "id")] = collapse(textOf(n, depth))
		return
	}
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		t.walk(c, depth+1)
	}
}

// read reads the elements of a context, which the element n contains.
func (c *tagContext) read(n *html.Node, depth int) {
	for child := n.FirstChild; child != nil && depth < maxDepth; child = child.NextSibling {
		_, name, _ := strings.Cut(child.Data, ":")
		day := func() kernel.Day {
			d, _ := kernel.ParseDay(collapse(textOf(child, 0)))
			return d
		}
		switch {
		case child.Type != html.ElementNode: // white space
		case name == "startdate":
			c.start = day()
		case name == "enddate", name == "instant":
			c.end = day()
		case name == "segment", name == "scenario":
			c.hasDimension = true
		}
		c.read(child, depth+1)
	}
}

// describe returns s with the issuer and the period that the document's cover page states. coverValues has the values
// of the page by concept of the SEC's taxonomy "dei". Fields of s that are set are not changed.
func describe(s Source, coverValues map[string]string) Source {
	s.Issuer.Name = cmp.Or(s.Issuer.Name, coverValues["EntityRegistrantName"])
	s.Issuer.Ticker = cmp.Or(s.Issuer.Ticker, coverValues["TradingSymbol"])
	s.Issuer.CIK = cmp.Or(s.Issuer.CIK, coverValues["EntityCentralIndexKey"])
	s.Form = cmp.Or(s.Form, coverValues["DocumentType"])
	if year := coverValues["DocumentFiscalYearFocus"]; s.Fiscal == "" && year != "" {
		s.Fiscal = "FY" + year
		if part := coverValues["DocumentFiscalPeriodFocus"]; strings.HasPrefix(part, "Q") {
			s.Fiscal = part + " " + year
		}
	}
	if found := metrics.Periods(coverValues["DocumentPeriodEndDate"]); s.PeriodEnd == "" && len(found) > 0 {
		s.PeriodEnd = found[0].Period.End
	}
	return s
}

// source returns s with the tagged issuer, period and facts. Of several facts for the same metric and period it takes
// the one with the best concept, then with the most precise figure.
func (t *tagging) source(s Source) Source {
	s = describe(s, t.coverValues)
	best := make(map[FactKey]candidateFact)
	report := s.Period()
	for i := range t.figures {
		candidate, ok := t.fact(&t.figures[i], report)
		if !ok {
			continue
		}
		key := KeyOf(candidate.Fact)
		other, exists := best[key]
		isBetter := candidate.rank < other.rank ||
			candidate.rank == other.rank && candidate.Figure.Step < other.Figure.Step
		if !exists || isBetter {
			best[key] = candidate
		}
	}
	facts := sortedFacts(best)
	s.Facts = append(s.Facts, facts[:min(len(facts), MaxFacts)]...)
	return s
}

// fact converts a tagged figure to a fact. report is the period of the document. fact returns false if the metric is
// not known, if the figure is not for the whole issuer, or if its tag is not valid.
func (t *tagging) fact(figure *tag, report kernel.Period) (candidateFact, bool) {
	taxonomy, concept, _ := strings.Cut(figure.concept, ":")
	if taxonomy != "us-gaap" && taxonomy != "dei" && taxonomy != "ifrs-full" {
		return candidateFact{}, false
	}
	m, ok := metrics.Concept(concept)
	c, known := t.contexts[figure.context]
	if !ok || !known || c.hasDimension || c.end == "" {
		return candidateFact{}, false
	}
	scale, err := strconv.Atoi(cmp.Or(figure.scale, "0"))
	if err != nil || scale < -maxScale || scale > maxScale {
		return candidateFact{}, false
	}
	f := kernel.Figure{Text: figure.text}
	mentions := figures.Find(figure.text)
	// A text without digits, such as a dash, is zero.
	isZero := strings.Contains(figure.format, "zero") || !strings.ContainsFunc(figure.text, unicode.IsDigit)
	switch {
	case len(mentions) == 1:
		f.Value, f.Step = math.Abs(mentions[0].Value), mentions[0].Step
	case len(mentions) > 1 || !isZero:
		return candidateFact{}, false
	}
	f.Value, f.Step = f.Value*math.Pow10(scale), f.Step*math.Pow10(scale)
	if figure.sign == "-" {
		f.Value = -f.Value
	}
	f.Unit = metrics.UnitOf(m.Key)
	if _, currency, ok := strings.Cut(t.units[figure.unit], "iso4217:"); ok {
		f.Currency = strings.ToUpper(currency[:min(3, len(currency))])
	}
	p := kernel.Period{End: c.end}
	// A context without a start is a day.
	if m.Instant != (c.start == "") {
		return candidateFact{}, false
	}
	if c.start != "" {
		if p.Months = monthsOf(c.start, c.end); p.Months == 0 {
			return candidateFact{}, false
		}
	}
	if p, ok = statements.Settle(p, report, m.Instant); !ok {
		return candidateFact{}, false
	}
	return candidateFact{Fact: kernel.Fact{
		Metric: m.Key, Label: m.Name, Period: p, Figure: f, Statement: m.Statement,
		Sure: statements.Tagged,
	}, rank: metrics.Rank(concept)}, true
}

// monthsOf returns the length of a period in months: 3, 6, 9 or 12, or 0 for other lengths. start and end are its first
// and last day.
func monthsOf(start, end kernel.Day) int {
	switch days := int(end.Time().Sub(start.Time()).Hours()/24) + 1; {
	case days >= 350 && days <= 380:
		return 12
	case days >= 260 && days <= 285:
		return 9
	case days >= 170 && days <= 195:
		return 6
	case days >= 80 && days <= 100:
		return 3
	}
	return 0
}
