package formula

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
	"github.com/tollgate-gateway/tollgate/backends/answer/terms"
)

var unitWords = regexp.MustCompile(`(?i)\((?:in )?(?:thousands|millions|billions)\)|\b(?:in )?(?:thousands|millions|billions)\b|[$€£¥%]\s?(?:m|mn|bn|['’]?000s?)?\b|[$€£¥%]|\bas reported\b|\(?unaudited\)?|\brestated\b|\bnotes?\b`)

// soft holds words whose absence in a question says little: they distinguish rows only if the rows differ in
// nothing else.
var soft = setOf(`total net amount expense expenses cost costs value balance year end reported consolidated other income loss gain basis
	recognised recognized gross common ordinary share shares used provided number item level and the due company group december january june september march less add`)

// turning holds words that change the meaning of a row, so that a question that means the row has to use
// them.
var turning = setOf(`impairment impaired recognition amortization amortisation accumulated deferred proceeds purchases repayments issuance disposal
	disposals acquired unrecognized unrecognised undistributed reversal reversals adjustment adjustments reconciliation`)

// computing holds words for what is computed from several figures, unless a row has such a name.
var computing = setOf(`average mean growth difference ratio proportion`)

// scored is a series with its score; a greater one is better.
type scored struct {
	*Series
	score float64
}

// Score limits. A series with a score below sure is not used.
const (
	sure   = 0.70
	margin = 0.045
	// veryName is the bonus of a row that has exactly the name in the question, over others of the same metric.
	veryName = 0.05
	// otherMetric is subtracted for a row that has the name of another metric than the subject.
	otherMetric = 0.2
)

// fit returns how well a series matches the terms of a subject, from 0 to 1.
func fit(stems []terms.Term, metric string, s *Series) float64 {
	if len(stems) == 0 {
		return 0
	}
	same := false
	if metric != "" {
		if m, ok := metrics.ByLabel(s.Name); ok && m.Key == metric {
			same = true
		}
	}
	var got, all float64
	inName, hard, weak := 0, 0, 0
	for _, t := range stems {
		w := 1.0
		if soft.has(t) {
			w = 0.45
		} else {
			hard++
		}
		all += w
		switch {
		case s.name.has(t):
			got += w
			inName++
		case s.header.has(t):
			got += w * 0.97
		case s.group.has(t):
			got += w * 0.95
		case same:
			got += w * 0.93
		case s.caption.has(t):
			got += w * 0.8
		default:
			if !soft.has(t) {
				weak++
			}
			if s.around.has(t) {
				got += w * 0.45
			}
		}
	}
	if weak > 0 && 2*weak >= hard && hard < 4 { // too many distinguishing words are missing
		return 0
	}
	for t := range s.name {
		if turning.has(t) && !same && !slices.Contains(stems, t) {
			return 0
		}
	}
	for _, t := range stems {
		if (turning.has(t) || computing.has(t)) && !same && !s.name.has(t) && !s.header.has(t) && !s.group.has(t) &&
			!s.caption.has(t) && !s.around.has(t) {
			return 0
		}
	}
	cover := got / all
	var extra, name float64
	asked := make(set, len(stems))
	for _, t := range stems {
		asked[t] = true
	}
	count := func(words set, weight float64) {
		for t := range words {
			w := weight
			if soft.has(t) {
				w *= 0.35
			}
			name += w
			if !asked.has(t) {
				extra += w
			}
		}
	}
	if same {
		name, extra = 1, 0
	} else {
		count(s.name, 1)
	}
	count(s.header, 0.8)
	if inName == 0 && !same && len(s.header) == 0 {
		return 0
	}
	score := cover * (1 - 0.5*extra/(name+0.7))
	if metric != "" && !same { // the name of another metric: gross profit, where profit is asked for
		if m, ok := metrics.ByLabel(s.Name); ok && m.Key != metric {
			score -= otherMetric
		}
	}
	if inName == len(stems) && inName == len(s.name) { // exactly this name
		score += veryName
	}
	for t := range s.group {
		if !asked.has(t) && !soft.has(t) && !s.around.has(t) {
			score -= 0.02
			break
		}
	}
	return score
}

// find returns the series that a subject names and that has all periods. It returns false if there is none,
// or if several match that say different things.
func find(all []*Series, subject string, periods []kernel.Period) (*Series, float64, bool) {
	stems := terms.Of(subject)
	metric := ""
	if m, ok := metrics.ByLabel(subject); ok {
		metric = m.Key
	}
	var best []scored
	for _, s := range all {
		if len(periods) > 0 {
			if _, ok := s.at(periods); !ok {
				continue
			}
		}
		if score := fit(stems, metric, s); score >= sure {
			best = append(best, scored{s, score})
		}
	}
	if len(best) == 0 {
		return nil, 0, false
	}
	slices.SortStableFunc(best, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	first := best[0]
	for _, other := range best[1:] {
		if other.score < first.score-margin {
			break
		}
		if !alike(first.Series, other.Series, periods) {
			return nil, first.score, false
		}
	}
	return first.Series, first.score, true
}

// alike reports whether two series have the same values in the periods.
func alike(a, b *Series, periods []kernel.Period) bool {
	pa, pb := a.Points, b.Points
	if len(periods) > 0 {
		pa, _ = a.at(periods)
		pb, _ = b.at(periods)
	}
	if len(pa) != len(pb) {
		return false
	}
	for i := range pa {
		if math.Abs(pa[i].Value-pb[i].Value) > 1e-9*math.Abs(pa[i].Value) {
			return false
		}
	}
	return true
}

// at returns the points of the periods in their order. It returns false if one is missing or ambiguous.
func (s *Series) at(periods []kernel.Period) ([]Point, bool) {
	points := make([]Point, 0, len(periods))
	for _, p := range periods {
		var found []Point
		for _, q := range s.Points {
			if q.Period.Known() && fits(p, q.Period) {
				found = append(found, q)
			}
		}
		if len(found) > 1 {
			whole := slices.DeleteFunc(slices.Clone(found), func(q Point) bool { return q.Period.Months != 12 })
			if len(whole) == 1 && p.Months == 12 || len(whole) == 1 && p.End == "" {
				found = whole
			}
		}
		if len(found) == 0 || len(found) > 1 &&
			slices.ContainsFunc(found[1:], func(q Point) bool { return q.Value != found[0].Value }) {
			return nil, false
		}
		points = append(points, found[0])
	}
	return points, true
}

// fits reports whether a period that a question names matches one of a table.
func fits(asked, given kernel.Period) bool {
	quarter, half := asked.Part()
	hasQuarter, hasHalf := given.Part()
	if quarter != hasQuarter && (asked.Quarter != 0 || given.Quarter != 0) ||
		half != hasHalf && (asked.Half != 0 || given.Half != 0) {
		return false
	}
	if asked.End != "" {
		if given.End != "" {
			return asked.End == given.End && (asked.Months == 0 || given.Months == 0 || asked.Months == given.Months)
		}
		return asked.End.Year() == given.Year && (given.Months == 0 || given.Months == 12)
	}
	if asked.Months != 0 && asked.Months != 12 && given.Months != asked.Months {
		return false
	}
	if given.Months != 0 && given.Months != 12 && asked.Months != given.Months && asked.Quarter == 0 {
		return false
	}
	return asked.Year == given.AnyYear()
}

// ordered returns the points sorted by time, the earliest first.
func ordered(points []Point) []Point {
	sorted := slices.Clone(points)
	slices.SortStableFunc(sorted, func(a, b Point) int {
		if y := a.Period.AnyYear() - b.Period.AnyYear(); y != 0 {
			return y
		}
		if q := a.Period.Quarter - b.Period.Quarter; q != 0 {
			return q
		}
		return strings.Compare(string(a.Period.End), string(b.Period.End))
	})
	return sorted
}
