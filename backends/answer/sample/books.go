package sample

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/figures"
)

// seed determines the content of the corpus.
const seed = 20260302

// books are the figures of an issuer in a year. Amounts are in thousands or in tenths of a million, the unit
// of the last digit in the issuer's reports.
type books struct {
	year                                                       int
	segments, regions                                          [3]int
	revenue, cost, gross, research, selling, operating         int
	interest, pretax, tax, net                                 int
	shares                                                     int // in thousands
	eps, dps                                                   int // in cents
	depreciation, stock, capex, acquired, dividends, buybacks  int
	borrowed, operatingCash                                    int
	cash, receivables, inventories, otherCurrent, plant        int
	goodwill, intangible, currentAssets, assets                int
	payables, accrued, deferred, shortDebt, currentLiabilities int
	longDebt, otherLong, liabilities, equity                   int
	employees, backlog                                         int
	raw, progress, finished                                    int // parts of inventories
}

// years returns the books of an issuer for the year before the first one and for the three years.
func (c *issuer) years() [4]books {
	random := rand.New(rand.NewPCG(seed, uint64(len(c.key))<<8|uint64(c.key[0]))) //nolint:gosec // no secret
	between := func(low, high int) int { return low + random.IntN(high-low+1) }
	part := func(of, perMille int) int { return int(math.Round(float64(of) * float64(perMille) / 1000)) }
	unit := 1
	if c.millions {
		unit = 100 // thousands in a tenth of a million
	}
	var all [4]books
	revenue := c.base / unit
	shares := between(38000, 120000)
	research, selling := between(28, 66), between(88, 121)
	if c.cost < 500 { // an issuer with low cost of revenue spends more on research and selling
		research, selling = between(150, 190), between(190, 230)
	}
	first, second := between(420, 510), between(240, 310)
	var last *books
	for i := range all {
		b := &all[i]
		b.year = firstYear - 1 + i
		if i > 0 {
			revenue = part(revenue, 1000+c.growth[i-1])
		}
		b.revenue = revenue
		first, second = first+between(-14, 14), second+between(-11, 11)
		b.segments = split(revenue, first, second)
		b.regions = split(revenue, first+between(-30, 30), second+between(-20, 20))
		b.cost = part(revenue, c.cost+between(-9, 9))
		b.gross = b.revenue - b.cost
		b.research, b.selling = part(revenue, research+between(-3, 3)), part(revenue, selling+between(-4, 4))
		b.operating = b.gross - b.research - b.selling
		b.longDebt = part(c.base/unit, 280-12*i+between(-6, 6))
		b.shortDebt = part(c.base/unit, 40+between(-8, 8))
		b.interest = part(b.longDebt+b.shortDebt, 47)
		b.pretax = b.operating - b.interest
		b.tax = part(b.pretax, 231+between(-8, 8))
		b.net = b.pretax - b.tax
		shares -= between(0, 400)
		b.shares = shares
		b.eps = int(math.Round(float64(b.net*unit) / float64(shares) * 100))
		b.dps = max(b.eps*between(26, 31)/100, 4)
		b.dividends = int(math.Round(float64(b.dps) * float64(shares) / 100 / float64(unit)))
		b.depreciation, b.stock = part(revenue, 41+between(-2, 2)), part(revenue, 9)
		b.capex, b.buybacks = part(revenue, 52+between(-5, 5)), part(b.net, 110+between(-40, 40))
		b.receivables, b.inventories = part(revenue, 143+between(-9, 9)), part(b.cost, 128+between(-9, 9))
		b.raw, b.progress = part(b.inventories, 380+between(-20, 20)), part(b.inventories, 170+between(-10, 10))
		b.finished = b.inventories - b.raw - b.progress
		b.otherCurrent, b.payables = part(revenue, 21), part(b.cost, 97+between(-6, 6))
		b.accrued, b.deferred, b.otherLong = part(revenue, 61+between(-3, 3)), part(revenue, 33+between(-3, 3)),
			part(revenue, 47+between(-2, 2))
		b.employees, b.backlog = c.base/unit*unit/(210+7*i)+between(0, 90), part(revenue, 310+between(-30, 30))
		if last == nil {
			b.plant, b.goodwill, b.intangible = part(revenue, 410), part(revenue, 160), part(revenue, 74)
			b.cash = part(revenue, 131)
		} else {
			if i == 2 {
				b.acquired = part(revenue, between(12, 38))
			}
			amortized := part(last.intangible, 120)
			b.plant = last.plant + b.capex - (b.depreciation - amortized)
			b.goodwill, b.intangible = last.goodwill+part(b.acquired, 700),
				last.intangible-amortized+b.acquired-part(b.acquired, 700)
			b.borrowed = b.longDebt + b.shortDebt - last.longDebt - last.shortDebt
			b.operatingCash = b.net + b.depreciation + b.stock - (b.receivables - last.receivables) -
				(b.inventories - last.inventories) - (b.otherCurrent - last.otherCurrent) +
				(b.payables - last.payables) + (b.accrued - last.accrued) + (b.deferred - last.deferred) +
				(b.otherLong - last.otherLong)
			b.cash = last.cash + b.operatingCash - b.capex - b.acquired - b.dividends - b.buybacks + b.borrowed
			b.equity = last.equity + b.net + b.stock - b.dividends - b.buybacks
		}
		b.currentAssets = b.cash + b.receivables + b.inventories + b.otherCurrent
		b.assets = b.currentAssets + b.plant + b.goodwill + b.intangible
		b.currentLiabilities = b.payables + b.accrued + b.deferred + b.shortDebt
		b.liabilities = b.currentLiabilities + b.longDebt + b.otherLong
		if last == nil {
			b.equity = b.assets - b.liabilities
		}
		last = b
	}
	return all
}

// split divides an amount into three parts. The first two are given in per mille.
func split(of, first, second int) [3]int {
	a, b := of*first/1000, of*second/1000
	return [3]int{a, b, of - a - b}
}

// amount formats an amount for a table.
func (c *issuer) amount(v int) string {
	s := figures.Digits(math.Abs(float64(v)), 0)
	if c.millions {
		s = figures.Digits(math.Abs(float64(v))/10, 1)
	}
	if v < 0 {
		return "(" + s + ")"
	}
	return s
}

// money formats an amount for a sentence.
func (c *issuer) money(v int) string {
	if c.millions {
		return c.sign + c.amount(v) + " million"
	}
	return c.sign + figures.Digits(float64(v)/1000, 1) + " million"
}

func (c *issuer) cents(v int) string { return c.sign + figures.Digits(float64(v)/100, 2) }

// scale returns what tables say about the scale of their amounts.
func (c *issuer) scale() string {
	if c.millions {
		return "in millions"
	}
	return "in thousands"
}

// end returns the last day of the fiscal year that has the number of the calendar year it ends in.
func (c *issuer) end(year int) time.Time {
	return time.Date(year, c.endMonth+1, 0, 0, 0, 0, 0, time.UTC)
}

func (c *issuer) ended(year int) string { return c.end(year).Format("January 2, 2006") }

func percent(part, of int) string { return fmt.Sprintf("%.1f%%", float64(part)/float64(of)*100) }

// grew describes the change of an amount.
func grew(now, before int) string {
	switch change := float64(now-before) / float64(before) * 100; {
	case change < 0:
		return fmt.Sprintf("decreased by %.1f%%", -change)
	default:
		return fmt.Sprintf("increased by %.1f%%", change)
	}
}
