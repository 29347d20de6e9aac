package statements

import (
	"math"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
)

// verdict is the result of checking the sums of a column.
type verdict int

const (
	unchecked   verdict = iota // nothing could be added up
	addsUp                     // a sum matches
	contradicts                // every sum is far off, so figures were read from wrong columns or without their sign
)

// sum states that the figure of one concept, the field total, is the sum of the figures of other concepts, the field
// parts. For example, gross profit = revenue - cost of revenue.
type sum struct {
	total string
	parts []part
}

// difference returns how far the total of a column is from the sum of its parts, without sign, and the largest figure
// among them. ok is false if the column does not have the total or a part that is not optional.
func (s sum) difference(column map[string]reading) (difference, largest float64, ok bool) {
	total, ok := column[s.total]
	if !ok {
		return 0, 0, false
	}
	result, largest := 0.0, math.Abs(total.Value)
	for _, p := range s.parts {
		f, ok := column[p.key]
		if !ok && !p.optional {
			return 0, 0, false
		}
		value := f.Value // 0 for an optional part that is missing
		if p.unsigned {
			value = math.Abs(value)
		}
		sign := p.sign
		if p.either {
			sign = -1
			if math.Abs(result+value-total.Value) <= math.Abs(result-value-total.Value) {
				sign = 1
			}
		}
		result += sign * value
		largest = max(largest, math.Abs(value))
	}
	return math.Abs(result - total.Value), largest, true
}

// part is a summand.
type part struct {
	key      string  // the concept
	sign     float64 // 1 if it is added, -1 if it is subtracted, 0 if the field either is set
	optional bool    // a statement without it can be checked
	unsigned bool    // statements write it with either sign, so only its absolute value counts
	either   bool    // it is added or subtracted, whichever fits
}

// sums lists the sums of each statement that check tries.
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

// check checks the sums of a column, which holds figures by concept. The verdict v is addsUp if at least one sum
// matches, and contradicts if all sums are far off. If v is addsUp, doubtful are the concepts of sums that are far
// off, except those that another sum has confirmed. Otherwise doubtful is empty.
func (s *statement) check(column map[string]reading) (v verdict, doubtful map[string]bool) {
	confirmed := make(map[string]bool)
	doubtful = make(map[string]bool)
	farOff, nearMisses := 0, 0
	for _, candidate := range sums[s.kind] {
		difference, largest, ok := candidate.difference(column)
		if !ok {
			continue
		}
		var marked map[string]bool // to which the concepts of this sum are added
		switch {
		case difference <= 2.5*column[candidate.total].Step: // the figures are rounded
			v, marked = addsUp, confirmed
		case difference > 0.5*largest:
			farOff++
			marked = doubtful
		default: // a row that is not known may be missing in the sum
			nearMisses++
			continue
		}
		marked[candidate.total] = true
		for _, p := range candidate.parts {
			marked[p.key] = true
		}
	}
	for key := range confirmed {
		delete(doubtful, key)
	}
	if v != addsUp && farOff > 0 && nearMisses == 0 {
		v = contradicts
	}
	if v != addsUp {
		clear(doubtful)
	}
	return v, doubtful
}
