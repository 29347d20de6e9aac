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

// unitWords matches words for units and remarks in the header of a column, which do not name the column.
var unitWords = regexp.MustCompile(`(?i)\((?:in )?(?:thousands|millions|billions)\)|\b(?:in )?(?:thousands|millions|billions)\b|[$€£¥%]\s?(?:m|mn|bn|['’]?000s?)?\b|[$€£¥%]|\bas reported\b|\(?unaudited\)?|\brestated\b|\bnotes?\b`)

// weakWords holds words whose absence in a question means little: they distinguish rows only if the rows differ in
// nothing else.
var weakWords = terms.SetOf(`total net amount expense expenses cost costs value balance year end reported consolidated other income loss gain basis
	recognised recognized gross common ordinary share shares used provided number item level and the due company group december january june september march less add`)

// decisiveWords holds words that change the meaning of a row. A question about such a row has to contain them.
var decisiveWords = terms.SetOf(`impairment impaired recognition amortization amortisation accumulated deferred proceeds purchases repayments issuance disposal
	disposals acquired unrecognized unrecognised undistributed reversal reversals adjustment adjustments reconciliation`)

// calculationWords holds words of questions for a result that is computed from several figures. A row without a name of
// the wanted metric fits such a question only if the row, its headings or the text around the table have the word, too.
var calculationWords = terms.SetOf(`average mean growth difference ratio proportion`)

// scored is a series with its score; a greater score is better.
type scored struct {
	*Series
	score float64
}

const (
	// minScore is the least score of a series that is used.
	minScore = 0.70
	// margin is the difference in score up to which two series match equally well.
	margin = 0.045
	// weakWeight is the weight of a weak word of the question. Other words have the weight 1.
	weakWeight = 0.45
	// exactNameBonus is added for a row that has exactly the name in the question, to prefer it to others of the same
	// metric.
	exactNameBonus = 0.05
	// otherMetricPenalty is subtracted for a row that has the name of another metric than the subject.
	otherMetricPenalty = 0.2
)

// fit returns how well a series matches the terms of a subject, from 0 to about 1. metric is the key of the metric
// that the subject names, or the empty string. The score is the weighted share of the subject's words that occur in
// the names of the series or in the text around it. Words of the series that the subject does not contain reduce the
// score.
func fit(stems []terms.Term, metric string, s *Series) float64 {
	if len(stems) == 0 {
		return 0
	}
	named := "" // the metric that the row names
	if metric != "" {
		m, _ := metrics.ByLabel(s.Name)
		named = m.Key
	}
	sameMetric := metric != "" && named == metric
	cover, inName := s.cover(stems, sameMetric)
	if cover == 0 || !sameMetric && (s.differsInMeaning(stems) || inName == 0 && len(s.header) == 0) {
		return 0
	}
	nameWeight, extraWeight := s.extraWords(terms.NewSet(stems), sameMetric)
	score := cover * (1 - 0.5*extraWeight/(nameWeight+0.7))
	if named != "" && !sameMetric { // the row has the name of another metric: gross profit instead of profit
		score -= otherMetricPenalty
	}
	if inName == len(stems) && inName == len(s.name) { // exactly this name
		score += exactNameBonus
	}
	for t := range s.group { // penalises a heading with a word that is neither in the subject nor elsewhere near the table
		if !slices.Contains(stems, t) && !weakWords[t] && !s.around[t] {
			score -= 0.02
			break
		}
	}
	return score
}

// cover returns the weighted share of a subject's words that the series and the text around it contain, from 0 to 1,
// and how many of the words are in the name of the series. A word counts less the farther it is from the name. cover is
// 0 if too many distinguishing words are missing. sameMetric reports that the row has a name of the subject's metric,
// so that it need not have the subject's words.
func (s *Series) cover(stems []terms.Term, sameMetric bool) (cover float64, inName int) {
	var matched, total float64
	strong, missing := 0, 0 // the number of words that are not weak, and how many of them the table does not contain
	for _, t := range stems {
		weight := 1.0
		if weakWords[t] {
			weight = weakWeight
		} else {
			strong++
		}
		total += weight
		switch {
		case s.name[t]:
			matched += weight
			inName++
		case s.header[t]:
			matched += weight * 0.97
		case s.group[t]:
			matched += weight * 0.95
		case sameMetric:
			matched += weight * 0.93
		case s.caption[t]:
			matched += weight * 0.8
		default:
			if !weakWords[t] {
				missing++
			}
			if s.around[t] {
				matched += weight * 0.45
			}
		}
	}
	if missing > 0 && 2*missing >= strong && strong < 4 { // at least half of up to three words
		return 0, inName
	}
	return matched / total, inName
}

// differsInMeaning reports whether the series means something else than a subject: its name has a decisive word that
// the subject does not have, or the subject has a decisive word, or a word for a calculation, that is nowhere near the
// table.
func (s *Series) differsInMeaning(stems []terms.Term) bool {
	for t := range s.name {
		if decisiveWords[t] && !slices.Contains(stems, t) {
			return true
		}
	}
	return slices.ContainsFunc(stems, func(t terms.Term) bool {
		return (decisiveWords[t] || calculationWords[t]) && !s.name[t] && !s.header[t] && !s.group[t] && !s.caption[t] &&
			!s.around[t]
	})
}

// extraWords returns the weight of the words in the name and the header of the series, and the weight of those among
// them that are not in stems, the wanted words. If the row has a name of the wanted metric, all words of the name are
// wanted.
func (s *Series) extraWords(stems terms.Set, sameMetric bool) (total, extra float64) {
	count := func(words terms.Set, weight float64) {
		for t := range words {
			wordWeight := weight
			if weakWords[t] {
				wordWeight *= 0.35
			}
			total += wordWeight
			if !stems[t] {
				extra += wordWeight
			}
		}
	}
	if sameMetric {
		total = 1
	} else {
		count(s.name, 1)
	}
	count(s.header, 0.8)
	return total, extra
}

// find returns the series that a subject names and that has all periods, and its score. It returns false and the score
// 0 if there is no such series. If several match equally well with different values, it returns false and their score.
func find(series []*Series, subject string, periods []kernel.Period) (*Series, float64, bool) {
	stems := terms.Of(subject)
	metric := ""
	if m, ok := metrics.ByLabel(subject); ok {
		metric = m.Key
	}
	var best []scored
	for _, s := range series {
		if len(periods) > 0 {
			if _, ok := s.pointsOf(periods); !ok {
				continue
			}
		}
		if score := fit(stems, metric, s); score >= minScore {
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
		if !sameValues(first.Series, other.Series, periods) {
			return nil, first.score, false
		}
	}
	return first.Series, first.score, true
}

// sameValues reports whether two series have the same values in the periods.
func sameValues(a, b *Series, periods []kernel.Period) bool {
	pa, pb := a.Points, b.Points
	if len(periods) > 0 {
		pa, _ = a.pointsOf(periods)
		pb, _ = b.pointsOf(periods)
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

// pointsOf returns one point for each of the periods, in their order. It returns false if the point of a period is
// missing or ambiguous.
func (s *Series) pointsOf(periods []kernel.Period) ([]Point, bool) {
	points := make([]Point, 0, len(periods))
	for _, p := range periods {
		var found []Point
		for _, q := range s.Points {
			if q.Period.Known() && fits(p, q.Period) {
				found = append(found, q)
			}
		}
		if len(found) > 1 { // "2019" fits a year and a period of unknown length; the year is meant
			years := slices.DeleteFunc(slices.Clone(found), func(q Point) bool { return q.Period.Months != 12 })
			if len(years) == 1 && (p.Months == 12 || p.End == "") {
				found = years
			}
		}
		if len(found) == 0 ||
			slices.ContainsFunc(found[1:], func(q Point) bool { return q.Value != found[0].Value }) {
			return nil, false
		}
		points = append(points, found[0])
	}
	return points, true
}

// fits reports whether the period of a figure in a table is the period that a question is about. actual is the period
// of the figure, and target is the period of the question. A period without a length is taken for a year.
func fits(target, actual kernel.Period) bool {
	targetQuarter, targetHalf := target.Part()
	actualQuarter, actualHalf := actual.Part()
	if targetQuarter != actualQuarter && (target.Quarter != 0 || actual.Quarter != 0) ||
		targetHalf != actualHalf && (target.Half != 0 || actual.Half != 0) {
		return false
	}
	if target.End != "" {
		if actual.End != "" {
			return target.End == actual.End && (target.Months == 0 || actual.Months == 0 || target.Months == actual.Months)
		}
		return target.End.Year() == actual.Year && (actual.Months == 0 || actual.Months == 12)
	}
	if target.Months != 0 && target.Months != 12 && actual.Months != target.Months {
		return false
	}
	// A figure that is not for a year fits only a question about the same length or about its quarter.
	if actual.Months != 0 && actual.Months != 12 && target.Months != actual.Months && target.Quarter == 0 {
		return false
	}
	return target.Year == actual.AnyYear()
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
