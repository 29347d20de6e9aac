package statements

import (
	"regexp"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// pattern finds a concept by the many spellings that issuers use for a row of a statement. It is used if the vocabulary
// does not have the whole name.
type pattern struct {
	key    string         // the concept
	name   *regexp.Regexp // matches the labels of its rows
	except *regexp.Regexp // matches labels that the field name also matches but that mean something else; may be nil
}

// rowOf returns the pattern for rows of the concept with the given key. Their labels begin with name, a regular
// expression, possibly after "total", "consolidated" or "net". They contain no word that begins with excludedPrefix, a
// regular expression that may be empty.
func rowOf(key, name, excludedPrefix string) pattern {
	p := pattern{key: key, name: regexp.MustCompile(`(?i)^(?:total |consolidated |net )*(?:` + name + `)`)}
	if excludedPrefix != "" {
		p.except = regexp.MustCompile(`(?i)\b(?:` + excludedPrefix + `)`)
	}
	return p
}

// eitherOf returns a pattern for one of several words, such as "income" and "loss", alone or followed by another of
// them in brackets or after a slash.
func eitherOf(words string) string {
	return `\(?(?:` + words + `)\)?(?:\s*(?:/|or)?\s*\(?(?:` + words + `)\)?)*`
}

var (
	earned   = eitherOf(`income|earnings|loss|profit|profits`)
	supplied = eitherOf(`provided|used|generated|from|required`)
	changed  = eitherOf(`increase|decrease|change|changes`)
)

// flowOf returns the pattern for the rows with the cash flows from an activity. activity is a regular expression for
// the name of the activity.
func flowOf(key, activity string) pattern {
	return rowOf(key, `cash (?:flows? )?(?:`+supplied+`)(?: (?:by|in|for|from|through))*(?:\s*/?\s*\(?(?:`+supplied+`)(?: (?:by|in|for))*\)?)* `+activity+`$`, `discontinued|before|adjust|reconcile`)
}

// patterns lists the patterns of each statement. The first that matches is used.
var patterns = map[kernel.Statement][]pattern{
	kernel.CashFlow: {
		flowOf("operating_cash_flow", `(?:operating activities|operations)`),
		flowOf("investing_cash_flow", `(?:investing activities|investments?)`),
		flowOf("financing_cash_flow", `financing activities`),
		rowOf("cash_change", changed+` (?:in|of) (?:total )?cash\b`, `bank overdraft|operating|working|assets`),
		rowOf("exchange_effect", `(?:effects?|impact) of .*exchange.*\bcash\b`, ``),
		rowOf("capex", `(?:(?:cash )?(?:paid|payments?) (?:for|to)|purchases?|acquire|acquisitions?|additions?|expenditures?|investments?|capital expenditures)\b.*\b(?:property|plant|equipment|fixed assets|premises|capital expenditures)\b`,
			`proceeds|sales?|related part|accrued|unpaid|non-?cash|leas\w+|rental|insurance|deposits?|subsidiar|business|intangible`),
		rowOf("share_buybacks", `(?:payments? (?:for|of|to) (?:the )?)?(?:re)?(?:purchases?|acquisitions?|acquire)(?: and retirements?)? (?:of )?(?:[\w'’.&-]+ ){0,3}(?:common|treasury|capital|ordinary|class \w+) (?:stock|shares?|units)`,
			`noncontrolling|non-controlling|preferred|subsidiar|options?|withheld|withholding\w*|tax\w*|proceeds|employee`),
		rowOf("dividends_paid", `(?:cash )?(?:payments? of |payments? for )?(?:cash |common |quarterly |stock |share ){0,3}dividends?(?: and dividend equivalents)?(?: \(?(?:paid|declared and paid|to|on|paid to)\b.*)?$`,
			`noncontrolling|non-controlling|subsidiar|received|preferred|per|affiliat\w+|minorit\w+|unpaid`),
		rowOf("depreciation_and_amortization", `depreciation\b.*(?:,|and|&) ?amorti[sz]ation\b`,
			`debt|financing|discount|content|impairment|deferred`),
		rowOf("stock_compensation", `(?:non-?cash )?(?:share|stock|equity|unit)s?[- ]based (?:\w+ )?(?:compensation|payments?|awards?)\b`, `tax\w*|excess|liabilit|proceeds|settle\w+|accrued`),
	},
	kernel.Income: {
		rowOf("pretax_income", earned+`(?: \(?(?:from|of) continuing operations\)?,?)? before\b.*\btax(?:es|ation)?\b`,
			`interest|extraordinary|depreciation|minority|noncontrolling`),
		rowOf("operating_income", `operating `+earned+`$|`+earned+` from operations$`,
			`before|other|non-?operating|discontinued|continuing`),
		rowOf("income_tax", eitherOf(`provision|benefit|expense|charge|credit`)+` (?:for|from|of|on)?\s*(?:\(?(?:`+eitherOf(`provision|benefit|expense`)+`) (?:for|from)\)? )?(?:federal and state |federal, state and foreign )?(?:income tax\w*|taxes(?: on income| on earnings)?)$|(?:income tax(?:es)?|taxes on (?:income|earnings)) ?`+eitherOf(`provision|benefit|expense|charge|credit`)+`$`, `before|deferred|current|net of|payable`),
	},
	kernel.Balance: {
		rowOf("cash", `cash(?:,| and| &) (?:cash |temporary |short-term )?(?:equivalents|cash investments|investments)$`,
			`restricted|segregated`),
		rowOf("receivables", `(?:trade|accounts|customer|notes|receivables)\b.*\breceivables?(?:, net| - net| \(net\))?$|receivables?, (?:less|net of) .*`, `tax\w*|non-?current|long-term|loans?|finance|related|affiliat\w+|unbilled|inventor\w+|lease|vendor|insurance|other`),
		rowOf("ppe", `(?:property|land|premises|plant)\b.*\b(?:equipment|improvements|property)(?:, net| - net| \(net\))?$`,
			`gross|cost|accumulated|held|leas\w+|under|construction|operations|less`),
		rowOf("liabilities_and_equity", `liabilities\b.*\b(?:equity|deficit|investment|interests?|capital)\)?$`, ``),
		rowOf("long_term_debt", `(?:long-term (?:debt|borrowings|obligations)|debt)\b.*\b(?:less|net of|excluding|noncurrent|non-current)\b.*`, `leases?|liabilities|paid|issu\w+ costs?$`),
		rowOf("current_portion_of_debt", `current (?:portion|maturities|installments) (?:of|on) (?:long-term )?(?:debt|borrowings|obligations|notes)\b`, `leases?|liabilities`),
	},
}

// conceptByPattern returns the concept of a row by the patterns of its statement, or the empty string.
func conceptByPattern(label string, kind kernel.Statement) string {
	if len(label) > 140 {
		return ""
	}
	label = strings.TrimRight(label, " ,:;")
	for _, p := range patterns[kind] {
		if p.name.MatchString(label) && (p.except == nil || !p.except.MatchString(label)) {
			return p.key
		}
	}
	return ""
}
