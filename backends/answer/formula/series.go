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

// Point is the figure of a period, with the passage that contains it.
type Point struct {
	kernel.Figure
	Period kernel.Period
	// Head is the name that the table gives the period: "2019", "Q3", "June 30".
	Head    string
	Passage int // the index of the passage
}

// Series holds the figures of one thing in a table over time.
type Series struct {
	// Name is its name, "Automotive", and Group the heading it stands under.
	Name, Group string
	Points      []Point
	table       int // the number of its table
	key         string
	name, group set // terms
	header      set // the terms of the column header, without the period
	caption     set // the terms of the table's caption and section
	around      set // the terms of the text around the table
	total       bool
	quarters    bool // its columns name quarters of the year above the row
}

// set is an unordered set of terms.
type set map[terms.Term]bool

func setOf(texts ...string) set {
	s := make(set)
	for _, text := range texts {
		for _, t := range terms.Of(text) {
			s[t] = true
		}
	}
	return s
}

func (s set) has(t terms.Term) bool { return s[t] }

// maxSeries bounds the series that are compared with a question.
const maxSeries = 8000

// maxTables bounds the tables that are read from one passage.
const maxTables = 8

// read returns the series of the tables in the passages.
func read(passages []kernel.Passage, known *Tables) []*Series {
	var all []*Series
	n := 0
	for i := range passages {
		p := &passages[i]
		if !strings.Contains(p.Text, "|") {
			continue
		}
		for _, t := range known.of(p) {
			for _, s := range t {
				own := *s
				own.table, own.Points = n, slices.Clone(s.Points)
				for at := range own.Points {
					own.Points[at].Passage = i
					own.Points[at].Period = inReport(own.Points[at].Period, p.Period)
				}
				all = append(all, &own)
			}
			if n++; len(all) > maxSeries {
				return all
			}
		}
	}
	return all
}

// inReport returns a period with the fiscal quarter and year that the issuer counts, if those of its report
// tell: if a third quarter ends in June, so do all third quarters of the issuer.
func inReport(p, report kernel.Period) kernel.Period {
	if p.Months != 3 || p.Quarter != 0 || report.Quarter == 0 || report.Year == 0 || p.End == "" || report.End == "" ||
		p.End.Time().Month() != report.End.Time().Month() {
		return p
	}
	p.Quarter, p.Year = report.Quarter, report.Year+p.End.Year()-report.End.Year()
	return p
}

// ofPassage returns the series of each table in a passage.
func ofPassage(p *kernel.Passage) [][]*Series {
	text := paragraph(p.Text)
	beside := surroundings{p.Section, setOf(text), scaleIn(text)}
	found := tables.ParseAll(p.Text, maxTables)
	all := make([][]*Series, 0, len(found))
	for _, t := range found {
		all = append(all, ofTable(t, beside))
	}
	return all
}

// surroundings hold what a passage says around its tables.
type surroundings struct {
	section string
	around  set
	scale   float64
}

// ofTable returns the series of a table: its rows over the periods of its columns, or its columns over the
// periods of its rows, or single figures without a period.
func ofTable(t *tables.Table, beside surroundings) []*Series {
	caption := setOf(t.Caption, t.Corner, beside.section)
	heads := make([]string, len(t.Columns))
	byColumn := false
	for i, c := range t.Columns {
		heads[i] = residual(c.Header)
		byColumn = byColumn || c.Period.Known() && !c.Change
	}
	spellQuarters(heads)
	byRow := 0
	for _, r := range t.Rows {
		if r.Period.Known() {
			byRow++
		}
	}
	var all []*Series
	index := make(map[string]*Series)
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
				f = scaled(f, beside.scale)
			}
			period, head := column.Period, column.Header
			name, other := label, heads[ci]
			group := row.Group
			if row.Period.Known() && !byColumn {
				period, head = row.Period, row.Label
				if name = residual(row.Label); name == "" {
					name, other = heads[ci], ""
				}
				if metrics.Periods(group) != nil {
					group = ""
				}
			} else if column.Change && byColumn {
				period = kernel.Period{}
				other = column.Header
			}
			// add adds the figure to the series of a header, or to a new one if that has a figure of the period.
			add := func(header string, quarterly bool, period kernel.Period) {
				key := strings.Join([]string{group, name, header, strconv.FormatBool(quarterly)}, "\x00")
				s := index[key]
				taken := func(q Point) bool { return q.Period == period && period.Known() }
				if s == nil || slices.ContainsFunc(s.Points, taken) {
					s = &Series{
						Name: cmp.Or(name, header), Group: group, key: key, name: setOf(name), group: setOf(group),
						header: setOf(header), caption: caption, around: beside.around, quarters: quarterly,
						total: strings.HasPrefix(strings.ToLower(name), "total"),
					}
					index[key] = s
					all = append(all, s)
				}
				s.Points = append(s.Points, Point{Figure: f, Period: period, Head: head})
			}
			add(other, false, period)
			q := quarters[strings.ToLower(heads[ci])]
			if q != 0 && period == row.Period && period.Year != 0 && period.Quarter == 0 {
				add("", true, kernel.Period{Year: period.Year, Quarter: q, Months: 3})
			}
		}
	}
	return all
}

// quarters are the headers of columns that name a quarter, of the year that stands above the row.
var quarters = map[string]int{
	"first quarter": 1, "second quarter": 2, "third quarter": 3, "fourth quarter": 4, "q1": 1, "q2": 2, "q3": 3, "q4": 4,
	"first": 1, "second": 2, "third": 3, "fourth": 4, "1st quarter": 1, "2nd quarter": 2, "3rd quarter": 3, "4th quarter": 4,
}

// spellQuarters completes headers such as "First" by the word quarter if there is one for each of the four.
func spellQuarters(heads []string) {
	var at [5]int // one more than the index of the column of each quarter
	for i, head := range heads {
		if q := quarters[strings.ToLower(head)]; q != 0 && !strings.ContainsAny(head, " 1234") {
			at[q] = i + 1
		}
	}
	if slices.Contains(at[1:], 0) {
		return
	}
	for _, i := range at[1:] {
		heads[i-1] += " quarter"
	}
}

// residual returns a header without the periods, their lengths, and the units in it.
func residual(header string) string {
	rest := inquiry.Without(header, metrics.Periods(header))
	return strings.TrimSpace(unitWords.ReplaceAllString(lengths.ReplaceAllString(rest, " "), " "))
}

// lengths matches how many weeks or months a period has, which differs between the years of one series.
var lengths = regexp.MustCompile(`(?i)\b(?:1[34]|2[67]|39|40|5[23]) weeks\b|\b(?:3|6|9|12|three|six|nine|twelve) months\b`)

// paragraph returns the text around the tables of a passage, about 3,000 bytes of it at most.
func paragraph(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !tables.IsRow(line) && b.Len() < 3000 {
			b.WriteString(line)
		}
	}
	return b.String()
}

// inText matches how a text states the scale of the table in it.
var inText = regexp.MustCompile(`(?i)\((?:[^()]{0,40}\b)?(thousands|millions|billions)\b[^()]{0,80}\)|\b(?:table|amounts?|figures|data|summari[sz]ed|as follows|presented|expressed|stated|shown)\b[^.|]{0,120}?\bin (?:[a-z.$€£]+ ){0,4}(thousands|millions|billions)\b|\bin (thousands|millions|billions)\b[^.|]{0,40}:|[$€£]\s?(m|bn)\)`)

// scaleIn returns the scale that a text states for its tables, or 0 if it states none or several.
func scaleIn(text string) float64 {
	scale := 0.0
	for _, m := range inText.FindAllStringSubmatch(text, 8) {
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

// scaled returns a figure of a table in the scale that the text around it states. Figures that have a scale
// or need none are unchanged.
func scaled(f kernel.Figure, scale float64) kernel.Figure {
	if scale == 0 || f.Unit == kernel.Percent || f.Unit == kernel.PerShare || f.Unit == kernel.Times || f.Step > 1 {
		return f
	}
	f.Value, f.Step = f.Value*scale, f.Step*scale
	return f
}

// Figures returns the figures in the tables of a passage, in the scale that formulas use.
func Figures(p *kernel.Passage) []kernel.Figure {
	var list []kernel.Figure
	for _, s := range read([]kernel.Passage{*p}, nil) {
		for _, point := range s.Points {
			list = append(list, point.Figure)
		}
	}
	return list
}
