package draft

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/terms"
)

// questionWords holds words of questions that their answers need not contain.
var questionWords = terms.SetOf(`reason reasons cause caused due primarily mainly factor factors amount amounts value total recorded happen happens purpose plan mean meaning describe explain
		please according table information what's much used relate related comprise comprised consist consists include included does company company's group following respective main primary
		drove drive driven lead led increase increased decrease decreased decline declined rise rose fall fell grow grew growth drop dropped climb climbed improve improved report reports reported end ended beginning many much work works long last lasted lasts take took town city country place located come came comes share percentage percent proportion average`)

// stems returns the words of a question that its answer should contain, without repetitions.
func stems(body string) []terms.Term {
	var list []terms.Term
	for _, t := range termsOf(body) {
		if !questionWords[t] && !slices.Contains(list, t) && !isYear(t) {
			list = append(list, t)
		}
	}
	switch {
	case len(list) > 0:
		return list
	case direction(body) != 0: // without a subject, growth means growth of revenue
		return termsOf("revenue")
	}
	return termsOf(body)
}

// synonyms maps each word of a group with the same meaning to one word that stands for the group.
var synonyms = func() map[terms.Term]terms.Term {
	m := make(map[terms.Term]terms.Term)
	for line := range strings.Lines(`office offices headquarters headquartered based seat
		employees employee people staff workforce headcount personnel workers jobs
		acquire acquires acquired acquisition buy buys bought purchase purchased takeover
		sell sells sold sale disposal divest divested
		start starts started begin begins began commence commenced launch launched open opened opens
		close closes closed closure shut
		expect expects expected outlook forecast forecasts guidance
		pay pays paid cost costs price worth spend spent
		plant plants factory factories`) {
		words := terms.Of(line)
		for _, w := range words[1:] {
			m[w] = words[0]
		}
	}
	return m
}()

// termsOf returns the terms of a text. Words with the same meaning are the same term.
func termsOf(s string) []terms.Term {
	list := terms.Of(s)
	for i, t := range list {
		if synonym, ok := synonyms[t]; ok {
			list[i] = synonym
		}
	}
	return list
}

// setOf returns the set of the terms of a text (see termsOf).
func setOf(s string) terms.Set { return terms.NewSet(termsOf(s)) }

// isYear reports whether a term is a number that may be a year.
func isYear(t terms.Term) bool {
	n, err := strconv.Atoi(string(t))
	return err == nil && n >= 1900 && n < 2100
}
