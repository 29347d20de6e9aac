package question

import (
	"regexp"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
)

// rule is a pattern with what it is about.
type rule struct {
	reason string
	*regexp.Regexp
}

func ruleOf(reason, pattern string) rule { return rule{reason, regexp.MustCompile(`(?i)` + pattern)} }

const (
	askHow = `(?:how (?:can|do|could|would|to|should|might)\b|help me\b|teach me\b|show me how|explain how to|ways? to|steps? to|best way|tell me how|give me|write|i want to|i need to|let's|plan to|can (?:you|i)\b|guide)`
)

// filtered are what is refused: how to break the law of markets, the secrets and lives
// of private people, hate, self-harm, sexual content with minors, malware. Questions
// about such events at an issuer are answered.
var filtered = []rule{
	ruleOf("market conduct", askHow+`.{0,80}\b(?:pump[- ]and[- ]dump|spoof(?:ing)?\b|wash trad|manipulat\w+ (?:the |a )?(?:stock|share|market|price)|corner the market|front[- ]?run|launder|(?:spread|start) (?:false |fake )?rumou?rs?|paint(?:ing)? the tape|bear raid|inflate (?:the )?(?:stock|share) price)`),
	ruleOf("market conduct", `\b(?:inside|insider) (?:tip|information|dealing|trading)\b.{0,60}\b(?:without (?:getting|being) caught|profit from|use it|before (?:the|it)|undetected|avoid)|\b(?:trade|profit|buy|sell|bet)\b.{0,60}\b(?:on|using|from|with) (?:my |the |this |confidential |unpublished |non-?public |material )*(?:inside|insider|non-?public|unpublished|confidential) (?:information|tip|knowledge|earnings|results)`),
	ruleOf("market conduct", askHow+`.{0,60}\b(?:evade|dodge|cheat) (?:the )?(?:tax|sec\b|regulators?)|\b(?:hide|conceal)\b.{0,40}\bfrom (?:the )?(?:sec\b|regulators?|tax authorit|irs)|\bfake (?:an? )?(?:invoice|financial statement|audit|earnings)`),
	ruleOf("private data", `\b(?:home address|private address|personal (?:phone|email|mobile)|phone number|social security|passport number|bank account (?:number|details)|credit card number|password|private key|login credentials?|seed phrase|where (?:does|do) .{0,60}\blive\b|children(?:'s)? school|medical records?)\b`),
	ruleOf("hate", `\b(?:hate|inferior|subhuman|exterminate|get rid of|vermin|kill all|should (?:all )?be (?:killed|deported|banned from owning))\b.{0,60}\b(?:jews?|muslims?|christians?|blacks?|whites?|asians?|immigrants?|gays?|women|men|race|ethnic|religion|arabs?|roma)\b|\b(?:jews?|muslims?|blacks?|immigrants?|women|gays?|arabs?|roma)\b.{0,40}\b(?:are|is) (?:inferior|subhuman|vermin|parasites|to blame|too stupid|stupid|greedy)`),
	ruleOf("self-harm", `\b(?:kill(?:ing)? myself|suicide|end (?:my|it) (?:life|all)|hurt(?:ing)? myself|self[- ]harm|overdose on)\b`),
	ruleOf("minors", `\b(?:sex\w*|nude|porn\w*|erotic\w*|naked)\b.{0,60}\b(?:child(?:ren)?|minors?|teen(?:ager)?s?|underage|kids?|(?:1[0-7]|[1-9])[- ]year[- ]old)|\b(?:child(?:ren)?|minors?|underage|kids?)\b.{0,40}\b(?:sex\w*|nude|porn\w*|erotic\w*|naked)`),
	ruleOf("malware", askHow+`.{0,80}\b(?:malware|ransomware|keylogger|trojan|botnet|phishing (?:page|mail|email|site|kit)|exploit (?:for|code)|virus that|hack(?:ing)? (?:into)?|ddos|break into (?:the )?(?:server|account|network|system))`),
	ruleOf("weapons", askHow+`.{0,60}\b(?:build|make|assemble|synthesi[sz]e)\b.{0,30}\b(?:bomb|explosive|nerve agent|chemical weapon|meth(?:amphetamine)?)\b`),
}

// elsewhere are what has nothing to do with investments, whatever else is named.
var elsewhere = regexp.MustCompile(`(?i)\b(?:poem|haiku|limerick|song lyrics|lyrics|joke|riddle|bedtime story|short story|fairy tale|recipes?|bake|cook(?:ing)?|boil|weather|forecast for (?:tomorrow|the weekend)|horoscope|zodiac|translate (?:this|the|to|into)|homework|python (?:script|function|code)|javascript|write (?:a |me a |some )?(?:code|function|program|essay|letter|love)|soccer|football|basketball|tennis|world cup|olympics|movie|film|actor|actress|celebrity|singer|novel|video game|capital (?:city )?of [A-Z]\w+|tallest|longest river|population of|how tall|how old is|who wrote|who painted|who invented|who won|planet|photosynthesis|dinosaurs?|pythagor\w+|square root|integral of|my (?:dog|cat|girlfriend|boyfriend|wife|husband|back|head)|headache|symptoms?|vaccines?|diet|lose weight|workout|exercises?|vacation|holiday|travel (?:to|tips)|hotel in|flights? to|restaurants? in|wifi|printer|plant(?:ing)? (?:tomatoes|roses)|tomatoes|guitar|piano|meaning of life)\b`)

// finance are the words of investments, issuers and the economy.
var finance = regexp.MustCompile(`(?i)\b(?:stocks?|shares?|shareholders?|stockholders?|equit(?:y|ies)|securit(?:y|ies)|bonds?|notes payable|treasur(?:y|ies)|gilts?|funds?|etfs?|portfolio|index(?:es)?|indices|dividends?|buybacks?|yields?|coupons?|maturit(?:y|ies)|options?|futures|derivatives?|hedg\w+|currenc(?:y|ies)|exchange rates?|forex|dollar|euro|yen|gold|silver|oil|brent|commodit(?:y|ies)|bitcoin|crypto\w*|inflation|cpi|gdp|unemployment|interest rates?|federal reserve|fed funds|central bank|ecb|recession|monetary|` +
	`revenues?|sales|turnover|earnings|profits?|profitab\w+|margins?|ebitda|ebit|eps|income|loss(?:es)?|cash ?flows?|capex|debts?|liabilit(?:y|ies)|assets?|goodwill|inventor(?:y|ies)|receivables?|payables?|balance sheet|financial\w*|fiscal|quarter(?:ly)?|annual report|10-?[kq]|filings?|guidance|forecast|outlook|valuation|p/e|market cap\w*|ticker|ipo|listing|listed|merger|acqui(?:re[ds]?|sition)s?|takeover|spin-?off|subsidiar(?:y|ies)|segments?|customers?|suppliers?|competitors?|compan(?:y|ies)|corporat\w+|inc\.?|corp\.?|ltd\.?|plc|issuers?|ceo|cfo|chief executive|chairman|board of directors|auditors?|management|executives?|employees|headcount|restructur\w+|impairment|depreciation|amorti[sz]ation|leases?|pension|tax(?:es)?|provisions?|covenants?|credit|loans?|lenders?|banks?|insur\w+|invest\w*|trad(?:e|es|ing)|traders?|brokers?|bull(?:ish)?|bear(?:ish)?|volatil\w+|beta|capital|roa|roe|roic|dso|dio|dpo|cagr|ratio|leverage|liquidity|solvency|working capital|short (?:selling|interest)|split|par value|market)\b`)

var (
	screens  = regexp.MustCompile(`(?i)\b(?:which|what|list|name|show|find|give|screen|search|rank|recommend|suggest|top|best|cheapest|any|identify|pick|are there)\b[^.?!]{0,60}?\b(?:stocks|companies|shares to|issuers|firms|etfs|funds|names|equities|tickers|banks|retailers|reits|insurers|chipmakers|automakers|utilities|stock to (?:buy|own))\b`)
	criteria = regexp.MustCompile(`(?i)\b(?:with|that|whose|having|have|has|pay(?:ing|s)?|trad(?:e|ing)|under|over|below|above|highest|lowest|best|top|most|least|cheapest|fastest|largest|biggest|by|undervalued|overvalued|growing|are|in the|to buy|should)\b`)
	ranking  = regexp.MustCompile(`(?i)\b(?:top|best|cheapest|worst)\s+(?:\d+|five|ten|three|twenty)?\s*(?:[\w-]+\s+){0,4}(?:stocks?|companies|shares|issuers|funds|etfs|equities)\b|\b(?:screen|screener)\b|\bpeers? (?:comparison|ranking)\b|\brank(?:ing)?\b[^.?!]{0,40}\b(?:companies|stocks|issuers|peers)\b`)
	compares = regexp.MustCompile(`(?i)\b(?:compar\w*|versus|vs\.?|better|worse|higher|lower|larger|smaller|bigger|more|less|cheaper|rank\w*|outperform\w*|difference between|which (?:one|of)|stronger|weaker|faster|slower|between)\b`)
	among    = regexp.MustCompile(`(?i)\b(?:own|its own|products?|brands?|segments?|share class(?:es)?|class [ab])\b`)
	between  = regexp.MustCompile(`(?i)^[\s,]*(?:and|or|vs\.?|versus|,|with|to|than|against|&)*(?:\s*(?:the|of|and|or|with|to|than|against)\b)*[\s,]*$`)
)

// classify gives the verdict of the rules.
func (q *Question) classify(compareMin int, mentions []metrics.IssuerMention) {
	for _, r := range filtered {
		if r.MatchString(q.Text) {
			q.Verdict, q.Sure, q.Confidence = Filtered, true, 1
			return
		}
	}
	words := len(finance.FindAllStringIndex(q.Text, 4))
	apart := elsewhere.MatchString(q.Text)
	switch {
	case apart && (len(q.Issuers) == 0 && words < 2 || creative.MatchString(q.Text)):
		q.Verdict, q.Sure, q.Confidence = NonInvestment, words == 0 || len(q.Issuers) == 0, 0.9
		return
	case len(q.Issuers) > 0:
		q.Confidence, q.Sure = 1, true
	case words == 0 && len(q.Metrics) == 0:
		q.Verdict, q.Confidence = NonInvestment, 0.7
		return
	default:
		q.Confidence = min(0.5+0.2*float64(words), 1)
		q.Sure = words > 1
	}
	if q.screening(compareMin, mentions) {
		q.Verdict, q.Sure = Screener, true
	}
}

var creative = regexp.MustCompile(`(?i)\b(?:poem|haiku|limerick|lyrics|joke|riddle|story|recipe|essay|love letter|horoscope)\b`)

// screening reports whether a question asks for a set by criteria, or compares issuers.
func (q *Question) screening(compareMin int, mentions []metrics.IssuerMention) bool {
	if len(q.Issuers) == 0 {
		return ranking.MatchString(q.Text) || screens.MatchString(q.Text) && criteria.MatchString(q.Text)
	}
	if ranking.MatchString(q.Text) {
		return true
	}
	named := 0
	listed := false
	for i, m := range mentions {
		if len(m.Issuers) > 3 {
			continue
		}
		again := false
		for _, before := range mentions[:i] {
			again = again || before.Issuers[0] == m.Issuers[0]
		}
		if again {
			continue
		}
		if named++; named > 1 && between.MatchString(q.Text[mentions[i-1].End:m.Start]) {
			listed = true
		}
	}
	if named < compareMin {
		return false
	}
	return listed || compares.MatchString(q.Text) && !among.MatchString(q.Text)
}

// plain is a sub-query as it is sent: bounded.
func plain(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > mostSub {
		return ""
	}
	return s
}
