package statements

import (
	"math"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// verdict is the result of adding up a column.
type verdict int

const (
	open  verdict = iota // nothing could be added up
	right                // a sum matches
	wrong                // every sum is far off: figures stand in other columns, or have lost their sign
)

// sum is a concept that is the sum of others, each with its sign.
type sum struct {
	of    string
	parts []part
}

type part struct {
	key      string
	sign     float64
	optional bool
	unsigned bool // statements write it with either sign, and it is subtracted
	either   bool // it is added or subtracted, whichever fits
}

// sums lists what each statement adds up.
var sums = map[kernel.Statement][]sum{
	kernel.Balance: {
		{"total_assets", []part{{key: "liabilities_and_equity", sign: 1}}},
		{"total_assets", []part{
			{key: "total_liabilities", sign: 1},
			{key: "total_equity", sign: 1},
			{key: "temporary_equity", sign: 1, optional: true},
		}},
		{"total_assets", []part{
			{key: "total_liabilities", sign: 1},
			{key: "equity", sign: 1},
			{key: "noncontrolling_interest", sign: 1, optional: true},
			{key: "temporary_equity", sign: 1, optional: true},
		}},
	},
	kernel.Income: {
		{"gross_profit", []part{{key: "revenue", sign: 1}, {key: "cost_of_revenue", sign: -1, unsigned: true}}},
		{"profit", []part{{key: "pretax_income", sign: 1}, {key: "income_tax", either: true}}},
		{"net_income", []part{{key: "pretax_income", sign: 1}, {key: "income_tax", either: true}}},
	},
	kernel.CashFlow: {
		{"cash_change", []part{
			{key: "operating_cash_flow", sign: 1},
			{key: "investing_cash_flow", sign: 1},
			{key: "financing_cash_flow", sign: 1},
			{key: "exchange_effect", sign: 1, optional: true},
		}},
	},
}

// check adds up a column. One matching sum is enough; if all are far off, the column is wrong. doubtful are
// the concepts of sums that are far off which no other sum has confirmed.
func (s *statement) check(column map[string]reading) (v verdict, doubtful map[string]bool) {
	confirmed := make(map[string]bool)
	doubtful = make(map[string]bool)
	far, near := 0, 0
	for _, one := range sums[s.kind] {
		total, ok := column[one.of]
		if !ok {
			continue
		}
		got, most, complete := 0.0, math.Abs(total.Value), true
		for _, p := range one.parts {
			f, ok := column[p.key]
			complete = complete && (ok || p.optional)
			value := f.Value
			if p.unsigned {
				value = math.Abs(value)
			}
			if p.either && math.Abs(got+value-total.Value) <= math.Abs(got-value-total.Value) {
				got += value
			} else if p.either {
				got -= value
			}
			got += p.sign * value
			most = max(most, math.Abs(value))
		}
		if !complete {
			continue
		}
		keys := doubtful
		switch off := math.Abs(got - total.Value); {
		case off <= 2.5*total.Step:
			v, keys = right, confirmed
		case off > 0.5*most:
			far++
		default:
			near++
			continue
		}
		keys[one.of] = true
		for _, p := range one.parts {
			keys[p.key] = true
		}
	}
	for key := range confirmed {
		delete(doubtful, key)
	}
	if v != right && far > 0 && near == 0 {
		v = wrong
	}
	if v != right {
		clear(doubtful)
	}
	return v, doubtful
}
