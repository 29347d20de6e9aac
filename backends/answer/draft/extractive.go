package draft

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/formula"
	"github.com/tollgate-gateway/tollgate/backends/answer/inquiry"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
	"github.com/tollgate-gateway/tollgate/backends/answer/question"
	"github.com/tollgate-gateway/tollgate/backends/answer/tables"
	"github.com/tollgate-gateway/tollgate/backends/answer/terms"
)

// Extractive writes an answer without a model. If the computed value v is not nil, the answer states it. Otherwise it
// quotes one or two sentences of the passages that fit the question. If nothing fits, the draft has no sentences.
func Extractive(q *question.Question, v *formula.Value, passages []kernel.Passage) Draft {
	if v != nil {
		return draftOfValue(q, v)
	}
	body := q.Inquiry.Plain
	if Verdict(q.Body) { // sentences of documents do not say yes or no
		return Draft{}
	}
	switch op := q.Inquiry.Op; {
	case op == inquiry.Share || op == inquiry.Average: // some documents state shares and averages in words
		return draftOfText(body, passages, computedCover, statesShare)
	case usuallyComputed(q.Inquiry):
		return Draft{}
	case shareQuestion.MatchString(body):
		return draftOfText(body, passages, minCover, statesShare)
	}
	return draftOfText(body, passages, minCover, nil)
}

// Verdict reports whether a question wants a yes or no.
func Verdict(body string) bool { return verdict.MatchString(body) }

// verdict matches the beginning of a question for a yes or no, perhaps after an introduction: "In 2019, did …".
var verdict = regexp.MustCompile(`(?i)(?:^\W*|^(?:looking|based|in|for|as|considering|given|judging|according|from|with|during|by)\b[^.?!]{1,60}, )(?:is|are|was|were|did|does|do|has|have|had|can|will|would|could|should)\b`)

// shareQuestion matches the beginning of a question for a share.
var shareQuestion = regexp.MustCompile(`(?i)\b(?:what|which) (?:share|percentage|percent|proportion|fraction)\b`)

// usuallyComputed reports whether a question wants a figure that sentences seldom state.
func usuallyComputed(i *inquiry.Inquiry) bool {
	switch i.Op { //nolint:exhaustive // sentences state the other figures too
	case inquiry.Sum, inquiry.Ratio, inquiry.Annual, inquiry.Count, inquiry.Where, inquiry.Years, "":
		return true
	case inquiry.Change, inquiry.Growth:
		return len(i.Periods) > 1
	}
	return false
}

// kind is a kind of question that is answered by a sentence. For example, questions with "why" are a kind; their
// answers have "because" or "due to".
type kind struct {
	asks     *regexp.Regexp // matches the questions
	fits     *regexp.Regexp // matches the sentences that may answer them
	bonus    float64        // is added to the score of sentences that fit; others lose half of it
	required bool           // only sentences that fit are quoted
}

// kindOf returns a kind of question. The regular expression asks matches the questions, and the regular expression
// fits matches the sentences that may answer them. Both ignore case.
func kindOf(asks, fits string, bonus float64, required bool) kind {
	return kind{regexp.MustCompile(`(?i)` + asks), regexp.MustCompile(`(?i)` + fits), bonus, required}
}

// kinds lists the kinds of questions. A question may be of several kinds.
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

// Bounds for quotes. The cover of a sentence is the weighted share of the question's words that are in the sentence or
// near it. Its ownCover is the weighted share of those that are in the sentence itself.
const (
	minCover       = 0.62 // the least cover of a quoted sentence
	safeCover      = 0.85 // from this cover on, a sentence is quoted although another one fits equally well
	coverOfMany    = 0.9  // the least cover if there are more than manyQuotes
	manyQuotes     = 100
	longReport     = 20   // a report with more pages is long
	minCoverOfLong = 0.75 // the least ownCover in a long report
	minWordsOfLong = 3    // the least number of words of a question about a long report
	computedCover  = 0.8  // the least cover for a figure that is usually computed
	contextWeight  = 0.65 // the weight of a word in the heading, the title or the sentence before
	minLead        = 0.06 // the second best sentence is ignored if the best one is ahead by at least this score
	latestBonus    = 0.02 // the bonus for a sentence of the latest report if the question names no year
	maxQuote       = 900  // the largest length of a sentence in bytes
	minQuote       = 20   // the least length of a sentence in bytes
)

// quote is a sentence of a passage that may answer the question. quotesOf makes it; rate sets the score and the covers.
type quote struct {
	text     string
	passage  int       // the index of its passage
	position int       // the number of the sentence in its passage, from 1
	terms    terms.Set // of the sentence
	headings terms.Set // of the title and headings above the sentence
	previous terms.Set // of the previous sentence
	score    float64   // cover with bonuses and penalties
	cover    float64   // the weighted share of the question's words in and around the sentence
	ownCover float64   // the weighted share of the question's words in the sentence itself
}

// criteria holds the properties of a question by which sentences are rated.
type criteria struct {
	words     []terms.Term           // the words that the answer should contain
	weights   map[terms.Term]float64 // of the words
	kinds     []kind                 // that the question is of
	years     []int                  // that the question names
	direction int                    // the direction in the question, as function direction returns it
	past      bool                   // the question is about the past, not about possibilities
	counted   string                 // the things whose number the question wants, such as "stores", or empty
}

// statesShare matches a sentence that states a share or an average.
var statesShare = regexp.MustCompile(`(?i)\d\s?(?:%|per\s?cent)|\baverage\b`)

// draftOfText quotes the sentence of the passages that fits the question best. If a second sentence fits about as
// well, draftOfText also quotes that one if its passage is about the same year and its cover is at least minimum. But
// if the second sentence is not near the best one and the cover of the best one is less than safeCover, the draft is
// empty. minimum is the least cover of a quoted sentence. Only sentences that match filter are quoted; a nil filter
// accepts all. If no sentence is good enough, the draft is empty.
func draftOfText(body string, passages []kernel.Passage, minimum float64, filter *regexp.Regexp) Draft {
	quotes := quotesOf(passages)
	if filter != nil {
		quotes = slices.DeleteFunc(quotes, func(q quote) bool { return !filter.MatchString(q.text) })
	}
	c := criteriaOf(body, quotes)
	if len(c.words) == 0 || len(quotes) == 0 {
		return Draft{}
	}
	rateAll(quotes, c, passages)
	best := quotes[0] // rateAll has sorted them
	url := passages[best.passage].URL
	isLong := slices.ContainsFunc(passages, func(p kernel.Passage) bool { return p.URL == url && p.Page > longReport })
	switch {
	case best.cover < minimum:
		return Draft{}
	case len(quotes) > manyQuotes && best.cover < coverOfMany: // among many sentences, one has the words by chance
		return Draft{}
	case isLong && (len(c.words) < minWordsOfLong || best.cover < coverOfMany || best.ownCover < minCoverOfLong):
		return Draft{}
	}
	chosen := []quote{best}
	if len(quotes) > 1 && best.score-quotes[1].score < minLead && quotes[1].text != best.text {
		second := quotes[1]
		distance := second.position - best.position
		isNear := second.passage == best.passage && distance >= -2 && distance <= 2
		if !isNear && best.cover < safeCover {
			return Draft{} // two sentences fit equally well
		}
		if second.cover >= minimum &&
			passages[second.passage].Period.AnyYear() == passages[best.passage].Period.AnyYear() {
			chosen = append(chosen, second)
		}
	}
	slices.SortStableFunc(chosen, func(a, b quote) int {
		return cmp.Or(a.passage-b.passage, a.position-b.position)
	})
	d := Draft{Confidence: min(best.cover, 1)}
	for _, q := range chosen {
		d.Sentences = append(d.Sentences, Sentence{Text: q.text, Marks: []int{q.passage}})
	}
	return d
}

// rateAll rates the quotes, which are sentences of the passages, and sorts them, the best first.
func rateAll(quotes []quote, c *criteria, passages []kernel.Passage) {
	latest := 0
	for i := range passages {
		latest = max(latest, passages[i].Period.AnyYear())
	}
	for i := range quotes {
		documentYear := passages[quotes[i].passage].Period.AnyYear()
		quotes[i].rate(c, documentYear)
		if len(c.years) == 0 && documentYear == latest {
			quotes[i].score += latestBonus
		}
	}
	slices.SortStableFunc(quotes, func(a, b quote) int { return cmp.Compare(b.score, a.score) })
}

// criteriaOf returns the criteria of a question for rating the quotes. Words that few quotes contain have a greater
// weight.
func criteriaOf(body string, quotes []quote) *criteria {
	c := &criteria{
		words: stems(body), years: metrics.Years(body), direction: direction(body), past: pastTense.MatchString(body),
	}
	c.weights = make(map[terms.Term]float64, len(c.words))
	for _, word := range c.words {
		n := 0
		for i := range quotes {
			if quotes[i].terms[word] {
				n++
			}
		}
		c.weights[word] = math.Log(1 + float64(len(quotes)+1)/float64(n+1))
		if n == 0 && word == measuredThing(body) { // the unit of a figure names it: "4 megawatt hours"
			c.weights[word] = 0
		}
	}
	for _, k := range kinds {
		if k.asks.MatchString(body) {
			c.kinds = append(c.kinds, k)
		}
	}
	if m := howMany.FindStringSubmatch(body); m != nil {
		c.counted = m[1]
	}
	return c
}

// howMuch matches a question for a quantity. Its group is the thing that is measured.
var howMuch = regexp.MustCompile(`(?i)\bhow much (\w+) (?:does|do|did|can|will)\b`)

// measuredThing returns the thing whose quantity a question wants, or the empty string.
func measuredThing(body string) terms.Term {
	if m := howMuch.FindStringSubmatch(body); m != nil {
		return terms.Stem(strings.ToLower(m[1]))
	}
	return ""
}

// Patterns of questions about the past, of sentences about possibilities, and of questions for a number of things.
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

// rate sets the score, cover and ownCover of a sentence. documentYear is the fiscal year of the sentence's document, or
// 0 if it has none. For a sentence that cannot be the answer, the score and the cover are 0.
func (q *quote) rate(c *criteria, documentYear int) {
	q.cover, q.ownCover = q.coverOf(c)
	var ok bool
	if q.score, ok = q.scoreOf(c, documentYear); !ok {
		q.cover, q.score = 0, 0
	}
}

// coverOf returns the cover and the ownCover of a sentence.
func (q *quote) coverOf(c *criteria) (cover, ownCover float64) {
	var total float64
	for _, word := range c.words {
		weight := c.weights[word]
		total += weight
		switch {
		case q.terms[word]:
			cover += weight
			ownCover += weight
		case hasRelated(word, q.terms):
			cover += 0.8 * weight
			ownCover += weight
		case q.headings[word] || q.previous[word]:
			cover += contextWeight * weight
		}
	}
	if total == 0 {
		return 0, 0
	}
	return cover / total, ownCover / total
}

// scoreOf returns the cover of a sentence with bonuses and penalties. ok is false if the sentence cannot be the answer.
func (q *quote) scoreOf(c *criteria, documentYear int) (score float64, ok bool) {
	score = q.cover
	if c.direction != 0 {
		switch direction(q.text) {
		case c.direction:
			score += 0.1
		case -c.direction: // a change in the other direction
			return 0, false
		}
	}
	isRelevant := slices.ContainsFunc(c.words, func(word terms.Term) bool {
		return q.terms[word] || hasRelated(word, q.terms)
	})
	for _, k := range c.kinds {
		switch {
		case k.fits.MatchString(q.text):
			isRelevant = isRelevant || k.required
			score += k.bonus
		case k.required:
			return 0, false
		default:
			score -= k.bonus / 2
		}
	}
	switch {
	case !isRelevant: // words above a sentence do not make it an answer
		return 0, false
	case c.past && hedged.MatchString(q.text): // a possibility does not answer a question about the past
		return 0, false
	case c.counted != "" && !countsThing(q.text, c.counted):
		return 0, false
	}
	if len(c.years) > 0 {
		years := metrics.Years(q.text)
		isOlder := documentYear != 0 && documentYear < slices.Max(c.years) // than the years of the question
		switch {
		case slices.ContainsFunc(c.years, func(y int) bool { return slices.Contains(years, y) }):
			score += 0.05
		case len(years) > 0, c.past && isOlder: // the sentence is about another time
			return 0, false
		}
	}
	if len(q.text) > 500 {
		score -= 0.03
	}
	return score, true
}

// hasRelated reports whether words contain a term that is related to t: one of the two is a prefix of the other and at
// most three letters shorter, as in "audit" and "auditor". Terms of less than five letters have no relatives.
func hasRelated(t terms.Term, words terms.Set) bool {
	if len(t) < 5 {
		return false
	}
	for word := range words {
		difference := len(word) - len(t)
		if len(word) >= 5 && difference >= -3 && difference <= 3 &&
			(strings.HasPrefix(string(word), string(t)) || strings.HasPrefix(string(t), string(word))) {
			return true
		}
	}
	return false
}

// Words for a direction of change.
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
	case down == nil || up != nil && up[0] < down[0]: // up comes first
		return 1
	}
	return -1
}

var (
	// address matches web and mail addresses.
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

// quotesOf returns the sentences of passages that may be quoted, without repetitions and without their scores.
func quotesOf(passages []kernel.Passage) []quote {
	var all []quote
	seen := make(map[string]bool)
	for i := range passages {
		position := 0
		above := passages[i].Title + " " + passages[i].Section
		headings := setOf(above)
		for line := range strings.Lines(passages[i].Text) {
			line = strings.TrimSpace(line)
			if line == "" || tables.IsRow(line) {
				continue
			}
			line = link.ReplaceAllString(line, "$1")
			line = strings.TrimLeft(strings.TrimSpace(markup.ReplaceAllString(line, "$1")), "•●▪■\uf0b7\uf0a7 ")
			line = speaker.ReplaceAllString(line, "")
			var words terms.Set // of the current sentence
			for _, s := range Split(line) {
				position++
				previous := words
				words = nil
				if len(s) <= maxQuote { // a longer one is neither quoted nor context of the next one
					words = setOf(s)
				}
				if seen[s] || !isQuotable(s) {
					continue
				}
				isHeading := !strings.ContainsAny(s[len(s)-1:], ".!?:;)") && len(s) < 80
				if isHeading { // of the following sentences
					headings = setOf(above + " " + s)
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

// isQuotable reports whether a sentence is complete, harmless and of a suitable length.
func isQuotable(s string) bool {
	return len(s) >= minQuote && len(s) <= maxQuote && !strings.ContainsAny(s, "[]<>") && !Suspicious(s) &&
		!pointsToTable.MatchString(s) && !fragment.MatchString(s)
}
