package inquiry

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

// criterion is a condition under which a measure is good, such as ">= 1" for the measure itself, or "roa < 5" for
// another measure.
type criterion struct {
	key   string // of the metric
	op    string // a key of criterionWords
	limit float64
}

// criteriaOf returns the criteria of a measure, which the vocabulary separates by ";". The measure is good if it meets
// one of them. criteriaOf returns nil if a criterion is malformed.
func criteriaOf(key string) (criteria []criterion) {
	for text := range strings.SplitSeq(metrics.Good(key), ";") {
		words := strings.Fields(text)
		if len(words) == 2 { // a criterion of the measure itself
			words = slices.Insert(words, 0, key)
		}
		if len(words) != 3 {
			return nil
		}
		limit, err := strconv.ParseFloat(words[2], 64)
		if err != nil {
			return nil
		}
		criteria = append(criteria, criterion{words[0], words[1], limit})
	}
	return criteria
}

// isMet reports whether a value satisfies the condition. Any operator other than ">=" and "<=" means "<".
func (m criterion) isMet(value float64) bool {
	switch m.op {
	case ">=":
		return value >= m.limit
	case "<=":
		return value <= m.limit
	}
	return value < m.limit
}

// good answers whether a measure is good. It is good if one of its criteria is met by f, the value of the measure in
// the period p, or by another measure in the same period. Criteria with a missing figure are skipped. good returns
// nil if no criterion is left.
func (q *Calculation) good(b *Book, m *measure, f figure, p Period) *Answer {
	a := &Answer{Verdict: yes(false)}
	var stated, steps []string
	for _, current := range criteriaOf(m.key) {
		value, name := f, m.name
		if current.key != m.key {
			other := measureOf(current.key)
			missing := len(b.missing)
			r, ok := b.eval(other.expr, p, 0)
			if !ok {
				b.missing = b.missing[:missing] // the figures of a skipped criterion are not reported as missing
				continue
			}
			value, name = other.figure(r), other.name
		}
		limit := kernel.Figure{Value: current.limit, Step: 0.1, Unit: value.Unit}
		stated = append(stated, fmt.Sprintf("%s was %s in %s, against %s %s as the usual mark",
			name, q.format(value.Figure), p, criterionWords[current.op], figures.Print(limit)))
		a.Figures = append(a.Figures, value.Figure)
		if text := calculations([]figure{value}, []Period{p}); text != "" {
			steps = append(steps, text)
		}
		if current.isMet(value.Value) {
			a.Verdict = yes(true)
		}
	}
	if len(stated) == 0 {
		return nil
	}
	a.Text, a.Calculation = strings.Join(stated, "; "), strings.Join(steps, "; ")
	return a
}

// criterionWords maps the operators of criteria to words.
var criterionWords = map[string]string{">=": "at least", "<=": "at most", "<": "less than"}

// trend describes how a measure changed from period to period. For Always it answers whether the measure changed in the
// direction of the question each time, and for Peak in which period it was the highest or the lowest. It returns nil if
// there are fewer than two values.
func (q *Calculation) trend(m *measure, values []figure, periods []Period) *Answer {
	if len(values) < 2 {
		return nil
	}
	a := &Answer{Calculation: calculations(values, periods)}
	stated := make([]string, len(values))
	ups, downs := 0, 0 // how often the measure rose and fell
	best := 0          // the index of the highest or the lowest value
	for i, v := range values {
		stated[i] = q.format(v.Figure) + " in " + periods[i].String()
		a.Figures = append(a.Figures, v.Figure)
		if (v.Value-values[best].Value)*float64(q.direction) > 0 {
			best = i
		}
		switch {
		case i > 0 && v.Value > values[i-1].Value:
			ups++
		case i > 0 && v.Value < values[i-1].Value:
			downs++
		}
	}
	if q.Op == Peak {
		word := "highest"
		if q.direction < 0 {
			word = "lowest"
		}
		a.Text = fmt.Sprintf("%s was %s in %s: %s", m.name, word, periods[best], figures.And(stated))
		return a
	}
	way := "it went up and down"
	switch {
	case ups == len(values)-1:
		way = "it increased each time"
	case downs == len(values)-1:
		way = "it decreased each time"
	case ups == 0 && downs == 0:
		way = "it did not change"
	}
	if q.Op == Always {
		a.Verdict = yes(q.direction > 0 && ups == len(values)-1 || q.direction < 0 && downs == len(values)-1)
	}
	a.Text = fmt.Sprintf("%s was %s; %s", m.name, figures.And(stated), way)
	return a
}

// compareMeasures answers whether the first measure is more or less, by q.direction, than the second. It returns nil if
// there is not exactly one period or if a figure is missing.
func (q *Calculation) compareMeasures(b *Book, periods []Period) *Answer {
	if len(periods) != 1 {
		return nil
	}
	a := &Answer{}
	var steps []string
	for i := range q.measures {
		r, ok := b.eval(q.measures[i].expr, periods[0], 0)
		if !ok {
			return nil
		}
		f := q.measures[i].figure(r)
		a.Figures = append(a.Figures, f.Figure)
		if text := calculations([]figure{f}, periods); text != "" {
			steps = append(steps, text)
		}
	}
	a.Verdict = yes((a.Figures[0].Value-a.Figures[1].Value)*float64(q.direction) > 0)
	a.Text = fmt.Sprintf("%s was %s in %s, and %s %s", q.measures[0].name, q.format(a.Figures[0]), periods[0],
		q.measures[1].name, q.format(a.Figures[1]))
	a.Calculation = strings.Join(steps, "; ")
	return a
}
