package question

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/inquiry"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

const (
	maxSubs = 5
	maxSub  = 300 // in bytes
)

var (
	// clauses matches where a question that is several questions is divided: "…? And why …", "…, and why …".
	clauses = regexp.MustCompile(`(?i)\?\s+(?:and\s+)?|[,;]?\s+(?:and|as well as|but)\s+((?:why|how|what|who|when|where|which|by how much)\b)|;\s+`)
	opens   = regexp.MustCompile(`(?i)^(?:why|how|what|who|when|where|which|by how much|did|does|is|was|were|tell|describe|explain|give|list)\b`)
	pronoun = regexp.MustCompile(`(?i)\b(?:it|they|this|that|these|those)\b`)
)

// decompose returns the sub-queries of a question, each of which stands alone. A question that does not name
// exactly one issuer has none.
func (q *Question) decompose(found []metrics.MetricMention) []string {
	if len(q.Names) != 1 {
		return nil
	}
	var subs []string
	add := func(s string) {
		if s = plain(s); s != "" && len(subs) < maxSubs && !slices.Contains(subs, s) {
			subs = append(subs, s)
		}
	}
	if q.Advice { // facts are given instead of advice
		for _, metric := range []string{"revenue", "net income"} {
			add("What was the " + metric + " of " + q.Names[0] + "?")
		}
		return subs
	}
	// An inquiry is the whole question: what it does not ask for, such as how to answer, is no part of its own.
	if parts := q.parts(); q.Inquiry.Calculation == nil && len(parts) > 1 {
		for _, part := range parts {
			add(part)
		}
		if q.Several = len(subs) > 1; q.Several {
			return subs
		}
		subs = nil
	}
	if names := q.Inquiry.Calculation.Inputs(); len(names) > 1 && len(q.Periods) == 1 {
		for _, name := range names {
			add("What was the " + name + " of " + q.Names[0] + " in " + q.when() + "?")
		}
		return subs
	}
	if q.Inquiry.Op == inquiry.Value && len(q.Metrics) > 1 && listed(q.Body, found) {
		for _, m := range q.Metrics {
			s := "What was the " + m.Name + " of " + q.Names[0]
			if len(q.Periods) > 0 {
				s += " in " + q.when()
			}
			add(s + "?")
		}
		if q.Several = len(subs) > 1; q.Several {
			return subs
		}
	}
	return nil
}

// when returns the periods of the question in words.
func (q *Question) when() string {
	names := make([]string, 0, len(q.Periods))
	for _, p := range q.Periods {
		names = append(names, p.String())
	}
	return strings.Join(names, " and ")
}

// parts returns the clauses of a question, each with its issuer and its period, or nil if there is only one.
func (q *Question) parts() []string {
	var parts []string
	at := 0
	text := q.Body
	for _, m := range clauses.FindAllStringSubmatchIndex(text, 8) {
		end := m[0]
		next := m[1]
		if m[2] >= 0 {
			next = m[2]
		}
		if strings.TrimSpace(text[at:end]) == "" || !opens.MatchString(strings.TrimSpace(text[next:])) ||
			!opens.MatchString(strings.TrimSpace(text[at:end])) {
			continue
		}
		parts = append(parts, text[at:end])
		at = next
	}
	parts = append(parts, text[at:])
	if len(parts) < 2 {
		return nil
	}
	topic := ""
	if len(q.Metrics) > 0 {
		topic = "the " + q.Metrics[0].Name
	}
	for i, part := range parts {
		part = strings.TrimRight(strings.TrimSpace(part), "?.,; ")
		if i > 0 && topic != "" && len(metrics.Find(part)) == 0 {
			part = pronoun.ReplaceAllString(part, topic)
		}
		if len(q.Periods) > 0 && len(metrics.Periods(part)) == 0 {
			part += " in " + q.when()
		}
		parts[i] = "Regarding " + q.Names[0] + ": " + capital(part) + "?"
	}
	return parts
}

// listed reports whether metrics stand in a list, such as "revenue and net income".
func listed(body string, found []metrics.MetricMention) bool {
	for i := range found {
		if i == 0 || found[i].Metric.Key == found[i-1].Metric.Key {
			continue
		}
		between := strings.ToLower(strings.TrimSpace(body[found[i-1].End:found[i].Start]))
		if between == "and" || between == "," || between == ", and" || between == "as well as" || between == "and the" ||
			between == ", the" || between == "and its" {
			return true
		}
	}
	return false
}

// capital returns a clause with a capital first letter.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// Plan returns the sub-queries that a model has made, normalised and without repetitions, at most maxSubs.
// Those that are too long are left out.
func Plan(list []string) []string {
	var subs []string
	for _, s := range list {
		if s = plain(Normalise(s)); s != "" && len(subs) < maxSubs && !slices.Contains(subs, s) {
			subs = append(subs, s)
		}
	}
	return subs
}
