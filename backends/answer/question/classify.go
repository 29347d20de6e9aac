package question

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

// hateful matches questions that are always refused. abusive matches questions that are refused unless they are about
// events of an issuer.
var (
	hateful = regexp.MustCompile(`(?i)\b(?:people|persons|members|those) of (?:that|this|the same|another|a certain|\w+) (?:religion|race|faith|ethnicity|nationality|skin colou?r)\b.{0,40}\b(?:should|must|ought) (?:not|never|all)\b|\b(?:hate|inferior|subhuman|exterminate|get rid of|vermin|kill all|should (?:all )?be (?:killed|deported|banned from owning))\b.{0,60}\b(?:jews?|muslims?|christians?|blacks?|whites?|asians?|immigrants?|gays?|women|men|race|ethnic|religion|arabs?|roma)\b|\b(?:jews?|muslims?|blacks?|immigrants?|women|gays?|arabs?|roma)\b.{0,40}\b(?:are|is) (?:ruining|destroying|behind all|inferior|subhuman|vermin|parasites|to blame|too stupid|stupid|greedy)`)
	abusive = regexp.MustCompile(`(?i)\b(?:sex\w*|nude|porn\w*|erotic\w*|naked)\b.{0,60}\b(?:child(?:ren)?|minors?|teen(?:ager)?s?|underage|kids?|(?:1[0-7]|[1-9])[- ]year[- ]old)|\b(?:child(?:ren)?|minors?|underage|kids?)\b.{0,40}\b(?:sex\w*|nude|porn\w*|erotic\w*|naked)`)
)

var (
	// ranking matches a question for a list of securities, such as "top 10 stocks".
	ranking = regexp.MustCompile(`(?i)\b(?:top|best|cheapest|worst)\s+(?:\d+|five|ten|three|twenty)?\s*(?:[\w-]+\s+){0,4}(?:stocks?|companies|shares|issuers|funds|etfs|equities)\b|\b(?:screen|screener)\b|\bpeers? (?:comparison|ranking)\b|\brank(?:ing)?\b[^.?!]{0,40}\b(?:companies|stocks|issuers|peers)\b`)
	// withinIssuer matches words for parts of one issuer, such as its products.
	withinIssuer = regexp.MustCompile(`(?i)\b(?:own|its own|products?|brands?|segments?|share class(?:es)?|class [ab])\b`)
	// listSeparator matches the text between two names of a list.
	listSeparator = regexp.MustCompile(`(?i)^[\s,]*(?:and|or|vs\.?|versus|,|with|to|than|against|&)*(?:\s*(?:the|of|and|or|with|to|than|against)\b)*[\s,]*$`)
)

// classify sets q.Verdict and q.Sure by the rules. compareMin is the least number of issuers in a comparison that
// counts as screening. mentions are the issuers of the corpus that the question names, absent the well-known issuers
// that the corpus does not have.
func (q *Question) classify(compareMin int, mentions, absent []metrics.IssuerMention) {
	r := readingOf(q.Text)
	if r.isHarmful(q.Text) {
		q.Verdict, q.Sure = Filtered, true
		return
	}
	core := q.Text
	if match := preamble.FindStringIndex(q.Text); match != nil {
		core = q.Text[match[1]:]
		r = readingOf(core)
	}
	finance, otherTopics := r.hits("finance"), r.hits("elsewhere") // how many words of each kind the question has
	if currencies.MatchString(core) || r.has("crime") || r.precedes("asks", "set") {
		finance++
	}
	// named reports that the question names an issuer, or something that may be one.
	named := len(q.Issuers) > 0 || len(absent) > 0 || finance > 0 && issuerActs.MatchString(core)
	lacksFinance := finance == 0 && len(q.Metrics) == 0
	mostlyOther := !named && otherTopics >= finance && (otherTopics > finance || finance < 2)
	switch {
	case r.has("creative") && (otherTopics > 0 || finance == 0): // wants a poem, a story or the like
		q.Verdict, q.Sure = NonInvestment, true
		return
	case otherTopics > 0 && (lacksFinance || mostlyOther):
		q.Verdict, q.Sure = NonInvestment, finance == 0
		return
	case !named && lacksFinance && (manual.MatchString(r.text) || knowledge.MatchString(r.text)):
		q.Verdict = NonInvestment
		return
	case !named && lacksFinance &&
		(smallTalk.MatchString(r.text) || !unknownName(q.Text) && !definition.MatchString(r.text)):
		q.Verdict = NonInvestment
		return
	}
	q.Sure = named || finance > 1
	if q.wantsScreening(core, r, compareMin, mentions, absent) {
		q.Verdict, q.Sure = Screener, true
	}
}

// unknownName reports whether a text contains a name or an abbreviation that may be an issuer, a product or a
// term of finance: a word with a capital letter that does not begin a sentence.
func unknownName(s string) bool {
	if strings.ContainsFunc(s, isUnspaced) { // such scripts do not distinguish names
		return true
	}
	sentenceStart := true
	for word := range strings.FieldsSeq(s) {
		bare := strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		letters := []rune(bare)
		switch {
		case len(letters) < 2:
		// An abbreviation, such as "ETF", counts even at the beginning of a sentence.
		case strings.ToUpper(bare) == bare && unicode.IsLetter(letters[0]) && len(letters) < 7:
			return true
		case !sentenceStart && unicode.IsUpper(letters[0]):
			return true
		}
		sentenceStart = strings.ContainsAny(word[len(word)-1:], ".?!:")
	}
	return false
}

// preamble matches text before the question itself, such as a role that the service should play or sources that it
// should use.
var preamble = regexp.MustCompile(`(?i)^\s*[\[{<][^\]}>]*[\]}>]\s*|^\W*(?:ignore|forget|disregard|do not|don't|never mind|this is not)\b[^,.:;?]{3,80}[,.:;]\s+|^\W*(?:as an?|assume|pretend|imagine|suppose|acting as|act as|you are|i am|i'm|als|en tant que|como|come|in qualita di)\b[^,.:;?]{3,100}[,.:;]\s+`)

// manual matches questions about how to do something oneself. knowledge matches questions about the world, such as the
// greatest of a kind, or how old or how far something is. Without a word of finance such questions are not about money.
var (
	manual    = regexp.MustCompile(`^ (?:and |so |please |tell me )?(?:how (?:do|can|should|would|to) (?:i |you |we |one )?\pL+|wie \pL+ (?:ich|man) |comment (?:on |faire |\pL+er )|como (?:se |puedo |hago |faco |fazer |cuido |\pL+[aei]r )|come (?:si |posso |faccio |\pL+are |\pL+ere )|如何|怎么|怎样)|(?:作り方|育て方|飼い方|使い方|やり方|描き方)`)
	knowledge = regexp.MustCompile(`^ (?:what|which) (?:is|are|was) the (?:\pL+est|most \pL+) |^ (?:who (?:was|were|invented|discovered|wrote|painted|composed|won|sang|directed)|when (?:was|were) (?:the )?(?:first|last)|how (?:tall|old|far|deep|wide|long|fast|heavy|hot|cold) (?:is|are|was|does|do|can))\b|^ (?:quel(?:le)? est l[ea] plus|cual es (?:el|la|los) \pL+ mas|qual e (?:il|la) \pL+ piu|qual e [oa] (?:maior|menor|mais)|quanto e (?:alto|alta|lungo|lunga|grande)|wie (?:alt|tief|weit|lang|schnell) (?:ist|sind|war)|was ist (?:der|die|das) \pL+ste)|一番|世界で`)
)

// definition matches a question about the meaning of a term, which may be a term of finance.
var definition = regexp.MustCompile(`^ what (?:is|are) (?:an? )?(?:[a-z-]+ ){1,3}$`)

// smallTalk matches texts that contain no question.
var smallTalk = regexp.MustCompile(`^\W*(?:hello|hi|hey|thanks|thank you|good (?:morning|evening|night)|how are you|who are you|what are you|hallo|guten (?:tag|morgen)|bonjour|salut|merci|hola|buenos dias|gracias|ciao|buongiorno|grazie|ola|bom dia|obrigad[oa]|你好|谢谢|こんにちは|ありがとう)\b`)

// isHarmful reports whether a question wants something harmful. A question about events of an issuer, such as a trial,
// usually does not.
func (r reading) isHarmful(text string) bool {
	events := r.has("events")
	switch {
	case hateful.MatchString(text), r.has("harm") && !events, abusive.MatchString(text) && !events:
		return true
	case !events && r.has("doing") && r.has("deceit"):
		return true
	case !r.has("crime"):
		return false
	}
	// The question is about a crime. It is harmful if it asks how to commit the crime, but not if it asks for information
	// about the crime. If it also has a term of events, a term of doing counts only together with the word "I".
	return r.has("evading") || r.has("doing") && (!events || strings.Contains(r.text, " i ")) ||
		!events && !informational.MatchString(r.text)
}

// informational matches the beginning of a question that wants information rather than instructions.
var informational = regexp.MustCompile(`^ (?:what|who|when|where|why|which|did|does|do|has|have|had|was|were|is|are|how (?:much|many|long|often|large|does|did|has|have|is|was)|was|wer|wann|warum|hat|wurde|ist|que|qui|quand|pourquoi|quel|quelle|quien|cuando|cual|chi|quando|perche|quem|qual|` +
	`is|est|ha|fue|e|foi) `)

// superlativeBy matches a question for the first of a kind by a measure, such as "the cheapest stock by P/E".
var superlativeBy = regexp.MustCompile(`(?i)\b(?:cheapest|best|worst|largest|biggest|highest|lowest|fastest)[- ](?:[\w-]+ ){1,4}by \w+`)

// superlative matches a question for the security or company that is the first of many by a measure.
var superlative = regexp.MustCompile(`(?i)\bwhat(?:'s| is| are) the (?:best|worst|\w+est|most \w+) (?:[\w-]+ ){0,2}(?:stock|share|company|bank|insurer|fund|etf|bond|reit|airline|retailer|broker|\w+maker)s?\b|^\W*which (?:[\w-]+ ){0,3}(?:stock|share|company|firm|bank|insurer|fund|etf|bond|issuer|reit|airline|retailer|broker|lender|producer|utility|\w+maker|miner)s? (?:has|have|had|pays?|paid|offers?|is|are|was|were|trades?|grew|spends?|earns?|yields?)\b.*\b(?:highest|lowest|most|least|best|worst|largest|biggest|smallest|cheapest|fastest|safest)\b`)

// issuerActs matches a name with a verb before it, in a question about something that issuers do.
var issuerActs = regexp.MustCompile(`\b(?i:does|did|has|have|is|was|will|do|are) (?:the )?` + aName + `\b`)

// aName matches a capitalised name.
const aName = `\p{Lu}[\pL\pN&.'-]+(?: \p{Lu}[\pL\pN&.'-]+){0,2}(?:['’]s)?`

var (
	// pairs matches two names to choose from, such as "X vs. Y" or "is X or Y".
	pairs = regexp.MustCompile(`\b` + aName + ` (?:vs\.?|versus|oder|contra) ` + aName +
		`|\b(?i:is|are|does|did|was|were|has|have) ` + aName + ` or ` + aName)
	// couples matches two names joined by "and" or the like.
	couples = regexp.MustCompile(aName + ` (?:and|y|e|et|und|with|con|avec|mit|to) ` + aName)
	// choices matches "X or Y" at the end or the beginning of a question.
	choices = regexp.MustCompile(`[,:] ` + aName + ` (?:or|o|ou|oder|ó) ` + aName + `\W*$|^` + aName +
		` (?:or|o|ou|oder) ` + aName + `[,:?]`)
	// thanName matches a name, a comparative word such as "than", and another name, which is its submatch.
	thanName = regexp.MustCompile(aName +
		`(?: [^.?!]{0,80})? (?:than|against|versus|vs\.?|compare[sd]? (?:to|with|against)|relative to|next to)(?: that of| those of| its rival| its peer)? (` + aName + `)\W*(?:$|[,?]|in |on |for |by |over |during |at )`)
	// noIssuer matches the beginning of names that are not issuers: places, times, analysts.
	noIssuer = regexp.MustCompile(`^(?:Wall Street|Street|FY|Q[1-4]|H[12]|January|February|March|April|May|June|July|August|September|October|November|December|Christmas|North|South|East|West|Latin|Europe|EMEA|APAC|Asia|Africa|America|China|India|Japan|Germany|France|Brazil|US|U\.S|USA|UK|EU|GAAP|Fiscal|Year|Class|Series|International|Domestic|Services|Products|Premium|United (?:States|Kingdom|Arab))\b`)
	// unspacedPair matches a comparison of two names in scripts without spaces.
	unspacedPair = regexp.MustCompile(`(?:比较|对比)[^0-9０-９年，。？]{2,20}[和与跟][^0-9０-９年]{2,}|[^0-9０-９年、。]{2,20}と[^0-9０-９年、。]{2,20}(?:比較|比べ|どちら)|[^0-9年，。]{2,20}[和与跟][^0-9年，。]{2,20}(?:哪个|谁|哪家)|[^0-9，。]{2,12}还是[^0-9，。]{2,12}[？?]?$`)
	// currencies matches a pair of currencies, such as EUR/USD.
	currencies = regexp.MustCompile(`\b[A-Z]{3} ?/ ?[A-Z]{3}\b`)
	// comparing matches the beginning of verbs such as "compare", in the form of plainWords.
	comparing = regexp.MustCompile(` (?:compar|vergleich|confront)`)
)

// comparesNames reports whether a question compares two names that may be issuers. text is the question and r its
// words. It recognises names by their capital letters, so the question must also have a word of comparison. In scripts
// without spaces it looks for typical phrases instead.
func comparesNames(text string, r reading) bool {
	if unspacedPair.MatchString(text) {
		return true
	}
	if !r.has("compares") {
		return false
	}
	// m[1] is the second name, the one after a word such as "than".
	if m := thanName.FindStringSubmatch(text); m != nil && !noIssuer.MatchString(m[1]) {
		return true
	}
	if pairs.MatchString(text) || choices.MatchString(text) {
		return true
	}
	return comparing.MatchString(r.text) && couples.MatchString(text)
}

// wantsScreening reports whether a question wants a set of securities by criteria, or compares at least compareMin
// issuers. core is the text of the question without its preamble, and r the words of core. mentions and absent are
// those of classify.
func (q *Question) wantsScreening(
	core string, r reading, compareMin int, mentions, absent []metrics.IssuerMention,
) bool {
	if !withinIssuer.MatchString(core) && comparesNames(core, r) {
		return compareMin <= 2 // the question compares two names
	}
	if ranking.MatchString(core) {
		return true
	}
	if len(q.Issuers) == 0 && len(absent) == 0 {
		if superlativeBy.MatchString(core) || superlative.MatchString(core) && !withinIssuer.MatchString(core) {
			return true
		}
		wantsSet := r.precedes("asks", "set") || r.begins("set") || r.terse() && r.has("set")
		return r.has("criteria") && wantsSet
	}
	// The rest of the method counts the issuers that the question names, including those that the corpus does not have.
	all := slices.Clone(mentions)
	for _, m := range absent {
		overlaps := func(other metrics.IssuerMention) bool { return m.Start < other.End && other.Start < m.End }
		if !slices.ContainsFunc(mentions, overlaps) {
			m.Issuers = []int64{-m.Issuers[0]} // not to be mistaken for the id of an issuer of the corpus
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b metrics.IssuerMention) int { return a.Start - b.Start })
	named := 0
	listed := false // only words such as "and" are between two of the names
	for i, m := range all {
		isNamedBefore := func(earlier metrics.IssuerMention) bool { return earlier.Issuers[0] == m.Issuers[0] }
		if len(m.Issuers) > maxSameName || slices.ContainsFunc(all[:i], isNamedBefore) {
			continue
		}
		if named++; named > 1 && listSeparator.MatchString(q.Text[all[i-1].End:m.Start]) {
			listed = true
		}
	}
	if named < compareMin {
		return false
	}
	return listed || r.has("compares") && !withinIssuer.MatchString(q.Text)
}

// subQuery returns a sub-query without surrounding white space, or the empty string if it is too long.
func subQuery(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > maxSub {
		return ""
	}
	return s
}
