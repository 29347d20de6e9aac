// Package inquiry reads what an analyst asks about the figures of an issuer. What it asks of tables it tells in the
// question's own words: the operation, by the forms of questions, the subjects and the periods. If all words of
// the question are known, it also computes the answer from the facts of the issuer's statements: values, changes,
// averages over years, trends, verdicts by a criterion, and the extreme of several things. The vocabulary defines the
// measures and their formulas; a formula that the question states takes precedence.
//
// Choices where the specification is silent:
//   - A question is computed as a whole or not at all: a word that is neither a measure, a period, an operation nor
//     filler may mean that something else is asked, about which statements say nothing.
//   - Sentences that say how to answer (source, role, unit, rounding) are removed; what they say about unit and
//     rounding is kept.
//   - A margin is consistent if it moves each year by no more than the points that the question names, or two.
//   - A question without a period is about the latest fiscal year, one about history about the last three
//     years.
//   - A balance in a ratio is the average of the ends of two years, or the end of the year alone if there is no
//     other; the calculation shows which.
package inquiry

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

// Calculation is what a question asks to be computed from statements alone.
type Calculation struct {
	Op Op
	// what are the measures: one, except for Extreme and Exceeds.
	what    []measure
	Periods []Period
	Range   bool // the years between two periods are included
	Years   int  // how many years end with the last period; 0 if the question does not say
	// direction is 1 for an increase or the greatest, -1 for a decrease or the least, and 0 for any.
	direction int
	either    bool // the question asks which direction
	limit     float64
	percent   bool
	// doubted reports that the question asks to be told if the measure is meaningless for such an issuer.
	doubted bool
	// own are the formulas that the question states for metrics.
	own      map[string]*expr
	scale    float64 // the scale that is asked for; 0 for any
	decimals int     // the number of decimals that is asked for; -1 for any
}

// measure is something that is measured, with its formula.
type measure struct {
	name string
	key  string // empty for a formula of the question
	expr *expr
	unit string
}

var (
	sentences  = regexp.MustCompile(`[.?!:]\s+(?:[A-Z"“(]|$)|[?]`)
	asks       = regexp.MustCompile(`(?i)(?:^|[,:;]\s+|\.\s+)(?:(?:roughly|approximately|about|and|so|then)\s+)?((?:by )?how (?:much|many|has|have|did|large|big|high)|what|which|what's|did|does|do|is|are|was|were|has|have|had|in what|among|between)\b`)
	imperative = regexp.MustCompile(`(?i)^(?:please )?(?:calculate|compute|determine|find|give|state|report|show|tell)\b(?: me)?`)
	defined    = regexp.MustCompile(`(?i)^(?:here,? |where |the )?(.{2,90}?)\s*(?:\([^)]{2,12}\))?\s*(?:is|are|can be|should be)?\s*(?:here )?(?:defined as|calculated as|computed as|defined to be|=)\s*:?\s*(.+)$`)
	using      = regexp.MustCompile(`(?i)^(?:please )?(?:calculate|compute|define) (?:the )?(.{2,60}?) (?:using|as|from|with|based on) (.+)$`)
	remarks    = regexp.MustCompile(`(?i)[(\[](?:using|from|excluding nothing|taken from|as (?:stated|reported|shown) (?:in|on)|per) ([^()\[\]]*)[)\]]`)

	scaleOf    = regexp.MustCompile(`(?i)\b(thousands?|millions?|billions?)\b`)
	percentOf  = regexp.MustCompile(`(?i)\bunits? of percents?\b|\bas an? (?:%|percent(?:age)?)\W*(?:$|[)?.])|\bin (?:percent|%|percentages?)\b|\(\s*%\s*\)|\b(?:percent|percentage|%)[ -](?:change|growth|increase|decrease)|\b(?:what|which|how many) (?:percent\b|percentage|%)`)
	roundTo    = regexp.MustCompile(`(?i)\b(?:round\w*|with)\b[^.]{0,40}?\b(zero|one|two|three|four|\d)[- ]decimals?|\b(?:nearest|closest) (whole|integer|hundredth|tenth)`)
	formatting = regexp.MustCompile(`(?i)\((?:[^()]*\b(?:in|as|round\w*|units?|usd|expressed)\b[^()]*|%|\$)\)|,?\s*\b(?:answer(?:ed)?|expressed|stated|reported)? ?in (?:units? of )?(?:us|usd|u\.s\.)? ?(?:dollars?)? ?(?:thousands?|millions?|billions?|percents?)(?: of (?:us )?dollars?)?`)

	shareOf     = regexp.MustCompile(`(?i)^(.*?)\bas an? (?:%|percent|percentage|share|proportion|fraction|ratio) of (?:its |their |the |total )*(.*)$`)
	ratioOf     = regexp.MustCompile(`(?i)^(.*?)\bratio of (.+?) to (.+)$`)
	nYears      = regexp.MustCompile(`(?i)\b(\d|two|three|four|five)[- ]years?\b|\b(?:last|past|previous|over the) (\d|two|three|four|five) (?:fiscal |financial )?years?\b`)
	points      = regexp.MustCompile(`(?i)(\d+(?:\.\d+)?)\s?%`)
	steady      = regexp.MustCompile(`(?i)\b(?:consistent(?:ly)?|stable|steady|constant)\b`)
	historic    = regexp.MustCompile(`(?i)\bhistorical(?:ly)?\b|\bover (?:time|the years)\b|\btrend(?:s|ed|ing)?\b|\bdevelop(?:ed|s|ment)?\b|\bevol\w+`)
	everyYear   = regexp.MustCompile(`(?i)\b(?:(?:in )?(?:every|each) (?:single )?(?:fiscal )?(?:year|quarter)|year after year|(?:for )?(?:\w+ )?consecutive (?:fiscal )?years)\b`)
	exceeding   = regexp.MustCompile(`(?i)\b(?:exceed(?:s|ed)?|(?:is|was|were|are)? ?(?:more|greater|higher|larger|bigger|less|lower|smaller) than|outpace[ds]?|cover(?:s|ed)?|enough to cover|fall short of|(?:below|above))\b`)
	lesser      = regexp.MustCompile(`(?i)\b(?:less|lower|smaller|short|below)\b`)
	threshold   = regexp.MustCompile(`(?i)\b(above|over|more than|greater than|higher than|exceed(?:s|ed)?|at least|below|under|less than|lower than)\s+(\$?\d[\d,.]*)\s?(%|x|times|thousand|million|billion)?`)
	doubting    = regexp.MustCompile(`(?i)\bif\b[^.?]*\bnot (?:an? )?(?:useful|relevant|meaningful|applicable|appropriate)\b`)
	whichYear   = regexp.MustCompile(`(?i)^(?:in )?(?:which|what) (?:of the )?(?:fiscal |financial )?(?:years?|quarters?|periods?)\b`)
	yesNo       = regexp.MustCompile(`(?i)^(?:is|are|was|were|did|does|do|has|have|had)\b`)
	signed      = regexp.MustCompile(`(?i)\b(positive|negative)\b`)
	upWord      = regexp.MustCompile(`(?i)\b(?:increas\w*|grow\w*|grew|ris(?:e|en|ing)|rose|improv\w*|higher|climb\w*|gain(?:ed)?|expand\w*|up)\b`)
	downWord    = regexp.MustCompile(`(?i)\b(?:decreas\w*|declin\w*|drop\w*|fall\w*|fell|reduc\w*|worsen\w*|deteriorat\w*|lower|shr[aiu]nk\w*|contract(?:ed|ing)|down)\b`)
	annually    = regexp.MustCompile(`(?i)\bcagr\b|\bcompound(?:ed)? (?:annual(?:i[sz]ed)? )?growth(?: rate)?\b`)
	adding      = regexp.MustCompile(`(?i)\b(?:sum|combined|cumulative|aggregate)\b`)
	joining     = regexp.MustCompile(`(?i)\s(?:less|minus|plus|divided by|multiplied by|times)\s|\s[-+*/×÷]\s`)
	moveWord    = regexp.MustCompile(`(?i)\b(?:chang\w*|compare[ds]?|comparing|comparison|differ\w*|variance|movement|fluctuat\w*|evol\w*)\b`)
	growth      = regexp.MustCompile(`(?i)\bhow fast\b|\bgrowth(?: rate)?\b|\byear[- ]over[- ]year\b|\byoy\b|\by/y\b|\bannual growth\b`)
	averages    = regexp.MustCompile(`(?i)\b(?:average|mean|avg\.?)\b`)
	highestWord = regexp.MustCompile(`(?i)\b(?:most|highest|largest|greatest|biggest|best|maximum)\b`)
	lowestWord  = regexp.MustCompile(`(?i)\b(?:least|lowest|smallest|fewest|worst|minimum)\b`)
	threeWays   = regexp.MustCompile(`(?i)\boperat(?:ions|ing)\b(?: activities)?,? (?:and |or )?invest(?:ing|ments?)\b(?: activities)?,? (?:and |or )?financ(?:ing|e)\b(?: activities)?`)
	healthy     = regexp.MustCompile(`(?i)\b(?:healthy|good|sound|adequate|strong|sufficient|comfortable|intensive|heavy|solvent|liquid)\b`)
	ofSame      = regexp.MustCompile(`(?i)^(?:is|are|does|do|would|was) (?:it|this|that|they|these)\b`)
	asksValue   = regexp.MustCompile(`(?i)^what(?:'s| is| was| are)(?: the)? `)
	anyPaid     = regexp.MustCompile(`(?i)\b(?:pay|paid|pays|repurchase[ds]?|buy back|bought back|declare[ds]?|distribute[ds]?)\b`)
)

// calculation reads a question for the measures of statements. It returns nil if it cannot read the whole question.
func calculation(body string) *Calculation {
	q := &Calculation{decimals: -1, percent: percentOf.MatchString(body), doubted: doubting.MatchString(body)}
	if m := roundTo.FindStringSubmatch(body); m != nil {
		q.decimals = map[string]int{
			"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "whole": 0, "integer": 0,
			"tenth": 1, "hundredth": 2,
		}[strings.ToLower(m[1]+m[2])]
		if n, err := strconv.Atoi(m[1]); err == nil {
			q.decimals = n
		}
	}
	core, lead, definitions := divide(body)
	if core == "" {
		return nil
	}
	core = inPlainWords(core)
	for _, at := range formatting.FindAllString(body, 8) {
		if m := scaleOf.FindString(at); m != "" {
			q.scale = map[byte]float64{'t': 1e3, 'm': 1e6, 'b': 1e9}[m[0]|0x20]
		}
	}
	core = formatting.ReplaceAllString(remarks.ReplaceAllString(core, " "), " ")
	text, periods := apartFromPeriods(core)
	q.Periods = periods
	q.Range = len(periods) == 2 && spanning.MatchString(core)
	if m := nYears.FindStringSubmatch(text); m != nil {
		q.Years = count(m[1] + m[2])
		text = nYears.ReplaceAllString(text, " ")
	}
	for _, p := range periods {
		if p.Year == 0 {
			return nil // a time that is neither a year nor a quarter
		}
	}
	if !q.define(definitions) || !q.understand(text, lead) {
		return nil
	}
	if len(periods) == 2 && periods[0].compare(periods[1]) < 0 && thanPeriod.MatchString(core) {
		q.direction = -q.direction // "higher in 2021 than in 2022" asks whether it fell
	}
	return q
}

// thanPeriod matches a comparison of a period with the one before it in the text.
var thanPeriod = regexp.MustCompile(`(?i)\bthan (?:it |they |that |those )?(?:was |were |did |had been )?(?:in|at|for|during|as of)\b`)

// divide returns the sentence that asks, from its first word of asking on, the words that lead to it, and the
// sentences that define terms.
func divide(body string) (core, lead string, definitions []string) {
	var all []string
	at := 0
	for _, m := range sentences.FindAllStringIndex(body, 40) {
		end := m[0] + 1
		if end <= at || strings.HasSuffix(body[at:end], "U.S.") ||
			body[end-1] == ':' && !strings.Contains(body[at:end], "question") {
			continue
		}
		all = append(all, strings.TrimSpace(body[at:end]))
		at = end
	}
	if rest := strings.TrimSpace(body[at:]); rest != "" {
		all = append(all, rest)
	}
	again := "" // what a second question asks about the same measure
	for _, s := range all {
		s = strings.TrimRight(s, " .")
		switch {
		case defined.MatchString(s) && !strings.HasSuffix(s, "?"), using.MatchString(s) && core != "":
			definitions = append(definitions, s)
		case core == "" && strings.HasSuffix(s, "?"):
			core = s
		case again == "" && strings.HasSuffix(s, "?") && ofSame.MatchString(s) && healthy.MatchString(s):
			again = s
		}
	}
	// "what is the quick ratio of 2022? Is it healthy?" asks whether it is healthy
	if again != "" && asksValue.MatchString(core) {
		core = asksValue.ReplaceAllString(strings.TrimRight(core, "? "), "is the ") + " " + healthy.FindString(again) + "?"
	}
	if core == "" {
		for _, s := range all {
			if imperative.MatchString(s) {
				core = imperative.ReplaceAllString(s, "what is ")
				break
			}
		}
	}
	if core == "" && len(all) > 0 && asks.MatchString(all[0]) {
		core = all[0]
	}
	core = strings.TrimRight(core, " ?.")
	if m := asks.FindStringSubmatchIndex(core); m != nil {
		lead, core = core[:m[2]], core[m[2]:]
	} else {
		return "", "", nil
	}
	return core, lead, definitions
}

func count(word string) int {
	n, err := strconv.Atoi(word)
	if err != nil {
		n = map[string]int{"two": 2, "three": 3, "four": 4, "five": 5}[strings.ToLower(word)]
	}
	return n
}

var (
	spanning = regexp.MustCompile(`(?i)(?:\d|\b)\s*(?:-|–|to|through|until)\s*(?:the )?(?:end of )?(?:year end )?(?:fy|fiscal|q\d|20|19)|\bbetween\b`)
	ends     = regexp.MustCompile(`(?i)\b(?:year[- ]?end(?:ed|ing)?(?: of)?|(?:the |at )*(?:end|close|start) of|as of|by the end of|end-of-year|(?:the )?(?:fiscal|financial) (?:years?|period)|fy|in the year|for the year|period)\s*$`)
	behind   = regexp.MustCompile(`(?i)^\s*(?:year[- ]?end|data|period|close|fiscal year|results?)\b`)
)

// apartFromPeriods removes the periods from a text and returns them as fiscal periods. A date in December, or
// the end of twelve months after June, stands for the fiscal year. The zero Period stands for a time that is
// neither a fiscal year nor a quarter.
func apartFromPeriods(text string) (rest string, periods []Period) {
	var b strings.Builder
	at := 0
	for _, m := range metrics.Periods(text) {
		if m.Start < at {
			continue
		}
		b.WriteString(ends.ReplaceAllString(text[at:m.Start], " ") + " ")
		at = m.End
		p := Period{m.Period.Year, m.Period.Quarter}
		if end := m.Period.End.Time(); m.Period.End != "" &&
			(end.Month() == time.December || m.Period.Months == 12 && end.Month() > time.June) {
			p, m.Period.End = Period{Year: end.Year()}, "" // most fiscal years end with the calendar year
		}
		if m.Period.End != "" || m.Period.Half != 0 || m.Period.Months != 0 && m.Period.Months != 12 && p.Quarter == 0 {
			p = Period{}
		}
		if !slices.Contains(periods, p) {
			periods = append(periods, p)
		}
		at += len(behind.FindString(text[at:]))
	}
	b.WriteString(text[at:])
	return strings.Join(strings.Fields(ends.ReplaceAllString(b.String(), " ")), " "), periods
}

// understand sets the operation and the measures from the text. It returns false if it does not understand
// all of it.
func (q *Calculation) understand(text, lead string) bool {
	// Several measures, one of which is the most.
	if threeWays.MatchString(lead + text) {
		most, least := highestWord.MatchString(text), lowestWord.MatchString(text)
		if most == least && !strings.Contains(strings.ToLower(text), "lost the least") ||
			!strings.Contains(strings.ToLower(text), "cash") {
			return false
		}
		q.Op, q.direction = Extreme, 1
		if !most {
			q.direction = -1
		}
		for _, key := range []string{"operating_cash_flow", "investing_cash_flow", "financing_cash_flow"} {
			q.what = append(q.what, measureOf(key))
		}
		return true
	}
	which := whichYear.MatchString(text)
	text = strings.TrimSpace(whichYear.ReplaceAllString(text, ""))
	if q.exceeds(text) {
		return true
	}
	rest, ok := q.things(text)
	if !ok {
		return false
	}
	take := func(words *regexp.Regexp) bool {
		found := words.MatchString(rest)
		rest = words.ReplaceAllString(rest, " ")
		return found
	}
	yes := yesNo.MatchString(text)
	take(yesNo)
	var limits []string
	if m := threshold.FindStringSubmatch(rest); m != nil && yes {
		limits = m
		take(threshold)
	}
	always := take(everyYear)
	isSteady, isHistoric := take(steady), take(historic)
	if isSteady && yes {
		q.limit = 2
		if m := points.FindStringSubmatch(rest); m != nil {
			q.limit, _ = strconv.ParseFloat(m[1], 64)
		}
		rest = fluctuating.ReplaceAllString(rest, " ")
	}
	sign := signed.FindString(rest)
	take(signed)
	compound, sums := take(annually), take(adding)
	grows, mean, moves := take(growth), take(averages), take(moveWord)
	up, down := take(upWord), take(downWord)
	switch {
	case up && !down:
		q.direction = 1
	case down && !up:
		q.direction = -1
	}
	q.either = up && down
	always = always || isSteady && (up || down) || (up || down) && yes && q.Years > 2
	most, least := highestWord.MatchString(rest), lowestWord.MatchString(rest)
	good := take(healthy)
	paid := take(anyPaid)
	one := &q.what[0]
	switch {
	case which && most != least && len(q.what) == 1:
		q.Op, q.direction = Peak, 1
		if least {
			q.direction = -1
		}
		take(highestWord)
		take(lowestWord)
	case which:
		return false
	case always && yes && q.direction != 0:
		q.Op = Always
	case isSteady && yes:
		q.Op = Consistent
	case limits != nil:
		q.Op, q.direction = Beyond, 1
		if strings.Contains("below under less than lower than", strings.ToLower(limits[1])) {
			q.direction = -1
		}
		q.limit, _ = strconv.ParseFloat(strings.Trim(strings.ReplaceAll(limits[2], ",", ""), "$."), 64)
		q.limit *= map[string]float64{
			"": 1, "%": 1, "x": 1, "times": 1, "thousand": 1e3, "million": 1e6,
			"billion": 1e9,
		}[strings.ToLower(limits[3])]
	case yes && sign != "":
		q.Op, q.direction = Sign, 1
		if strings.EqualFold(sign, "negative") {
			q.direction = -1
		}
	case yes && (up || down || moves):
		q.Op = Moved
	case yes && (good || one.key == "capex_to_revenue") && metrics.Good(one.key) != "":
		q.Op = Good
	case yes && paid && metrics.Spent(one.key) || yes && one.key == "dividends_per_share":
		q.Op = Paid
	case yes:
		return false
	case isHistoric:
		q.Op = Trend
	case compound:
		q.Op = Annual
	case mean:
		q.Op = Average
	case sums:
		q.Op = Sum
	case grows, (moves || up || down) && q.percent && one.unit != "%":
		q.Op = Growth
	case moves, up, down:
		q.Op = Change
	default:
		q.Op = Value
	}
	return filling(rest)
}

// exceeds reads a question for whether one measure is more or less than another one. It returns false if the
// question is a different one.
func (q *Calculation) exceeds(text string) bool {
	at := exceeding.FindStringIndex(text)
	if at == nil || !yesNo.MatchString(text) {
		return false
	}
	a, b := metrics.Find(text[:at[0]]), metrics.Find(text[at[1]:])
	if len(a) != 1 || len(b) != 1 || a[0].Metric.Key == b[0].Metric.Key ||
		metrics.UnitOf(a[0].Metric.Key) != metrics.UnitOf(b[0].Metric.Key) {
		return false
	}
	rest := text[:a[0].Start] + " " + text[a[0].End:at[0]] + " " + text[at[1]:at[1]+b[0].Start] + " " +
		text[at[1]+b[0].End:]
	if !filling(yesNo.ReplaceAllString(rest, " ")) {
		return false
	}
	q.Op, q.direction = Exceeds, 1
	if lesser.MatchString(text[at[0]:at[1]]) {
		q.direction = -1
	}
	q.what = []measure{measureOf(a[0].Metric.Key), measureOf(b[0].Metric.Key)}
	return true
}

var fluctuating = regexp.MustCompile(`(?i)\(?(?:not )?fluctuat\w*[^()?]*\)?|\(?(?:within|by|of)? ?(?:no more than |roughly |about )*\d+(?:\.\d+)?\s?%[^()?]*\)?`)

// things finds the measures in a text and returns the rest of the text.
func (q *Calculation) things(text string) (rest string, ok bool) {
	if m := shareOf.FindStringSubmatch(text); m != nil {
		return q.ratio(m[1], m[2], "%")
	}
	if m := ratioOf.FindStringSubmatch(text); m != nil {
		rest, ok := q.ratio(m[2], m[3], "")
		return m[1] + " " + rest, ok
	}
	found := metrics.Find(text)
	if len(found) == 0 {
		return "", false
	}
	if joining.MatchString(" " + text + " ") {
		if own := said(text); own != nil && own.op != 'm' {
			unit := ""
			if own.op == '+' || own.op == '-' {
				unit = string(metrics.UnitOf(found[0].Metric.Key))
			}
			q.what = []measure{{name: text[found[0].Start:found[len(found)-1].End], expr: own, unit: unit}}
			return "", true
		}
	}
	key := found[0].Metric.Key
	rest, at := "", 0
	for _, m := range found {
		if m.Metric.Key != key { // a longer name is spelled out in brackets: "quick ratio (acid test)"
			return "", false
		}
		rest += text[at:m.Start] + " "
		at = m.End
	}
	rest += text[at:]
	q.what = []measure{measureOf(key)}
	if own := q.own[""]; own != nil {
		q.what[0].key, q.what[0].expr = "", own
	}
	return rest, true
}

func (q *Calculation) ratio(over, under, unit string) (rest string, ok bool) {
	a, b := metrics.Find(over), metrics.Find(under)
	if len(a) != 1 || len(b) != 1 {
		return "", false
	}
	q.what = []measure{{
		name: a[0].Metric.Name + " to " + b[0].Metric.Name, unit: unit,
		expr: &expr{op: '/', args: []*expr{{op: 'm', key: a[0].Metric.Key}, {op: 'm', key: b[0].Metric.Key}}},
	}}
	if unit == "%" {
		q.what[0].name = a[0].Metric.Name + " as a percentage of " + b[0].Metric.Name
	}
	return over[:a[0].Start] + " " + over[a[0].End:] + " " + under[:b[0].Start] + " " + under[b[0].End:], true
}

func measureOf(key string) measure {
	m, _ := metrics.Metric(key)
	return measure{name: m.Name, key: key, expr: &expr{op: 'm', key: key}, unit: string(metrics.UnitOf(key))}
}

// define parses the sentences of a question that define a measure by a formula, such as "DPO is defined as
// 365 * …", into q.own. Its keys are those of metrics; the empty key stands for a measure that is no metric. A
// sentence such as "calculate DPO using …" states no formula; it is accepted if the metrics after "using" are
// parts of the known formula of the measure. define returns false if a sentence cannot be understood.
func (q *Calculation) define(definitions []string) bool {
	q.own = make(map[string]*expr)
	for _, s := range definitions {
		s = remarks.ReplaceAllString(s, " ")
		m, stated := defined.FindStringSubmatch(s), true
		if m == nil {
			m, stated = using.FindStringSubmatch(s), false
		}
		if m == nil { // what looked like a definition stood in a remark
			continue
		}
		key, ok := named(m[1])
		own := said(strings.Trim(m[2], " .;"))
		switch {
		case own != nil && ok && (own.op != 'm' || stated):
			q.own[key] = own
		case own != nil && stated: // a formula for what the question asks for, under a name of its own
			q.own[""] = own
		case stated:
			return false
		case ok && !ofFormula(key, m[2]):
			return false
		}
	}
	return true
}

// ofFormula reports whether every metric that a text names is a part of the formula of key.
func ofFormula(key, text string) bool {
	known := make(map[string]bool)
	(&expr{op: 'm', key: key}).keys(known)
	for _, one := range metrics.Find(text) {
		if !known[one.Metric.Key] {
			return false
		}
	}
	return true
}

// filler holds the words of questions that say nothing about what is asked for.
var filler = func() map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(`what what's is was are were be been being the a an of for in at on to by from as its their it and or with how much many which did does do has have had
		total amount amounts value figure number level year years end ended annual fiscal financial full unadjusted reported report reporting recorded record consolidated overall company
		company's firm firm's group business respectively between during over period usd us dollars dollar million millions billion billions thousand thousands percent percents percentage % $
		ratio rate basis based data any there calculate calculated compute give given state according using used generate generated spend spent earn earned post posted make made
		key currently latest most recent recently this that compared vs versus against same prior previous last if so per se quarter quarters quarterly q ytd
		reasonably profile relatively liquidity terms exhibit show shown see seen experience experienced measured sheet income balance cash-flow statement item line items balances was/is
		approximately roughly about out quantity directly outlined explicitly clearly line-item statements many times paid shareholders stockholders common improved each every i we you me our your please just only able continue continued manage managed succeed than turn turned turns maintain maintains maintained hold held when`) {
		m[w] = true
	}
	return m
}()

// filling reports whether a text consists of filler alone.
func filling(text string) bool {
	for w := range strings.FieldsSeq(strings.ToLower(text)) {
		w = strings.Trim(w, ".,;:?!()'\"’“”-–")
		if w != "" && !filler[w] && w != "s" {
			return false
		}
	}
	return true
}

// Metrics returns the keys of the metrics that the inquiry needs, sorted.
func (q *Calculation) Metrics() []string {
	keys := make(map[string]bool)
	for _, own := range q.own {
		own.keys(keys)
	}
	for i := range q.what {
		q.what[i].expr.keys(keys)
		if metrics.Spent(q.what[i].key) && q.Op == Paid {
			keys["dividends_per_share"] = true
		}
	}
	for _, key := range []string{"pretax_income", "net_income"} { // they determine the sign of taxes
		if keys["income_tax"] {
			keys[key] = true
		}
	}
	if q.Op == Good {
		for _, one := range marksOf(q.what[0].key) {
			(&expr{op: 'm', key: one.key}).keys(keys)
		}
	}
	if q.doubted {
		keys["current_assets"], keys["inventory"] = true, true
	}
	for _, key := range Signs() {
		keys[key] = true
	}
	for key := range maps.Clone(keys) {
		for _, twin := range twins[key] {
			keys[twin] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}
