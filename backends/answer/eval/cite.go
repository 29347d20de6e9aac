package eval

import (
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/check"
	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/pipeline"
)

// cite counts the marks of the sentences with figures. supported is the number of marks whose passage contains one of
// the sentence's figures.
func cite(query string, claims []pipeline.Claim) (marks, supported int) {
	inQuestion := mentioned(query)
	for i, c := range claims {
		if c.Fixed {
			continue
		}
		stated := mentioned(c.Text)
		inputs, result, computed := "", "", false
		switch {
		case isCalculation(c.Text):
			inputs, _ = cutLast(c.Text, " = ")
			computed = true
		case i+1 < len(claims) && isCalculation(claims[i+1].Text):
			inputs, result = cutLast(claims[i+1].Text, " = ")
			computed = true
		}
		if computed { // the sentence is based on the inputs of the calculation
			stated = mentioned(inputs)
			for _, m := range mentioned(c.Text) {
				if !strings.Contains(result, m.Text) {
					stated = append(stated, m)
				}
			}
		}
		if len(stated) == 0 {
			continue
		}
		known := make([][]kernel.Figure, len(c.Passages))
		for n := range c.Passages {
			known[n] = check.Figures(&c.Passages[n])
		}
		contains := func(n int, m figures.Mention) bool {
			return slices.ContainsFunc(known[n], func(exact kernel.Figure) bool { return check.States(m.Figure, exact) })
		}
		all := computed || !slices.ContainsFunc(stated, func(m figures.Mention) bool {
			for n := range known {
				if contains(n, m) {
					return false
				}
			}
			return !slices.ContainsFunc(inQuestion, func(a figures.Mention) bool { return check.States(a.Figure, m.Figure) })
		})
		for n := range known {
			marks++
			if all && slices.ContainsFunc(stated, func(m figures.Mention) bool { return contains(n, m) }) {
				supported++
			}
		}
	}
	return marks, supported
}

// mentioned returns the figures of a text that are not years.
func mentioned(text string) []figures.Mention {
	return slices.DeleteFunc(figures.Find(text), func(m figures.Mention) bool { return m.Year })
}

func cutLast(s, sep string) (before, after string) {
	index := strings.LastIndex(s, sep)
	if index < 0 {
		return s, ""
	}
	return s[:index], s[index+len(sep):]
}
