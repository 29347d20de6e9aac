package tables

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// Units is what is said of the figures of a table or of a column.
type Units struct {
	Scale    float64 // 1e3, 1e6, 1e9; 0: nothing is said
	Currency string  // ISO 4217; empty: nothing is said
	Percent  bool
	// PerShareApart tells that figures a share are not in the scale.
	PerShareApart bool
}

var (
	billions  = regexp.MustCompile(`(?i)\bbillions?\b|[$€£¥]\s?bn\b|\bbn\b`)
	millions  = regexp.MustCompile(`(?i)million(?:s|en)?\b|[$€£¥]\s?mn?\b|\b(?:usd|eur|gbp|chf|rmb|us\$)\s?mn?\b|\bmn\b|^\(?m\)?$`)
	thousands = regexp.MustCompile(`(?i)thousands?\b|[$€£¥]?\s?[’']?\b000s?\b|[$€£¥]\s?k\b`)
	perShare  = regexp.MustCompile(`(?i)\bper[- ](?:common |ordinary |diluted |basic )?share`)
	percents  = regexp.MustCompile(`(?i)%|\bper ?cent(?:age)?\b`)
)

var currencies = []struct {
	code    string
	wording *regexp.Regexp
}{
	{"TWD", regexp.MustCompile(`(?i)\bnt\s?(?:\$|dollars?)|\btwd\b`)},
	{"HKD", regexp.MustCompile(`(?i)\bhk\s?(?:\$|dollars?)|\bhkd\b`)},
	{"SGD", regexp.MustCompile(`\bS\$|(?i:\bsgd\b|singapore dollars?)`)},
	{"CAD", regexp.MustCompile(`(?i)\bca?\$|\bcad\b|canadian dollars?`)},
	{"AUD", regexp.MustCompile(`(?i)\bau?\$|\baud\b|australian dollars?`)},
	{"CNY", regexp.MustCompile(`(?i)\brmb\b|\bcny\b|renminbi`)},
	{"EUR", regexp.MustCompile(`(?i)€|\beur(?:os?)?\b`)},
	{"GBP", regexp.MustCompile(`(?i)£|\bgbp\b|pounds? sterling`)},
	{"JPY", regexp.MustCompile(`(?i)¥|\bjpy\b|\byen\b`)},
	{"CHF", regexp.MustCompile(`(?i)\bchf\b|swiss francs?`)},
	{"SEK", regexp.MustCompile(`(?i)\bsek\b|swedish kron`)},
	{"INR", regexp.MustCompile(`(?i)₹|\binr\b|\brupees?\b`)},
	{"USD", regexp.MustCompile(`(?i)\$|\busd\b|\bdollars?\b`)},
}

// named finds what all names of currencies have one of.
var named = regexp.MustCompile(`(?i)dollar|usd|twd|hkd|sgd|cad|aud|rmb|cny|renminbi|eur|gbp|sterling|jpy|yen|chf|franc|sek|kron|inr|rupee`)

// UnitsOf is what a text says of figures: "($ in millions, except per share data)".
func UnitsOf(text string) Units {
	var u Units
	if !strings.ContainsFunc(text, func(r rune) bool { return r > '9' || r == '$' || r == '%' }) { // a year alone
		return u
	}
	switch {
	case billions.MatchString(text):
		u.Scale = 1e9
	case millions.MatchString(text):
		u.Scale = 1e6
	case thousands.MatchString(text):
		u.Scale = 1e3
	}
	u.Currency = currencyOf(text)
	u.Percent = percents.MatchString(text) && u.Scale == 0
	u.PerShareApart = perShare.MatchString(text)
	return u
}

func currencyOf(text string) string {
	if text == "" || !strings.ContainsAny(text, "$€£¥₹") && !named.MatchString(text) {
		return ""
	}
	for _, c := range currencies {
		if c.wording.MatchString(text) {
			return c.code
		}
	}
	return ""
}

// or is u, and what it does not say as v does.
func (u Units) or(v Units) Units {
	if u.Percent { // a share has neither scale nor currency
		return u
	}
	if u.Scale == 0 {
		u.Scale = v.Scale
	}
	if u.Currency == "" {
		u.Currency = v.Currency
	}
	u.Percent = v.Percent && u.Scale == 0 && u.Currency == ""
	u.PerShareApart = u.PerShareApart || v.PerShareApart
	return u
}

// inCaption finds a unit in the text around a table.
var inCaption = regexp.MustCompile(`(?i)\((?:[^()]{0,60}\b)?(?:in|[$€£]|amounts?|dollars|expressed)[^()]{0,80}\)|\(?\bin (?:[a-z.$€£]+ ){0,4}(?:thousands|millions|billions)\b`)

// units finds what is said of a table's figures above them.
func (t *Table) units(header [][]string) {
	t.Units = UnitsOf(t.Corner)
	for _, row := range header {
		var said []string
		for _, cell := range row {
			if cell != "" {
				said = append(said, cell)
			}
		}
		if len(said) == 1 && unitOnly(said[0]) {
			t.Units = t.Units.or(UnitsOf(said[0]))
		}
	}
	for i := range t.Columns {
		t.Columns[i].Units = UnitsOf(t.Columns[i].Header)
	}
	if t.Units.Scale == 0 {
		for _, around := range []string{t.Caption, t.After} {
			if found := inCaption.FindString(around); found != "" {
				t.Units = t.Units.or(UnitsOf(found))
			}
		}
	}
}

var amount = regexp.MustCompile(`\d[\d,]*(?:\.\d+)?`)

// Figure is the number in a cell with its unit and scale; false: there is none. A dash
// is 0.
func (t *Table) Figure(row, column int) (kernel.Figure, bool) {
	if row < 0 || row >= len(t.Rows) || column < 0 || column >= len(t.Columns) || column >= len(t.Rows[row].Cells) {
		return kernel.Figure{}, false
	}
	cell := t.Rows[row].Cells[column]
	if !IsValue(cell) && !yearCell.MatchString(cell) {
		return kernel.Figure{}, false
	}
	f := kernel.Figure{Text: cell}
	digits := amount.FindString(footnoteMark.ReplaceAllString(cell, ""))
	label := t.Rows[row].Label
	u := t.Columns[column].Units.or(t.Units)
	if own := UnitsOf(rowUnit(label)); own != (Units{}) {
		u = own.or(u)
	}
	if strings.Contains(cell, "%") {
		u = Units{Percent: true}
	}
	if c := currencyOf(cell); c != "" && (u.Currency == "" || c != "USD") && !u.Percent { // "$" in a table of Canadian dollars is theirs
		u.Currency = c
	}
	scale := u.Scale
	if scale == 0 || u.Percent {
		scale = 1
	}
	switch {
	case u.Percent:
		f.Unit = kernel.Percent
	case perShare.MatchString(label):
		f.Unit, f.Currency = kernel.PerShare, u.Currency
		if u.PerShareApart || strings.Contains(digits, ".") {
			scale = 1
		}
	case u.Currency != "":
		f.Unit, f.Currency = kernel.Money, u.Currency
	}
	if digits == "" {
		f.Step = scale
		return f, true
	}
	plain := strings.ReplaceAll(digits, ",", "")
	value, err := strconv.ParseFloat(plain, 64)
	if err != nil || math.IsInf(value, 0) {
		return kernel.Figure{}, false
	}
	if negative.MatchString(cell) {
		value = -value
	}
	decimals := 0
	if _, behind, ok := strings.Cut(plain, "."); ok {
		decimals = len(behind)
	}
	f.Value, f.Step = value*scale, scale*math.Pow10(-decimals)
	return f, true
}

var (
	footnoteMark = regexp.MustCompile(`\s*\(\w{1,2}\)$`)
	negative     = regexp.MustCompile(`^[^\d]*(?:\(|[-−–]\s*[$€£¥]?\s*\d|[-−–]\s*$)`)
	rowUnits     = regexp.MustCompile(`\(([^()]*)\)|%|\bpercent(?:age)?\b`)
)

// rowUnit is what the name of a row says of its figures, "(in millions)" or "%".
func rowUnit(label string) string {
	for _, one := range rowUnits.FindAllStringSubmatch(label, 4) {
		switch {
		case one[1] == "":
			return "%"
		case unitOnly(one[1]):
			return one[1]
		}
	}
	return ""
}
