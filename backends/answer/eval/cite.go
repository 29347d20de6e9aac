package eval

import (
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/check"
	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/pipeline"
)

// cite returns how many marks the sentences with figures have, and how many of them name a passage that holds
// one of the figures.
func cite(query string, claims []pipeline.Claim) (marks, held int) {
	asked := mentioned(query)
	for i, c := range claims {
		if c.Own {
			continue
		}
		said := mentioned(c.Text)
		inputs, result, computed := "", "", false
		switch {
		case calculation(c.Text):
			inputs, _ = cutLast(c.Text, " = ")
			computed = true
		case i+1 < len(claims) && calculation(claims[i+1].Text):
			inputs, result = cutLast(claims[i+1].Text, " = ")
			computed = true
		}
		if computed { // the sentence stands on the inputs of the calculation
			said = mentioned(inputs)
			for _, m := range mentioned(c.Text) {
				if !strings.Contains(result, m.Text) {
					said = append(said, m)
				}
			}
		}
		if len(said) == 0 {
			continue
		}
		known := make([][]kernel.Figure, len(c.Passages))
		for n := range c.Passages {
			known[n] = check.Figures(&c.Passages[n])
		}
		holds := func(n int, m figures.Mention) bool {
			return slices.ContainsFunc(known[n], func(exact kernel.Figure) bool { return check.Says(m.Figure, exact) })
		}
		all := computed || !slices.ContainsFunc(said, func(m figures.Mention) bool {
			for n := range known {
				if holds(n, m) {
					return false
				}
			}
			return !slices.ContainsFunc(asked, func(a figures.Mention) bool { return check.Says(a.Figure, m.Figure) })
		})
		for n := range known {
			marks++
			if all && slices.ContainsFunc(said, func(m figures.Mention) bool { return holds(n, m) }) {
				held++
			}
		}
	}
	return marks, held
}

// mentioned returns the figures of a text that are no years.
func mentioned(text string) []figures.Mention {
	return slices.DeleteFunc(figures.Find(text), func(m figures.Mention) bool { return m.Year })
}

func cutLast(s, sep string) (before, after string) {
	at := strings.LastIndex(s, sep)
	if at < 0 {
		return s, ""
	}
	return s[:at], s[at+len(sep):]
}
