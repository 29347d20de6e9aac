package answertest

import (
	"regexp"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/draft"
	"github.com/tollgate-gateway/tollgate/backends/answer/models"
	"github.com/tollgate-gateway/tollgate/backends/answer/terms"
)

var (
	passagePattern  = regexp.MustCompile(`(?s)<passage id="(p\d+)"[^\n]*>\n(.*?)\n</passage>`)
	computedPattern = regexp.MustCompile(`(?m)^Computed:\n- (.*)$`)
	questionPattern = regexp.MustCompile(`(?s)Question: (.*)$`)
	markPattern     = regexp.MustCompile(`\s*\[p\d+\]`)
	formulaPattern  = regexp.MustCompile(` \([^()]*=.*\)$`)
)

// Scripted returns a model that follows its instructions and knows nothing itself. It states the computed value of
// the prompt. If the prompt has no computed value, it repeats the answers to the parts of the question. If the prompt
// has no such answers either, it cites the sentence of the passages that shares the most words with the question. As
// a judge it accepts every answer. With Scripted, the stages that use a model can be measured without a model.
func Scripted() models.Model {
	return models.Scripted(func(r models.Request) (string, error) {
		text := r.Messages[len(r.Messages)-1].Content
		switch r.Name {
		case "judge":
			return `{"grounded":1,"responsive":1}`, nil
		case "draft":
			return writeDraft(text), nil
		}
		return "{}", nil // neither a verdict nor a plan, so the rules decide
	})
}

// writeDraft returns the reply to text, a prompt for a draft.
func writeDraft(text string) string {
	if m := computedPattern.FindStringSubmatch(text); m != nil {
		marks := strings.Join(markPattern.FindAllString(m[1], -1), "")
		return formulaPattern.ReplaceAllString(markPattern.ReplaceAllString(m[1], ""), "") + "." + marks
	}
	if _, list, ok := strings.Cut(text, "Answers to parts of the question:\n"); ok { // the draft joins these answers
		list, _, _ = strings.Cut(list, "\nQuestion: ")
		return strings.TrimPrefix(strings.ReplaceAll(list, "\n- ", "\n"), "- ")
	}
	m := questionPattern.FindStringSubmatch(text)
	if m == nil {
		return draft.NotFound
	}
	questionTerms := terms.Of(m[1])
	best, mark, maxShared := "", "", 0
	for _, passage := range passagePattern.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(passage[2]) {
			if strings.HasPrefix(strings.TrimSpace(line), "|") || strings.HasPrefix(line, "#") {
				continue
			}
			for _, s := range draft.Split(strings.TrimSpace(line)) {
				words, shared := terms.SetOf(s), 0
				for _, t := range questionTerms {
					if words[t] {
						shared++
					}
				}
				if shared > maxShared && !draft.Suspicious(s) {
					best, mark, maxShared = s, passage[1], shared
				}
			}
		}
	}
	if 4*maxShared < 3*len(questionTerms) { // the best sentence has less than three quarters of the terms
		return draft.NotFound
	}
	return best + " [" + mark + "]"
}
