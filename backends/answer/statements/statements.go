package statements

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
	"github.com/tollgate-gateway/tollgate/backends/answer/tables"
)

// Fact is a fact from a statement, with its page and row.
type Fact struct {
	kernel.Fact
	Page int    // the index of the page
	Row  string // the row in its table, cells joined by " | "
}

// Report describes a report before it is read.
type Report struct {
	Period kernel.Period
	Names  []string // the names of its issuer
}

// Certainties of facts, in per cent.
const (
	Tagged    = 100 // tagged by the issuer, as data
	Checked   = 98  // from a statement whose sums are right
	Stated    = 90  // from a statement
	Tabulated = 60  // from another table
)

// statement is a table that was recognised as a statement. The function recognise makes it. Then markNotes sets isNote
// and completeScales sets the units, because these two functions need the other statements of the report.
type statement struct {
	*tables.Table
	kind    kernel.Statement
	titled  bool            // the title of the statement is above the table
	isNote  bool            // the table is a note on parts of the statement
	page    int             // the index of the page
	rows    []line          // the rows whose concept is known
	periods []kernel.Period // the periods of the columns; zero for a column that is not read
}

// line is a row with its concept, such as {"revenue", 1, 4} for the row "Total net sales" with the index 4. Several
// lines of a statement may have the same concept; the one with the greatest rank states it.
type line struct {
	key   string // the concept, the key of a metric
	rank  int    // see concept
	index int    // the index of the row in the table
}

// Read returns the facts of the primary statements in a report, the most certain first. The pages are Markdown. The
// caller has to set the issuer, the document and the passage of the facts.
func Read(pages []string, r Report) []Fact {
	issuer := issuerNames(r.Names)
	var all []*statement
	for i, page := range pages {
		if strings.Count(page, "|") < 12 { // no table that is large enough
			continue
		}
		for _, t := range tables.ParseAll(page, 8) {
			if s := recognise(t, i, issuer); s != nil {
				all = append(all, s)
			}
		}
	}
	markNotes(all)
	r.Period = completePeriod(all, r.Period)
	completeScales(all)
	facts := make([]Fact, 0, 64*len(all))
	type factKey struct {
		metric string
		kernel.Period
	}
	stated := make(map[factKey]bool)
	for _, s := range all {
		if s.isNote {
			continue
		}
		for _, f := range s.facts(r.Period) {
			stated[factKey{f.Metric, f.Period}] = true
			facts = append(facts, f)
		}
	}
	for _, s := range all {
		if s.isNote { // a note may have figures that the statement does not have
			facts = append(facts, slices.DeleteFunc(s.facts(r.Period),
				func(f Fact) bool { return stated[factKey{f.Metric, f.Period}] })...)
		}
	}
	// The most certain facts come first. Facts of the same certainty stay in their order.
	slices.SortStableFunc(facts, func(a, b Fact) int { return b.Sure - a.Sure })
	return facts
}

var (
	// titles matches the titles of statements, in the form that the function letters returns.
	titles = map[kernel.Statement]*regexp.Regexp{
		kernel.Balance:  regexp.MustCompile(`balancesheets?|statements?of(?:consolidated)?(?:financialposition|financialcondition|assetsandliabilities)`),
		kernel.CashFlow: regexp.MustCompile(`statements?of(?:consolidated)?cashflows?|cashflows?statements?`),
		kernel.Income:   regexp.MustCompile(`statements?of(?:consolidated)?(?:comprehensive)?(?:operations|income|earnings|profitorloss|profitandloss|loss)|(?:income|earnings)statements?|profitandlossaccount`),
	}
	// otherScope matches the text above tables that look like statements but do not cover the whole issuer as it is at
	// present.
	otherScope = regexp.MustCompile(`(?i)parent[- ]company|\(parent|pro[- ]?forma|condensed consolidating|consolidating|subsidiar(?:y|ies) (?:issuer|guarantor)|guarantor|variable interest|segment|parenthetical|percentage of|as a percent`)
	// partOnly matches the text above parts of statements. It is used only for tables without the title of a statement.
	partOnly = regexp.MustCompile(`(?i)discontinued operations|held[- ]for[- ]sale|acquired|purchase price|supplemental|selected|reconciliation|quarterly financial`)
	// prose matches words that sentences have and titles do not.
	prose = regexp.MustCompile(`(?i)\b(?:in (?:the|our)|our|we|see|refer|were|was|are|is|which|following|included|notes? to)\b`)
)

// title returns the statement that a line names if the line is only a title, or the empty string.
func title(text string) kernel.Statement {
	text = strings.Trim(text, "#*|_ ")
	if text == "" || len(text) > 160 || prose.MatchString(text) {
		return ""
	}
	compact := letters(text)
	// A statement that is only of comprehensive income begins with net income, so it is not an income statement.
	onlyComprehensive := strings.Contains(compact, "comprehensive") && !strings.Contains(compact, "operations") &&
		!strings.Contains(compact, "incomeandcomprehensive") &&
		!strings.Contains(compact, "statementsofcomprehensiveincome")
	if len(compact) > 110 || onlyComprehensive {
		return ""
	}
	for _, kind := range []kernel.Statement{kernel.CashFlow, kernel.Balance, kernel.Income} {
		if titles[kind].MatchString(compact) {
			return kind
		}
	}
	return ""
}

// letters returns the letters a to z of a text in lower case. It drops spaces, because some pages print titles with
// spaces between the letters.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r | 0x20
		case r >= 'a' && r <= 'z':
			return r
		}
		return -1
	}, s)
}

// anchors lists concepts whose combination occurs in one statement only. The statement has at least one concept of each
// list.
var anchors = map[kernel.Statement][][]string{
	kernel.Balance: {
		{"total_assets"},
		{"liabilities_and_equity", "total_liabilities", "equity"},
		{"cash", "receivables", "payables", "current_assets"},
	},
	kernel.CashFlow: {{"operating_cash_flow"}, {"investing_cash_flow"}, {"financing_cash_flow"}},
	kernel.Income: {
		{"revenue"},
		{"net_income"},
		{"pretax_income", "income_tax"},
		{"eps_basic", "eps_diluted", "operating_income", "cost_of_revenue"},
	},
}

// recognise returns a table as a statement, or nil if it is not a statement. page is its page and issuer the pattern of
// issuerNames.
func recognise(t *tables.Table, page int, issuer *regexp.Regexp) *statement {
	if len(t.Columns) == 0 || len(t.Rows) < 3 {
		return nil
	}
	s := &statement{Table: t, page: page}
	above := append(slices.Clone(t.Above), t.Caption, t.Corner)
	for _, text := range above { // the title that is closest to the table counts
		if kind := title(text); kind != "" {
			s.kind, s.titled = kind, true
		}
	}
	for _, text := range above {
		isHeading := text == t.Caption || len(text) < 200 && !prose.MatchString(text)
		if isHeading && (otherScope.MatchString(text) || !s.titled && partOnly.MatchString(text)) {
			return nil
		}
	}
	kinds := []kernel.Statement{kernel.Balance, kernel.CashFlow, kernel.Income}
	if s.kind != "" {
		kinds = []kernel.Statement{s.kind}
	}
	for _, kind := range kinds {
		rows := resolve(t, kind, issuer)
		if len(rows) >= 2 && (s.titled || anchored(kind, rows)) {
			s.kind, s.rows = kind, rows
			break
		}
	}
	if s.rows == nil {
		return nil
	}
	s.setPeriods(lengthOf(strings.Join(above, " ")))
	if !slices.ContainsFunc(s.periods, kernel.Period.Known) || s.isMixed() {
		return nil
	}
	for i, p := range s.periods {
		if p.Known() && slices.Contains(s.periods[:i], p) {
			return nil // two columns have the same period, and it is not known which one is right
		}
	}
	return s
}

// setPeriods sets the periods of the columns to read. months is the length of a period for which the column states no
// length. It is not used for a balance sheet, because a balance sheet is for a day.
func (s *statement) setPeriods(months int) {
	s.periods = make([]kernel.Period, len(s.Columns))
	for i := range s.Columns {
		c := &s.Columns[i]
		if c.Change || !tables.PeriodOnly(c.Header) || !c.Period.Known() || c.Units.Unit == kernel.Percent {
			continue
		}
		s.periods[i] = c.Period
		if c.Period.Months == 0 && s.kind != kernel.Balance {
			s.periods[i].Months = months
		}
	}
}

var (
	yearly      = regexp.MustCompile(`(?i)\b(?:fiscal |financial )?years?[- ]end|\btwelve months|\b5[23] weeks|\bfiscal year|\bannual\b`)
	quarterly   = regexp.MustCompile(`(?i)\bthree months|\b1[34] weeks|\bquarters?\b`)
	otherLength = regexp.MustCompile(`(?i)\b(?:six|nine) months|\b(?:2[67]|39|40) weeks`)
)

// lengthOf returns the number of months that a text above a table states for the table's columns: 3 or 12. It returns 0
// if the text states no length or a different one.
func lengthOf(text string) int {
	switch {
	case otherLength.MatchString(text):
		return 0
	case quarterly.MatchString(text):
		return 3
	case yearly.MatchString(text):
		return 12
	}
	return 0
}

// isMixed reports whether a table without a title also has rows of another statement, like a list of key figures.
func (s *statement) isMixed() bool {
	if s.titled {
		return false
	}
	for i := range s.Rows {
		m, ok := metrics.ByLabel(s.Rows[i].Label)
		if !ok {
			continue
		}
		isBalance := m.Instant && m.Statement == kernel.Balance
		isIncome := m.Key == "revenue" || m.Key == "net_income"
		if s.kind == kernel.Income && isBalance || s.kind == kernel.Balance && isIncome {
			return true
		}
	}
	return false
}

// continuationPages is the largest distance in pages between the parts of a statement.
const continuationPages = 2

// markNotes sets isNote for each table that lacks the typical rows of a statement of its kind, if there are complete
// statements of that kind but none of them is near the table. Such a table is a note on a part of a statement. A
// table that is near a complete statement continues it.
func markNotes(statements []*statement) {
	for _, s := range statements {
		if anchored(s.kind, s.rows) {
			continue
		}
		hasStatement, isNear := false, false
		for _, other := range statements {
			if other.kind == s.kind && other.titled && anchored(other.kind, other.rows) {
				hasStatement = true
				isNear = isNear || max(other.page-s.page, s.page-other.page) <= continuationPages
			}
		}
		s.isNote = hasStatement && !isNear
	}
}

// anchored reports whether rows have the combination of concepts that only statements of a kind have; see anchors.
func anchored(kind kernel.Statement, rows []line) bool {
	for _, alternatives := range anchors[kind] {
		if !slices.ContainsFunc(rows, func(l line) bool { return slices.Contains(alternatives, l.key) }) {
			return false
		}
	}
	return true
}

// completePeriod returns the period of a report. If its last day is unknown, it is set to the last day of the latest
// column of most statements, and a year that is not plausible for this day is corrected.
func completePeriod(statements []*statement, report kernel.Period) kernel.Period {
	if report.End != "" {
		return report
	}
	votes := make(map[kernel.Day]int) // the number of statements by the last day of their latest column
	for _, s := range statements {
		latest := kernel.Day("")
		for _, p := range s.periods {
			latest = max(latest, p.End)
		}
		if latest != "" {
			votes[latest]++
		}
	}
	for day, n := range votes {
		// Of two days with equal votes the later one wins, so that the order of the map does not matter.
		if n > votes[report.End] || n == votes[report.End] && day > report.End {
			report.End = day
		}
	}
	if report.End != "" && !plausibleYear(report) {
		report.Year = report.End.Year()
	}
	return report
}

// plausibleYear reports whether the fiscal year of a report agrees with its last day. A year that ends in spring may
// have the number of the previous calendar year. A quarter may have the number of the year in which its fiscal year
// ends.
func plausibleYear(report kernel.Period) bool {
	switch ahead := report.End.Year() - report.Year; ahead {
	case 0:
		return true
	case 1: // the year ends in the calendar year after its number
		return report.Quarter != 0 || report.End.Time().Month() <= time.May
	case -1: // the fiscal year has the number of the calendar year after the one in which the quarter ends
		return report.Quarter != 0
	}
	return false
}

// completeScales sets the units of statements that state none. The units are dollars if inDollars returns true, the
// units in the text above the table, or else the units of the other statements if all of these have the same scale.
func completeScales(statements []*statement) {
	shared := figures.Units{} // the units of the statements that state a scale; the scale is -1 if the scales differ
	for _, s := range statements {
		if s.Units.Currency == "" && s.inDollars() {
			s.Units.Currency = "USD"
		}
		if s.Units.Scale == 0 {
			for _, text := range s.Above {
				if len(text) < 160 {
					s.Units = s.Units.Under(tables.UnitsIn(text))
				}
			}
		}
		switch {
		case s.Units.Scale == 0: // it states no scale
		case shared.Scale == 0:
			shared = s.Units
		case shared.Scale != s.Units.Scale:
			shared.Scale = -1
		}
	}
	for _, s := range statements {
		if s.Units.Scale == 0 && shared.Scale > 0 {
			s.Units = s.Units.Under(shared)
		}
	}
}

// inDollars reports whether a figure of a statement has a dollar sign, and no figure has the sign of another currency.
func (s *statement) inDollars() bool {
	found := false
	for i := range s.Rows {
		for _, c := range s.Rows[i].Cells {
			if strings.ContainsAny(c, "€£¥") {
				return false
			}
			found = found || strings.Contains(c, "$")
		}
	}
	return found
}

// facts returns the facts of the columns, except columns for which check returns the verdict contradicts. It leaves
// out figures that check returns as doubtful, and concepts for which two rows have different figures. report is the
// period of the report.
func (s *statement) facts(report kernel.Period) []Fact {
	var facts []Fact
	for k := range s.periods {
		if !s.periods[k].Known() {
			continue
		}
		period, ok := Settle(s.periods[k], report, s.kind == kernel.Balance)
		if !ok {
			continue
		}
		column, ambiguous := s.readColumn(k)
		sure := Stated
		sums, doubtful := s.check(column)
		switch sums {
		case contradicts:
			continue
		case addsUp:
			sure = Checked
		case unchecked:
			if !s.titled {
				sure -= 5
			}
		}
		for _, l := range s.rows {
			r := column[l.key]
			if r.line != l || ambiguous[l.key] || doubtful[l.key] { // if another line was read for the concept, skip l
				continue
			}
			p := period
			if m, _ := metrics.Metric(l.key); m.Instant { // such as the cash in a statement of cash flows
				p.Months = 0
			}
			row := &s.Rows[l.index]
			facts = append(facts, Fact{
				Fact: kernel.Fact{Metric: l.key, Label: row.Label, Period: p, Figure: r.Figure, Statement: s.kind, Sure: sure},
				Page: s.page, Row: tables.Join(append([]string{row.Label}, row.Cells...)),
			})
		}
	}
	return facts
}

// reading is the figure of a line in one column, such as $1,577 million for the line {"revenue", 1, 4} in the column
// 2019.
type reading struct {
	line
	kernel.Figure
}

// readColumn returns the readings of the column with the index k, by concept. If several lines state a concept, the
// reading is that of the line with the greatest rank. ambiguous are the concepts for which several lines of this rank
// have different figures.
func (s *statement) readColumn(k int) (column map[string]reading, ambiguous map[string]bool) {
	column, ambiguous = make(map[string]reading), make(map[string]bool)
	for _, l := range s.rows {
		f, ok := s.figure(l, k)
		if !ok {
			continue
		}
		other, exists := column[l.key]
		switch {
		case !exists || l.rank > other.rank:
			column[l.key], ambiguous[l.key] = reading{l, f}, false
		case l.rank == other.rank && f.Value != other.Value:
			ambiguous[l.key] = true
		}
	}
	return column, ambiguous
}

// figure returns the figure in a cell of the row l, in the unit of the row's concept. It returns false if the cell has
// no such figure.
func (s *statement) figure(l line, column int) (kernel.Figure, bool) {
	cell := s.Rows[l.index].Cells[column]
	u := s.Columns[column].Units.Under(s.Units)
	switch metrics.UnitOf(l.key) {
	case kernel.PerShare:
		u = figures.Units{Scale: 1, Unit: kernel.PerShare, Currency: u.Currency}
	case kernel.Shares:
		u = figures.Units{Scale: u.Scale, Unit: kernel.Shares}
	default:
		u.Unit = kernel.Money
	}
	f, ok := figures.Cell(cell, u)
	if !ok || f.Unit == kernel.Percent || math.IsNaN(f.Value) {
		return f, false
	}
	f.Unit = u.Unit
	if u.Unit == kernel.Shares {
		f.Currency = ""
	}
	return f, true
}

// Settle returns p, the period of a column, with the fiscal year and quarter in which the issuer counts it. It
// derives these from report, the period of the report that has the column. balance reports that the column belongs to
// a balance sheet, so that p is a day. Settle returns false if the fiscal period is not clear.
func Settle(p, report kernel.Period, balance bool) (kernel.Period, bool) {
	annual := report.Quarter == 0
	if p.End == "" { // a year alone
		if report.End == "" || p.Year == 0 {
			return p, p.Year != 0 && annual
		}
		if !annual {
			return p, false
		}
		p.End = report.End.AddYears(p.Year - report.Year)
	} else if report.Year != 0 && report.End != "" {
		days := report.End.Time().Sub(p.End.Time()).Hours() / 24 // from the end of p to the end of the report's period
		years := int(math.Round(days / 365.25))
		distance := math.Abs(days - float64(years)*365.25)
		switch {
		case distance < 12: // the same part of an earlier or later year
			p.Year, p.Quarter = report.Year-years, report.Quarter
		case !annual && balance && days > 0 && days < 300: // the end of the previous fiscal year
			p.Year, p.Quarter = report.Year-1, 0
		default:
			p.Year, p.Quarter = p.End.Year(), 0
		}
	}
	if balance {
		p.Months = 0
		return p, p.AnyYear() != 0
	}
	if p.Months == 0 {
		if !annual {
			return p, false
		}
		p.Months = 12
	}
	if p.Months != 3 { // a period of six or nine months that ends with the report's quarter is not that quarter
		p.Quarter = 0
	}
	return p, p.AnyYear() != 0
}
