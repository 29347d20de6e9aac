package formula

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/inquiry"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
	"github.com/tollgate-gateway/tollgate/backends/answer/tables"
	"github.com/tollgate-gateway/tollgate/backends/answer/terms"
)

// Point is the figure of a Series for one period, with the passage that contains the figure. A figure of a table
// without periods is a point whose Period is zero.
type Point struct {
	kernel.Figure
	Period kernel.Period
	// Head is the table's name for the period: "2019", "Q3", "June 30".
	Head    string
	Passage int // the index of the passage
}

// Series holds the figures of one row or column of a table over time. The row "Automotive | 1,200 | 1,100" in a table
// with the columns 2019 and 2018 is the series "Automotive" with two points.
type Series struct {
	// Name is the name of the row or column, "Automotive". Group is the heading above it.
	Name, Group string
	Points      []Point
	table       int       // the number of its table
	name, group terms.Set // of Name and Group
	header      terms.Set // of the column header, without the period
	caption     terms.Set // of the table's caption and section
	around      terms.Set // of the text around the table
	total       bool      // the name begins with "total"
	quarters    bool      // its columns name quarters, and its rows the year
}

// maxSeries bounds the series that are compared with a question.
const maxSeries = 8000

// maxTables bounds the tables that are read from one passage.
const maxTables = 8

// read returns the series of the tables in the passages, table by table. The series are copies, because cached series
// are shared.
func read(passages []kernel.Passage, cache *TableCache) []*Series {
	var all []*Series
	tableNumber := 0
	for i := range passages {
		p := &passages[i]
		if !strings.Contains(p.Text, "|") {
			continue
		}
		for _, inTable := range cache.series(p) {
			for _, s := range inTable {
				copied := *s
				copied.table, copied.Points = tableNumber, slices.Clone(s.Points)
				for k := range copied.Points {
					point := &copied.Points[k]
					point.Passage, point.Period = i, inFiscalYear(point.Period, p.Period)
				}
				all = append(all, &copied)
			}
			tableNumber++
			if len(all) > maxSeries {
				return all
			}
		}
	}
	return all
}

// inFiscalYear returns the period p with its fiscal quarter and year, which it derives from the period of the report:
// if the third quarter of the report ends in June, so does every third quarter of the issuer. If p and the report end
// in different months, or one of them is no quarter, p is returned unchanged.
func inFiscalYear(p, report kernel.Period) kernel.Period {
	if p.Months != 3 || p.Quarter != 0 || report.Quarter == 0 || report.Year == 0 || p.End == "" || report.End == "" ||
		p.End.Time().Month() != report.End.Time().Month() {
		return p
	}
	p.Quarter, p.Year = report.Quarter, report.Year+p.End.Year()-report.End.Year()
	return p
}

// seriesInPassage returns the series of each table in a passage.
func seriesInPassage(p *kernel.Passage) [][]*Series {
	text := textAroundTables(p.Text)
	context := surroundings{p.Section, terms.SetOf(text), scaleIn(text)}
	found := tables.ParseAll(p.Text, maxTables)
	all := make([][]*Series, 0, len(found))
	for _, t := range found {
		all = append(all, seriesInTable(t, context))
	}
	return all
}

// surroundings describes the text of a passage around its tables.
type surroundings struct {
	section string    // the headings above the passage
	around  terms.Set // the terms of the text
	scale   float64   // the scale that it states for the tables, or 0
}

// seriesInTable returns the series of a table: its rows over the periods of its columns, or its columns over the
// periods of its rows, or single figures without a period.
func seriesInTable(t *tables.Table, context surroundings) []*Series {
	caption := terms.SetOf(t.Caption, t.Corner, context.section)
	heads := make([]string, len(t.Columns)) // the headers of the columns without their periods
	byColumn := false                       // the columns have periods
	for i, c := range t.Columns {
		heads[i] = withoutPeriods(c.Header)
		byColumn = byColumn || c.Period.Known() && !c.Change
	}
	spellQuarters(heads)
	c := collector{caption: caption, around: context.around, latest: make(map[string]*Series)}
	for ri := range t.Rows {
		row := &t.Rows[ri]
		label := row.Label
		if t.SumsUp(ri) {
			label = strings.TrimSpace("Total " + strings.ToLower(strings.TrimRight(row.Group, ":")))
		}
		for ci := range t.Columns {
			column := &t.Columns[ci]
			f, ok := t.Figure(ri, ci)
			if !ok {
				continue
			}
			if t.Units.Scale == 0 && column.Units.Scale == 0 {
				f = withScale(f, context.scale)
			}
			period, head := column.Period, column.Header
			name, seriesHeader := label, heads[ci]
			group := row.Group
			if row.Period.Known() && !byColumn { // the row is a period, and the column is a series
				period, head = row.Period, row.Label
				if name = withoutPeriods(row.Label); name == "" {
					name, seriesHeader = heads[ci], ""
				}
				if metrics.Periods(group) != nil { // a heading with a period does not distinguish series
					group = ""
				}
			} else if column.Change && byColumn { // a change between two periods is a series of its own
				period = kernel.Period{}
				seriesHeader = column.Header
			}
			c.add(group, name, seriesHeader, false, Point{Figure: f, Period: period, Head: head})
			// In a table with a column for each quarter and a row for each year, the figures are also a series of quarters.
			q := quarters[strings.ToLower(heads[ci])]
			if q != 0 && period == row.Period && period.Year != 0 && period.Quarter == 0 {
				quarter := kernel.Period{Year: period.Year, Quarter: q, Months: 3}
				c.add(group, name, "", true, Point{Figure: f, Period: quarter, Head: head})
			}
		}
	}
	return c.all
}

// collector collects the series of one table.
type collector struct {
	caption, around terms.Set          // of all series
	all             []*Series          // in the order of their first points
	latest          map[string]*Series // the latest series by group, name, header and quarters
}

// add adds a point to the series with a group, a name and a header. If there is no such series, or if it has a point of
// the period already, add begins a new series: two rows with the same name are two series.
func (c *collector) add(group, name, header string, quarterly bool, p Point) {
	key := strings.Join([]string{group, name, header, strconv.FormatBool(quarterly)}, "\x00")
	s := c.latest[key]
	samePeriod := func(q Point) bool { return q.Period == p.Period && p.Period.Known() }
	if s == nil || slices.ContainsFunc(s.Points, samePeriod) {
		s = &Series{
			Name: cmp.Or(name, header), Group: group, name: terms.SetOf(name), group: terms.SetOf(group),
			header: terms.SetOf(header), caption: c.caption, around: c.around, quarters: quarterly,
			total: strings.HasPrefix(strings.ToLower(name), "total"),
		}
		c.latest[key] = s
		c.all = append(c.all, s)
	}
	s.Points = append(s.Points, p)
}

// quarters maps the headers of columns that name a quarter to its number. The year of such a quarter is that of the
// row.
var quarters = map[string]int{
	"first quarter": 1, "second quarter": 2, "third quarter": 3, "fourth quarter": 4, "q1": 1, "q2": 2, "q3": 3, "q4": 4,
	"first": 1, "second": 2, "third": 3, "fourth": 4, "1st quarter": 1, "2nd quarter": 2, "3rd quarter": 3, "4th quarter": 4,
}

// spellQuarters appends " quarter" to headers such as "First" if there is one for each of the four quarters.
func spellQuarters(heads []string) {
	var columns [5]int // for each quarter, the index of its column plus 1
	for i, head := range heads {
		if q := quarters[strings.ToLower(head)]; q != 0 && !strings.ContainsAny(head, " 1234") {
			columns[q] = i + 1
		}
	}
	if slices.Contains(columns[1:], 0) {
		return
	}
	for _, i := range columns[1:] {
		heads[i-1] += " quarter"
	}
}

// withoutPeriods returns a header without the periods, their lengths, and the units in it.
func withoutPeriods(header string) string {
	rest := inquiry.WithoutPeriods(header, metrics.Periods(header))
	return strings.TrimSpace(unitWords.ReplaceAllString(periodLengths.ReplaceAllString(rest, " "), " "))
}

// periodLengths matches the number of weeks or months of a period, which differs between the years of one series.
var periodLengths = regexp.MustCompile(`(?i)\b(?:1[34]|2[67]|39|40|5[23]) weeks\b|\b(?:3|6|9|12|three|six|nine|twelve) months\b`)

// textAroundTables returns the text around the tables of a passage, at most about 3,000 bytes.
func textAroundTables(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !tables.IsRow(line) && b.Len() < 3000 {
			b.WriteString(line)
		}
	}
	return b.String()
}

// scalePattern matches a statement of a table's scale in the text around it.
var scalePattern = regexp.MustCompile(`(?i)\((?:[^()]{0,40}\b)?(thousands|millions|billions)\b[^()]{0,80}\)|\b(?:table|amounts?|figures|data|summari[sz]ed|as follows|presented|expressed|stated|shown)\b[^.|]{0,120}?\bin (?:[a-z.$€£]+ ){0,4}(thousands|millions|billions)\b|\bin (thousands|millions|billions)\b[^.|]{0,40}:|[$€£]\s?(m|bn)\)`)

// scaleIn returns the scale that a text states for its tables. It returns 0 if the text states no scale or several.
func scaleIn(text string) float64 {
	scale := 0.0
	for _, m := range scalePattern.FindAllStringSubmatch(text, 8) {
		found := map[string]float64{
			"thousands": 1e3, "millions": 1e6, "billions": 1e9, "m": 1e6,
			"bn": 1e9,
		}[strings.ToLower(m[1]+m[2]+m[3]+m[4])]
		if scale != 0 && found != scale {
			return 0
		}
		scale = found
	}
	return scale
}

// withScale returns a figure of a table in the scale that the text around it states. Figures that have a scale or need
// none are returned unchanged.
func withScale(f kernel.Figure, scale float64) kernel.Figure {
	if scale == 0 || f.Unit == kernel.Percent || f.Unit == kernel.PerShare || f.Unit == kernel.Times || f.Step > 1 {
		return f
	}
	f.Value, f.Step = f.Value*scale, f.Step*scale
	return f
}

// Figures returns the figures in the tables of a passage, in the scale that withScale gives them for formulas.
func Figures(p *kernel.Passage) []kernel.Figure {
	var list []kernel.Figure
	for _, s := range read([]kernel.Passage{*p}, nil) {
		for _, point := range s.Points {
			list = append(list, point.Figure)
		}
	}
	return list
}
