package eval

import (
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/check"
	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/pipeline"
)

// cite counts the marks of the sentences with figures, that is, their citations of passages. supported is the number of
// marks whose passage contains one of the sentence's figures. A mark of a sentence that has an unsupported figure too
// is not supported.
func cite(query string, claims []pipeline.Claim) (marks, supported int) {
	inQuestion := mentioned(query)
	for i, c := range claims {
		if c.Fixed {
			continue
		}
		stated, computed := statedFigures(claims, i)
		if len(stated) == 0 {
			continue
		}
		passages := make([][]kernel.Figure, len(c.Passages)) // the figures of each passage
		for n := range c.Passages {
			passages[n] = check.Figures(&c.Passages[n])
		}
		contains := func(passage []kernel.Figure, m figures.Mention) bool {
			return slices.ContainsFunc(passage, func(exact kernel.Figure) bool { return check.States(m.Figure, exact) })
		}
		isUnsupported := func(m figures.Mention) bool {
			inPassage := slices.ContainsFunc(passages, func(p []kernel.Figure) bool { return contains(p, m) })
			return !inPassage &&
				!slices.ContainsFunc(inQuestion, func(q figures.Mention) bool { return check.States(q.Figure, m.Figure) })
		}
		allSupported := computed || !slices.ContainsFunc(stated, isUnsupported)
		for _, passage := range passages {
			marks++
			if allSupported && slices.ContainsFunc(stated, func(m figures.Mention) bool { return contains(passage, m) }) {
				supported++
			}
		}
	}
	return marks, supported
}

// statedFigures returns the figures of the claim with index i that its passages should contain. If the claim is a
// calculation or a calculation follows it, computed is true and the inputs of the calculation replace its result.
func statedFigures(claims []pipeline.Claim, i int) (stated []figures.Mention, computed bool) {
	text := claims[i].Text
	var inputs, result string
	switch {
	case isCalculation(text):
		inputs, _ = cutLast(text, " = ")
	case i+1 < len(claims) && isCalculation(claims[i+1].Text):
		inputs, result = cutLast(claims[i+1].Text, " = ")
	default:
		return mentioned(text), false
	}
	stated = mentioned(inputs)
	for _, m := range mentioned(text) {
		if !strings.Contains(result, m.Text) {
			stated = append(stated, m)
		}
	}
	return stated, true
}

// mentioned returns the figures of a text that are not years.
func mentioned(text string) []figures.Mention {
	return slices.DeleteFunc(figures.Find(text), func(m figures.Mention) bool { return m.Year })
}

// cutLast splits s at the last occurrence of sep. Without sep it returns s and the empty string.
func cutLast(s, sep string) (head, tail string) {
	index := strings.LastIndex(s, sep)
	if index < 0 {
		return s, ""
	}
	return s[:index], s[index+len(sep):]
}
