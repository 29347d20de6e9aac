package draft

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
	"github.com/tollgate-gateway/tollgate/backends/answer/formula"
	"github.com/tollgate-gateway/tollgate/backends/answer/inquiry"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
	"github.com/tollgate-gateway/tollgate/backends/answer/question"
	"github.com/tollgate-gateway/tollgate/backends/answer/tables"
	"github.com/tollgate-gateway/tollgate/backends/answer/terms"
)

// Extractive writes an answer without a model. If v is not nil, it states that value. Otherwise it quotes the sentences
// that fit the question. If nothing fits, the draft has no sentences.
func Extractive(q *question.Question, v *formula.Value, passages []kernel.Passage) Draft {
	if v != nil {
		return draftOfValue(q, v)
	}
	body := q.Inquiry.Plain
	if Verdict(q.Body) { // sentences of documents do not say yes or no
		return Draft{}
	}
	switch w := q.Inquiry; {
	case w.Op == inquiry.Share || w.Op == inquiry.Average: // some documents state shares and averages in words
		return draftOfText(body, passages, computedCover, statesShare)
	case usuallyComputed(w):
		return Draft{}
	case shareQuestion.MatchString(body):
		return draftOfText(body, passages, minCover, statesShare)
	}
	return draftOfText(body, passages, minCover, nil)
}

// Verdict reports whether a question wants a yes or no.
func Verdict(body string) bool { return verdict.MatchString(body) }

var verdict = regexp.MustCompile(`(?i)(?:^\W*|^(?:looking|based|in|for|as|considering|given|judging|according|from|with|during|by)\b[^.?!]{1,60}, )(?:is|are|was|were|did|does|do|has|have|had|can|will|would|could|should)\b`)

// shareQuestion matches the beginning of a question for a share.
var shareQuestion = regexp.MustCompile(`(?i)\b(?:what|which) (?:share|percentage|percent|proportion|fraction)\b`)

// usuallyComputed reports whether a question wants a figure that sentences seldom state.
func usuallyComputed(w *inquiry.Inquiry) bool {
	switch w.Op { //nolint:exhaustive // sentences state the other figures too
	case inquiry.Sum, inquiry.Ratio, inquiry.Annual, inquiry.Count, inquiry.Where, inquiry.Years, "":
		return true
	case inquiry.Change, inquiry.Growth:
		return len(w.Periods) > 1
	}
	return false
}

// draftOfValue writes a draft that states a value and its calculation.
func draftOfValue(q *question.Question, v *formula.Value) Draft {
	marks := marksOf(v)
	if v.Sentence != "" {
		d := Draft{Confidence: v.Confidence, Sentences: []Sentence{{Text: v.Sentence + ".", Marks: marks, Computed: true}}}
		if v.Formula != "" {
			d.Sentences = append(d.Sentences, Sentence{Text: calculation + v.Formula + ".", Marks: marks, Computed: true})
		}
		return d
	}
	label := capital(v.Label)
	if len(q.Names) == 1 {
		label = q.Names[0] + ": " + v.Label
	}
	values := make([]string, 0, len(v.Figures)+len(v.Words))
	for _, f := range v.Figures {
		values = append(values, figures.Print(f))
	}
	values = append(values, v.Words...)
	stated := figures.And(values)
	if len(v.Figures) > 1 {
		stated += ", respectively"
	}
	d := Draft{Confidence: v.Confidence, Sentences: []Sentence{{Text: label + ": " + stated + ".", Marks: marks}}}
	if v.Formula != "" {
		d.Sentences = append(d.Sentences, Sentence{Text: calculation + v.Formula + ".", Marks: marks})
	}
	if isUnscaled(v) {
		d.Sentences[0].Text = strings.TrimSuffix(d.Sentences[0].Text, ".") + ", as printed; the source names no unit."
	}
	return d
}

// Explain inserts the calculation of a value after the first sentence that states the value, if a model has left the
// calculation out. Readers need it because a computed number occurs in no passage.
func (d Draft) Explain(v *formula.Value) Draft {
	if v == nil || v.Formula == "" || len(v.Figures) == 0 {
		return d
	}
	index := -1
	for i, s := range d.Sentences {
		if strings.Contains(s.Text, calculation) {
			return d
		}
		if index < 0 && strings.Contains(s.Text, figures.Print(v.Figures[0])) {
			index = i
		}
	}
	if index >= 0 {
		d.Sentences = slices.Insert(d.Sentences, index+1, Sentence{Text: calculation + v.Formula + ".", Marks: marksOf(v)})
	}
	return d
}

// calculation begins the sentence with the calculation of a value.
const calculation = "Calculation: "

// marksOf returns the passages of a value's inputs.
func marksOf(v *formula.Value) (marks []int) {
	for _, input := range v.Inputs {
		if input.Passage >= 0 && !slices.Contains(marks, input.Passage) {
			marks = append(marks, input.Passage)
		}
	}
	return marks
}

// isUnscaled reports whether a value is an amount whose unit is unknown.
func isUnscaled(v *formula.Value) bool {
	for _, f := range v.Figures {
		if f.Unit == kernel.NoUnit && f.Currency == "" && f.Step < 10 && v.Op != inquiry.Count && math.Abs(f.Value) >= 100 {
			return true
		}
	}
	return false
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// kind is a kind of question whose answer is a sentence. asks matches such questions, and fits the sentences that may
// answer them. A sentence that fits gets the bonus. If required is true, other sentences are not quoted.
type kind struct {
	asks, fits *regexp.Regexp
	bonus      float64
	required   bool
}

func kindOf(asks, fits string, bonus float64, required bool) kind {
	return kind{regexp.MustCompile(`(?i)` + asks), regexp.MustCompile(`(?i)` + fits), bonus, required}
}

var kinds = []kind{
	kindOf(`^\W*why\b|\b(?:reasons?|causes?d?|factors?|drivers?|drove|driven|due to|attribut|because)\b`,
		`\b(?:due to|because|driven by|attribut\w+ to|as a result of|result(?:ed|ing) from|reflect(?:s|ed|ing)|owing to|mainly|primarily|caused by|thereby|led by|on account of|citing|thanks to|on the back of|helped by|supported by|following|benefit(?:t?ed|t?ing)? from|relat(?:es|ed) to|offset by|since|as the|given)\b`, 0.25, true),
	kindOf(`^\W*when\b|\bwhat date\b|\bon which date\b`, `\b(?:19|20)\d\d\b|\bif\b|\bwhen\b|\bupon\b`, 0.1, true),
	kindOf(`^\W*how long\b`, `\b(?:[\w-]+ (?:days?|weeks?|months?|years?|hours?|minutes?)|until|since)\b`, 0.15, true),
	kindOf(`^\W*how (?:much|many|large|big|high)\b|\bhow much\b|\b(?:amount|percentage|number|total|value|rate|price|cost)\b`, `\d`, 0.1, true),
	kindOf(`^\W*who\b`, `[A-Z][a-z]+ [A-Z][a-z]+`, 0.1, true),
	kindOf(`\b(?:consist|compris|include|made up|contain|components?)\w*\b`,
		`\b(?:consist|compris|include|including|contain|represent|made up)\w*\b`, 0.15, false),
	kindOf(`\brelat\w+ to\b`, `\brelat\w+ to\b`, 0.15, false),
	kindOf(`^\W*(?:what (?:is|are) (?:the )?[\w -]{3,40}\??$|define|what does .* mean)`,
		`\b(?:is|are|means?|represents?|refers? to|defined as|comprise)\b`, 0.05, false),
}

// Bounds for quotes.
const (
	minCover       = 0.62 // the least cover of a quoted sentence
	coverOfMany    = 0.9  // the least cover if there are more than manyQuotes
	manyQuotes     = 100
	longReport     = 20   // a report with more pages is long
	minCoverOfLong = 0.75 // the least ownCover in a long report
	minWordsOfLong = 3    // the least number of words of a question about a long report
	computedCover  = 0.8  // the least cover for a figure that is usually computed
	contextWeight  = 0.65 // the weight of a word in the heading, the title or the sentence before
	minLead        = 0.06 // with a smaller lead in score, the second best sentence counts too
	latestBonus    = 0.02 // the bonus for a sentence of the latest report if the question names no year
	maxQuote       = 900  // the largest length of a sentence in bytes
	minQuote       = 20   // the least length of a sentence in bytes
)

// quote is a sentence that may answer the question.
type quote struct {
	text              string
	passage, position int
	terms             map[terms.Term]bool
	headings          map[terms.Term]bool // the terms of the title and headings above the sentence
	previous          map[terms.Term]bool // the terms of the previous sentence
	score             float64             // cover with bonuses and penalties
	cover             float64             // the weighted share of the question's words in and around the sentence
	ownCover          float64             // the share of the question's words in the sentence itself
}

// criteria are the properties of a question by which sentences are rated.
type criteria struct {
	words     []terms.Term
	kinds     []kind
	years     []int
	direction int    // the direction in the question, as function direction returns it
	past      bool   // the question is about the past, not about possibilities
	counted   string // the things whose number the question wants
}

// statesShare matches a sentence that states a share or an average.
var statesShare = regexp.MustCompile(`(?i)\d\s?(?:%|per\s?cent)|\baverage\b`)

// draftOfText quotes the sentence that fits best, if it fits much better than all others. threshold is the least share
// of the question's words that it must have. Sentences that required does not match are not quoted; a nil required
// accepts all.
func draftOfText(body string, passages []kernel.Passage, threshold float64, required *regexp.Regexp) Draft {
	words := stems(body)
	moved := direction(body)
	if len(words) == 0 {
		return Draft{}
	}
	quotes := quotesOf(passages)
	if required != nil {
		quotes = slices.DeleteFunc(quotes, func(c quote) bool { return !required.MatchString(c.text) })
	}
	// Words that few sentences contain have a greater weight.
	weights := make(map[terms.Term]float64, len(words))
	for _, t := range words {
		n := 0
		for i := range quotes {
			if quotes[i].terms[t] {
				n++
			}
		}
		weights[t] = math.Log(1 + float64(len(quotes)+1)/float64(n+1))
		if n == 0 && t == measuredThing(body) { // the unit of a figure names it: "4 megawatt hours"
			weights[t] = 0
		}
	}
	var fitting []kind
	for _, k := range kinds {
		if k.asks.MatchString(body) {
			fitting = append(fitting, k)
		}
	}
	w := &criteria{
		words: words, kinds: fitting, years: metrics.Years(body), direction: moved,
		past: pastTense.MatchString(body),
	}
	if m := howMany.FindStringSubmatch(body); m != nil {
		w.counted = m[1]
	}
	latest := 0
	for i := range passages {
		latest = max(latest, passages[i].Period.AnyYear())
	}
	for i := range quotes {
		documentYear := passages[quotes[i].passage].Period.AnyYear()
		quotes[i].rate(w, weights, documentYear)
		if len(w.years) == 0 && documentYear == latest {
			quotes[i].score += latestBonus
		}
	}
	slices.SortStableFunc(quotes, func(a, b quote) int { return cmp.Compare(b.score, a.score) })
	if len(quotes) == 0 || quotes[0].cover < threshold {
		return Draft{}
	}
	if len(quotes) > manyQuotes && quotes[0].cover < coverOfMany { // among many sentences, one has the words by chance
		return Draft{}
	}
	url := passages[quotes[0].passage].URL
	if slices.ContainsFunc(passages, func(p kernel.Passage) bool { return p.URL == url && p.Page > longReport }) &&
		(len(words) < minWordsOfLong || quotes[0].cover < coverOfMany || quotes[0].ownCover < minCoverOfLong) {
		return Draft{}
	}
	best := quotes[0]
	chosen := []quote{best}
	if len(quotes) > 1 {
		second := quotes[1]
		if best.score-second.score < minLead {
			apart := second.passage != best.passage || second.position-best.position > 2 ||
				best.position-second.position > 2
			if second.text != best.text && apart &&
				best.cover < 0.85 {
				return Draft{} // two sentences fit equally well
			}
			if second.text != best.text && second.cover >= threshold &&
				passages[second.passage].Period.AnyYear() == passages[best.passage].Period.AnyYear() {
				chosen = append(chosen, second)
			}
		}
	}
	slices.SortStableFunc(chosen, func(a, b quote) int {
		if a.passage != b.passage {
			return a.passage - b.passage
		}
		return a.position - b.position
	})
	d := Draft{Confidence: min(best.cover, 1)}
	for _, c := range chosen {
		d.Sentences = append(d.Sentences, Sentence{Text: c.text, Marks: []int{c.passage}})
	}
	return d
}

var howMuch = regexp.MustCompile(`(?i)\bhow much (\w+) (?:does|do|did|can|will)\b`)

// measuredThing returns the thing whose quantity a question wants, or the empty string.
func measuredThing(body string) terms.Term {
	if m := howMuch.FindStringSubmatch(body); m != nil {
		return terms.Stem(strings.ToLower(m[1]))
	}
	return ""
}

var (
	pastTense = regexp.MustCompile(`(?i)\b(?:did|was|were|has|have|had)\b`)
	hedged    = regexp.MustCompile(`(?i)\b(?:could|may|might|would|can)\b`)
	howMany   = regexp.MustCompile(`(?i)\bhow many (?:[\w-]+ )?([a-z]+)\b`)
)

// countsThing reports whether a sentence contains a number of a thing: "969 stores", "969 retail stores".
func countsThing(text, thing string) bool {
	words := strings.Fields(text)
	for i, word := range words {
		if strings.ContainsAny(word, "0123456789") && !strings.ContainsAny(word, "$€£%") {
			for _, next := range words[i+1 : min(i+5, len(words))] {
				if slices.Equal(termsOf(next), termsOf(thing)) {
					return true
				}
			}
		}
	}
	return false
}

// rate sets c.score, c.cover and c.ownCover by the question's words in the sentence. weights are the weights of these
// words. documentYear is the fiscal year of the sentence's document, or 0 if it has none. A sentence that cannot be the
// answer gets the score 0.
func (c *quote) rate(w *criteria, weights map[terms.Term]float64, documentYear int) {
	var matched, total float64
	inSentence := false
	for _, t := range w.words {
		total += weights[t]
		switch {
		case c.terms[t]:
			matched += weights[t]
		case hasRelated(t, c.terms):
			matched += 0.8 * weights[t]
		case c.headings[t] || c.previous[t]:
			matched += contextWeight * weights[t]
			continue
		default:
			continue
		}
		inSentence = true
		c.ownCover += weights[t]
	}
	if total > 0 {
		c.cover, c.ownCover = matched/total, c.ownCover/total
	}
	c.score = c.cover
	if w.direction != 0 {
		switch direction(c.text) {
		case w.direction:
			c.score += 0.1
		case -w.direction: // a change in the other direction
			c.cover, c.score = 0, 0
			return
		}
	}
	for _, k := range w.kinds {
		switch {
		case k.fits.MatchString(c.text):
			inSentence = inSentence || k.required
			c.score += k.bonus
		case k.required:
			c.cover, c.score = 0, 0
			return
		default:
			c.score -= k.bonus / 2
		}
	}
	if !inSentence { // words above a sentence do not make it an answer
		c.cover, c.score = 0, 0
		return
	}
	if w.past && hedged.MatchString(c.text) { // a possibility does not answer a question about the past
		c.cover, c.score = 0, 0
		return
	}
	if w.counted != "" && !countsThing(c.text, w.counted) {
		c.cover, c.score = 0, 0
		return
	}
	if len(w.years) > 0 {
		found := metrics.Years(c.text)
		shared := slices.ContainsFunc(w.years, func(y int) bool { return slices.Contains(found, y) })
		switch {
		case shared:
			c.score += 0.05
		// The sentence is about another time, or its document is older than the years of the question.
		case len(found) > 0, documentYear != 0 && documentYear < slices.Max(w.years) && w.past:
			c.cover, c.score = 0, 0
			return
		}
	}
	if len(c.text) > 500 {
		c.score -= 0.03
	}
}

// hasRelated reports whether words contain a term of the same family as t: one of the two is a prefix of the other, as
// in "audit" and "auditor". Terms of less than five letters have no family.
func hasRelated(t terms.Term, words map[terms.Term]bool) bool {
	if len(t) < 5 {
		return false
	}
	for w := range words {
		if len(w) >= 5 && len(w)-len(t) <= 3 && len(t)-len(w) <= 3 && (strings.HasPrefix(string(w), string(t)) ||
			strings.HasPrefix(string(t), string(w))) {
			return true
		}
	}
	return false
}

var (
	upward   = regexp.MustCompile(`(?i)\b(?:rise|rises|rose|risen|increas\w+|grow|grows|grew|grown|growth|climb(?:ed)?|gain(?:ed)?|improve[ds]?|higher|up)\b`)
	downward = regexp.MustCompile(`(?i)\b(?:fall|falls|fell|fallen|decreas\w+|declin\w+|drop(?:s|ped)?|shrank|shrunk|lower|down|reduced|reduction)\b`)
)

// direction returns 1 if the first word for a direction in a text means up, -1 if it means down, and 0 if there is no
// such word.
func direction(s string) int {
	up, down := upward.FindStringIndex(s), downward.FindStringIndex(s)
	switch {
	case up == nil && down == nil:
		return 0
	case down == nil || up != nil && up[0] < down[0]:
		return 1
	}
	return -1
}

// questionWords holds words of questions that their answers do not contain.
var questionWords = func() map[terms.Term]bool {
	m := make(map[terms.Term]bool)
	for _, t := range terms.Of(`reason reasons cause caused due primarily mainly factor factors amount amounts value total recorded happen happens purpose plan mean meaning describe explain
		please according table information what's much used relate related comprise comprised consist consists include included does company company's group following respective main primary
		drove drive driven lead led increase increased decrease decreased decline declined rise rose fall fell grow grew growth drop dropped climb climbed improve improved report reports reported end ended beginning many much work works long last lasted lasts take took town city country place located come came comes share percentage percent proportion average`) {
		m[t] = true
	}
	return m
}()

// stems returns the words of a question that its answer should contain.
func stems(body string) []terms.Term {
	var list []terms.Term
	for _, t := range termsOf(body) {
		if !questionWords[t] && !slices.Contains(list, t) && !isYear(t) {
			list = append(list, t)
		}
	}
	switch {
	case len(list) > 0:
		return list
	case direction(body) != 0: // without a subject, growth means growth of revenue
		return termsOf("revenue")
	}
	return termsOf(body)
}

// synonyms maps each word of a group with the same meaning to one word that stands for the group.
var synonyms = func() map[terms.Term]terms.Term {
	m := make(map[terms.Term]terms.Term)
	for line := range strings.Lines(`office offices headquarters headquartered based seat
		employees employee people staff workforce headcount personnel workers jobs
		acquire acquires acquired acquisition buy buys bought purchase purchased takeover
		sell sells sold sale disposal divest divested
		start starts started begin begins began commence commenced launch launched open opened opens
		close closes closed closure shut
		expect expects expected outlook forecast forecasts guidance
		pay pays paid cost costs price worth spend spent
		plant plants factory factories`) {
		words := terms.Of(line)
		for _, w := range words[1:] {
			m[w] = words[0]
		}
	}
	return m
}()

// termsOf returns the terms of a text. Words with the same meaning are the same term.
func termsOf(s string) []terms.Term {
	list := terms.Of(s)
	for i, t := range list {
		if synonym, ok := synonyms[t]; ok {
			list[i] = synonym
		}
	}
	return list
}

func setOf(s string) map[terms.Term]bool {
	m := make(map[terms.Term]bool)
	for _, t := range termsOf(s) {
		m[t] = true
	}
	return m
}

func isYear(t terms.Term) bool {
	n, err := strconv.Atoi(string(t))
	return err == nil && n >= 1900 && n < 2100
}

var (
	address = regexp.MustCompile(`(?i)[a-z][a-z0-9+.-]*://|\b(?:mailto|javascript|data):|www\.|\b[a-z0-9-]+\.(?:com|net|org|io|example|info|biz|test)\b|\b[a-z0-9-]+\.[a-z]{2,24}/|[\w.]+@[\w.]+`)
	// instructing matches texts that tell a model what to do.
	instructing   = regexp.MustCompile(`(?i)\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instructions?|prompts?|rules|above|previous|prior|everything)\b|\b(?:system prompt|as an ai|you are (?:an? |now )*(?:ai|assistant|language model|chatbot)|assistants? (?:must|should|shall)|(?:reply|respond|answer) (?:only )?(?:with|that)\b|tell (?:the )?(?:user|reader|investor)s?\b|do not (?:tell|mention|reveal)|new instructions?|instructions? (?:to|for) (?:the )?(?:ai|model|assistant|reader))`)
	languageModel = regexp.MustCompile(`(?i)\blanguage models?\b`)
	// pointsToTable matches sentences that refer to a table and state nothing themselves.
	pointsToTable = regexp.MustCompile(`(?i)\b(?:following|accompanying) tables?\b|\btables? (?:below|above|that follows?)\b|\bas follows\b[^.]*:?$|:$|\b(?:set forth|shown|presented|summari[sz]ed) (?:below|above)\b|^(?:\(?\d{1,2}\) )?(?:see|refer to)\b`)
	// fragment matches incomplete sentences, and lines in columns.
	fragment = regexp.MustCompile(`^(?:\p{Ll}|[,;)])|(?i:\b(?:and|or|of|the|in|to|for|with|by|amounted)$)|\S {3,}\S`)
	// speaker matches the name of the speaker at the beginning of a line in a transcript.
	speaker = regexp.MustCompile(`^(?:Operator|Analyst|Moderator|Question|Answer|Q|A|(?:[A-Z][a-z]+ ){1,4}(?:Officer|Director|President|Chair|Relations|Analyst|Executive))\s*:\s+`)
	link    = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	markup  = regexp.MustCompile("[*_`]{1,3}([^*_`]+)[*_`]{1,3}|^#+\\s*|^[-*]\\s+|<[^>]{0,200}>")
)

// Suspicious reports whether a text gives instructions to a model, mentions language models, or contains an address.
// Such a text is not quoted.
func Suspicious(s string) bool {
	return address.MatchString(s) || languageModel.MatchString(s) || instructing.MatchString(s)
}

// quotesOf returns the sentences of passages that may be quoted.
func quotesOf(passages []kernel.Passage) []quote {
	var all []quote
	seen := make(map[string]bool)
	for i := range passages {
		position := 0
		base := passages[i].Title + " " + passages[i].Section
		headings := setOf(base)
		for line := range strings.Lines(passages[i].Text) {
			line = strings.TrimSpace(line)
			if line == "" || tables.IsRow(line) {
				continue
			}
			line = link.ReplaceAllString(line, "$1")
			line = strings.TrimLeft(strings.TrimSpace(markup.ReplaceAllString(line, "$1")), "•●▪■\uf0b7\uf0a7 ")
			line = speaker.ReplaceAllString(line, "")
			var last map[terms.Term]bool
			for _, s := range Split(line) {
				position++
				previous, words := last, map[terms.Term]bool(nil)
				if len(s) <= maxQuote {
					words = setOf(s)
				}
				last = words
				if len(s) < minQuote || len(s) > maxQuote || Suspicious(s) || seen[s] || strings.ContainsAny(s, "[]<>") ||
					pointsToTable.MatchString(s) || fragment.MatchString(s) {
					continue
				}
				if !strings.ContainsAny(s[len(s)-1:], ".!?:;)") && len(s) < 80 { // a heading
					headings = setOf(base + " " + s)
					continue
				}
				seen[s] = true
				all = append(all, quote{
					text: s, passage: i, position: position, terms: words, headings: headings, previous: previous,
				})
			}
		}
	}
	return all
}
