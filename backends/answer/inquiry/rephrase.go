package inquiry

import (
	"regexp"
	"strings"
)

// Parts of the patterns of wordings.
const (
	auxiliary    = `(?:did|does|do|has|had)\s+`
	spendVerb    = `(?:pay|paid|spend|spent|invest|invested|repurchased?|use|used)`
	haveVerb     = `(?:have|had|hold|held|make|made|earn|earned|report|reported|record|recorded|generate|generated|post|posted|show|showed|carry|book|booked|achieve|achieved|disclose|disclosed|recogni[sz]ed?|get|declared?|incur|incurred|see)`
	quantity     = `^(?:how much|how many|what|which|how (?:high|large|big) an?)\s+(?:an?\s+|the\s+)?([\w&'’/ ,-]{2,80}?)\s+`
	timeWord     = `(?:(?:the )?(?:fiscal|financial|fy|year|quarter|q[1-4]|(?:19|20)\d\d|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))`
	earnQuestion = `^(?:how much(?: money)? ` + auxiliary + `(?:it |they )?(?:make|made|earn|earned)|what ` + auxiliary + `(?:it |they )?(?:earn|earned))\b\s*`
	timeOrEnd    = `((?:in |for |during |at |on |as of ).*|)$`
)

// wording is a form of questions with a verb. If the expression pattern matches a question and the expression unless
// does not, the question is rephrased without the verb, according to replacement.
type wording struct{ pattern, unless, replacement string }

// wordings lists the forms with verbs of having, earning and spending. The first that matches is used.
var wordings = []wording{
	{`^how much(?: money| cash)? ` + auxiliary + `(?:it |they )?` + spendVerb + `\s+(?:on|in|for|as|out in|out as)\s+(.+)$`, ``, "what was the $1"},
	{`^how much(?: money)? ` + auxiliary + `(?:it |they )?(?:bring|brought|take|took|turn|turned)\s+(?:in|over)\b\s*` + timeOrEnd, ``, "what was the revenue $1"},
	{earnQuestion + `in ((?:the )?[a-z][a-z' -]*\b.*)$`, earnQuestion + `in ` + timeWord, "what was the $1"},
	{earnQuestion + timeOrEnd, ``, "what was the net income $1"}, // without an object the question is about profit
	{`^(?:what|how much) ` + auxiliary + `(?:it |they )?` + haveVerb + `\s+(?:as|for|in|of)\s+(.+)$`, haveVerb + `\s+(?:as|for|in|of)\s+` + timeWord, "what was the $1"},
	{quantity + auxiliary + `(?:it |they )?(?:` + haveVerb + `|` + spendVerb + `)\b(?:\s+(?:on|in)\s+hand)?\s*(.*)$`, namesNothing, "what was the $1 $2"},
	{quantity + auxiliary + `([\w&'’ -]{1,60}?)\s+(?:` + haveVerb + `|` + spendVerb + `)\b(?:\s+(?:on|in)\s+hand)?\s*(.*)$`, namesNothing, "what was the $1 of $2 $3"},
	{`^how (?:high|large|big|great) (?:was|were|is|are)\s+(.*)$`, ``, "what was $1"},
}

// namesNothing matches questions whose first words are not the name of a figure.
const namesNothing = `^(?:how much|how many|what|which)\b.*?\b(?:percent(?:age)?|per cent|years?|quarters?|periods?|companies|reason|factors?)\b.*?\b` + auxiliary + `|%|` + beyondWords

// compiled holds the compiled expressions of wordings.
var compiled = func() (all []struct{ pattern, unless *regexp.Regexp }) {
	for _, w := range wordings {
		expressions := struct{ pattern, unless *regexp.Regexp }{pattern: regexp.MustCompile(`(?i)` + w.pattern)}
		if w.unless != "" {
			expressions.unless = regexp.MustCompile(`(?i)` + w.unless)
		}
		all = append(all, expressions)
	}
	return all
}()

var (
	politeWords = regexp.MustCompile(`(?i)^(?:(?:please|pls|plz|kindly|can you|could you|would you|tell me|show me|give me|let me know|i want to know|i would like to know|i need|do you know|say|hi|hello|hey|thanks)\b[\s,:]*)+`)
	spending    = regexp.MustCompile(`(?i)^(?:how|what|which)\b.*\b` + auxiliary + `.*\b` + spendVerb + `\b`)
)

// rephrase replaces the verb of a question by a noun: "how much revenue did it make in 2019" becomes "what was the
// revenue in 2019". Other questions are returned unchanged, without polite words. spent reports that the verb was a
// verb of spending.
func rephrase(body string) (rephrased string, spent bool) {
	body = strings.TrimSpace(politeWords.ReplaceAllString(body, ""))
	for i, w := range compiled {
		if w.pattern.MatchString(body) && (w.unless == nil || !w.unless.MatchString(body)) {
			rephrased = w.pattern.ReplaceAllString(body, wordings[i].replacement)
			return strings.Join(strings.Fields(rephrased), " "), spending.MatchString(body)
		}
	}
	return body, false
}
