package sample

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// pressFiles returns the news of an issuer.
func (c *issuer) pressFiles() []File {
	files := make([]File, 0, len(c.news))
	for i, n := range c.news {
		m := c.meta("news", n.title, "news/"+strconv.Itoa(i+1))
		m.Published = n.day
		p := new(page)
		p.heading(1, n.title)
		p.text("%s", n.text)
		files = append(files, File{fmt.Sprintf("%s/news-%d.md", c.key, i+1), m.markdown(p.String())})
	}
	return files
}

// call returns the transcript of the conference call about the last year.
func (c *issuer) call(all *[4]books) File {
	b, last := &all[3], &all[2]
	m := c.meta("transcript", fmt.Sprintf("%s earnings call, fourth quarter of fiscal %d", c.name, b.year),
		fmt.Sprintf("calls/%d-q4", b.year))
	m.Fiscal, m.Published = fmt.Sprintf("FY%d", b.year), c.end(b.year).AddDate(0, 0, 41).Format("2006-01-02")
	p := new(page)
	p.heading(1, m.Title)
	p.text("Operator: Good morning, and welcome to the call of %s.", c.name)
	p.text("Chief Executive Officer: Thank you. Fiscal %d was a year in which revenue %s. The reason was %s. %s",
		b.year, grew(b.revenue, last.revenue), c.why[2], c.event[2])
	p.text("Chief Financial Officer: Operating income was %s, or %s of revenue. Net cash provided by operating activities was %s, and capital expenditures were %s. For the coming year %s.", c.money(b.operating), percent(b.operating, b.revenue), c.money(b.operatingCash), c.money(b.capex), c.outlook)
	p.text("Analyst: What worries you most?")
	p.text("Chief Executive Officer: I would name one thing. %s", c.risk)
	p.text("Analyst: And how is the backlog?")
	p.text("Chief Financial Officer: At the end of the year it stood at %s.", c.money(b.backlog))
	return File{c.key + "/call-" + strconv.Itoa(b.year) + ".md", m.markdown(p.String())}
}

// keyFigures returns a table of key figures with the three years side by side.
func (c *issuer) keyFigures(all *[4]books) File {
	var b strings.Builder
	fmt.Fprintf(&b, "Key figures (%s)", c.scale())
	for i := range all[1:] {
		fmt.Fprintf(&b, ",FY%d", all[i+1].year)
	}
	b.WriteByte('\n')
	for _, r := range []row{
		{"Revenue", func(b *books) int { return b.revenue }},
		{"Operating income", func(b *books) int { return b.operating }},
		{"Net income", func(b *books) int { return b.net }},
		{"Total assets", func(b *books) int { return b.assets }},
		{"Total shareholders' equity", func(b *books) int { return b.equity }},
	} {
		b.WriteString(r.name)
		for i := range all[1:] {
			fmt.Fprintf(&b, ",%q", c.amount(r.of(&all[i+1])))
		}
		b.WriteByte('\n')
	}
	b.WriteString("Number of employees")
	for i := range all[1:] {
		fmt.Fprintf(&b, ",%q", commas(all[i+1].employees))
	}
	b.WriteByte('\n')
	return File{c.key + "/key-figures.csv", []byte(b.String())}
}

// keyFiguresMeta returns the file that describes the key figures.
func (c *issuer) keyFiguresMeta() File {
	m := c.meta("table", c.name+" key figures", "key-figures")
	m.Fiscal = fmt.Sprintf("FY%d", firstYear+2)
	return File{c.key + "/key-figures.csv.meta.json", m.json()}
}

// prices returns the share prices on the last day of each week in the three years.
func (c *issuer) prices() File {
	var b strings.Builder
	b.WriteString("date,open,high,low,close,volume,symbol\n")
	random := c.random(7)
	price := 1200 + random.IntN(5200)
	for day := time.Date(2023, 1, 6, 0, 0, 0, 0, time.UTC); day.Year() < 2026; day = day.AddDate(0, 0, 7) {
		open := price
		price = max(price+price*(random.IntN(87)-42)/1000, 300)
		fmt.Fprintf(&b, "%s,%s,%s,%s,%s,%d,%s\n", day.Format(time.DateOnly), decimal(open),
			decimal(max(open, price)+random.IntN(60)), decimal(min(open, price)-random.IntN(60)), decimal(price),
			100*(2000+random.IntN(9000)), c.ticker)
	}
	return File{c.key + "/prices.csv", []byte(b.String())}
}

func decimal(cents int) string { return fmt.Sprintf("%d.%02d", cents/100, cents%100) }

// pricesMeta returns the file that describes the prices.
func (c *issuer) pricesMeta() File {
	m := c.meta("table", c.name+" share prices", "prices")
	return File{c.key + "/prices.csv.meta.json", m.json()}
}
