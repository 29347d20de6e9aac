package formula

import (
	"regexp"
	"strings"
)

const (
	had   = `have|had|hold|held|make|made|earn|earned|report|reported|record|recorded|generate|generated|post|posted|show|showed|carry|book|booked|achieve|achieved|disclose|disclosed|recogni[sz]ed?|get|declared?|incur|incurred|see`
	spent = `pay|paid|spend|spent|invest|invested|repurchased?|use|used`
)

var (
	// "how much revenue did it make in 2019": group 1 is what, 2 who, 3 the verb, 5 the rest
	didHave = regexp.MustCompile(`(?i)^(?:how much|how many|what|which|how (?:high|large|big) an?)\s+(?:an?\s+|the\s+)?([\w&'’/ ,-]{2,80}?)\s+(?:did|does|do|has|had)\s+((?:[\w&'’ -]{1,60}?\s+)?)(` + had + `|` + spent + `)\b(?:\s+(?:on|in)\s+(hand))?\s*(.*)$`)
	// "how much did it spend on research in 2019", "what did it report as revenue"
	didSpend = regexp.MustCompile(`(?i)^how much(?: money| cash)? (?:did|does|do|has|had)\s+(?:it |they )?(` + spent +
		`)\s+(?:on|in|for|as|out in|out as)\s+(.+)$`)
	didReport = regexp.MustCompile(`(?i)^(?:what|how much) (?:did|does|do|has|had)\s+(?:it |they )?(?:` + had +
		`)\s+(?:as|for|in|of)\s+(.+)$`)
	// "how much did it make in 2019": without an object, its profit
	didMake  = regexp.MustCompile(`(?i)^(?:how much(?: money)? (?:did|does|do|has|had)\s+(?:it |they )?(?:make|made|earn|earned)|what (?:did|does|has|had)\s+(?:it |they )?(?:earn|earned))\b\s*(.*)$`)
	didBring = regexp.MustCompile(`(?i)^how much(?: money)? (?:did|does|do|has|had)\s+(?:it |they )?(?:bring|brought|take|took|turn|turned)\s+(?:in|over)\b\s*(.*)$`)
	howGreat = regexp.MustCompile(`(?i)^how (?:high|large|big|great) (?:was|were|is|are)\s+`)
	startsOf = regexp.MustCompile(`(?i)^(?:in |for |during |at |on |as of |$)`)
	politely = regexp.MustCompile(`(?i)^(?:(?:please|pls|plz|kindly|can you|could you|would you|tell me|show me|give me|let me know|i want to know|i would like to know|i need|do you know|say|hi|hello|hey|thanks)\b[\s,:]*)+`)
)

// Plainly rephrases a question with a verb of having: "how much revenue did it make in 2019" becomes "what
// was the revenue in 2019".
func Plainly(body string) string {
	said, _ := plainly(body)
	return said
}

// plainly rephrases a question that uses a verb as one for what something was. paid reports that the verb was
// one of spending.
func plainly(body string) (said string, paid bool) {
	body = strings.TrimSpace(politely.ReplaceAllString(body, ""))
	if m := didSpend.FindStringSubmatch(body); m != nil {
		return "what was the " + m[2], true
	}
	if m := didBring.FindStringSubmatch(body); m != nil && startsOf.MatchString(m[1]) {
		return "what was the revenue " + m[1], false
	}
	if m := didMake.FindStringSubmatch(body); m != nil {
		if startsOf.MatchString(m[1]) {
			// "make in net income in 2019"
			if what := inThing.FindStringSubmatch(m[1]); what != nil && !periodFirst.MatchString(what[1]) {
				return "what was the " + what[1], false
			}
			return "what was the net income " + m[1], false
		}
	}
	if m := didReport.FindStringSubmatch(body); m != nil && !periodFirst.MatchString(m[1]) {
		return "what was the " + m[1], false
	}
	if m := didHave.FindStringSubmatch(body); m != nil && !noThing.MatchString(m[1]) && !threshold.MatchString(body) {
		who := strings.TrimSpace(m[2])
		if who != "" && !strings.EqualFold(who, "it") && !strings.EqualFold(who, "they") {
			who = " of " + who
		} else {
			who = ""
		}
		return "what was the " + m[1] + who + " " + m[5], spendingVerb.MatchString(m[3])
	}
	if at := howGreat.FindStringIndex(body); at != nil {
		return "what was " + body[at[1]:], false
	}
	return body, false
}

var (
	spendingVerb = regexp.MustCompile(`(?i)^(?:` + spent + `)$`)
	inThing      = regexp.MustCompile(`(?i)^in ((?:the )?[a-z][a-z' -]*\b.*)$`)
	periodFirst  = regexp.MustCompile(`(?i)^(?:the )?(?:fiscal|financial|fy|year|quarter|q[1-4]|(?:19|20)\d\d|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)`)
	noThing      = regexp.MustCompile(`(?i)\b(?:percent(?:age)?|per cent|year|years|quarter|quarters|period|periods|companies|reason|factors?)\b|%`)
)
