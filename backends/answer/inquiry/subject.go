package inquiry

import (
	"regexp"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

// isRange reports whether the first and the last period that a text names are the ends of a range. mentions are the
// text's periods.
func isRange(body string, mentions []metrics.Mention) bool {
	if len(mentions) < 2 {
		return false
	}
	first, last := mentions[0], mentions[len(mentions)-1]
	prefix := strings.TrimSpace(strings.ToLower(body[:first.Start]))
	switch connector := strings.Trim(strings.ToLower(body[first.End:last.Start]), " "); connector {
	case "to", "-", "–", "through", "till", "until":
		return true
	case "and":
		return strings.HasSuffix(prefix, "between")
	default:
		return strings.HasPrefix(connector, "to ")
	}
}

// prepositions matches the words that lead to a period. WithoutPeriods removes them too.
var prepositions = regexp.MustCompile(`(?i)(?:\b(?:in|for|as of|as at|at|from|to|between|during|through|over|by|since|until|of|and|or|vs\.?|versus|compared (?:to|with)|the|both|year|years|fiscal|financial|ended|ending|end|respectively|on|across|than|fy|,|&|to the|3|three|period|quarters?)\s*|[,&(]\s*)+$`)

// WithoutPeriods removes the periods in mentions from a text, together with the words that lead to them, such as "in"
// and "from".
func WithoutPeriods(body string, mentions []metrics.Mention) string {
	var b strings.Builder
	last := 0
	for _, m := range mentions {
		if m.Start < last {
			continue
		}
		piece := body[last:m.Start]
		if !strings.Contains(strings.ToLower(piece), "third quarter") {
			piece = prepositions.ReplaceAllString(piece, "")
		}
		b.WriteString(piece + " ")
		last = m.End
	}
	b.WriteString(body[last:])
	return strings.Join(strings.Fields(strings.NewReplacer("()", "", " ,", ",").Replace(b.String())), " ")
}

var (
	// questionLead matches polite words and question words at the beginning.
	questionLead = regexp.MustCompile(`(?i)^\W*(?:(?:and|so|please|can you|could you|tell me|show me|give me|i want to know|do you know)\b\s*)*(?:,?\s*(?:what(?:['’]s| is| was| were| are| did| does| do| has| had)?|how (?:much|many|high|large|big)|which|whats|give|state|name|report)\b\s*(?:(?:is|was|were|are|did|does|do|has|had)\b\s*)?)?`)
	// fillers matches words that do not belong to the name of a figure.
	fillers = regexp.MustCompile(`(?i)\b(?:the company['’]?s?|the group['’]s|company['’]s|the firm['’]s|(?:total )?(?:amount|value|values|balance|number|figure|level)s? (?:of|for|recorded for|owed to|in)|the (?:respective )?(?:amount|value|values|figure)|respective(?:ly)?|the amount|(?:reported|recorded|recogni[sz]ed|incurred|provided|generated|earned|spent|paid|made|held) (?:by|at|for|in|on|under)\b|did it|did they|earn(?:ed)?|report(?:ed)?|post(?:ed)?|year[- ]end|overall|in (?:dollars|usd|thousands|millions|percent(?:age)?)|year ended?|fiscal years?|same (?:period|year)|previous year|prior year|year[- ]on[- ]year|as compared (?:to|with)|as compared|compared (?:to|with)|compared|versus|as of|as at|the|a|an|its|their|of)\b`)
	// dangling matches prepositions and verbs that are left at the beginning or the end.
	dangling = regexp.MustCompile(`(?i)^(?:\s*(?:in|for|of|and|to|by|between|from|at|on|has|have|had|is|was|were|are|with|did|does)\b)+|(?:\b(?:in|for|of|and|to|by|between|from|at|on|has|have|had|is|was|were|are|with|did|be|over|or|during|within|grow|grew|grown|change|changed|rise|rose|increased?|decreased?|declined?|fall|fell)\s*[,;]*\s*)+$`)
)

// Subject returns the words of a question that name the figure it wants, such as "net sales from Malaysia" for "What
// were the net sales from Malaysia?". The periods must have been removed before.
func Subject(s string) string {
	s = questionLead.ReplaceAllString(strings.TrimSpace(s), "")
	s = fillers.ReplaceAllString(s, " ")
	s = strings.Join(strings.Fields(s), " ")
	for {
		cut := strings.Trim(dangling.ReplaceAllString(s, ""), " ,;:?-")
		if cut == s {
			return s
		}
		s = cut
	}
}
