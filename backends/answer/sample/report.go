package sample

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// files returns the documents of an issuer.
func (c *issuer) files() []File {
	books := c.years()
	var all []File
	for i := 1; i < len(books); i++ {
		all = append(all, c.report(&books, i)...)
	}
	all = append(all, c.pressFiles()...)
	return append(all, c.call(&books), c.keyFigures(&books), c.keyFiguresMeta(), c.prices(), c.pricesMeta())
}

func (c *issuer) meta(kind, title, path string) meta {
	return meta{Kind: kind, Title: title, URL: "https://" + c.key + ".example/" + path, Issuer: c.name, Ticker: c.ticker}
}

// report returns the annual report of a year, in the format of its issuer.
func (c *issuer) report(all *[4]books, i int) []File {
	b := &all[i]
	m := c.meta("filing", fmt.Sprintf("%s annual report %d", c.name, b.year), fmt.Sprintf("reports/%d", b.year))
	m.Form, m.Fiscal, m.PeriodEnd = "10-K", fmt.Sprintf("FY%d", b.year), c.end(b.year).Format("2006-01-02")
	m.Published = c.end(b.year).AddDate(0, 0, 58).Format("2006-01-02")
	name := fmt.Sprintf("%s/report-%d", c.key, b.year)
	pages := c.pages(all, i)
	switch {
	case c.long && i == len(all)-1:
		pages = c.lengthen(pages, b)
		fallthrough
	case c.long:
		for n, p := range pages {
			m.Pages = append(m.Pages, text{n + 1, p})
		}
		return []File{{name + ".jsonl", m.json()}}
	}
	whole := strings.Join(pages, "")
	if c.html {
		return []File{{name + ".html", toHTML(m.Title, whole)}, {name + ".html.meta.json", m.json()}}
	}
	return []File{{name + ".md", m.markdown(whole)}}
}

// pages returns the pages of a report that have figures and facts.
func (c *issuer) pages(all *[4]books, i int) []string {
	b, last := &all[i], &all[i-1]
	var pages []string
	add := func(write func(p *page)) {
		p := new(page)
		write(p)
		pages = append(pages, p.String())
	}
	year, before := strconv.Itoa(b.year), strconv.Itoa(last.year)
	// two makes rows with this year and the year before.
	two := func(caption string, rows ...row) [][]string {
		table := make([][]string, 0, 1+len(rows))
		table = append(table, []string{caption, year, before})
		for _, r := range rows {
			table = append(table, []string{r.name, c.amount(r.of(b)), c.amount(r.of(last))})
		}
		return table
	}
	caption := fmt.Sprintf("Years ended %s (%s)", c.end(b.year).Format("January 2"), c.scale())
	balance := fmt.Sprintf("As of %s (%s)", c.end(b.year).Format("January 2"), c.scale())
	add(func(p *page) {
		p.heading(1, c.name)
		p.text("Annual report for the fiscal year ended %s.", c.ended(b.year))
		p.heading(2, "Business")
		p.text("%s, founded in %d, %s. Its head office is in %s. It reports in three segments: %s, %s and %s.",
			c.name, c.founded, c.business, c.town, c.segments[0], c.segments[1], c.segments[2])
		p.text("As of %s, we had %s employees. Our order backlog was %s, compared with %s a year earlier.",
			c.ended(b.year), commas(b.employees), c.money(b.backlog), c.money(last.backlog))
		p.text("%s", c.event[i-1])
	})
	add(func(p *page) {
		p.heading(2, "Risk factors")
		p.text("%s", c.risk)
		p.text("We compete with larger companies that may lower their prices for longer than we can. Changes of currencies, of interest rates and of the law may harm our results.")
	})
	add(func(p *page) {
		p.heading(2, "Management's discussion and analysis")
		p.heading(3, "Results of operations")
		p.text("Revenue %s to %s in fiscal %d, due to %s.", grew(b.revenue, last.revenue), c.money(b.revenue), b.year,
			c.why[i-1])
		p.text("Gross margin was %s of revenue, after %s in fiscal %d. Research and development expense was %s of revenue.",
			percent(b.gross, b.revenue), percent(last.gross, last.revenue), last.year, percent(b.research, b.revenue))
		p.text("Revenue by segment:")
		p.table(two(caption, row{c.segments[0], func(b *books) int { return b.segments[0] }},
			row{c.segments[1], func(b *books) int { return b.segments[1] }},
			row{c.segments[2], func(b *books) int { return b.segments[2] }},
			row{"Total revenue", func(b *books) int { return b.revenue }})...)
	})
	add(func(p *page) {
		p.heading(3, "Liquidity and capital resources")
		p.text("Cash and cash equivalents were %s at the end of fiscal %d. Capital expenditures were %s. We paid dividends of %s per share, and repurchased shares for %s.", c.money(b.cash), b.year, c.money(b.capex), c.cents(b.dps), c.money(b.buybacks))
		p.text("Our credit agreement requires that debt is at most 3.5 times EBITDA; we were in compliance as of %s.",
			c.ended(b.year))
		p.heading(3, "Outlook")
		p.text("For the coming year %s.", c.outlookOf(i))
	})
	add(func(p *page) {
		p.heading(2, "Consolidated statements of income")
		table := two(caption, row{"Revenue", func(b *books) int { return b.revenue }},
			row{"Cost of revenue", func(b *books) int { return b.cost }},
			row{"Gross profit", func(b *books) int { return b.gross }},
			row{"Research and development", func(b *books) int { return b.research }},
			row{"Selling, general and administrative", func(b *books) int { return b.selling }},
			row{"Operating income", func(b *books) int { return b.operating }},
			row{"Interest expense", func(b *books) int { return b.interest }},
			row{"Income before income taxes", func(b *books) int { return b.pretax }},
			row{"Income tax expense", func(b *books) int { return b.tax }},
			row{"Net income", func(b *books) int { return b.net }})
		table = append(table, []string{"Diluted earnings per share", c.cents(b.eps), c.cents(last.eps)},
			[]string{"Dividends per share", c.cents(b.dps), c.cents(last.dps)})
		for _, at := range []int{1, len(table) - 3} { // currency signs stand in the first and in the last row
			table[at][1], table[at][2] = c.signed(table[at][1]), c.signed(table[at][2])
		}
		p.table(table...)
	})
	add(func(p *page) {
		p.heading(2, "Consolidated balance sheets")
		table := two(balance, row{"Cash and cash equivalents", func(b *books) int { return b.cash }},
			row{"Accounts receivable", func(b *books) int { return b.receivables }},
			row{"Inventories", func(b *books) int { return b.inventories }},
			row{"Other current assets", func(b *books) int { return b.otherCurrent }},
			row{"Total current assets", func(b *books) int { return b.currentAssets }},
			row{"Property, plant and equipment", func(b *books) int { return b.plant }},
			row{"Goodwill", func(b *books) int { return b.goodwill }},
			row{"Intangible assets", func(b *books) int { return b.intangible }},
			row{"Total assets", func(b *books) int { return b.assets }},
			row{"Accounts payable", func(b *books) int { return b.payables }},
			row{"Accrued liabilities", func(b *books) int { return b.accrued }},
			row{"Deferred revenue", func(b *books) int { return b.deferred }},
			row{"Short-term debt", func(b *books) int { return b.shortDebt }},
			row{"Total current liabilities", func(b *books) int { return b.currentLiabilities }},
			row{"Long-term debt", func(b *books) int { return b.longDebt }},
			row{"Other non-current liabilities", func(b *books) int { return b.otherLong }},
			row{"Total liabilities", func(b *books) int { return b.liabilities }},
			row{"Total shareholders' equity", func(b *books) int { return b.equity }})
		for _, at := range []int{1, len(table) - 1} {
			table[at][1], table[at][2] = c.signed(table[at][1]), c.signed(table[at][2])
		}
		p.table(table...)
	})
	add(func(p *page) {
		p.heading(2, "Consolidated statements of cash flows")
		p.table(two(caption, row{"Net income", func(b *books) int { return b.net }},
			row{"Depreciation and amortization", func(b *books) int { return b.depreciation }},
			row{"Stock-based compensation", func(b *books) int { return b.stock }},
			row{"Net cash provided by operating activities", func(b *books) int { return b.operatingCash }},
			row{"Capital expenditures", func(b *books) int { return -b.capex }},
			row{"Acquisitions, net of cash acquired", func(b *books) int { return -b.acquired }},
			row{"Dividends paid", func(b *books) int { return -b.dividends }},
			row{"Repurchases of shares", func(b *books) int { return -b.buybacks }},
			row{"Net change in debt", func(b *books) int { return b.borrowed }})[:cashRows(i)]...)
	})
	add(func(p *page) {
		p.heading(2, "Notes to the consolidated financial statements")
		p.heading(3, "Revenue by region")
		p.table(two(caption, row{c.regions[0], func(b *books) int { return b.regions[0] }},
			row{c.regions[1], func(b *books) int { return b.regions[1] }},
			row{c.regions[2], func(b *books) int { return b.regions[2] }})...)
		p.heading(3, "Inventories")
		p.table(two(balance, row{"Raw materials", func(b *books) int { return b.raw }},
			row{"Work in progress", func(b *books) int { return b.progress }},
			row{"Finished goods", func(b *books) int { return b.finished }},
			row{"Total inventories", func(b *books) int { return b.inventories }})...)
	})
	add(func(p *page) {
		p.heading(3, "Debt")
		p.text("Maturities of long-term debt as of %s (%s):", c.ended(b.year), c.scale())
		due := split(b.longDebt, 180, 370)
		p.table([]string{"Fiscal year", "Amount due"}, []string{strconv.Itoa(b.year + 2), c.amount(due[0])},
			[]string{strconv.Itoa(b.year + 3), c.amount(due[1])}, []string{"Thereafter", c.amount(due[2])})
		p.text("The weighted average interest rate of our debt was 4.7%%.")
		p.heading(3, "Shares")
		p.text("The weighted average number of diluted shares was %s thousand in fiscal %d and %s thousand in fiscal %d.",
			commas(b.shares), b.year, commas(last.shares), last.year)
		p.heading(3, "Auditor")
		p.text("The consolidated financial statements were audited by %s, which issued an unqualified opinion.", c.auditor)
	})
	return pages
}

// row is a row of a table.
type row struct {
	name string
	of   func(b *books) int
}

// cashRows returns how many rows of the cash flow statement are printed. The first year has fewer, because
// the year before it has no statement to compare with.
func cashRows(i int) int {
	if i == 1 {
		return 4
	}
	return 10
}

// signed puts the currency sign before an amount.
func (c *issuer) signed(s string) string {
	if s[:1] == "(" {
		return "(" + c.sign + s[1:]
	}
	if len(s) >= len(c.sign) && s[:len(c.sign)] == c.sign {
		return s
	}
	return c.sign + s
}

// outlookOf returns the outlook in the report of a year. Reports of earlier years name no figures.
func (c *issuer) outlookOf(i int) string {
	if i == 3 {
		return c.outlook
	}
	return "we expect " + [...]string{
		"costs to rise more slowly than revenue",
		"investments close to those of the year under review",
	}[i-1]
}

func commas(n int) string {
	s := strconv.Itoa(n)
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}

// random returns a source of random numbers for an issuer, which is the same in every run. of selects one of
// several sources.
func (c *issuer) random(of uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed+of, uint64(c.key[0])<<16|uint64(c.key[1])<<8|uint64(len(c.key)))) //nolint:gosec // no secret
}
