package inquiry

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

// form is a form of questions about the tables of a report, such as "what is the ratio of a to b", which wants the
// operation Ratio on the two subjects a and b.
type form struct {
	op Op
	// pattern matches questions of this form. If withDates is set, it is applied to the question with its periods,
	// otherwise to the question without them.
	pattern   *regexp.Regexp
	withDates bool
	// subjects are templates for the subjects, which may contain groups of pattern; "*" is the whole question. If there
	// are none, the subject is the question without the match.
	subjects []string
	// example is a question of this form, and exampleSubjects are its subjects.
	example         string
	exampleSubjects []string
}

// Parts of the patterns of forms.
const (
	changeNoun  = `(?:change|increase|decrease|growth|decline|rise|fall|drop|difference|movement|increase\s?/\s?\(?decrease\)?|\(decrease\)\s?/\s?increase|variance)`
	percentNoun = `(?:percentage|percent|per cent|%|percentual|relative)`
	beyondWords = `(?:exceed(?:s|ed|ing)?|(?:is|was|were|be|are)?\s*(?:more|greater|higher|larger|less|lower|smaller|fewer) than|(?:is|was|were|be|are)?\s*(?:above|below|over|under)|surpass(?:ed)?)`
	whichPeriod = `^(?:in|for|during|between|among|of)?[\s,]*(?:years? ended?[\s,]*)?(?:which|what) (?:one of the |of the )?(?:fiscal |financial )?(?:years?|fy|quarters?|periods?)\b(?:\s*\(s\))?`
	whatIs      = `(?:what (?:is|was|were|are)|what's|calculate|compute|find|determine|how much (?:is|was))\s+(?:the\s+)?(?:company['’]s\s+)?`
	shareNoun   = `(?:percentage|proportion|share|percent|per cent|%)`
)

// formOf returns the form of the questions that match pattern, a regular expression that ignores case. example is a
// question of the form, and exampleSubjects are its subjects.
func formOf(op Op, pattern, example string, exampleSubjects ...string) form {
	return form{op: op, pattern: regexp.MustCompile(`(?i)` + pattern), example: example, exampleSubjects: exampleSubjects}
}

// withSubjects returns the form with templates of its subjects.
func (f form) withSubjects(subjects ...string) form {
	f.subjects = subjects
	return f
}

// withPeriods returns the form with withDates set. The pattern of the form is then applied to the question with its
// periods.
func (f form) withPeriods() form {
	f.withDates = true
	return f
}

// forms lists the forms of questions. The first form that matches a question and that applyForm accepts is used. A
// question of no form wants a value.
var forms = []form{
	formOf(Text, `^\W*(?:why|how (?:will|would|does|do|did|is|are|was|were|can|could|should|has|have)\b|when\b|where\b|who\b|was there\b|is there\b|does\b|do\b|did\b|is the\b|are the\b|what (?:does|do|did) |what (?:happen|cause|drove|led|triggered|factors?|method|basis|plan|purpose|kind|approach)|how many percent)|\b(?:reasons?|causes?d?|factors?|drivers?|drove|driven|due to|attribut(?:ed|able)|because|purpose|explain|describe|definition|define[ds]?|mean(?:t|ing)?|compris(?:e|es|ed|ing)|consist(?:s|ed|ing)?|result(?:s|ed|ing)? (?:from|in)|relat(?:e|es|ed|ing) to|represented by|recogni[sz]ed as|included in|excluded|recorded (?:as|under)|used (?:to|for)|based on what|approach|happen(?:s|ed)?|plan for|impact of|plans? to)\s*(?:$|\b)`,
		"Why did net sales fall in 2019?").withSubjects("").withPeriods(),
	formOf(Years, `^(?:in |for )?(?:which|what)(?: are the| were the| is the)? (?:fiscal |financial )?years?['’]?(?: information| data)?(?:\b|\s).*?\b(?:table|provided|provide|recorded|reported|included|shown|presented|disclosed|information|data|given|available|covered)\b`,
		"Which years does the table provide data on net sales for?", "net sales").withPeriods(),
	formOf(Items, `^(?:what|which|name|list)(?: are| were| is)?(?: all)?(?: the)?(?: different| various| main| major| respective)?\s+(?:components?|items?|types?|categories|kinds|segments|line items|elements|sub-?items)\s+(?:of|under|in|within|included in|included under|listed under|that make up)\s+(?:the\s+)?(.+)$`,
		"What are the components of operating expenses?", "operating expenses").withSubjects("$1"),
	formOf(Count, `^(?:.*?\b)?how many (?:of the |of these |different )?(?P<what>.*?)\s*(?:\b(?:did|does|do|had|have|has|was|were|is|are|in which|where|when|with|that|whose|for which|during which)\b|\bexceed)(.*?)`+beyondWords,
		"How many years was cost of sales above $750 million?", "cost sales").withSubjects("$2").withPeriods(),
	formOf(Value, `^(?:.*?\b)?how many (?:of the |of these |different )?(?P<what>.*?)\s*\b(?:did|does|do|had|have|has|was|were|is|are|in which|where|when|with|that|whose|for which|during which)\b`,
		"How many employees were there in 2019?", "employees were there").withSubjects("*").withPeriods(),
	formOf(Where, `^(?:in|for|during)?\s*(?:which|what) (?:fiscal |financial )?(?:years?|fy|periods?)\s*(?:was|were|is|are|had|did)?\s*(?:the\s+)?(.*?)\s+(?:negative|(?P<up>positive))$`,
		"In which year was net income negative?", "net income").withSubjects("$1").withPeriods(),
	formOf(Where, whichPeriod+`\s*(?:was|were|is|are|did|does|do|had|has|have)?\s*(?:the\s+)?(.*?)\s*`+beyondWords,
		"In which years did cost of sales exceed $750 million?", "cost sales").withSubjects("$1").withPeriods(),
	formOf(Peak, whichPeriod+`(.*?)\b(?:(?P<up>highest|higher|largest|larger|greatest|greater|most|biggest|bigger|best|peak(?:ed)?)|lowest|lower|smallest|smaller|least|fewest|less|worst)\b(.*)$`,
		"Which year had the highest selling expense?", "selling expense").withSubjects("$1 $3"),
	formOf(Annual, `\b(?:cagr|compound(?:ed)? annual(?:i[sz]ed)? growth(?: rate)?)\b(?:\s+(?:of|in|for))?`,
		"What is the CAGR of cost of sales from 2017 to 2019?", "cost sales"),
	formOf(Growth, `(?:\b`+percentNoun+`\s*(?:of\s+)?`+changeNoun+`|%\s*`+changeNoun+
		`|\b(?:growth|year[- ]over[- ]year|yoy|annual) (?:rate|growth|change)|\bby (?:how much|how many|what|which) (?:percent(?:age)?|per cent|%)|\bhow much\b.{0,80}\bin (?:percent|per cent|%)|\bhow fast\b|`+
		changeNoun+`\s*(?:,?\s*in|\(in)\s+(?:percent(?:age)?|per cent|%)(?:\s?terms)?\)?\s*$|\bgrowth\b)`,
		"What is the percentage change in cost of sales from 2017 to 2018?", "cost sales"),
	formOf(Change, `\b(?:`+whatIs+`|how much of an? |how (?:big|large) (?:is|was)\s+(?:the\s+)?)(?:total\s+|net\s+|overall\s+|absolute\s+|nominal\s+|year[- ]on[- ]year\s+)*`+changeNoun+`\b\s*\(?(?:s|decrease|loss)?\)?(?:\s+(?:in|of|for|between|to|from)\b)?`,
		"What is the difference between net sales and gross profit in 2019?", "net sales", "gross profit"),
	formOf(Change, `\b(?:by\s+)?how much (?:did|has|have|do|does)\b(.*?)\b(?:change|increase|decrease|grow|grown|rise|risen|fall|fallen|decline|drop|improve|widen|shrink)d?\b`,
		"By how much did gross profit increase between 2018 and 2019?", "gross profit").withSubjects("$1"),
	formOf(Ratio, `\bratio of (.+?) (?:to|over|and|against) (.+)`,
		"What was the ratio of cost of sales to net sales in 2019?", "cost sales", "net sales").withSubjects("$1", "$2"),
	formOf(Share, `\bwhat `+shareNoun+` of (?:the )?(.+?) (?:is|was|were|are|does|did|do|came from|comes from|consists? of|relates? to|is made up of)\s+(?:the\s+)?(.+?)(?:\s+(?:represent|make up|account for|constitute|comprise))?$`,
		"What percentage of net sales was gross profit in 2019?", "gross profit", "net sales").withSubjects("$2", "$1"),
	formOf(Share, shareOfWhat, "What is selling as a percentage of net sales in 2018?", "selling", "net sales").withSubjects("$1$3", "$2$4"),
	formOf(Average, `^`+whatIs+`(?:annual\s+|yearly\s+)?(?:average|mean)\b(?:\s+(?:amount|value|level|balance|number|figure|total)?\s*(?:of|in|for)\b)?`,
		"What was the average cost of sales for 2017 and 2018?", "cost sales"),
	formOf(Sum, sumWords, "What is the sum of selling expenses in 2018 and 2019?", "selling expenses"),
	formOf(Sum, `\btotal\b`, "What were the total selling expenses in 2018 and 2019?", "total selling expenses").withSubjects("*"),
}

const (
	shareOfWhat = `(?:\b` + shareNoun + `(?:\s*,?\s*\(?(?:in|as a) (?:percentage|percent|%)\)?\s*,?)?(?: amount| value)? (?:of|that) (.+?) (?:over|out of|to|in|among|against|relative to|as a (?:percentage|share|proportion) of|as compared to|compared to|divided by|represent(?:ed|s)? of) (?:the )?(.+))|(?:\b(.+?) as an? (?:percentage|percent|per cent|share|proportion|%) of (?:the )?(.+))`
	sumWords    = `\b(?:sum|combined (?:total|amount|value)?|aggregate|cumulative)\s*(?:total|amount|value)?\s*(?:of|for)?\b|\b(?:altogether|in total|combined|added up|across (?:all|both))\b`
)

var (
	percentWord   = regexp.MustCompile(`(?i)%|\bper\s?cent`)
	beyondPattern = regexp.MustCompile(`(?i)` + beyondWords)
	lessThan      = regexp.MustCompile(`(?i)\b(?:less|lower|smaller|fewer|below|under)\b`)
	respectively  = regexp.MustCompile(`(?i)\brespective(?:ly)?\b|\beach of\b`)
	quarterly     = regexp.MustCompile(`(?i)\b(?:which|what|how many) (?:one of the |of the |of these |different )?(?:fiscal |financial )?quarters?\b`)
	periodNoun    = regexp.MustCompile(`(?i)\b(?:years?|quarters?|periods?)\b`)
	shareForm     = regexp.MustCompile(`(?i)` + shareOfWhat)
	sumPattern    = regexp.MustCompile(`(?i)` + sumWords)
	whichExtreme  = regexp.MustCompile(whichPeriod + `.*\b(?:(?:high|larg|great|bigg|low|small)e(?:r|st)|most|best|peak(?:ed)?|least|fewest|less|worst)\b`)
	yearsFor      = regexp.MustCompile(`(?i)\b(?:provide|provided|provides|include|included|show|shows|shown|present|recorded|reported|disclosed)\b.*?\b(?:information|data)?\s*(?:for|on|about|regarding|under|in|related to|relating to)\s+(.*)$|\b(?:was|were|is|are) (?:the )?(.*?) (?:recorded|reported|provided|disclosed|shown|presented|available|given)\b`)
)

// subjectsOf returns the subjects of a question. match holds the indexes of the form's match in text. bare is the
// question without its periods.
func (f *form) subjectsOf(text string, match []int, bare string) []string {
	if len(f.subjects) == 0 {
		return []string{Subject(text[:match[0]] + " " + text[match[1]:])}
	}
	list := make([]string, len(f.subjects))
	for i, template := range f.subjects {
		if template == "*" { // the whole question
			list[i] = Subject(bare)
			continue
		}
		subject := string(f.pattern.ExpandString(nil, template, text, match))
		if f.withDates {
			subject = WithoutPeriods(subject, metrics.Periods(subject))
		}
		list[i] = Subject(subject)
	}
	return list
}

// applyForm sets the operation, its subjects and the fields for the operation from a form. match holds the indexes of
// the form's match in text, which is the question with its periods or bare, the question without them. applyForm
// returns false if the question is of another form in spite of the match; the caller then tries the next form.
func (q *Inquiry) applyForm(f *form, match []int, text, bare string) bool {
	group := func(name string) string {
		if i := f.pattern.SubexpIndex(name); i >= 0 && match[2*i] >= 0 {
			return text[match[2*i]:match[2*i+1]]
		}
		return ""
	}
	q.Op, q.Subjects, q.Above = f.op, f.subjectsOf(text, match, bare), group("up") != ""
	q.Quarters = quarterly.MatchString(text)
	switch f.op { //nolint:exhaustive // other forms need no further checks
	case Text:
		q.Subjects = nil
	case Years:
		if beyondPattern.MatchString(text) || whichExtreme.MatchString(bare) {
			return false
		}
		q.Subjects = nil
		if m := yearsFor.FindStringSubmatch(bare); m != nil {
			q.Subjects = []string{Subject(m[1] + m[2])}
		}
	case Count:
		if percentWord.MatchString(group("what")) {
			return false
		}
		if !q.readThreshold(text) || !periodNoun.MatchString(group("what")) {
			q.Op, q.Subjects = "", nil // it may be a count of rows, which is not computed
		}
	case Value:
		return !percentWord.MatchString(group("what"))
	case Where:
		if beyondPattern.MatchString(text[match[0]:match[1]]) {
			return q.readThreshold(text)
		}
	case Growth: // "growth in per cent of sales" is a share
		return !shareForm.MatchString(bare)
	case Change:
		// "the difference between a and b"
		a, b, hasTwo := strings.Cut(strings.TrimSpace(q.Subjects[0]), " and ")
		if hasTwo && len(q.Periods) <= 1 && !strings.Contains(b, " and ") && a != "" && b != "" {
			q.Subjects = []string{a, b}
		}
	case Average:
		if len(q.Periods) == 1 { // a row may hold averages
			q.Op, q.Subjects = Value, []string{Subject(bare)}
		}
	case Sum:
		q.Loose = !sumPattern.MatchString(bare) && !strings.Contains(strings.ToLower(q.Plain), "both")
		if respectively.MatchString(q.Plain) || q.Loose && len(q.Periods) < 2 {
			return false
		}
		if len(q.Periods) < 2 && !strings.Contains(strings.ToLower(q.Plain), "across") {
			q.Op = "" // a sum of rows, not of periods
		}
	}
	return true
}

// readThreshold sets Threshold and Above from words such as "more than" and the number after them. It returns false if
// there is no such number.
func (q *Inquiry) readThreshold(body string) bool {
	match := beyondPattern.FindStringIndex(body)
	if match == nil {
		return false
	}
	q.Above = !lessThan.MatchString(body[match[0]:match[1]])
	found := figures.Find(body[match[1]:])
	if len(found) == 0 || found[0].Start > 12 {
		return false
	}
	q.Threshold = found[0].Figure
	// A number such as 2000 may look like a year.
	q.Periods = slices.DeleteFunc(q.Periods, func(p kernel.Period) bool { return float64(p.Year) == found[0].Value })
	q.Range = q.Range && len(q.Periods) == 2
	return true
}
