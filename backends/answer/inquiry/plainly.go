package inquiry

import (
	"regexp"
	"strings"
)

const (
	did   = `(?:did|does|do|has|had)\s+`
	spent = `(?:pay|paid|spend|spent|invest|invested|repurchased?|use|used)`
	had   = `(?:have|had|hold|held|make|made|earn|earned|report|reported|record|recorded|generate|generated|post|posted|show|showed|carry|book|booked|achieve|achieved|disclose|disclosed|recogni[sz]ed?|get|declared?|incur|incurred|see)`
	some  = `^(?:how much|how many|what|which|how (?:high|large|big) an?)\s+(?:an?\s+|the\s+)?([\w&'’/ ,-]{2,80}?)\s+`
	date  = `(?:(?:the )?(?:fiscal|financial|fy|year|quarter|q[1-4]|(?:19|20)\d\d|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))`
	earn  = `^(?:how much(?: money)? ` + did + `(?:it |they )?(?:make|made|earn|earned)|what ` + did + `(?:it |they )?(?:earn|earned))\b\s*`
	then  = `((?:in |for |during |at |on |as of ).*|)$`
)

// wording is a way of asking with a verb, with the same question for what something was.
type wording struct{ said, unless, means string }

// wordings are those of verbs of having and spending. The first that fits counts.
var wordings = []wording{
	{`^how much(?: money| cash)? ` + did + `(?:it |they )?` + spent + `\s+(?:on|in|for|as|out in|out as)\s+(.+)$`, ``, "what was the $1"},
	{`^how much(?: money)? ` + did + `(?:it |they )?(?:bring|brought|take|took|turn|turned)\s+(?:in|over)\b\s*` + then, ``, "what was the revenue $1"},
	{earn + `in ((?:the )?[a-z][a-z' -]*\b.*)$`, earn + `in ` + date, "what was the $1"},
	{earn + then, ``, "what was the net income $1"}, // without an object, its profit
	{`^(?:what|how much) ` + did + `(?:it |they )?` + had + `\s+(?:as|for|in|of)\s+(.+)$`, had + `\s+(?:as|for|in|of)\s+` + date, "what was the $1"},
	{some + did + `(?:it |they )?(?:` + had + `|` + spent + `)\b(?:\s+(?:on|in)\s+hand)?\s*(.*)$`, noThing, "what was the $1 $2"},
	{some + did + `([\w&'’ -]{1,60}?)\s+(?:` + had + `|` + spent + `)\b(?:\s+(?:on|in)\s+hand)?\s*(.*)$`, noThing, "what was the $1 of $2 $3"},
	{`^how (?:high|large|big|great) (?:was|were|is|are)\s+(.*)$`, ``, "what was $1"},
}

// noThing matches questions whose first words name nothing that an issuer has.
const noThing = `^(?:how much|how many|what|which)\b.*?\b(?:percent(?:age)?|per cent|years?|quarters?|periods?|companies|reason|factors?)\b.*?\b` + did + `|%|` + beyond

// compiled are the wordings with their expressions.
var compiled = func() (all []struct{ said, unless *regexp.Regexp }) {
	for _, w := range wordings {
		one := struct{ said, unless *regexp.Regexp }{said: regexp.MustCompile(`(?i)` + w.said)}
		if w.unless != "" {
			one.unless = regexp.MustCompile(`(?i)` + w.unless)
		}
		all = append(all, one)
	}
	return all
}()

var (
	politely = regexp.MustCompile(`(?i)^(?:(?:please|pls|plz|kindly|can you|could you|would you|tell me|show me|give me|let me know|i want to know|i would like to know|i need|do you know|say|hi|hello|hey|thanks)\b[\s,:]*)+`)
	spending = regexp.MustCompile(`(?i)^(?:how|what|which)\b.*\b` + did + `.*\b` + spent + `\b`)
)

// plainly rephrases a question that uses a verb as one for what something was: "how much revenue did it make in
// 2019" becomes "what was the revenue in 2019". paid reports that the verb was one of spending.
func plainly(body string) (said string, paid bool) {
	body = strings.TrimSpace(politely.ReplaceAllString(body, ""))
	for i, w := range compiled {
		if w.said.MatchString(body) && (w.unless == nil || !w.unless.MatchString(body)) {
			said = w.said.ReplaceAllString(body, wordings[i].means)
			return strings.Join(strings.Fields(said), " "), spending.MatchString(body)
		}
	}
	return body, false
}
