package corpus

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/html"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
	"github.com/tollgate-gateway/tollgate/backends/answer/statements"
)

// Bounds of the tags of a document.
const (
	maxTags     = 100_000
	maxContexts = 50_000
	maxScale    = 15 // the largest power of ten in a scale
)

// tagging holds the inline XBRL tags of a document.
type tagging struct {
	contexts map[string]tagContext
	units    map[string]string
	figures  []tag
	says     map[string]string // values about the document and its issuer, by concept of dei
}

// tagContext is a period. It is for the whole issuer unless it has a dimension (divided).
type tagContext struct {
	start, end kernel.Day
	divided    bool
}

// tag is a tagged figure with its attributes.
type tag struct{ concept, context, unit, format, sign, scale, text string }

// tags reads the tags of a document. It returns nil if no figure is tagged.
func tags(root *html.Node) *tagging {
	t := &tagging{contexts: make(map[string]tagContext), units: make(map[string]string), says: make(map[string]string)}
	t.walk(root, 0)
	if len(t.figures) == 0 {
		return nil
	}
	return t
}

func (t *tagging) walk(n *html.Node, depth int) {
	if depth > maxDepth {
		return
	}
	switch _, name, _ := strings.Cut(n.Data, ":"); {
	case n.Type != html.ElementNode:
	case n.Data == "ix:nonfraction" && len(t.figures) < maxTags:
		t.figures = append(t.figures, tag{
			attr(n, "name"), attr(n, "contextref"), attr(n, "unitref"), attr(n, "format"), attr(n, "sign"), attr(n, "scale"),
			collapse(textOf(n, depth)),
		})
	case n.Data == "ix:nonnumeric":
		if concept, ok := strings.CutPrefix(attr(n, "name"), "dei:"); ok && t.says[concept] == "" &&
			len(t.says) < maxContexts {
			t.says[concept] = cut(collapse(textOf(n, depth)), maxTitle)
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

func (c *tagContext) read(n *html.Node, depth int) {
	for child := n.FirstChild; child != nil && depth < maxDepth; child = child.NextSibling {
		_, name, _ := strings.Cut(child.Data, ":")
		day := func() kernel.Day {
			d, _ := kernel.ParseDay(collapse(textOf(child, 0)))
			return d
		}
		switch {
		case child.Type != html.ElementNode:
		case name == "startdate":
			c.start = day()
		case name == "enddate", name == "instant":
			c.end = day()
		case name == "segment", name == "scenario":
			c.divided = true
		}
		c.read(child, depth+1)
	}
}

// describe adds the issuer and the period from a document's cover page to s. The values are keyed by concept
// of the SEC's taxonomy "dei". Fields that are set stay as they are.
func describe(s Source, says map[string]string) Source {
	set := func(to *string, value string) {
		if *to == "" {
			*to = value
		}
	}
	set(&s.Issuer.Name, says["EntityRegistrantName"])
	set(&s.Issuer.Ticker, says["TradingSymbol"])
	set(&s.Issuer.CIK, says["EntityCentralIndexKey"])
	set(&s.Form, says["DocumentType"])
	if year := says["DocumentFiscalYearFocus"]; s.Fiscal == "" && year != "" {
		s.Fiscal = "FY" + year
		if part := says["DocumentFiscalPeriodFocus"]; strings.HasPrefix(part, "Q") {
			s.Fiscal = part + " " + year
		}
	}
	if found := metrics.Periods(says["DocumentPeriodEndDate"]); s.PeriodEnd == "" && len(found) > 0 {
		s.PeriodEnd = found[0].Period.End
	}
	return s
}

// source adds the tagged issuer, period and figures to a document.
func (t *tagging) source(s Source) Source {
	s = describe(s, t.says)
	best := make(map[factKey]chosen)
	report := s.period()
	for i := range t.figures {
		one, ok := t.fact(&t.figures[i], report)
		if !ok {
			continue
		}
		key := factKey{one.Metric, one.Period.End, one.Period.Months}
		if other, taken := best[key]; !taken || one.rank < other.rank || one.rank == other.rank &&
			one.Figure.Step < other.Figure.Step {
			best[key] = one
		}
	}
	facts := slices.SortedFunc(maps.Values(best), func(a, b chosen) int {
		return cmp.Or(strings.Compare(a.Metric, b.Metric), strings.Compare(string(b.Period.End), string(a.Period.End)),
			b.Period.Months-a.Period.Months)
	})
	for _, f := range facts[:min(len(facts), maxFacts)] {
		s.Facts = append(s.Facts, f.Fact)
	}
	return s
}

// fact returns the fact of a tagged figure. ok is false unless the figure is of a known metric and for the
// whole issuer.
func (t *tagging) fact(one *tag, report kernel.Period) (chosen, bool) {
	taxonomy, concept, _ := strings.Cut(one.concept, ":")
	m, ok := metrics.Concept(concept)
	c, known := t.contexts[one.context]
	if !ok || taxonomy != "us-gaap" && taxonomy != "dei" && taxonomy != "ifrs-full" || !known || c.divided || c.end == "" {
		return chosen{}, false
	}
	scale, err := strconv.Atoi(cmp.Or(one.scale, "0"))
	if err != nil || scale < -maxScale || scale > maxScale {
		return chosen{}, false
	}
	f := kernel.Figure{Text: one.text}
	if found := figures.Find(one.text); len(found) == 1 {
		f.Value, f.Step = math.Abs(found[0].Value), found[0].Step
	} else if !strings.Contains(one.format, "zero") && strings.ContainsFunc(one.text, unicode.IsDigit) || len(found) > 1 {
		return chosen{}, false
	}
	f.Value, f.Step = f.Value*math.Pow10(scale), f.Step*math.Pow10(scale)
	if one.sign == "-" {
		f.Value = -f.Value
	}
	f.Unit = metrics.UnitOf(m.Key)
	if _, currency, ok := strings.Cut(t.units[one.unit], "iso4217:"); ok {
		f.Currency = strings.ToUpper(currency[:min(3, len(currency))])
	}
	p := kernel.Period{End: c.end}
	if m.Instant != (c.start == "") {
		return chosen{}, false
	}
	if c.start != "" {
		if p.Months = monthsOf(c.start, c.end); p.Months == 0 {
			return chosen{}, false
		}
	}
	if p, ok = statements.Settle(p, report, m.Instant); !ok {
		return chosen{}, false
	}
	return chosen{Fact: kernel.Fact{
		Metric: m.Key, Label: m.Name, Period: p, Figure: f, Statement: m.Statement,
		Sure: statements.Tagged,
	}, rank: metrics.Rank(concept)}, true
}

// monthsOf returns the number of months between two days: 3, 6, 9 or 12, or 0 for other periods.
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
