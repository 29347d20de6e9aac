package inquiry

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

// form is a way of asking for what the tables of a report state.
type form struct {
	op Op
	// said matches the question, with its periods if dated is set and without them otherwise.
	said  *regexp.Regexp
	dated bool
	// subjects are templates for the subjects, with the groups of said. If there are none, the subject is what is
	// left of the question without the match.
	subjects []string
	// example is a question of this form, and means are the subjects of it.
	example string
	means   []string
}

const (
	changing = `(?:change|increase|decrease|growth|decline|rise|fall|drop|difference|movement|increase\s?/\s?\(?decrease\)?|\(decrease\)\s?/\s?increase|variance)`
	inShare  = `(?:percentage|percent|per cent|%|percentual|relative)`
	beyond   = `(?:exceed(?:s|ed|ing)?|(?:is|was|were|be|are)?\s*(?:more|greater|higher|larger|less|lower|smaller|fewer) than|(?:is|was|were|be|are)?\s*(?:above|below|over|under)|surpass(?:ed)?)`
	inTime   = `^(?:in|for|during|between|among|of)?[\s,]*(?:years? ended?[\s,]*)?(?:which|what) (?:one of the |of the )?(?:fiscal |financial )?(?:years?|fy|quarters?|periods?)\b(?:\s*\(s\))?`
	whatIs   = `(?:what (?:is|was|were|are)|what's|calculate|compute|find|determine|how much (?:is|was))\s+(?:the\s+)?(?:company['’]s\s+)?`
	beforeOf = `(?:percentage|proportion|share|percent|per cent|%)`
)

func formOf(op Op, said, example string, means ...string) form {
	return form{op: op, said: regexp.MustCompile(`(?i)` + said), example: example, means: means}
}

// with returns the form with templates of its subjects.
func (f form) with(subjects ...string) form {
	f.subjects = subjects
	return f
}

// withPeriods returns the form for questions whose periods are left in.
func (f form) withPeriods() form {
	f.dated = true
	return f
}

// forms are the ways of asking. The first one that fits a question counts, see (*Inquiry).fits; a question of
// none of them asks for a value.
var forms = []form{
	formOf(Text, `^\W*(?:why|how (?:will|would|does|do|did|is|are|was|were|can|could|should|has|have)\b|when\b|where\b|who\b|was there\b|is there\b|does\b|do\b|did\b|is the\b|are the\b|what (?:does|do|did) |what (?:happen|cause|drove|led|triggered|factors?|method|basis|plan|purpose|kind|approach)|how many percent)|\b(?:reasons?|causes?d?|factors?|drivers?|drove|driven|due to|attribut(?:ed|able)|because|purpose|explain|describe|definition|define[ds]?|mean(?:t|ing)?|compris(?:e|es|ed|ing)|consist(?:s|ed|ing)?|result(?:s|ed|ing)? (?:from|in)|relat(?:e|es|ed|ing) to|represented by|recogni[sz]ed as|included in|excluded|recorded (?:as|under)|used (?:to|for)|based on what|approach|happen(?:s|ed)?|plan for|impact of|plans? to)\s*(?:$|\b)`,
		"Why did net sales fall in 2019?").with("").withPeriods(),
	formOf(Years, `^(?:in |for )?(?:which|what)(?: are the| were the| is the)? (?:fiscal |financial )?years?['’]?(?: information| data)?(?:\b|\s).*?\b(?:table|provided|provide|recorded|reported|included|shown|presented|disclosed|information|data|given|available|covered)\b`,
		"Which years does the table provide data on net sales for?", "net sales").withPeriods(),
	formOf(Items, `^(?:what|which|name|list)(?: are| were| is)?(?: all)?(?: the)?(?: different| various| main| major| respective)?\s+(?:components?|items?|types?|categories|kinds|segments|line items|elements|sub-?items)\s+(?:of|under|in|within|included in|included under|listed under|that make up)\s+(?:the\s+)?(.+)$`,
		"What are the components of operating expenses?", "operating expenses").with("$1"),
	formOf(Count, `^(?:.*?\b)?how many (?:of the |of these |different )?(?P<what>.*?)\s*(?:\b(?:did|does|do|had|have|has|was|were|is|are|in which|where|when|with|that|whose|for which|during which)\b|\bexceed)(.*?)`+beyond,
		"How many years was cost of sales above $750 million?", "cost sales").with("$2").withPeriods(),
	formOf(Value, `^(?:.*?\b)?how many (?:of the |of these |different )?(?P<what>.*?)\s*\b(?:did|does|do|had|have|has|was|were|is|are|in which|where|when|with|that|whose|for which|during which)\b`,
		"How many employees were there in 2019?", "employees were there").with("*").withPeriods(),
	formOf(Where, `^(?:in|for|during)?\s*(?:which|what) (?:fiscal |financial )?(?:years?|fy|periods?)\s*(?:was|were|is|are|had|did)?\s*(?:the\s+)?(.*?)\s+(?:negative|(?P<up>positive))$`,
		"In which year was net income negative?", "net income").with("$1").withPeriods(),
	formOf(Where, inTime+`\s*(?:was|were|is|are|did|does|do|had|has|have)?\s*(?:the\s+)?(.*?)\s*`+beyond,
		"In which years did cost of sales exceed $750 million?", "cost sales").with("$1").withPeriods(),
	formOf(Peak, inTime+`(.*?)\b(?:(?P<up>highest|higher|largest|larger|greatest|greater|most|biggest|bigger|best|peak(?:ed)?)|lowest|lower|smallest|smaller|least|fewest|less|worst)\b(.*)$`,
		"Which year had the highest selling expense?", "selling expense").with("$1 $3"),
	formOf(Annual, `\b(?:cagr|compound(?:ed)? annual(?:i[sz]ed)? growth(?: rate)?)\b(?:\s+(?:of|in|for))?`,
		"What is the CAGR of cost of sales from 2017 to 2019?", "cost sales"),
	formOf(Growth, `(?:\b`+inShare+`\s*(?:of\s+)?`+changing+`|%\s*`+changing+
		`|\b(?:growth|year[- ]over[- ]year|yoy|annual) (?:rate|growth|change)|\bby (?:how much|how many|what|which) (?:percent(?:age)?|per cent|%)|\bhow much\b.{0,80}\bin (?:percent|per cent|%)|\bhow fast\b|`+
		changing+`\s*(?:,?\s*in|\(in)\s+(?:percent(?:age)?|per cent|%)(?:\s?terms)?\)?\s*$|\bgrowth\b)`,
		"What is the percentage change in cost of sales from 2017 to 2018?", "cost sales"),
	formOf(Change, `\b(?:`+whatIs+`|how much of an? |how (?:big|large) (?:is|was)\s+(?:the\s+)?)(?:total\s+|net\s+|overall\s+|absolute\s+|nominal\s+|year[- ]on[- ]year\s+)*`+changing+`\b\s*\(?(?:s|decrease|loss)?\)?(?:\s+(?:in|of|for|between|to|from)\b)?`,
		"What is the difference between net sales and gross profit in 2019?", "net sales", "gross profit"),
	formOf(Change, `\b(?:by\s+)?how much (?:did|has|have|do|does)\b(.*?)\b(?:change|increase|decrease|grow|grown|rise|risen|fall|fallen|decline|drop|improve|widen|shrink)d?\b`,
		"By how much did gross profit increase between 2018 and 2019?", "gross profit").with("$1"),
	formOf(Ratio, `\bratio of (.+?) (?:to|over|and|against) (.+)`,
		"What was the ratio of cost of sales to net sales in 2019?", "cost sales", "net sales").with("$1", "$2"),
	formOf(Share, `\bwhat `+beforeOf+` of (?:the )?(.+?) (?:is|was|were|are|does|did|do|came from|comes from|consists? of|relates? to|is made up of)\s+(?:the\s+)?(.+?)(?:\s+(?:represent|make up|account for|constitute|comprise))?$`,
		"What percentage of net sales was gross profit in 2019?", "gross profit", "net sales").with("$2", "$1"),
	formOf(Share, shareOfWhat, "What is selling as a percentage of net sales in 2018?", "selling", "net sales").with("$1$3", "$2$4"),
	formOf(Average, `^`+whatIs+`(?:annual\s+|yearly\s+)?(?:average|mean)\b(?:\s+(?:amount|value|level|balance|number|figure|total)?\s*(?:of|in|for)\b)?`,
		"What was the average cost of sales for 2017 and 2018?", "cost sales"),
	formOf(Sum, summing, "What is the sum of selling expenses in 2018 and 2019?", "selling expenses"),
	formOf(Sum, `\btotal\b`, "What were the total selling expenses in 2018 and 2019?", "total selling expenses").with("*"),
}

const (
	shareOfWhat = `(?:\b` + beforeOf + `(?:\s*,?\s*\(?(?:in|as a) (?:percentage|percent|%)\)?\s*,?)?(?: amount| value)? (?:of|that) (.+?) (?:over|out of|to|in|among|against|relative to|as a (?:percentage|share|proportion) of|as compared to|compared to|divided by|represent(?:ed|s)? of) (?:the )?(.+))|(?:\b(.+?) as an? (?:percentage|percent|per cent|share|proportion|%) of (?:the )?(.+))`
	summing     = `\b(?:sum|combined (?:total|amount|value)?|aggregate|cumulative)\s*(?:total|amount|value)?\s*(?:of|for)?\b|\b(?:altogether|in total|combined|added up|across (?:all|both))\b`
)

var (
	percentWord = regexp.MustCompile(`(?i)%|\bper\s?cent`)
	limiting    = regexp.MustCompile(`(?i)` + beyond)
	lessThan    = regexp.MustCompile(`(?i)\b(?:less|lower|smaller|fewer|below|under)\b`)
	respect     = regexp.MustCompile(`(?i)\brespective(?:ly)?\b|\beach of\b`)
	quarterly   = regexp.MustCompile(`(?i)\b(?:which|what|how many) (?:one of the |of the |of these |different )?(?:fiscal |financial )?quarters?\b`)
	inPeriods   = regexp.MustCompile(`(?i)\b(?:years?|quarters?|periods?)\b`)
	ofShare     = regexp.MustCompile(`(?i)` + shareOfWhat)
	inSum       = regexp.MustCompile(`(?i)` + summing)
	inExtreme   = regexp.MustCompile(inTime + `.*\b(?:(?:high|larg|great|bigg|low|small)e(?:r|st)|most|best|peak(?:ed)?|least|fewest|less|worst)\b`)
	yearsFor    = regexp.MustCompile(`(?i)\b(?:provide|provided|provides|include|included|show|shows|shown|present|recorded|reported|disclosed)\b.*?\b(?:information|data)?\s*(?:for|on|about|regarding|under|in|related to|relating to)\s+(.*)$|\b(?:was|were|is|are) (?:the )?(.*?) (?:recorded|reported|provided|disclosed|shown|presented|available|given)\b`)
)

// subjectsOf returns the subjects of a question in which the form was found.
func (f *form) subjectsOf(text string, at []int, bare string) []string {
	if len(f.subjects) == 0 {
		return []string{Subject(text[:at[0]] + " " + text[at[1]:])}
	}
	list := make([]string, len(f.subjects))
	for i, template := range f.subjects {
		if template == "*" { // the whole question
			list[i] = Subject(bare)
			continue
		}
		one := string(f.said.ExpandString(nil, template, text, at))
		if f.dated {
			one = Without(one, metrics.Periods(one))
		}
		list[i] = Subject(one)
	}
	return list
}

// fits sets the operation and its subjects from a form that was found in a text, which is bare or has its periods
// too. It returns false if the question is of another form.
func (q *Inquiry) fits(f *form, at []int, text, bare string) bool {
	group := func(name string) string {
		if i := f.said.SubexpIndex(name); i >= 0 && at[2*i] >= 0 {
			return text[at[2*i]:at[2*i+1]]
		}
		return ""
	}
	q.Op, q.Subjects, q.Above = f.op, f.subjectsOf(text, at, bare), group("up") != ""
	q.Quarters = quarterly.MatchString(text)
	switch f.op { //nolint:exhaustive // the others need no more than their form
	case Text:
		q.Subjects = nil
	case Years:
		if limiting.MatchString(text) || inExtreme.MatchString(bare) {
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
		if !q.limit(text) || !inPeriods.MatchString(group("what")) { // a count of rows cannot be told apart
			q.Op, q.Subjects = "", nil
		}
	case Value:
		return !percentWord.MatchString(group("what"))
	case Where:
		if limiting.MatchString(text[at[0]:at[1]]) {
			return q.limit(text)
		}
	case Growth:
		return !ofShare.MatchString(bare)
	case Change:
		a, b, both := strings.Cut(strings.TrimSpace(q.Subjects[0]), " and ")
		if both && len(q.Periods) <= 1 && !strings.Contains(b, " and ") && a != "" && b != "" {
			q.Subjects = []string{a, b}
		}
	case Average:
		if len(q.Periods) == 1 { // a row may hold averages
			q.Op, q.Subjects = Value, []string{Subject(bare)}
		}
	case Sum:
		q.Loose = !inSum.MatchString(bare) && !strings.Contains(strings.ToLower(q.Plain), "both")
		if respect.MatchString(q.Plain) || q.Loose && len(q.Periods) < 2 {
			return false
		}
		if len(q.Periods) < 2 && !strings.Contains(strings.ToLower(q.Plain), "across") {
			q.Op = ""
		}
	}
	return true
}

// limit reads the threshold after the words that announce it. It returns false if there is none.
func (q *Inquiry) limit(body string) bool {
	at := limiting.FindStringIndex(body)
	if at == nil {
		return false
	}
	q.Above = !lessThan.MatchString(body[at[0]:at[1]])
	found := figures.Find(body[at[1]:])
	if len(found) == 0 || found[0].Start > 12 {
		return false
	}
	q.Threshold = found[0].Figure
	// A number such as 2000 may look like a year.
	q.Periods = slices.DeleteFunc(q.Periods, func(p kernel.Period) bool { return float64(p.Year) == found[0].Value })
	q.Range = q.Range && len(q.Periods) == 2
	return true
}
