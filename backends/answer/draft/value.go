package draft

import (
	"math"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/formula"
	"github.com/tollgate-gateway/tollgate/backends/answer/inquiry"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/question"
)

// draftOfValue writes a draft that states a value and its calculation.
func draftOfValue(q *question.Question, v *formula.Value) Draft {
	marks := marksOf(v)
	if v.Sentence != "" {
		d := Draft{Confidence: v.Confidence, Sentences: []Sentence{{Text: v.Sentence + ".", Marks: marks, Computed: true}}}
		if v.Formula != "" {
			d.Sentences = append(d.Sentences, Sentence{Text: calculation + v.Formula + ".", Marks: marks, Computed: true})
		}
		return d
	}
	label := kernel.Capital(v.Label)
	if len(q.Names) == 1 {
		label = q.Names[0] + ": " + v.Label
	}
	values := make([]string, 0, len(v.Figures)+len(v.Words))
	for _, f := range v.Figures {
		values = append(values, figures.Print(f))
	}
	values = append(values, v.Words...)
	stated := figures.And(values)
	if len(v.Figures) > 1 {
		stated += ", respectively"
	}
	d := Draft{Confidence: v.Confidence, Sentences: []Sentence{{Text: label + ": " + stated + ".", Marks: marks}}}
	if v.Formula != "" {
		d.Sentences = append(d.Sentences, Sentence{Text: calculation + v.Formula + ".", Marks: marks})
	}
	if isUnscaled(v) {
		d.Sentences[0].Text = strings.TrimSuffix(d.Sentences[0].Text, ".") + ", as printed; the source names no unit."
	}
	return d
}

// Explain inserts the calculation of a value after the first sentence that states the value, if a model has left the
// calculation out. Readers need it because a computed number occurs in no passage.
func (d Draft) Explain(v *formula.Value) Draft {
	if v == nil || v.Formula == "" || len(v.Figures) == 0 {
		return d
	}
	index := -1 // of the first sentence that states the value
	for i, s := range d.Sentences {
		if strings.Contains(s.Text, calculation) {
			return d
		}
		if index < 0 && strings.Contains(s.Text, figures.Print(v.Figures[0])) {
			index = i
		}
	}
	if index >= 0 {
		d.Sentences = slices.Insert(d.Sentences, index+1, Sentence{Text: calculation + v.Formula + ".", Marks: marksOf(v)})
	}
	return d
}

// calculation begins the sentence with the calculation of a value.
const calculation = "Calculation: "

// marksOf returns the indexes of the passages of a value's inputs, without repetitions.
func marksOf(v *formula.Value) (marks []int) {
	for _, input := range v.Inputs {
		if input.Passage >= 0 && !slices.Contains(marks, input.Passage) {
			marks = append(marks, input.Passage)
		}
	}
	return marks
}

// isUnscaled reports whether a figure of a value may be in thousands or more although its source names no unit. Small
// figures, and figures that are known to be in tens or more, do not count.
func isUnscaled(v *formula.Value) bool {
	for _, f := range v.Figures {
		if f.Unit == kernel.NoUnit && f.Currency == "" && f.Step < 10 && v.Op != inquiry.Count && math.Abs(f.Value) >= 100 {
			return true
		}
	}
	return false
}
