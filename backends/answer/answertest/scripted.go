package answertest

import (
	"regexp"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/draft"
	"github.com/tollgate-gateway/tollgate/backends/answer/models"
	"github.com/tollgate-gateway/tollgate/backends/answer/terms"
)

var (
	passageOf  = regexp.MustCompile(`(?s)<passage id="(p\d+)"[^\n]*>\n(.*?)\n</passage>`)
	computedOf = regexp.MustCompile(`(?m)^Computed:\n- (.*)$`)
	askedOf    = regexp.MustCompile(`(?s)Question: (.*)$`)
	markOf     = regexp.MustCompile(`\s*\[p\d+\]`)
	formulaOf  = regexp.MustCompile(` \([^()]*=.*\)$`)
)

// Scripted returns a model that follows its instructions and knows nothing itself. It states the computed
// value, then the answers to the parts, or else the two sentences of the passages that share the most words
// with the question. As a judge it passes everything. So the stages that use a model can be measured without
// one.
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

func writeDraft(text string) string {
	if m := computedOf.FindStringSubmatch(text); m != nil {
		marks := strings.Join(markOf.FindAllString(m[1], -1), "")
		return formulaOf.ReplaceAllString(markOf.ReplaceAllString(m[1], ""), "") + "." + marks
	}
	if _, list, ok := strings.Cut(text, "Answers to parts of the question:\n"); ok {
		list, _, _ = strings.Cut(list, "\nQuestion: ")
		return strings.TrimPrefix(strings.ReplaceAll(list, "\n- ", "\n"), "- ")
	}
	m := askedOf.FindStringSubmatch(text)
	if m == nil {
		return draft.NotFound
	}
	asked := terms.Of(m[1])
	best, mark, most := "", "", 0
	for _, p := range passageOf.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(p[2]) {
			if strings.HasPrefix(strings.TrimSpace(line), "|") || strings.HasPrefix(line, "#") {
				continue
			}
			for _, s := range draft.Split(strings.TrimSpace(line)) {
				words := make(map[terms.Term]bool)
				for _, t := range terms.Of(s) {
					words[t] = true
				}
				shared := 0
				for _, t := range asked {
					if words[t] {
						shared++
					}
				}
				if shared > most && !draft.Speaks(s) {
					best, mark, most = s, p[1], shared
				}
			}
		}
	}
	if 4*most < 3*len(asked) {
		return draft.NotFound
	}
	return best + " [" + mark + "]"
}
