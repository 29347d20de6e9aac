package figures

import (
	"regexp"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// Units holds the scale and the unit of the numbers in a table, a column or a row, as far as words around the numbers
// state them: "(in millions of dollars)" is {1e6, Money, "USD"}.
type Units struct {
	// Scale is the factor of the numbers: 1000 in a table "in thousands". It is 0 if nothing states it.
	Scale    float64
	Unit     kernel.Unit // NoUnit if nothing states it
	Currency string      // the ISO 4217 code, or empty
}

// Patterns of texts that state a scale or a unit.
var (
	scaleWords = regexp.MustCompile(`(?i)(?:\bin\s+(?:\w+\s+){0,4}?|[($€£¥,]\s*|\b(?:dollars|euros|pounds|amounts)\s+(?:are\s+|expressed\s+|stated\s+|shown\s+|presented\s+){0,2}in\s+)(thousands?|millions?|billions?|000s?|mn|m|k|bn)\b|([$€£¥])\s?['’]?(000s?|m|mn|bn|k|million|billion|thousand)\b|^\s*(thousands?|millions?|billions?)\s*$|\b(?:U\.?S\.?\s+)?(?:dollars?|euros?|pounds?)\s+(thousands?|millions?|billions?)\b`)
	perShare   = regexp.MustCompile(`(?i)\bper[- ](?:\w+[- ]){0,2}(?:share|unit)s?\b|\b(?:eps|dps)\b`)
	shareCount = regexp.MustCompile(`(?i)\bshares\b`)
	// The next three expressions decide what a row about shares counts. sharePrice is tried first: its rows do not
	// count shares, whatever other words they have.
	sharePrice  = regexp.MustCompile(`(?i)\b(?:proceeds|prices?|costs?|values?|cash|premium|dividends? (?:paid|declared|on|to|for))\b`)
	shareNumber = regexp.MustCompile(`(?i)\b(?:numbers?|weighted|average|outstanding|in issue|basic|diluted|dilutive|anti-?dilutive|potential|used in|authori[sz]ed|granted|vested|awarded|unvested|forfeited|held)\b`)
	shareTrade  = regexp.MustCompile(`(?i)\b(?:purchases?d?|repurchases?d?|buy-?backs?|buying|payments?|paid|gains?|loss(?:es)?|issues?|issuances?|issued|acquisitions?|acquire[ds]?|sales?|sold|disposals?|redemptions?|redeemed|investments?|tax(?:es)?|dividends?)\b`)
	// nameRate matches rates that are part of the name of a row of amounts: "4.25% notes", "tax at the rate of 19.0%",
	// "interest rate swaps".
	nameRate   = regexp.MustCompile(`(?i)\b\d{1,3}(?:[.,]\d+)?\s?(?:%|per\s?cent\b)|\brates?[ -](?:swaps?|swaptions?|caps?|collars?|floors?|futures|forwards?|options?|locks?|contracts?|agreements?|derivatives?|instruments?|hedg\w+|risks?)\b`)
	percentage = regexp.MustCompile(`(?i)%|\bper\s?cent\b|\bpercentages?\b|\b(?:effective|discount|tax|interest|growth|statutory|dividend) (?:rate|yield)\b|\bmargin %`)
	isoCode    = regexp.MustCompile(`\b(?:US\$|C\$|A\$|HK\$|NT\$|S\$|USD|EUR|GBP|JPY|CHF|CAD|AUD|RMB|CNY|INR|SEK|NOK|DKK|HKD|SGD)|[€£¥₹$]`)
	currencies = regexp.MustCompile(`(?i)\b(?:u\.?s\.? dollars|dollars|euros?|pounds? sterling|yen)\b`)
)

// Caption reads the units from a caption, a corner or a header: "(in millions, except per share data)", "€m", "$'000",
// "%". Fields that the text does not state are zero.
func Caption(text string) Units {
	var u Units
	if m := scaleWords.FindStringSubmatch(text); m != nil {
		word := strings.ToLower(m[1] + m[3] + m[4] + m[5]) // only one of the groups has matched
		u.Scale = scales[strings.TrimSuffix(word, "s")]
		if u.Scale == 0 { // "000s"
			u.Scale = 1e3
		}
	}
	if code := isoCode.FindString(text); code != "" {
		u.Currency, u.Unit = codes[code], kernel.Money
	} else if word := currencies.FindString(text); word != "" {
		last := strings.Fields(strings.ToUpper(word))
		u.Unit, u.Currency = kernel.Money, codes[last[len(last)-1]]
		if strings.HasSuffix(strings.ToLower(word), "sterling") {
			u.Currency = "GBP"
		}
	}
	if u.Scale == 0 && u.Unit == kernel.NoUnit && percentage.MatchString(text) {
		u.Unit = kernel.Percent
	}
	return u
}

// Under returns u with its missing fields taken from outer, such as the units of the table around a column. A
// percentage takes nothing from outer.
func (u Units) Under(outer Units) Units {
	if u.Unit == kernel.Percent {
		return u
	}
	if u.Scale == 0 {
		u.Scale = outer.Scale
	}
	if u.Unit == kernel.NoUnit {
		u.Unit = outer.Unit
	}
	if u.Currency == "" {
		u.Currency = outer.Currency
	}
	return u
}

// Row returns the units of a row in a table with the units u, judged by the row's label. Amounts per share and
// percentages are never scaled, and numbers of shares have no currency.
func (u Units) Row(label string) Units {
	switch {
	case perShare.MatchString(label):
		return Units{Scale: 1, Unit: kernel.PerShare, Currency: u.Currency}
	case percentage.MatchString(WithoutRates(label)):
		return Units{Scale: 1, Unit: kernel.Percent}
	case shareCount.MatchString(label):
		return u.shares(label)
	}
	return u
}

// shares returns the units of a row about shares: a price keeps the units of the table, a row that counts shares has
// the unit Shares, and a row that may contain numbers of shares or amounts has no unit.
func (u Units) shares(label string) Units {
	isMoney := u.Unit == kernel.Money
	switch {
	case sharePrice.MatchString(label):
		return u
	case shareNumber.MatchString(label):
		u.Unit, u.Currency = kernel.Shares, ""
	case shareTrade.MatchString(label): // the amounts that were paid, if the table has amounts
		if isMoney {
			return u
		}
		u.Unit, u.Currency = kernel.NoUnit, ""
	case isMoney: // "Common shares" in a balance sheet
		u.Unit, u.Currency = kernel.NoUnit, ""
	default:
		u.Unit, u.Currency = kernel.Shares, ""
	}
	return u
}

// WithoutRates returns the name of a row without the rates that are part of it: "4.25% notes" are notes.
func WithoutRates(label string) string { return nameRate.ReplaceAllString(label, " ") }

// Cell parses a table cell with one figure, and perhaps a footnote mark. u are the units that apply to the cell. Cell
// returns false for other cells. A dash is 0 with a Step of 0, because it has no digit.
func Cell(text string, u Units) (kernel.Figure, bool) {
	trimmed := strings.TrimSpace(text)
	if isDash(trimmed) {
		return kernel.Figure{Text: trimmed, Unit: u.Unit, Currency: u.Currency}, true
	}
	compact := squeeze(trimmed)
	found := Find(compact)
	if len(found) == 0 || len(found) > 2 {
		return kernel.Figure{}, false
	}
	m := found[0]
	// Beside the figure only a footnote mark is allowed.
	around := strings.TrimSpace(compact[:m.Start]) + strings.TrimSpace(compact[m.End:])
	if len(found) == 2 && strings.Trim(around, "()0123456789 ") != "" || // the second number is that of a footnote
		len(found) == 1 && footnote.ReplaceAllString(around, "") != "" {
		return kernel.Figure{}, false
	}
	f := m.Figure
	f.Text = trimmed
	// The cell itself may state its scale, as in "1.5 million". That scale then replaces the scale of the table.
	hasScale := f.Step > 1 || f.Step == 1 && namesScale(compact[m.Start:m.End])
	switch {
	case f.Unit == kernel.Percent || f.Unit == kernel.BasisPoints || f.Unit == kernel.Times: // never scaled
		return f, true
	case u.Unit == kernel.Percent && f.Unit == kernel.NoUnit:
		f.Unit = kernel.Percent
		return f, true
	}
	if u.Scale > 0 && !hasScale {
		f.Value, f.Step = f.Value*u.Scale, f.Step*u.Scale
	}
	switch {
	case u.Unit == kernel.PerShare:
		f.Unit = kernel.PerShare
	case f.Unit == kernel.NoUnit:
		f.Unit = u.Unit
	}
	// A plain $ in a cell stands for the dollar that the header names, such as NT$.
	if f.Currency == "" || u.Currency != "" && f.Currency == "USD" && strings.Contains(trimmed, "$") {
		f.Currency = u.Currency
		if f.Currency == "" && f.Unit == kernel.Money && strings.Contains(trimmed, "$") {
			f.Currency = "USD"
		}
	}
	return f, true
}

// footnote matches the marks of footnotes.
var footnote = regexp.MustCompile(`^[*†‡()\[\]\d a-z]{0,5}$`)

// isDash reports whether a cell contains only a dash, apart from currency and per cent signs.
func isDash(s string) bool {
	s = strings.Trim(s, "$€£¥% ")
	return s != "" && strings.Trim(s, "-–—− ") == ""
}

// squeeze removes the spaces between a sign, a currency and a number: "$ (3.1 )%".
func squeeze(s string) string {
	var b strings.Builder
	for i, r := range s {
		if r == ' ' || r == '\u00a0' {
			left, right := b.String(), strings.TrimLeft(s[i:], " \u00a0")
			if left == "" || right == "" || strings.ContainsAny(left[len(left)-1:], "($") ||
				strings.HasSuffix(left, "€") || strings.HasSuffix(left, "£") ||
				strings.HasSuffix(left, "-") || right[0] == ')' || right[0] == '%' || right[0] == ' ' {
				continue
			}
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}

// namesScale reports whether a figure has a word for its scale, such as "million".
func namesScale(s string) bool {
	word := strings.ToLower(strings.TrimLeft(s, "0123456789.,()-−–$€£¥ "))
	word, _, _ = strings.Cut(word, ")")
	_, ok := scales[strings.TrimSpace(word)]
	return ok
}
