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

// Extractive writes an answer without a model: from the value if there is one, or else from the sentences
// that fit the question. If nothing fits, the draft has no sentences.
func Extractive(q *question.Question, v *formula.Value, passages []kernel.Passage) Draft {
	if v != nil {
		return ofValue(q, v)
	}
	body := q.Inquiry.Plain
	if Verdict(q.Body) { // no sentence of a document says yes or no
		return Draft{}
	}
	switch w := q.Inquiry; {
	case w.Op == inquiry.Share || w.Op == inquiry.Average: // some documents state them in words
		return ofText(body, passages, saidCover, sharing)
	case computed(w):
		return Draft{}
	case shareOf.MatchString(body):
		return ofText(body, passages, minCover, sharing)
	}
	return ofText(body, passages, minCover, nil)
}

// Verdict reports whether a question asks for yes or no.
func Verdict(body string) bool { return verdict.MatchString(body) }

var verdict = regexp.MustCompile(`(?i)(?:^\W*|^(?:looking|based|in|for|as|considering|given|judging|according|from|with|during|by)\b[^.?!]{1,60}, )(?:is|are|was|were|did|does|do|has|have|had|can|will|would|could|should)\b`)

// shareOf matches the beginning of a question for a share.
var shareOf = regexp.MustCompile(`(?i)\b(?:what|which) (?:share|percentage|percent|proportion|fraction)\b`)

// computed reports whether a question wants a figure that sentences seldom state.
func computed(w *inquiry.Inquiry) bool {
	switch w.Op { //nolint:exhaustive // the others are said by sentences too
	case inquiry.Sum, inquiry.Ratio, inquiry.Annual, inquiry.Count, inquiry.Where, inquiry.Years, "":
		return true
	case inquiry.Change, inquiry.Growth:
		return len(w.Periods) > 1
	}
	return false
}

// ofValue writes a draft that states a value and how it was computed.
func ofValue(q *question.Question, v *formula.Value) Draft {
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
	said := figures.And(values)
	if len(v.Figures) > 1 {
		said += ", respectively"
	}
	d := Draft{Confidence: v.Confidence, Sentences: []Sentence{{Text: label + ": " + said + ".", Marks: marks}}}
	if v.Formula != "" {
		d.Sentences = append(d.Sentences, Sentence{Text: calculation + v.Formula + ".", Marks: marks})
	}
	if unscaled(v) {
		d.Sentences[0].Text = strings.TrimSuffix(d.Sentences[0].Text, ".") + ", as printed; the source names no unit."
	}
	return d
}

// Explain inserts the calculation of a value after the first sentence that states it, if a model has left it
// out: a computed number stands in no passage.
func (d Draft) Explain(v *formula.Value) Draft {
	if v == nil || v.Formula == "" || len(v.Figures) == 0 {
		return d
	}
	said := -1
	for i, s := range d.Sentences {
		if strings.Contains(s.Text, calculation) {
			return d
		}
		if said < 0 && strings.Contains(s.Text, figures.Print(v.Figures[0])) {
			said = i
		}
	}
	if said >= 0 {
		d.Sentences = slices.Insert(d.Sentences, said+1, Sentence{Text: calculation + v.Formula + ".", Marks: marksOf(v)})
	}
	return d
}

// calculation begins the sentence that tells how a value was computed.
const calculation = "Calculation: "

// marksOf returns the passages of a value's inputs.
func marksOf(v *formula.Value) (marks []int) {
	for _, in := range v.Inputs {
		if in.Passage >= 0 && !slices.Contains(marks, in.Passage) {
			marks = append(marks, in.Passage)
		}
	}
	return marks
}

// unscaled reports whether a value is an amount whose unit is unknown.
func unscaled(v *formula.Value) bool {
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

// kind is a kind of question for text, with what its answer contains.
type kind struct {
	asks, fits *regexp.Regexp
	bonus      float64
	must       bool
}

func kindOf(asks, fits string, bonus float64, must bool) kind {
	return kind{regexp.MustCompile(`(?i)` + asks), regexp.MustCompile(`(?i)` + fits), bonus, must}
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
	minCover    = 0.62
	coverOfMany = 0.9 // the least cover if there are more than manyQuotes
	manyQuotes  = 100
	longReport  = 20   // from so many pages on, a sentence itself has to contain most words of the question,
	saidOfLong  = 0.75 // that is, this share of them
	minAsked    = 3    // and at least this many words
	saidCover   = 0.8  // the least share in the sentence itself for a figure that is usually computed
	nearby      = 0.65 // the weight of a word in the heading, the title or the sentence before
	minLead     = 0.06
	ofLatest    = 0.02 // the bonus for a sentence of the latest report if no period is asked for
	maxQuote    = 900  // the largest length of a sentence in bytes
	minQuote    = 20
)

// quote is a sentence that may answer.
type quote struct {
	text         string
	passage, at  int
	terms        map[terms.Term]bool
	under        map[terms.Term]bool // the terms of the title and headings above it
	behind       map[terms.Term]bool // the terms of the sentence before it
	score, cover float64
	said         float64 // the share of the question's words in the sentence itself
}

// sought is what sentences are rated by.
type sought struct {
	asked    []terms.Term
	fitting  []kind
	years    []int
	moved    int    // the direction that is asked about
	happened bool   // the question asks what was, not what may be
	counted  string // the thing that is counted
}

// sharing matches a sentence that states a share or an average.
var sharing = regexp.MustCompile(`(?i)\d\s?(?:%|per\s?cent)|\baverage\b`)

// ofText quotes the sentence that fits best, if it is better than all others by far. Sentences that must does
// not match are not quoted; a nil must accepts all.
func ofText(body string, passages []kernel.Passage, least float64, must *regexp.Regexp) Draft {
	asked := stems(body)
	moved := direction(body)
	if len(asked) == 0 {
		return Draft{}
	}
	quotes := quotesOf(passages)
	if must != nil {
		quotes = slices.DeleteFunc(quotes, func(c quote) bool { return !must.MatchString(c.text) })
	}
	// Words that few sentences contain say more.
	weights := make(map[terms.Term]float64, len(asked))
	for _, t := range asked {
		n := 0
		for i := range quotes {
			if quotes[i].terms[t] {
				n++
			}
		}
		weights[t] = math.Log(1 + float64(len(quotes)+1)/float64(n+1))
		if n == 0 && t == measured(body) { // the unit of a figure names it: "4 megawatt hours"
			weights[t] = 0
		}
	}
	var fitting []kind
	for _, k := range kinds {
		if k.asks.MatchString(body) {
			fitting = append(fitting, k)
		}
	}
	w := &sought{
		asked: asked, fitting: fitting, years: metrics.Years(body), moved: moved,
		happened: happened.MatchString(body),
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
			quotes[i].score += ofLatest
		}
	}
	slices.SortStableFunc(quotes, func(a, b quote) int { return cmp.Compare(b.score, a.score) })
	if len(quotes) == 0 || quotes[0].cover < least {
		return Draft{}
	}
	if len(quotes) > manyQuotes && quotes[0].cover < coverOfMany { // among many sentences, one has the words by chance
		return Draft{}
	}
	url := passages[quotes[0].passage].URL
	if slices.ContainsFunc(passages, func(p kernel.Passage) bool { return p.URL == url && p.Page > longReport }) &&
		(len(asked) < minAsked || quotes[0].cover < coverOfMany || quotes[0].said < saidOfLong) {
		return Draft{}
	}
	best := quotes[0]
	chosen := []quote{best}
	if len(quotes) > 1 {
		second := quotes[1]
		if best.score-second.score < minLead {
			if second.text != best.text && (second.passage != best.passage || second.at-best.at > 2 || best.at-second.at > 2) &&
				best.cover < 0.85 {
				return Draft{} // two sentences fit equally well
			}
			if second.text != best.text && second.cover >= least &&
				passages[second.passage].Period.AnyYear() == passages[best.passage].Period.AnyYear() {
				chosen = append(chosen, second)
			}
		}
	}
	slices.SortStableFunc(chosen, func(a, b quote) int {
		if a.passage != b.passage {
			return a.passage - b.passage
		}
		return a.at - b.at
	})
	d := Draft{Confidence: min(best.cover, 1)}
	for _, c := range chosen {
		d.Sentences = append(d.Sentences, Sentence{Text: c.text, Marks: []int{c.passage}})
	}
	return d
}

var howMuch = regexp.MustCompile(`(?i)\bhow much (\w+) (?:does|do|did|can|will)\b`)

// measured returns the thing whose quantity a question asks for, or the empty string.
func measured(body string) terms.Term {
	if m := howMuch.FindStringSubmatch(body); m != nil {
		return terms.Stem(strings.ToLower(m[1]))
	}
	return ""
}

var (
	happened = regexp.MustCompile(`(?i)\b(?:did|was|were|has|have|had)\b`)
	hedged   = regexp.MustCompile(`(?i)\b(?:could|may|might|would|can)\b`)
	howMany  = regexp.MustCompile(`(?i)\bhow many (?:[\w-]+ )?([a-z]+)\b`)
)

// counts reports whether a sentence contains a number of a thing: "969 stores", "969 retail stores".
func counts(text, thing string) bool {
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

// rate scores a sentence by the question's words in it. documentYear is the fiscal year of its document, or 0
// if it has none.
func (c *quote) rate(w *sought, weights map[terms.Term]float64, documentYear int) {
	var got, all float64
	own := false
	for _, t := range w.asked {
		all += weights[t]
		switch {
		case c.terms[t]:
			got += weights[t]
		case akin(t, c.terms):
			got += 0.8 * weights[t]
		case c.under[t] || c.behind[t]:
			got += nearby * weights[t]
			continue
		default:
			continue
		}
		own = true
		c.said += weights[t]
	}
	if all > 0 {
		c.cover, c.said = got/all, c.said/all
	}
	c.score = c.cover
	if w.moved != 0 {
		switch direction(c.text) {
		case w.moved:
			c.score += 0.1
		case -w.moved: // a change in the other direction
			c.cover, c.score = 0, 0
			return
		}
	}
	for _, k := range w.fitting {
		switch {
		case k.fits.MatchString(c.text):
			own = own || k.must
			c.score += k.bonus
		case k.must:
			c.cover, c.score = 0, 0
			return
		default:
			c.score -= k.bonus / 2
		}
	}
	if !own { // what stands above a sentence is not what it says
		c.cover, c.score = 0, 0
		return
	}
	if w.happened && hedged.MatchString(c.text) { // what may be is not what was
		c.cover, c.score = 0, 0
		return
	}
	if w.counted != "" && !counts(c.text, w.counted) {
		c.cover, c.score = 0, 0
		return
	}
	if len(w.years) > 0 {
		found := metrics.Years(c.text)
		shared := slices.ContainsFunc(w.years, func(y int) bool { return slices.Contains(found, y) })
		switch {
		case shared:
			c.score += 0.05
		// Another time, or a report that came before it.
		case len(found) > 0, documentYear != 0 && documentYear < slices.Max(w.years) && w.happened:
			c.cover, c.score = 0, 0
			return
		}
	}
	if len(c.text) > 500 {
		c.score -= 0.03
	}
}

// akin reports whether a long term belongs to the same family as one of a sentence: the shorter of the two is
// a prefix of the longer, as in "audit" and "auditor".
func akin(t terms.Term, words map[terms.Term]bool) bool {
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

// direction returns the direction in which something moved, by the first word that tells it: 1 up, -1 down, 0
// none.
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

// asking holds words of a question that its answer does not contain.
var asking = func() map[terms.Term]bool {
	m := make(map[terms.Term]bool)
	for _, t := range terms.Of(`reason reasons cause caused due primarily mainly factor factors amount amounts value total recorded happen happens purpose plan mean meaning describe explain
		please according table information what's much used relate related comprise comprised consist consists include included does company company's group following respective main primary
		drove drive driven lead led increase increased decrease decreased decline declined rise rose fall fell grow grew growth drop dropped climb climbed improve improved report reports reported end ended beginning many much work works long last lasted lasts take took town city country place located come came comes share percentage percent proportion average`) {
		m[t] = true
	}
	return m
}()

// stems returns the words of a question that its answer contains.
func stems(body string) []terms.Term {
	var list []terms.Term
	for _, t := range termsOf(body) {
		if !asking[t] && !slices.Contains(list, t) && !year(t) {
			list = append(list, t)
		}
	}
	switch {
	case len(list) > 0:
		return list
	case direction(body) != 0: // if nothing is named, the revenue is what grows
		return termsOf("revenue")
	}
	return termsOf(body)
}

// alike maps words to the one that stands for all words of the same meaning.
var alike = func() map[terms.Term]terms.Term {
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

// termsOf returns the terms of a text. Words of the same meaning are one term.
func termsOf(s string) []terms.Term {
	list := terms.Of(s)
	for i, t := range list {
		if one, ok := alike[t]; ok {
			list[i] = one
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

func year(t terms.Term) bool {
	n, err := strconv.Atoi(string(t))
	return err == nil && n >= 1900 && n < 2100
}

var (
	address = regexp.MustCompile(`(?i)[a-z][a-z0-9+.-]*://|\b(?:mailto|javascript|data):|www\.|\b[a-z0-9-]+\.(?:com|net|org|io|example|info|biz|test)\b|\b[a-z0-9-]+\.[a-z]{2,24}/|[\w.]+@[\w.]+`)
	// instructing matches texts that tell a model what to do.
	instructing = regexp.MustCompile(`(?i)\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instructions?|prompts?|rules|above|previous|prior|everything)\b|\b(?:system prompt|as an ai|you are (?:an? |now )*(?:ai|assistant|language model|chatbot)|assistants? (?:must|should|shall)|(?:reply|respond|answer) (?:only )?(?:with|that)\b|tell (?:the )?(?:user|reader|investor)s?\b|do not (?:tell|mention|reveal)|new instructions?|instructions? (?:to|for) (?:the )?(?:ai|model|assistant|reader))`)
	ofModels    = regexp.MustCompile(`(?i)\blanguage models?\b`)
	// pointing matches sentences that refer to a table and state nothing themselves.
	pointing = regexp.MustCompile(`(?i)\b(?:following|accompanying) tables?\b|\btables? (?:below|above|that follows?)\b|\bas follows\b[^.]*:?$|:$|\b(?:set forth|shown|presented|summari[sz]ed) (?:below|above)\b|^(?:\(?\d{1,2}\) )?(?:see|refer to)\b`)
	// broken matches fragments of sentences and lines in columns.
	broken = regexp.MustCompile(`^(?:\p{Ll}|[,;)])|(?i:\b(?:and|or|of|the|in|to|for|with|by|amounted)$)|\S {3,}\S`)
	// speaker matches the name of the speaker at the beginning of a line in a transcript.
	speaker = regexp.MustCompile(`^(?:Operator|Analyst|Moderator|Question|Answer|Q|A|(?:[A-Z][a-z]+ ){1,4}(?:Officer|Director|President|Chair|Relations|Analyst|Executive))\s*:\s+`)
	link    = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	markup  = regexp.MustCompile("[*_`]{1,3}([^*_`]+)[*_`]{1,3}|^#+\\s*|^[-*]\\s+|<[^>]{0,200}>")
)

// Speaks reports whether a text speaks to or about a model, or contains an address. Such a text is not
// quoted.
func Speaks(s string) bool {
	return address.MatchString(s) || ofModels.MatchString(s) || instructing.MatchString(s)
}

// quotesOf returns the sentences of passages that may be quoted.
func quotesOf(passages []kernel.Passage) []quote {
	var all []quote
	seen := make(map[string]bool)
	for i := range passages {
		at := 0
		base := passages[i].Title + " " + passages[i].Section
		under := setOf(base)
		for line := range strings.Lines(passages[i].Text) {
			line = strings.TrimSpace(line)
			if line == "" || tables.IsRow(line) {
				continue
			}
			line = link.ReplaceAllString(line, "$1")
			line = strings.TrimLeft(strings.TrimSpace(markup.ReplaceAllString(line, "$1")), "•●▪■\uf0b7\uf0a7 ")
			line = speaker.ReplaceAllString(line, "")
			var before map[terms.Term]bool
			for _, s := range Split(line) {
				at++
				behind, words := before, map[terms.Term]bool(nil)
				if len(s) <= maxQuote {
					words = setOf(s)
				}
				before = words
				if len(s) < minQuote || len(s) > maxQuote || Speaks(s) || seen[s] || strings.ContainsAny(s, "[]<>") ||
					pointing.MatchString(s) || broken.MatchString(s) {
					continue
				}
				if !strings.ContainsAny(s[len(s)-1:], ".!?:;)") && len(s) < 80 { // a heading
					under = setOf(base + " " + s)
					continue
				}
				seen[s] = true
				all = append(all, quote{text: s, passage: i, at: at, terms: words, under: under, behind: behind})
			}
		}
	}
	return all
}
