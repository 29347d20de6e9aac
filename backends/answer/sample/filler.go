package sample

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// longPages is the number of filler pages in a long report.
const longPages = 145

// lengthen inserts filler pages that deal with the same things in other words: risks, policies, sites,
// contracts. They make a page with figures hard to find.
func (c *issuer) lengthen(pages []string, b *books) []string {
	random := c.random(11)
	var made []string
	filler := make([]string, longPages)
	for i := range filler {
		filler[i] = c.filler(random, b, i)
	}
	step := len(filler) / len(pages)
	for i, p := range pages {
		made = append(made, p)
		end := (i + 1) * step
		if i == len(pages)-1 {
			end = len(filler)
		}
		made = append(made, filler[i*step:end]...)
	}
	return made
}

// topics are the subjects of filler pages, each with sentences. {w} and {v} are words of the issuer's trade,
// {s} is a segment, {r} a region, {n} a number, {p} a percentage, {y} a year.
var topics = []struct {
	heading   string
	sentences []string
}{
	{"Competition for {w}s in {r}", []string{
		"In {r} we compete with about {n} makers of {w}s, of which most are smaller than we are.",
		"Customers choose a {w} by its life, its price and the time of delivery.",
		"Prices of {v}s have been stable in {r} since {y}.", "New makers of {w}s would need approvals that take years.",
		"Our share of the market in {r} is not known to us exactly.",
	}},
	{"Supply of parts for the {w}", []string{
		"Parts of the {w} come from {n} suppliers, and each of them is audited every second year.",
		"We keep stocks of parts for {n} weeks.", "A supplier in {r} delivers {p} of the parts of the {v}.",
		"Contracts with suppliers last two to four years and have no minimum volume.",
		"A lack of parts in {y} delayed some deliveries of the {w}.",
	}},
	{"Revenue recognition for {w}s", []string{
		"Revenue from a {w} is recognized when control passes to the customer, in most cases at delivery.",
		"Services for the {v} are recognized over the time of the contract.",
		"Rebates are estimated from experience and reduce revenue.",
		"A contract with several obligations is divided by the prices at which each is sold alone.",
		"Payment is due within {n} days.",
	}},
	{"Impairment of assets in {s}", []string{
		"Goodwill of {s} is tested each year, and whenever there is a sign that it may be impaired.",
		"The value in use was computed with a discount rate of {p} and plans for five years.",
		"A rate that is one point higher would not have led to an impairment of {s}.",
		"Property is written down over its life, of {n} years for buildings.", "No impairment of {s} was recorded in {y}.",
	}},
	{"Sites of {s} in {r}", []string{
		"{s} has {n} sites in {r}, of which half are leased.", "The largest of them has {n} thousand square feet.",
		"Leases in {r} end between {y} and the middle of the next decade.",
		"We think that the sites are in good condition and large enough for the {w} business.",
		"A site for {v}s was closed in {y} and is for sale.",
	}},
	{"Environment and safety at {s}", []string{
		"{s} used {p} less energy for each {w} than in {y}.", "There were {n} accidents with lost time in {r}.",
		"Permits for the {v} line were renewed in {y}.",
		"We are not aware of a pollution whose removal would be material.", "Waste of the {w} line is sorted and sold.",
	}},
	{"People in {r}", []string{
		"In {r} {p} of our people are members of a union.", "Training took {n} hours for each of them.",
		"We hire engineers for the {w} from {n} schools.", "Turnover of people in {s} was {p}.",
		"Contracts with the union in {r} end in {y}.",
	}},
	{"Legal proceedings about the {w}", []string{
		"A former distributor of the {w} in {r} asks for damages; we think that the claim is without merit.",
		"A dispute over a patent of the {v} was heard in {y} and has not been decided.",
		"We carry insurance for the liability for products.", "Costs of lawyers in {s} are recorded as they arise.",
		"It is too early to estimate a loss from these proceedings.",
	}},
	{"Currencies in {r}", []string{
		"A change of currencies by {p} would have moved our results in {r} by less than {n} basis points.",
		"We hedge orders for {w}s in foreign currencies for up to {n} months.",
		"Forward contracts are carried at fair value.", "The translation of subsidiaries in {r} is recorded in equity.",
		"Costs of {s} are mostly in the currency of its customers.",
	}},
	{"Customers of {s}", []string{
		"The ten largest customers of {s} stand for {p} of its orders.",
		"Most customers in {r} have bought {w}s from us for more than {n} years.",
		"Orders for {v}s are larger in the second half of the year.",
		"A customer may cancel an order until {n} days before delivery.", "Receivables are insured in {r}.",
	}},
	{"Research on the {w}", []string{
		"Our engineers have worked on the next {w} since {y}.", "We hold {n} patents on {v}s.",
		"A laboratory in {r} tests each {w} for {n} days.", "Universities in {r} take part in the work on {v}s.",
		"Costs of development are expensed until a {w} can be sold.",
	}},
	{"Governance and the board", []string{
		"The board met {n} times, and its committee on audit {n} times.",
		"Pay of officers depends on revenue, on operating income and on safety in {s}.",
		"Each director stands for election every year.",
		"A policy on dealings with related persons has been in force since {y}.",
		"The board looks at the risks of {s} in {r} every quarter.",
	}},
}

// filler returns a filler page.
func (c *issuer) filler(random *rand.Rand, b *books, n int) string {
	topic := topics[n%len(topics)]
	p := new(page)
	p.heading(3, c.fill(random, topic.heading, b))
	order := random.Perm(len(topic.sentences))
	for part := range 4 {
		sentences := make([]string, 0, len(order))
		for _, at := range order {
			sentences = append(sentences, c.fill(random, topic.sentences[(at+part)%len(topic.sentences)], b))
		}
		p.text("%s", strings.Join(sentences, " "))
	}
	if n%4 == 1 {
		p.table([]string{"Sites and people of " + c.segments[n%3], "Sites", "People"},
			[]string{c.regions[0], fmt.Sprint(2 + random.IntN(9)), commas(40 + random.IntN(900))},
			[]string{c.regions[1], fmt.Sprint(2 + random.IntN(9)), commas(40 + random.IntN(900))},
			[]string{c.regions[2], fmt.Sprint(2 + random.IntN(9)), commas(40 + random.IntN(900))})
	}
	return p.String()
}

func (c *issuer) fill(random *rand.Rand, s string, b *books) string {
	word := random.IntN(len(c.words))
	filled := strings.NewReplacer(
		"{w}", c.words[word], "{v}", c.words[(word+1+random.IntN(len(c.words)-1))%len(c.words)], "{s}",
		c.segments[random.IntN(3)], "{r}", c.regions[random.IntN(3)],
		"{n}", fmt.Sprint(3+random.IntN(60)), "{p}", fmt.Sprintf("%d%%", 4+random.IntN(60)), "{y}",
		fmt.Sprint(b.year-6+random.IntN(5)),
	).Replace(s)
	return strings.ToUpper(filled[:1]) + filled[1:]
}
