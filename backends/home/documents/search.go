package documents

import (
	"cmp"
	"html/template"
	"iter"
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
	// maxHits limits the number of sections that are found, and maxHitsPerPage the number of those of one page.
	maxHits, maxHitsPerPage = 30, 3
	// maxPrefixWords limits the number of words that a prefix matches.
	maxPrefixWords = 200
	// snippetSize is the length of a snippet in bytes.
	snippetSize = 220
)

// The parameters of BM25, and the weight of a word in a heading relative to one in the text.
const (
	bm25K, bm25B  = 1.2, 0.75
	headingWeight = 6
)

// Hit is a section that matches a query.
type Hit struct {
	Page    *Page
	Heading string        // of the section; empty at the top of the page
	URL     string        // of the section
	Snippet template.HTML // an excerpt of its text in which the words of the query are marked
}

// index is an inverted index of the sections.
type index struct {
	sections []section
	lengths  []float64            // numbers of words of the sections
	mean     float64              // mean of lengths
	postings map[string][]posting // by word
	words    []string             // all words, sorted, to find those with a prefix
}

// posting is the weighted number of occurrences of a word in a section.
type posting struct {
	section int // index in index.sections
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
		counts := make(map[string]float64) // weighted numbers of occurrences, by word
		length := 0.0
		add := func(text string, weight float64) {
			for _, word := range wordsOf(text) {
				counts[word] += weight
				length++
			}
		}
		add(s.text, 1)
		add(s.heading, headingWeight)
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
	for name := range names(text) {
		words = append(words, name)
		if parts := strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' }); len(parts) > 1 {
			words = append(words, parts...)
		}
	}
	return words
}

// names iterates over the words of a text in lower case. A word may contain underscores and hyphens, but it neither
// begins nor ends with them.
func names(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for name := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsNumber(r) && r != '_' && r != '-'
		}) {
			if name = strings.Trim(name, "-_"); name != "" && !yield(name) {
				return
			}
		}
	}
}

// Search returns the sections that contain all words of a query, best first. The last word of the query also
// matches words that begin with it. It ignores characters of the query after MaxQuery and words after maxWords.
func (l *Library) Search(query string) []Hit {
	if utf8.RuneCountInString(query) > MaxQuery {
		query = string([]rune(query)[:MaxQuery])
	}
	words := queryWords(query)
	if len(words) == 0 {
		return nil
	}
	// scored is a section, as an index in l.index.sections, with its score.
	type scored struct {
		section int
		score   float64
	}
	var scores map[int]float64 // of the sections that contain all words so far
	for i, word := range words {
		matching := []string{word}
		if i == len(words)-1 { // the user may still be typing it
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
	hitsOfPage := make(map[*Page]int)
	for _, r := range ranked {
		s := &l.index.sections[r.section]
		if hitsOfPage[s.page]++; hitsOfPage[s.page] > maxHitsPerPage {
			continue
		}
		hit := Hit{Page: s.page, URL: s.page.URL, Snippet: snippet(s.text, words)}
		if s.id != "" {
			hit.Heading, hit.URL = s.heading, s.page.URL+"#"+s.id
		}
		if hits = append(hits, hit); len(hits) == maxHits {
			break
		}
	}
	return hits
}

// queryWords returns the words of a query without duplicates.
func queryWords(query string) (words []string) {
	for name := range names(query) {
		if !slices.Contains(words, name) && len(words) < maxWords {
			words = append(words, name)
		}
	}
	return words
}

// beginningWith returns the words with a prefix.
func (x *index) beginningWith(prefix string) []string {
	first, _ := slices.BinarySearch(x.words, prefix)
	last := first
	for last < len(x.words) && last < first+maxPrefixWords && strings.HasPrefix(x.words[last], prefix) {
		last++
	}
	return x.words[first:last]
}

// scores returns the BM25 scores, by index in x.sections, of the sections that contain any of the given words. The
// words count as the same word.
func (x *index) scores(words []string) map[int]float64 {
	scores := make(map[int]float64)
	for _, word := range words {
		for _, p := range x.postings[word] {
			scores[p.section] += p.count
		}
	}
	matching, total := float64(len(scores)), float64(len(x.sections))
	idf := math.Log(1 + (total-matching+0.5)/(matching+0.5))
	for section, count := range scores {
		scores[section] = idf * count * (bm25K + 1) / (count + bm25K*(1-bm25B+bm25B*x.lengths[section]/x.mean))
	}
	return scores
}

// snippet returns an excerpt of a text around the first occurrence of the given words. Words of the excerpt that begin
// with one of the given words are marked.
func snippet(text string, words []string) template.HTML {
	ranges := occurrences(text, words)
	start := 0
	// The excerpt begins about snippetSize/3 bytes before the first match, or with the text.
	if len(ranges) > 0 && ranges[0][0] > snippetSize/3 {
		start = boundary(text, ranges[0][0]-snippetSize/3)
	}
	end := len(text)
	if start+snippetSize < end {
		end = boundary(text, start+snippetSize)
	}
	var out strings.Builder
	if start > 0 {
		out.WriteString("… ")
	}
	offset := start
	for _, match := range ranges {
		if match[0] < offset || match[1] > end {
			continue
		}
		out.WriteString(template.HTMLEscapeString(text[offset:match[0]]) + "<mark>" +
			template.HTMLEscapeString(text[match[0]:match[1]]) + "</mark>")
		offset = match[1]
	}
	out.WriteString(template.HTMLEscapeString(text[offset:end]))
	if end < len(text) {
		out.WriteString(" …")
	}
	return template.HTML(out.String()) //nolint:gosec // everything but the mark elements is escaped
}

// occurrences returns the position of each word that begins with one of the given words, in the order of the text. A
// position is the range from the beginning of the word to the end of its matching part.
func occurrences(text string, words []string) (ranges [][2]int) {
	wordStart := true
	for i, r := range text {
		inWord := unicode.IsLetter(r) || unicode.IsNumber(r)
		if inWord && wordStart {
			longest := 0
			for _, word := range words {
				if len(word) > longest && len(text)-i >= len(word) && strings.EqualFold(text[i:i+len(word)], word) {
					longest = len(word)
				}
			}
			if longest > 0 {
				ranges = append(ranges, [2]int{i, i + longest})
			}
		}
		wordStart = !inWord
	}
	return ranges
}

// boundary returns the last position in a text at which a word begins and which is not after the given position.
// Within a very long word, boundary returns a position at which a character begins.
func boundary(text string, position int) int {
	if space := strings.LastIndexByte(text[:position], ' '); space > position-snippetSize/3 && space > 0 {
		return space + 1
	}
	for !utf8.RuneStart(text[position]) {
		position--
	}
	return position
}
