package documents

import (
	"cmp"
	"html/template"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxQuery limits the length of a query in characters, and maxWords its number of words.
	MaxQuery = 200
	maxWords = 12
	// maxHits limits the number of sections that are found, and maxOfPage those of one page.
	maxHits, maxOfPage = 30, 3
	// maxPrefix limits the number of words that a prefix matches.
	maxPrefix = 200
	// snippetSize is the length of a snippet in bytes.
	snippetSize = 220
)

// The parameters of BM25, and the weight of a word in a heading relative to one in the text.
const (
	bm25K, bm25B = 1.2, 0.75
	headWeight   = 6
)

// Hit is a section that was found.
type Hit struct {
	Page    *Page
	Heading string        // of the section; empty at the top of the page
	URL     string        // of the section
	Snippet template.HTML // an excerpt of its text in which the words are marked
}

// index is an inverted index of the sections.
type index struct {
	sections []section
	lengths  []float64
	mean     float64
	postings map[string][]posting
	words    []string // sorted
}

// posting is the weighted number of occurrences of a word in a section.
type posting struct {
	section int
	count   float64
}

// newIndex indexes the sections of all pages.
func newIndex(pages map[string]*Page) *index {
	x := &index{postings: make(map[string][]posting)}
	for _, page := range pages {
		x.sections = append(x.sections, page.sections...)
	}
	slices.SortStableFunc(x.sections, func(s, t section) int { return strings.Compare(s.page.Name, t.page.Name) })
	for i, s := range x.sections {
		counts := make(map[string]float64)
		length := 0.0
		add := func(text string, weight float64) {
			for _, word := range wordsOf(text) {
				counts[word] += weight
				length++
			}
		}
		add(s.text, 1)
		add(s.head, headWeight)
		if s.id != "" { // the title of the page describes its sections, too
			add(s.page.Title, 1)
		}
		for word, count := range counts {
			x.postings[word] = append(x.postings[word], posting{i, count})
		}
		x.lengths = append(x.lengths, length)
		x.mean += length
	}
	x.mean /= max(1, float64(len(x.sections)))
	for word := range x.postings {
		x.words = append(x.words, word)
	}
	slices.Sort(x.words)
	return x
}

// wordsOf returns the words of a text in lower case. A name with underscores or hyphens is a word, and so is each
// of its parts.
func wordsOf(text string) (words []string) {
	for _, name := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && r != '_' && r != '-'
	}) {
		name = strings.Trim(name, "-_")
		if name == "" {
			continue
		}
		words = append(words, name)
		if parts := strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' }); len(parts) > 1 {
			words = append(words, parts...)
		}
	}
	return words
}

// Search returns the sections that contain all words of a query, best first. The last word of the query also
// matches words that begin with it.
func (l *Library) Search(query string) []Hit {
	if utf8.RuneCountInString(query) > MaxQuery {
		query = string([]rune(query)[:MaxQuery])
	}
	words := queryWords(query)
	if len(words) == 0 {
		return nil
	}
	type scored struct {
		section int
		score   float64
	}
	scores := make(map[int]float64)
	for i, word := range words {
		matching := []string{word}
		if i == len(words)-1 {
			matching = l.index.beginningWith(word)
		}
		found := l.index.scores(matching)
		if i == 0 {
			scores = found
			continue
		}
		for section := range scores {
			if score, ok := found[section]; ok {
				scores[section] += score
			} else {
				delete(scores, section)
			}
		}
	}
	ranked := make([]scored, 0, len(scores))
	for section, score := range scores {
		ranked = append(ranked, scored{section, score})
	}
	slices.SortFunc(ranked, func(a, b scored) int { return cmp.Or(cmp.Compare(b.score, a.score), a.section-b.section) })
	var hits []Hit
	ofPage := make(map[*Page]int)
	for _, r := range ranked {
		s := &l.index.sections[r.section]
		if ofPage[s.page]++; ofPage[s.page] > maxOfPage {
			continue
		}
		hit := Hit{Page: s.page, URL: s.page.URL, Snippet: snippet(s.text, words)}
		if s.id != "" {
			hit.Heading, hit.URL = s.head, s.page.URL+"#"+s.id
		}
		if hits = append(hits, hit); len(hits) == maxHits {
			break
		}
	}
	return hits
}

// queryWords returns the words of a query without duplicates.
func queryWords(query string) (words []string) {
	for _, name := range strings.FieldsFunc(strings.ToLower(query), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && r != '_' && r != '-'
	}) {
		if name = strings.Trim(name, "-_"); name != "" && !slices.Contains(words, name) && len(words) < maxWords {
			words = append(words, name)
		}
	}
	return words
}

// beginningWith returns the words with a prefix.
func (x *index) beginningWith(prefix string) []string {
	first, _ := slices.BinarySearch(x.words, prefix)
	last := first
	for last < len(x.words) && last < first+maxPrefix && strings.HasPrefix(x.words[last], prefix) {
		last++
	}
	return x.words[first:last]
}

// scores returns the BM25 scores of the sections that contain any of some words, which count as the same word.
func (x *index) scores(words []string) map[int]float64 {
	scores := make(map[int]float64)
	for _, word := range words {
		for _, p := range x.postings[word] {
			scores[p.section] += p.count
		}
	}
	n, all := float64(len(scores)), float64(len(x.sections))
	rare := math.Log(1 + (all-n+0.5)/(n+0.5))
	for section, count := range scores {
		scores[section] = rare * count * (bm25K + 1) / (count + bm25K*(1-bm25B+bm25B*x.lengths[section]/x.mean))
	}
	return scores
}

// snippet returns an excerpt of a text around the first of some words, in which all of the words are marked.
func snippet(text string, words []string) template.HTML {
	places := occurrences(text, words)
	start := 0
	if len(places) > 0 && places[0][0] > snippetSize/3 {
		start = boundary(text, places[0][0]-snippetSize/3)
	}
	end := len(text)
	if start+snippetSize < end {
		end = boundary(text, start+snippetSize)
	}
	var out strings.Builder
	if start > 0 {
		out.WriteString("… ")
	}
	at := start
	for _, place := range places {
		if place[0] < at || place[1] > end {
			continue
		}
		out.WriteString(template.HTMLEscapeString(text[at:place[0]]) + "<mark>" +
			template.HTMLEscapeString(text[place[0]:place[1]]) + "</mark>")
		at = place[1]
	}
	out.WriteString(template.HTMLEscapeString(text[at:end]))
	if end < len(text) {
		out.WriteString(" …")
	}
	return template.HTML(out.String()) //nolint:gosec // what is not a mark is escaped
}

// occurrences returns the positions of words that begin with one of the given words, up to the end of the matching
// part, in the order of the text.
func occurrences(text string, words []string) (places [][2]int) {
	begins := true
	for i, r := range text {
		letter := unicode.IsLetter(r) || unicode.IsNumber(r)
		if letter && begins {
			longest := 0
			for _, word := range words {
				if len(word) > longest && len(text)-i >= len(word) && strings.EqualFold(text[i:i+len(word)], word) {
					longest = len(word)
				}
			}
			if longest > 0 {
				places = append(places, [2]int{i, i + longest})
			}
		}
		begins = !letter
	}
	return places
}

// boundary returns the end of the word before a position in a text. Within a very long word, it returns the
// beginning of a character.
func boundary(text string, at int) int {
	if space := strings.LastIndexByte(text[:at], ' '); space > at-snippetSize/3 && space > 0 {
		return space + 1
	}
	for !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}
