package inquiry

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

// Calculation is a question whose answer can be computed from statements alone. For "Did the gross margin rise in
// 2019?" it has the Op Moved, the measure gross margin and the period FY2019.
type Calculation struct {
	Op Op
	// measures has one measure, except for Extreme and Exceeds.
	measures []measure
	Periods  []Period
	Range    bool // the years between two periods are included
	Years    int  // the number of years up to the last period; 0 if the question does not say
	// direction is 1 for an increase or the greatest, -1 for a decrease or the least, and 0 for any.
	direction     int
	asksDirection bool    // the question asks which direction
	limit         float64 // the threshold of Beyond, or the largest change per year for Consistent
	percent       bool    // the question wants a percentage
	// mayBeIrrelevant reports that the question asks whether the measure is meaningless for a company like the issuer.
	mayBeIrrelevant bool
	// definitions are the formulas that the question states, by metric.
	definitions map[string]*expr
	scale       float64 // the scale that the question wants; 0 for any
	decimals    int     // the number of decimals that the question wants; -1 for any
}

// measure is a quantity that can be computed: a metric, a ratio of two metrics, or a formula that the question states.
// The measure of "capex as a percentage of revenue" has the expr capex / revenue and the unit "%".
type measure struct {
	name string // the name in a sentence
	key  string // the key of the metric; empty for a ratio or a formula
	expr *expr
	unit string // the kernel.Unit of its values
}

// The patterns of questions. Those that contain a group use it for the part that matters, such as the number of years.
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

	shareOf         = regexp.MustCompile(`(?i)^(.*?)\bas an? (?:%|percent|percentage|share|proportion|fraction|ratio) of (?:its |their |the |total )*(.*)$`)
	ratioOf         = regexp.MustCompile(`(?i)^(.*?)\bratio of (.+?) to (.+)$`)
	nYears          = regexp.MustCompile(`(?i)\b(\d|two|three|four|five)[- ]years?\b|\b(?:last|past|previous|over the) (\d|two|three|four|five) (?:fiscal |financial )?years?\b`)
	points          = regexp.MustCompile(`(?i)(\d+(?:\.\d+)?)\s?%`)
	steady          = regexp.MustCompile(`(?i)\b(?:consistent(?:ly)?|stable|steady|constant)\b`)
	historic        = regexp.MustCompile(`(?i)\bhistorical(?:ly)?\b|\bover (?:time|the years)\b|\btrend(?:s|ed|ing)?\b|\bdevelop(?:ed|s|ment)?\b|\bevol\w+`)
	everyYear       = regexp.MustCompile(`(?i)\b(?:(?:in )?(?:every|each) (?:single )?(?:fiscal )?(?:year|quarter)|year after year|(?:for )?(?:\w+ )?consecutive (?:fiscal )?years)\b`)
	exceedWord      = regexp.MustCompile(`(?i)\b(?:exceed(?:s|ed)?|(?:is|was|were|are)? ?(?:more|greater|higher|larger|bigger|less|lower|smaller) than|outpace[ds]?|cover(?:s|ed)?|enough to cover|fall short of|(?:below|above))\b`)
	lesser          = regexp.MustCompile(`(?i)\b(?:less|lower|smaller|short|below)\b`)
	threshold       = regexp.MustCompile(`(?i)\b(above|over|more than|greater than|higher than|exceed(?:s|ed)?|at least|below|under|less than|lower than)\s+(\$?\d[\d,.]*)\s?(%|x|times|thousand|million|billion)?`)
	doubtsRelevance = regexp.MustCompile(`(?i)\bif\b[^.?]*\bnot (?:an? )?(?:useful|relevant|meaningful|applicable|appropriate)\b`)
	whichYear       = regexp.MustCompile(`(?i)^(?:in )?(?:which|what) (?:of the )?(?:fiscal |financial )?(?:years?|quarters?|periods?)\b`)
	yesNo           = regexp.MustCompile(`(?i)^(?:is|are|was|were|did|does|do|has|have|had)\b`)
	signed          = regexp.MustCompile(`(?i)\b(positive|negative)\b`)
	upWord          = regexp.MustCompile(`(?i)\b(?:increas\w*|grow\w*|grew|ris(?:e|en|ing)|rose|improv\w*|higher|climb\w*|gain(?:ed)?|expand\w*|up)\b`)
	downWord        = regexp.MustCompile(`(?i)\b(?:decreas\w*|declin\w*|drop\w*|fall\w*|fell|reduc\w*|worsen\w*|deteriorat\w*|lower|shr[aiu]nk\w*|contract(?:ed|ing)|down)\b`)
	compoundGrowth  = regexp.MustCompile(`(?i)\bcagr\b|\bcompound(?:ed)? (?:annual(?:i[sz]ed)? )?growth(?: rate)?\b`)
	sumWord         = regexp.MustCompile(`(?i)\b(?:sum|combined|cumulative|aggregate)\b`)
	arithmetic      = regexp.MustCompile(`(?i)\s(?:less|minus|plus|divided by|multiplied by|times)\s|\s[-+*/×÷]\s`)
	moveWord        = regexp.MustCompile(`(?i)\b(?:chang\w*|compare[ds]?|comparing|comparison|differ\w*|variance|movement|fluctuat\w*|evol\w*)\b`)
	growth          = regexp.MustCompile(`(?i)\bhow fast\b|\bgrowth(?: rate)?\b|\byear[- ]over[- ]year\b|\byoy\b|\by/y\b|\bannual growth\b`)
	averages        = regexp.MustCompile(`(?i)\b(?:average|mean|avg\.?)\b`)
	highestWord     = regexp.MustCompile(`(?i)\b(?:most|highest|largest|greatest|biggest|best|maximum)\b`)
	lowestWord      = regexp.MustCompile(`(?i)\b(?:least|lowest|smallest|fewest|worst|minimum)\b`)
	threeWays       = regexp.MustCompile(`(?i)\boperat(?:ions|ing)\b(?: activities)?,? (?:and |or )?invest(?:ing|ments?)\b(?: activities)?,? (?:and |or )?financ(?:ing|e)\b(?: activities)?`)
	healthy         = regexp.MustCompile(`(?i)\b(?:healthy|good|sound|adequate|strong|sufficient|comfortable|intensive|heavy|solvent|liquid)\b`)
	sameSubject     = regexp.MustCompile(`(?i)^(?:is|are|does|do|would|was) (?:it|this|that|they|these)\b`)
	asksValue       = regexp.MustCompile(`(?i)^what(?:'s| is| was| are)(?: the)? `)
	anyPaid         = regexp.MustCompile(`(?i)\b(?:pay|paid|pays|repurchase[ds]?|buy back|bought back|declare[ds]?|distribute[ds]?)\b`)
)

// calculation reads a question as a calculation with the measures of statements. It returns nil if it cannot read the
// whole question.
func calculation(body string) *Calculation {
	q := &Calculation{
		// -1 decimals mean that the question does not ask for rounding.
		decimals: -1, percent: percentOf.MatchString(body), mayBeIrrelevant: doubtsRelevance.MatchString(body),
	}
	if m := roundTo.FindStringSubmatch(body); m != nil {
		// Either group may have matched; digits are not in the map.
		q.decimals = map[string]int{
			"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "whole": 0, "integer": 0,
			"tenth": 1, "hundredth": 2,
		}[strings.ToLower(m[1]+m[2])]
		if n, err := strconv.Atoi(m[1]); err == nil {
			q.decimals = n
		}
	}
	core, lead, definitions := divide(body) // the question, the words before it, and sentences with formulas
	if core == "" {
		return nil
	}
	core = replacePhrases(core)
	for _, match := range formatting.FindAllString(body, 8) {
		if word := scaleOf.FindString(match); word != "" { // "thousands", "million" and so on
			lowerInitial := word[0] | 0x20
			q.scale = map[byte]float64{'t': 1e3, 'm': 1e6, 'b': 1e9}[lowerInitial]
		}
	}
	core = formatting.ReplaceAllString(remarks.ReplaceAllString(core, " "), " ")
	text, periods := splitPeriods(core)
	q.Periods = periods
	q.Range = len(periods) == 2 && rangePattern.MatchString(core)
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

// thanPeriod matches a comparison with the period that follows in the text.
var thanPeriod = regexp.MustCompile(`(?i)\bthan (?:it |they |that |those )?(?:was |were |did |had been )?(?:in|at|for|during|as of)\b`)

// divide returns three parts of a text. core is the sentence with the question, from its first question word on. lead
// are the words of that sentence before core. definitions are the sentences that define terms. All are empty if no
// sentence is a question.
func divide(body string) (core, lead string, definitions []string) {
	var all []string
	start := 0
	for _, m := range sentences.FindAllStringIndex(body, 40) {
		end := m[0] + 1
		if end <= start || strings.HasSuffix(body[start:end], "U.S.") { // not the end of a sentence
			continue
		}
		if body[end-1] == ':' && !strings.Contains(body[start:end], "question") { // ":" ends only "Here is the question:"
			continue
		}
		all = append(all, strings.TrimSpace(body[start:end]))
		start = end
	}
	if rest := strings.TrimSpace(body[start:]); rest != "" {
		all = append(all, rest)
	}
	secondQuestion := ""    // a second question about the same measure
	for _, s := range all { // other sentences are about the form of the answer
		s = strings.TrimRight(s, " .")
		switch {
		case defined.MatchString(s) && !strings.HasSuffix(s, "?"), using.MatchString(s) && core != "":
			definitions = append(definitions, s)
		case core == "" && strings.HasSuffix(s, "?"):
			core = s
		case secondQuestion == "" && strings.HasSuffix(s, "?") && sameSubject.MatchString(s) && healthy.MatchString(s):
			secondQuestion = s
		}
	}
	// "what is the quick ratio of 2022? Is it healthy?" asks whether it is healthy
	if secondQuestion != "" && asksValue.MatchString(core) {
		core = asksValue.ReplaceAllString(strings.TrimRight(core, "? "), "is the ") + " " +
			healthy.FindString(secondQuestion) + "?"
	}
	if core == "" { // without a question mark, a request such as "Calculate the quick ratio" is the question
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
	m := asks.FindStringSubmatchIndex(core)
	if m == nil {
		return "", "", nil
	}
	questionWord := m[2] // its index, that of the group of asks
	return core[questionWord:], core[:questionWord], definitions
}

// count returns the number that a word states, in digits or as one of the words "two" to "five". It returns 0 for
// other words.
func count(word string) int {
	n, err := strconv.Atoi(word)
	if err != nil {
		n = map[string]int{"two": 2, "three": 3, "four": 4, "five": 5}[strings.ToLower(word)]
	}
	return n
}

var (
	// rangePattern matches the words between the two ends of a range of periods, or "between".
	rangePattern = regexp.MustCompile(`(?i)(?:\d|\b)\s*(?:-|–|to|through|until)\s*(?:the )?(?:end of )?(?:year end )?(?:fy|fiscal|q\d|20|19)|\bbetween\b`)
	// beforePeriod and afterPeriod match words that belong to a period, right before and after it.
	beforePeriod = regexp.MustCompile(`(?i)\b(?:year[- ]?end(?:ed|ing)?(?: of)?|(?:the |at )*(?:end|close|start) of|as of|by the end of|end-of-year|(?:the )?(?:fiscal|financial) (?:years?|period)|fy|in the year|for the year|period)\s*$`)
	afterPeriod  = regexp.MustCompile(`(?i)^\s*(?:year[- ]?end|data|period|close|fiscal year|results?)\b`)
)

// splitPeriods removes the periods from a text and returns the rest of the text and the periods as fiscal periods,
// without repetitions. A date in December, or the end of twelve months after June, is read as the fiscal year. A time
// that is neither a fiscal year nor a quarter is returned as the zero Period.
func splitPeriods(text string) (rest string, periods []Period) {
	var b strings.Builder
	end := 0 // of the last period
	for _, m := range metrics.Periods(text) {
		if m.Start < end {
			continue
		}
		b.WriteString(beforePeriod.ReplaceAllString(text[end:m.Start], " ") + " ")
		end = m.End + len(afterPeriod.FindString(text[m.End:]))
		if p := fiscalPeriod(m.Period); !slices.Contains(periods, p) {
			periods = append(periods, p)
		}
	}
	b.WriteString(text[end:])
	return strings.Join(strings.Fields(beforePeriod.ReplaceAllString(b.String(), " ")), " "), periods
}

// fiscalPeriod returns p as a fiscal year or quarter, or the zero Period; see splitPeriods.
func fiscalPeriod(p kernel.Period) Period {
	if p.End != "" {
		end := p.End.Time()
		// Most fiscal years end with the calendar year. Another date must be after June and end twelve months.
		if end.Month() != time.December && (p.Months != 12 || end.Month() <= time.June) {
			return Period{}
		}
		if p.Half != 0 || p.Months != 0 && p.Months != 12 {
			return Period{}
		}
		return Period{Year: end.Year()}
	}
	if p.Half != 0 || p.Months != 0 && p.Months != 12 && p.Quarter == 0 {
		return Period{}
	}
	return Period{p.Year, p.Quarter}
}

// readExtreme reads a question that asks which of the three cash flows is the greatest or the least. It returns false
// if it does not understand which of the two is wanted.
func (q *Calculation) readExtreme(text string) bool {
	lower := strings.ToLower(text)
	hasHighest, hasLowest := highestWord.MatchString(text), lowestWord.MatchString(text)
	isClear := hasHighest != hasLowest || strings.Contains(lower, "lost the least")
	if !isClear || !strings.Contains(lower, "cash") {
		return false
	}
	q.Op, q.direction = Extreme, 1
	if !hasHighest {
		q.direction = -1
	}
	for _, key := range []string{"operating_cash_flow", "investing_cash_flow", "financing_cash_flow"} {
		q.measures = append(q.measures, measureOf(key))
	}
	return true
}

// readThreshold sets the fields for Beyond from a match of threshold.
func (q *Calculation) readThreshold(match []string) {
	word, number, scale := match[1], match[2], match[3]
	q.Op, q.direction = Beyond, 1
	if slices.Contains([]string{"below", "under", "less than", "lower than"}, strings.ToLower(word)) {
		q.direction = -1
	}
	q.limit, _ = strconv.ParseFloat(strings.Trim(strings.ReplaceAll(number, ",", ""), "$."), 64)
	q.limit *= map[string]float64{
		"": 1, "%": 1, "x": 1, "times": 1, "thousand": 1e3, "million": 1e6,
		"billion": 1e9,
	}[strings.ToLower(scale)]
}

// exceeds sets the fields for the operation Exceeds if the question asks whether one measure is more or less than
// another one. Otherwise it returns false.
func (q *Calculation) exceeds(text string) bool {
	match := exceedWord.FindStringIndex(text)
	if match == nil || !yesNo.MatchString(text) {
		return false
	}
	a, b := metrics.Find(text[:match[0]]), metrics.Find(text[match[1]:])
	if len(a) != 1 || len(b) != 1 || a[0].Metric.Key == b[0].Metric.Key ||
		metrics.UnitOf(a[0].Metric.Key) != metrics.UnitOf(b[0].Metric.Key) {
		return false
	}
	// rest is the text without the two metrics and the word between them. The offsets in b count from match[1].
	rest := text[:a[0].Start] + " " + text[a[0].End:match[0]] + " " + text[match[1]:match[1]+b[0].Start] + " " +
		text[match[1]+b[0].End:]
	if !onlyFiller(yesNo.ReplaceAllString(rest, " ")) {
		return false
	}
	q.Op, q.direction = Exceeds, 1
	if lesser.MatchString(text[match[0]:match[1]]) {
		q.direction = -1
	}
	q.measures = []measure{measureOf(a[0].Metric.Key), measureOf(b[0].Metric.Key)}
	return true
}

// fluctuating matches the bounds of a consistent measure, such as "(not fluctuating by more than 2%)".
var fluctuating = regexp.MustCompile(`(?i)\(?(?:not )?fluctuat\w*[^()?]*\)?|\(?(?:within|by|of)? ?(?:no more than |roughly |about )*\d+(?:\.\d+)?\s?%[^()?]*\)?`)

// readMeasures sets q.measures to the measure in a text, or to the ratio or formula of several, and returns the rest of
// the text. It returns false if there is no measure or the relation of several is not clear.
func (q *Calculation) readMeasures(text string) (rest string, ok bool) {
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
	if arithmetic.MatchString(" " + text + " ") { // the question itself states a formula, such as "revenue minus capex"
		if stated := parseWords(text); stated != nil && stated.op != opMetric {
			unit := ""
			if stated.op == '+' || stated.op == '-' {
				unit = string(metrics.UnitOf(found[0].Metric.Key))
			}
			q.measures = []measure{{name: text[found[0].Start:found[len(found)-1].End], expr: stated, unit: unit}}
			return "", true
		}
	}
	key := found[0].Metric.Key
	rest, end := "", 0
	for _, m := range found {
		if m.Metric.Key != key { // one metric may be named twice: "quick ratio (acid test)"
			return "", false
		}
		rest += text[end:m.Start] + " "
		end = m.End
	}
	rest += text[end:]
	q.measures = []measure{measureOf(key)}
	if stated := q.definitions[""]; stated != nil { // a definition under a name that is not a metric
		q.measures[0].key, q.measures[0].expr = "", stated
	}
	return rest, true
}

// ratio sets q.measures to the ratio of the metrics in two texts, and returns the other words of the texts. unit is "%"
// or empty. ratio returns false unless each text names one metric.
func (q *Calculation) ratio(numerator, denominator, unit string) (rest string, ok bool) {
	a, b := metrics.Find(numerator), metrics.Find(denominator)
	if len(a) != 1 || len(b) != 1 {
		return "", false
	}
	q.measures = []measure{{
		name: a[0].Metric.Name + " to " + b[0].Metric.Name, unit: unit,
		expr: &expr{op: '/', args: []*expr{metricExpr(a[0].Metric.Key), metricExpr(b[0].Metric.Key)}},
	}}
	if unit == "%" {
		q.measures[0].name = a[0].Metric.Name + " as a percentage of " + b[0].Metric.Name
	}
	return numerator[:a[0].Start] + " " + numerator[a[0].End:] + " " + denominator[:b[0].Start] + " " +
		denominator[b[0].End:], true
}

// measureOf returns the measure that is a metric.
func measureOf(key string) measure {
	m, _ := metrics.Metric(key)
	return measure{name: m.Name, key: key, expr: metricExpr(key), unit: string(metrics.UnitOf(key))}
}

// define parses the sentences of a question that define a measure by a formula, such as "DPO is defined as 365 * …",
// into q.definitions. The keys of the map are those of metrics; the empty key is for a measure that is not a metric. A
// sentence such as "calculate DPO using …" states no formula. It is accepted if the metrics after "using" are parts of
// the measure's known formula. define returns false if it cannot understand a sentence.
func (q *Calculation) define(definitions []string) bool {
	q.definitions = make(map[string]*expr)
	for _, s := range definitions {
		s = remarks.ReplaceAllString(s, " ")
		m, stated := defined.FindStringSubmatch(s), true
		if m == nil {
			m, stated = using.FindStringSubmatch(s), false
		}
		if m == nil { // the definition was part of a remark
			continue
		}
		key, ok := metricNamed(m[1])
		parsed := parseWords(strings.Trim(m[2], " .;"))
		switch {
		case parsed != nil && ok && (parsed.op != opMetric || stated):
			q.definitions[key] = parsed
		case parsed != nil && stated: // a formula for the measure of the question, under a name that is not a metric
			q.definitions[""] = parsed
		case stated, ok && !partsOfFormula(key, m[2]): // an unreadable formula, or metrics that the known one lacks
			return false
		}
	}
	return true
}

// partsOfFormula reports whether every metric that a text names is a part of the formula of key.
func partsOfFormula(key, text string) bool {
	known := make(map[string]bool)
	metricExpr(key).addKeys(known)
	for _, mention := range metrics.Find(text) {
		if !known[mention.Metric.Key] {
			return false
		}
	}
	return true
}

// filler holds words of questions that do not affect the answer.
var filler = kernel.Words(`what what's is was are were be been being the a an of for in at on to by from as its their it and or with how much many which did does do has have had
		total amount amounts value figure number level year years end ended annual fiscal financial full unadjusted reported report reporting recorded record consolidated overall company
		company's firm firm's group business respectively between during over period usd us dollars dollar million millions billion billions thousand thousands percent percents percentage % $
		ratio rate basis based data any there calculate calculated compute give given state according using used generate generated spend spent earn earned post posted make made
		key currently latest most recent recently this that compared vs versus against same prior previous last if so per se quarter quarters quarterly q ytd
		reasonably profile relatively liquidity terms exhibit show shown see seen experience experienced measured sheet income balance cash-flow statement item line items balances was/is
		approximately roughly about out quantity directly outlined explicitly clearly line-item statements many times paid shareholders stockholders common improved each every i we you me our your please just only able continue continued manage managed succeed than turn turned turns maintain maintains maintained hold held when`)

// onlyFiller reports whether all words of a text are filler.
func onlyFiller(text string) bool {
	for w := range strings.FieldsSeq(strings.ToLower(text)) {
		w = strings.Trim(w, ".,;:?!()'\"’“”-–")
		if w != "" && !filler[w] && w != "s" {
			return false
		}
	}
	return true
}

// Metrics returns the keys of the metrics whose facts the calculation may need, sorted.
func (q *Calculation) Metrics() []string {
	keys := make(map[string]bool)
	for _, definition := range q.definitions {
		definition.addKeys(keys)
	}
	for i := range q.measures {
		q.measures[i].expr.addKeys(keys)
		if metrics.Spent(q.measures[i].key) && q.Op == Paid {
			keys["dividends_per_share"] = true
		}
	}
	for _, key := range []string{"pretax_income", "net_income"} { // they determine the sign of taxes
		if keys["income_tax"] {
			keys[key] = true
		}
	}
	if q.Op == Good {
		for _, other := range criteriaOf(q.measures[0].key) {
			metricExpr(other.key).addKeys(keys)
		}
	}
	if q.mayBeIrrelevant {
		keys["current_assets"], keys["inventory"] = true, true
	}
	for _, key := range StatementSigns() {
		keys[key] = true
	}
	for key := range maps.Clone(keys) {
		for _, substitute := range substitutes[key] {
			keys[substitute] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}
