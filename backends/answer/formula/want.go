package formula

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
	"github.com/tollgate-gateway/tollgate/backends/answer/terms"
)

// Op is the operation that a question asks for.
type Op string

// Operations.
const (
	LookUp     Op = "look-up"
	Difference Op = "difference" // the later period minus the earlier one, or the first subject minus the second
	Change     Op = "change"     // in per cent
	Average    Op = "average"
	Sum        Op = "sum"
	Ratio      Op = "ratio"   // the first subject over the second
	Share      Op = "share"   // the same in per cent
	CAGR       Op = "cagr"    // compound annual growth rate in per cent
	Count      Op = "count"   // the number of periods or rows above or below a threshold
	Where      Op = "where"   // the periods in which it is above or below a threshold
	Highest    Op = "highest" // the period with the highest figure
	Lowest     Op = "lowest"
	Years      Op = "years" // the years that a table has
	Items      Op = "items" // the rows under a heading
	Measure    Op = "measure"
	Text       Op = "text" // no figure: a reason, a definition, an event
)

// Want is what a question asks of tables and facts.
type Want struct {
	Op Op
	// Subjects are the words in which the question names what it asks for: two for a ratio or for the difference
	// of two things.
	Subjects []string
	// Periods are the periods in the order in which the question names them. Range reports that the periods
	// between two of them are included.
	Periods []kernel.Period
	Range   bool
	// Above and Threshold are for Count and Where.
	Above     bool
	Threshold kernel.Figure
	// Paid reports that spending is asked for: its amount is meant, without the sign that a cash flow statement
	// gives it.
	Paid bool
	// Quarters reports that quarters are counted or compared, not years.
	Quarters bool
	// Loose reports that a sum is meant only if no row is a total itself.
	Loose bool
	// Measure is the financial ratio for the Op Measure.
	Measure *measure
}

// mostBody bounds the length of a question in bytes.
const mostBody = 2000

const (
	changing = `(?:change|increase|decrease|growth|decline|rise|fall|drop|difference|movement|increase\s?/\s?\(?decrease\)?|\(decrease\)\s?/\s?increase|variance)`
	percent  = `(?:percentage|percent|per cent|%|percentual|relative)`
	beyond   = `(?:exceed(?:s|ed|ing)?|(?:is|was|were|be|are)?\s*(?:more|greater|higher|larger|less|lower|smaller|fewer) than|(?:is|was|were|be|are)?\s*(?:above|below|over|under)|surpass(?:ed)?)`
)

var (
	percentWord = regexp.MustCompile(`(?i)%|\bper\s?cent`)
	// textual matches questions whose answer is no figure of a table.
	textual  = regexp.MustCompile(`(?i)^\W*(?:why|how (?:will|would|does|do|did|is|are|was|were|can|could|should|has|have)\b|when\b|where\b|who\b|was there\b|is there\b|does\b|do\b|did\b|is the\b|are the\b|what (?:does|do|did) |what (?:happen|cause|drove|led|triggered|factors?|method|basis|plan|purpose|kind|approach)|how many percent)|\b(?:reasons?|causes?d?|factors?|drivers?|drove|driven|due to|attribut(?:ed|able)|because|purpose|explain|describe|definition|define[ds]?|mean(?:t|ing)?|compris(?:e|es|ed|ing)|consist(?:s|ed|ing)?|result(?:s|ed|ing)? (?:from|in)|relat(?:e|es|ed|ing) to|represented by|recogni[sz]ed as|included in|excluded|recorded (?:as|under)|used (?:to|for)|based on what|approach|happen(?:s|ed)?|plan for|impact of|plans? to)\s*(?:$|\b)`)
	negative = regexp.MustCompile(`(?i)^(?:in|for|during)?\s*(?:which|what) (?:fiscal |financial )?(?:years?|fy|periods?)\s*(?:was|were|is|are|had|did)?\s*(?:the\s+)?(.*?)\s+(negative|positive)$`)
	cagr     = regexp.MustCompile(`(?i)\b(?:cagr|compound(?:ed)? annual(?:i[sz]ed)? growth(?: rate)?)\b(?:\s+(?:of|in|for))?`)

	// The subject of each of these is the group, or the rest of the text.
	changeOf = regexp.MustCompile(`(?i)(?:\b` + percent + `\s*(?:of\s+)?` + changing + `|%\s*` + changing +
		`|\b(?:growth|year[- ]over[- ]year|yoy|annual) (?:rate|growth|change)|\bby (?:how much|how many|what|which) (?:percent(?:age)?|per cent|%)|\bhow much\b.{0,80}\bin (?:percent|per cent|%)|\bhow fast\b|` +
		changing + `\s*(?:,?\s*in|\(in)\s+(?:percent(?:age)?|per cent|%)(?:\s?terms)?\)?\s*$|\bgrowth\b)`)
	differenceOf = regexp.MustCompile(`(?i)\b(?:what (?:is|was|were|are)|what's|calculate|compute|find|determine|how much (?:is|was|of an?)|how (?:big|large) (?:is|was))\s+(?:the\s+)?(?:total\s+|net\s+|overall\s+|absolute\s+|nominal\s+|year[- ]on[- ]year\s+|company['’]s\s+)*` + changing + `\b\s*\(?(?:s|decrease|loss)?\)?(?:\s+(?:in|of|for|between|to|from)\b)?`)
	moved        = regexp.MustCompile(`(?i)\b(?:by\s+)?how much (?:did|has|have|do|does)\b(.*?)\b(?:change|increase|decrease|grow|grown|rise|risen|fall|fallen|decline|drop|improve|widen|shrink)d?\b`)
	averageOf    = regexp.MustCompile(`(?i)^(?:what (?:is|was|were|are)|what's|calculate|compute|find|determine|how much (?:is|was))\s+(?:the\s+)?(?:company['’]s\s+)?(?:annual\s+|yearly\s+)?(?:average|mean)\b(?:\s+(?:amount|value|level|balance|number|figure|total)?\s*(?:of|in|for)\b)?`)
	sumOf        = regexp.MustCompile(`(?i)\b(?:sum|combined (?:total|amount|value)?|aggregate|cumulative)\s*(?:total|amount|value)?\s*(?:of|for)?\b|\b(?:altogether|in total|combined|added up|across (?:all|both))\b`)
	totalOf      = regexp.MustCompile(`(?i)\btotal\b`)
	respect      = regexp.MustCompile(`(?i)\brespective(?:ly)?\b|\beach of\b`)
	ratioOf      = regexp.MustCompile(`(?i)\bratio of (.+?) (?:to|over|and|against) (.+)`)
	shareOf      = regexp.MustCompile(`(?i)(?:\b(?:percentage|proportion|share|percent|per cent|%)(?:\s*,?\s*\(?(?:in|as a) (?:percentage|percent|%)\)?\s*,?)?(?: amount| value)? (?:of|that) (.+?) (?:over|out of|to|in|among|against|relative to|as a (?:percentage|share|proportion) of|as compared to|compared to|divided by|represent(?:ed|s)? of) (?:the )?(.+))|(?:\b(.+?) as an? (?:percentage|percent|per cent|share|proportion|%) of (?:the )?(.+))`)
	shareIs      = regexp.MustCompile(`(?i)\bwhat (?:percentage|proportion|share|percent|per cent|%) of (?:the )?(.+?) (?:is|was|were|are|does|did|do|came from|comes from|consists? of|relates? to|is made up of)\s+(?:the\s+)?(.+?)(?:\s+(?:represent|make up|account for|constitute|comprise))?$`)
	countOf      = regexp.MustCompile(`(?i)^(?:.*?\b)?how many (?:of the |of these |different )?(.*?)\s*(?:\b(?:did|does|do|had|have|has|was|were|is|are|in which|where|when|with|that|whose|for which|during which)\b|\bexceed)`)
	whereIn      = regexp.MustCompile(`(?i)^(?:in|for|during)?\s*(?:which|what) (?:one of the |of the )?(?:fiscal |financial )?(years?|fy|quarters?|periods?)\s*(?:\(s\))?\s*(?:was|were|is|are|did|does|do|had|has|have)?\s*(?:the\s+)?(.*?)\s*` + beyond + `\s*(.*)$`)
	threshold    = regexp.MustCompile(`(?i)` + beyond)
	lessThan     = regexp.MustCompile(`(?i)\b(?:less|lower|smaller|fewer|below|under)\b`)
	extreme      = regexp.MustCompile(`(?i)^(?:in|for|during|between|among|of)?[\s,]*(?:years? ended?[\s,]*)?(?:which|what) (?:one of the |of the )?(?:fiscal |financial )?(years?|fy|quarters?|periods?)\b(.*?)\b(highest|higher|largest|larger|greatest|greater|most|biggest|bigger|best|lowest|lower|smallest|smaller|least|fewest|less|worst|peak(?:ed)?)\b(.*)$`)
	yearsOf      = regexp.MustCompile(`(?i)^(?:in |for )?(?:which|what)(?: are the| were the| is the)? (?:fiscal |financial )?years?['’]?(?: information| data)?(?:\b|\s).*?\b(?:table|provided|provide|recorded|reported|included|shown|presented|disclosed|information|data|given|available|covered)\b`)
	yearsFor     = regexp.MustCompile(`(?i)\b(?:provide|provided|provides|include|included|show|shows|shown|present|recorded|reported|disclosed)\b.*?\b(?:information|data)?\s*(?:for|on|about|regarding|under|in|related to|relating to)\s+(.*)$|\b(?:was|were|is|are) (?:the )?(.*?) (?:recorded|reported|provided|disclosed|shown|presented|available|given)\b`)
	itemsOf      = regexp.MustCompile(`(?i)^(?:what|which|name|list)(?: are| were| is)?(?: all)?(?: the)?(?: different| various| main| major| respective)?\s+(?:components?|items?|types?|categories|kinds|segments|line items|elements|sub-?items)\s+(?:of|under|in|within|included in|included under|listed under|that make up)\s+(?:the\s+)?(.+)$`)
)

// Parse reads what a question wants. body is the question without the names of its issuers.
func Parse(body string) Want {
	if len(body) > mostBody {
		body = body[:mostBody]
	}
	body = strings.Join(strings.Fields(strings.TrimRight(strings.TrimSpace(body), " ?.!")), " ")
	var w Want
	body, w.Paid = plainly(body)
	mentions := metrics.Periods(body)
	for _, m := range mentions {
		if !slices.Contains(w.Periods, m.Period) {
			w.Periods = append(w.Periods, m.Period)
		}
	}
	w.Range = len(w.Periods) == 2 && spans(body, mentions)
	bare := without(body, mentions)
	subject := func(s string) []string { return []string{Subject(s)} }
	cut := func(re *regexp.Regexp) string {
		at := re.FindStringIndex(bare)
		if at == nil {
			return bare
		}
		return bare[:at[0]] + " " + bare[at[1]:]
	}
	switch {
	case textual.MatchString(body):
		w.Op = Text
		return w
	case yearsOf.MatchString(body) && !extreme.MatchString(bare) && !threshold.MatchString(body):
		w.Op = Years
		if m := yearsFor.FindStringSubmatch(bare); m != nil {
			w.Subjects = subject(m[1] + m[2])
		}
		return w
	case itemsOf.MatchString(bare):
		w.Op, w.Subjects = Items, subject(itemsOf.FindStringSubmatch(bare)[1])
		return w
	}
	if m := countOf.FindStringSubmatch(body); m != nil && !percentWord.MatchString(m[1]) {
		if at := threshold.FindStringIndex(body); at != nil {
			return w.count(body, m[1], at)
		}
		return w.lookUp(bare)
	}
	if m := negative.FindStringSubmatch(body); m != nil {
		w.Op, w.Subjects, w.Above = Where, subject(without(m[1], metrics.Periods(m[1]))), strings.EqualFold(m[2], "positive")
		return w
	}
	if m := whereIn.FindStringSubmatch(body); m != nil {
		if w.limit(body) {
			w.Op, w.Subjects = Where, subject(m[2])
			w.Quarters = strings.HasPrefix(strings.ToLower(m[1]), "quarter")
			return w
		}
	}
	if m := extreme.FindStringSubmatch(bare); m != nil {
		w.Op = Highest
		if strings.Contains("lowest lower smallest smaller least fewest less worst", strings.ToLower(m[3])) {
			w.Op = Lowest
		}
		w.Quarters = strings.HasPrefix(strings.ToLower(m[1]), "quarter")
		w.Subjects = subject(m[2] + " " + m[4])
		return w
	}
	if cagr.MatchString(body) {
		w.Op, w.Subjects = CAGR, subject(cut(cagr))
		return w
	}
	averages := strings.Count(strings.ToLower(body), "average") - strings.Count(strings.ToLower(body),
		"weighted average") - strings.Count(strings.ToLower(body), "weighted-average")
	if changeOf.MatchString(bare) && !shareOf.MatchString(bare) {
		w.Op, w.Subjects = Change, subject(cut(changeOf))
		return w
	}
	if differenceOf.MatchString(bare) {
		w.Op = Difference
		rest := cut(differenceOf)
		if a, b, ok := between(rest); ok && len(w.Periods) <= 1 {
			w.Subjects = []string{Subject(a), Subject(b)}
		} else {
			w.Subjects = subject(rest)
		}
		if averages > 0 && len(w.Periods) > 0 { // the averages have to be computed first
			w.Op = ""
		}
		return w
	}
	if m := moved.FindStringSubmatch(bare); m != nil {
		w.Op, w.Subjects = Difference, subject(m[1])
		return w
	}
	if m := ratioOf.FindStringSubmatch(bare); m != nil {
		w.Op, w.Subjects = Ratio, []string{Subject(m[1]), Subject(m[2])}
		return w
	}
	if m := shareIs.FindStringSubmatch(bare); m != nil {
		w.Op, w.Subjects = Share, []string{Subject(m[2]), Subject(m[1])}
		return w
	}
	if m := shareOf.FindStringSubmatch(bare); m != nil {
		w.Op, w.Subjects = Share, []string{Subject(m[1] + m[3]), Subject(m[2] + m[4])}
		if strings.Contains(bare, "proportion") && !percentWord.MatchString(bare) {
			w.Op = Ratio
		}
		return w
	}
	if named := measureIn(bare); named != nil {
		w.Op, w.Measure, w.Subjects = Measure, named, []string{named.name}
		return w
	}
	if averageOf.MatchString(bare) {
		w.Op, w.Subjects = Average, subject(cut(averageOf))
		if len(w.Periods) == 1 {
			w.Op, w.Subjects = LookUp, subject(bare) // a row may hold averages
		}
		return w
	}
	if !respect.MatchString(body) && (sumOf.MatchString(bare) || totalOf.MatchString(bare) && len(w.Periods) > 1) {
		w.Op, w.Subjects = Sum, subject(sumOf.ReplaceAllString(bare, " "))
		w.Loose = !sumOf.MatchString(bare) && !strings.Contains(strings.ToLower(body), "both")
		if len(w.Periods) > 1 || strings.Contains(strings.ToLower(body), "across") {
			return w
		}
		w.Op = ""
		return w
	}
	return w.lookUp(bare)
}

// lookUp returns w as a question for a single figure.
func (w Want) lookUp(bare string) Want {
	w.Op, w.Subjects = LookUp, []string{Subject(bare)}
	return w
}

// count reads a question for how many periods are above or below a threshold.
func (w Want) count(body, what string, at []int) Want {
	if !w.limit(body) {
		return w
	}
	w.Op = Count
	lower := strings.ToLower(what)
	switch {
	case strings.Contains(lower, "year"), strings.Contains(lower, "period"):
	case strings.Contains(lower, "quarter"):
		w.Quarters = true
	default:
		w.Op, w.Subjects = "", nil // a count of rows, which Parse cannot tell apart
		return w
	}
	m := countOf.FindStringIndex(body)
	from := 0
	if m != nil {
		from = min(m[1], at[0])
	}
	middle := body[from:at[0]]
	w.Subjects = []string{Subject(without(middle, metrics.Periods(middle)))}
	return w
}

// limit reads the threshold after the words that announce it. It returns false if there is none.
func (w *Want) limit(body string) bool {
	at := threshold.FindStringIndex(body)
	if at == nil {
		return false
	}
	w.Above = !lessThan.MatchString(body[at[0]:at[1]])
	found := figures.Find(body[at[1]:])
	if len(found) == 0 || found[0].Start > 12 {
		return false
	}
	w.Threshold = found[0].Figure
	// A number such as 2000 may look like a year.
	w.Periods = slices.DeleteFunc(slices.Clone(w.Periods),
		func(p kernel.Period) bool { return float64(p.Year) == found[0].Value })
	return true
}

// spans reports whether the first and the last period that a text names are the ends of a range.
func spans(body string, mentions []metrics.Mention) bool {
	if len(mentions) < 2 {
		return false
	}
	a, b := mentions[0], mentions[len(mentions)-1]
	middle := strings.Trim(strings.ToLower(body[a.End:b.Start]), " ")
	before := strings.ToLower(body[:a.Start])
	return middle == "to" || middle == "-" || middle == "–" || middle == "through" ||
		middle == "and" && strings.HasSuffix(strings.TrimSpace(before), "between") ||
		strings.HasPrefix(middle, "to ") || middle == "till" || middle == "until"
}

// between splits "A and B".
func between(s string) (a, b string, ok bool) {
	s = strings.TrimSpace(s)
	a, b, ok = strings.Cut(s, " and ")
	if !ok || strings.Contains(b, " and ") || len(terms.Of(a)) == 0 || len(terms.Of(b)) == 0 {
		return "", "", false
	}
	return a, b, true
}

// prepositions matches the words that lead to a period, which are removed with it.
var prepositions = regexp.MustCompile(`(?i)(?:\b(?:in|for|as of|as at|at|from|to|between|during|through|over|by|since|until|of|and|or|vs\.?|versus|compared (?:to|with)|the|both|year|years|fiscal|financial|ended|ending|end|respectively|on|across|than|fy|,|&|to the|3|three|period|quarters?)\s*|[,&(]\s*)+$`)

// without removes the periods from a text, together with the words that lead to them.
func without(body string, mentions []metrics.Mention) string {
	var b strings.Builder
	at := 0
	for _, m := range mentions {
		if m.Start < at {
			continue
		}
		piece := body[at:m.Start]
		if !strings.Contains(strings.ToLower(piece), "third quarter") {
			piece = prepositions.ReplaceAllString(piece, "")
		}
		b.WriteString(piece + " ")
		at = m.End
	}
	b.WriteString(body[at:])
	return strings.Join(strings.Fields(strings.NewReplacer("()", "", " ,", ",").Replace(b.String())), " ")
}

var (
	asking   = regexp.MustCompile(`(?i)^\W*(?:(?:and|so|please|can you|could you|tell me|show me|give me|i want to know|do you know)\b\s*)*(?:,?\s*(?:what(?:['’]s| is| was| were| are| did| does| do| has| had)?|how (?:much|many|high|large|big)|which|whats|give|state|name|report)\b\s*(?:(?:is|was|were|are|did|does|do|has|had)\b\s*)?)?`)
	fillers  = regexp.MustCompile(`(?i)\b(?:the company['’]?s?|the group['’]s|company['’]s|the firm['’]s|(?:total )?(?:amount|value|values|balance|number|figure|level)s? (?:of|for|recorded for|owed to|in)|the (?:respective )?(?:amount|value|values|figure)|respective(?:ly)?|the amount|(?:reported|recorded|recogni[sz]ed|incurred|provided|generated|earned|spent|paid|made|held) (?:by|at|for|in|on|under)\b|did it|did they|earn(?:ed)?|report(?:ed)?|post(?:ed)?|year[- ]end|overall|in (?:dollars|usd|thousands|millions|percent(?:age)?)|year ended?|fiscal years?|same (?:period|year)|previous year|prior year|year[- ]on[- ]year|as compared (?:to|with)|as compared|compared (?:to|with)|compared|versus|as of|as at|the|a|an|its|their|of)\b`)
	dangling = regexp.MustCompile(`(?i)^(?:\s*(?:in|for|of|and|to|by|between|from|at|on|has|have|had|is|was|were|are|with|did|does)\b)+|(?:\b(?:in|for|of|and|to|by|between|from|at|on|has|have|had|is|was|were|are|with|did|be|over|or|during|within|grow|grew|grown|change|changed|rise|rose|increased?|decreased?|declined?|fall|fell)\s*[,;]*\s*)+$`)
)

// Subject returns what is left of a question without its words of asking, its periods and its filler: "net
// sales from Malaysia".
func Subject(s string) string {
	s = asking.ReplaceAllString(strings.TrimSpace(s), "")
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
