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

// mark is a condition by which a measure is judged to be good, such as ">= 1" for the measure itself, or
// "roa < 5" for another one.
type mark struct {
	key   string
	op    string
	limit float64
}

// marksOf returns the marks of a measure, which the vocabulary separates by ";". The measure is good if one of
// them holds. marksOf returns nil if one of them is malformed.
func marksOf(key string) (all []mark) {
	for one := range strings.SplitSeq(metrics.Good(key), ";") {
		words := strings.Fields(one)
		if len(words) == 2 {
			words = slices.Insert(words, 0, key)
		}
		if len(words) != 3 {
			return nil
		}
		limit, err := strconv.ParseFloat(words[2], 64)
		if err != nil {
			return nil
		}
		all = append(all, mark{words[0], words[1], limit})
	}
	return all
}

// holds reports whether a value satisfies the condition. Any operator other than ">=" and "<=" means "<".
func (m mark) holds(value float64) bool {
	switch m.op {
	case ">=":
		return value >= m.limit
	case "<=":
		return value <= m.limit
	}
	return value < m.limit
}

// good answers whether a measure is good by its marks. Marks for which a figure is missing are skipped. It
// returns nil if none is left.
func (q *Calculation) good(b *Book, m *measure, f figure, p Period) *Answer {
	a := &Answer{Verdict: yes(false)}
	var said, how []string
	for _, one := range marksOf(m.key) {
		value, name := f, m.name
		if one.key != m.key {
			other := measureOf(one.key)
			missing := len(b.short)
			r, ok := b.eval(other.expr, p, 0)
			if !ok {
				b.short = b.short[:missing]
				continue
			}
			value, name = other.figure(r), other.name
		}
		limit := kernel.Figure{Value: one.limit, Step: 0.1, Unit: value.Unit}
		said = append(said, fmt.Sprintf("%s was %s in %s, against %s %s as the usual mark",
			name, q.shown(value.Figure), p, words[one.op], figures.Print(limit)))
		a.Figures = append(a.Figures, value.Figure)
		if text := calculations([]figure{value}, []Period{p}); text != "" {
			how = append(how, text)
		}
		if one.holds(value.Value) {
			a.Verdict = yes(true)
		}
	}
	if len(said) == 0 {
		return nil
	}
	a.Text, a.Calculation = strings.Join(said, "; "), strings.Join(how, "; ")
	return a
}

// words maps the operators of marks to words.
var words = map[string]string{">=": "at least", "<=": "at most", "<": "less than"}

// course describes how a figure went from period to period. It returns nil if there are fewer than two
// values.
func (q *Calculation) course(m *measure, values []figure, periods []Period) *Answer {
	if len(values) < 2 {
		return nil
	}
	a := &Answer{Calculation: calculations(values, periods)}
	said := make([]string, len(values))
	ups, downs, best := 0, 0, 0
	for i, v := range values {
		said[i] = q.shown(v.Figure) + " in " + periods[i].String()
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
	if q.Op == Peak {
		way = "highest"
		if q.direction < 0 {
			way = "lowest"
		}
		a.Text = fmt.Sprintf("%s was %s in %s: %s", m.name, way, periods[best], figures.And(said))
		return a
	}
	a.Text = fmt.Sprintf("%s was %s; %s", m.name, figures.And(said), way)
	return a
}

// exceeding answers whether one measure is more or less than another one. It returns nil if there is not
// exactly one period or if a figure is missing.
func (q *Calculation) exceeding(b *Book, periods []Period) *Answer {
	if len(periods) != 1 {
		return nil
	}
	a := &Answer{}
	var how []string
	for i := range q.what {
		r, ok := b.eval(q.what[i].expr, periods[0], 0)
		if !ok {
			return nil
		}
		f := q.what[i].figure(r)
		a.Figures = append(a.Figures, f.Figure)
		if text := calculations([]figure{f}, periods); text != "" {
			how = append(how, text)
		}
	}
	a.Verdict = yes((a.Figures[0].Value-a.Figures[1].Value)*float64(q.direction) > 0)
	a.Text = fmt.Sprintf("%s was %s in %s, and %s %s", q.what[0].name, q.shown(a.Figures[0]), periods[0], q.what[1].name,
		q.shown(a.Figures[1]))
	a.Calculation = strings.Join(how, "; ")
	return a
}
