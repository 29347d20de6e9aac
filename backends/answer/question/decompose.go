package question

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/inquiry"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

const (
	maxSubs = 5   // the sub-queries of a question
	maxSub  = 300 // the bytes of a sub-query
)

var (
	// clauses matches the separators between several questions in one: "…? And why …", "…, and why …".
	clauses       = regexp.MustCompile(`(?i)\?\s+(?:and\s+)?|[,;]?\s+(?:and|as well as|but)\s+((?:why|how|what|who|when|where|which|by how much)\b)|;\s+`)
	questionStart = regexp.MustCompile(`(?i)^(?:why|how|what|who|when|where|which|by how much|did|does|is|was|were|tell|describe|explain|give|list)\b`)
	pronoun       = regexp.MustCompile(`(?i)\b(?:it|they|this|that|these|those)\b`)
)

// decompose returns the sub-queries of a question, each of which stands alone. It returns none if the question does not
// name exactly one issuer. found are the metrics that the question names.
func (q *Question) decompose(found []metrics.MetricMention) []string {
	if len(q.Names) != 1 {
		return nil
	}
	var subs []string
	add := func(s string) {
		if s = subQuery(s); s != "" && len(subs) < maxSubs && !slices.Contains(subs, s) {
			subs = append(subs, s)
		}
	}
	if q.Advice { // facts are given instead of advice
		for _, metric := range []string{"revenue", "net income"} {
			add("What was the " + metric + " of " + q.Names[0] + "?")
		}
		return subs
	}
	// A question with a Calculation was read as a whole, so it is not divided at its clauses.
	if parts := q.parts(); q.Inquiry.Calculation == nil && len(parts) > 1 {
		for _, part := range parts {
			add(part)
		}
		if q.Several = len(subs) > 1; q.Several {
			return subs
		}
		subs = nil // all parts but one were too long or equal
	}
	// The figures from which one answer is computed are looked up separately.
	if names := q.Inquiry.Calculation.Inputs(); len(names) > 1 && len(q.Periods) == 1 {
		for _, name := range names {
			add("What was the " + name + " of " + q.Names[0] + " in " + joinPeriods(q.Periods) + "?")
		}
		return subs
	}
	if q.Inquiry.Op == inquiry.Value && len(q.Metrics) > 1 && listsMetrics(q.Body, found) {
		for _, m := range q.Metrics {
			s := "What was the " + m.Name + " of " + q.Names[0]
			if len(q.Periods) > 0 {
				s += " in " + joinPeriods(q.Periods)
			}
			add(s + "?")
		}
		if q.Several = len(subs) > 1; q.Several {
			return subs
		}
	}
	return nil
}

// parts returns the clauses of a question, each completed by its issuer and its period. It returns nil if there is only
// one clause.
func (q *Question) parts() []string {
	var parts []string
	start := 0
	text := q.Body
	for _, m := range clauses.FindAllStringSubmatchIndex(text, 8) {
		end := m[0]
		next := m[1]
		if m[2] >= 0 { // the separator contains the word that begins the next question
			next = m[2]
		}
		if !questionStart.MatchString(strings.TrimSpace(text[start:end])) ||
			!questionStart.MatchString(strings.TrimSpace(text[next:])) {
			continue
		}
		parts = append(parts, text[start:end])
		start = next
	}
	parts = append(parts, text[start:])
	if len(parts) < 2 {
		return nil
	}
	topic := ""
	if len(q.Metrics) > 0 {
		topic = "the " + q.Metrics[0].Name
	}
	for i, part := range parts {
		part = strings.TrimRight(strings.TrimSpace(part), "?.,; ")
		if i > 0 && topic != "" && len(metrics.Find(part)) == 0 { // a pronoun stands for the first metric
			part = pronoun.ReplaceAllString(part, topic)
		}
		if len(q.Periods) > 0 && len(metrics.Periods(part)) == 0 {
			part += " in " + joinPeriods(q.Periods)
		}
		parts[i] = "Regarding " + q.Names[0] + ": " + kernel.Capital(part) + "?"
	}
	return parts
}

// listsMetrics reports whether body has metrics in a list, such as "revenue and net income". found are the metrics in
// body, in their order.
func listsMetrics(body string, found []metrics.MetricMention) bool {
	for i := range found {
		if i == 0 || found[i].Metric.Key == found[i-1].Metric.Key {
			continue
		}
		switch strings.ToLower(strings.TrimSpace(body[found[i-1].End:found[i].Start])) {
		case "and", ",", ", and", "as well as", "and the", ", the", "and its":
			return true
		}
	}
	return false
}

// Plan returns the sub-queries that a model has proposed for a question, normalised and without repetitions, at most
// maxSubs. Sub-queries that are empty or too long are left out.
func Plan(list []string) []string {
	var subs []string
	for _, s := range list {
		if s = subQuery(Normalise(s)); s != "" && len(subs) < maxSubs && !slices.Contains(subs, s) {
			subs = append(subs, s)
		}
	}
	return subs
}
