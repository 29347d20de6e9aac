package metrics

import (
	_ "embed"
	"regexp"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/terms"
)

//go:embed metrics.txt
var vocabularyText string

// entry is a metric with all its names.
type entry struct {
	kernel.Metric
	names    []string    // see Names
	unit     kernel.Unit // the unit of figures that do not state their own
	concepts []string    // names of concepts of the us-gaap taxonomy, the best first
	spent    bool        // see Spent
	formula  string      // see Formula
	good     string      // see Good
}

// vocabulary holds all known metrics. The values of its maps are indexes of entries.
type vocabulary struct {
	entries      []entry        // in the order of reports
	byKey        map[string]int // keyed by Metric.Key
	byName       map[string]int // keyed by the stems of a name, joined by spaces
	concepts     map[string]int // keyed by concept of the us-gaap taxonomy
	maxNameStems int            // the number of stems of the longest name
}

// known is the vocabulary in metrics.txt.
var known = parseVocabulary(vocabularyText)

// parseVocabulary parses a text in the format that the beginning of metrics.txt describes.
func parseVocabulary(text string) *vocabulary {
	v := &vocabulary{byKey: make(map[string]int), byName: make(map[string]int), concepts: make(map[string]int)}
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Split(line+"|||", "|")
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		e := entry{Metric: kernel.Metric{
			Key: fields[0], Name: fields[1], Statement: kernel.Statement(fields[2]),
			Instant: strings.Contains(fields[3], "i"), Ratio: strings.Contains(fields[3], "r"),
		}}
		switch {
		case strings.Contains(fields[3], "s"):
			e.unit = kernel.Shares
		case strings.Contains(fields[3], "p"):
			e.unit = kernel.PerShare
		case strings.Contains(fields[3], "%"):
			e.unit = kernel.Percent
		case strings.Contains(fields[3], "d"):
			e.unit = Days
		case !e.Ratio:
			e.unit = kernel.Money
		}
		index := len(v.entries)
		v.byKey[e.Key] = index
		e.names = append([]string{e.Name}, splitList(fields[4])...)
		for _, name := range e.names {
			stems := stemsOf(name)
			if _, taken := v.byName[stems]; !taken {
				v.byName[stems] = index
			}
			v.maxNameStems = max(v.maxNameStems, strings.Count(stems, " ")+1)
		}
		e.concepts = splitList(fields[5])
		e.spent, e.formula, e.good = strings.Contains(fields[3], "o"), fields[6], fields[7]
		for _, concept := range e.concepts {
			if _, taken := v.concepts[concept]; !taken {
				v.concepts[concept] = index
			}
		}
		v.entries = append(v.entries, e)
	}
	return v
}

// splitList returns the items of a list, which ";" separates, without white space around them.
func splitList(s string) (all []string) {
	for item := range strings.SplitSeq(s, ";") {
		if item = strings.TrimSpace(item); item != "" {
			all = append(all, item)
		}
	}
	return all
}

// stemsOf returns the stems of a name, joined by spaces.
func stemsOf(name string) string {
	var b strings.Builder
	terms.Each(name, func(word string) {
		if t := terms.Stem(word); t != "" {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(string(t))
		}
	})
	return b.String()
}

// Metric returns the metric with a key. It returns false if the vocabulary does not have the key.
func Metric(key string) (kernel.Metric, bool) {
	index, ok := known.byKey[key]
	if !ok {
		return kernel.Metric{}, false
	}
	return known.entries[index].Metric, true
}

// Order returns the position of a metric in the vocabulary, which lists metrics in the order of reports. Unknown
// metrics come last.
func Order(key string) int {
	if index, ok := known.byKey[key]; ok {
		return index
	}
	return len(known.entries)
}

// Names returns all names of a metric, the name for use in sentences first. It returns nil for an unknown key.
func Names(key string) []string {
	index, ok := known.byKey[key]
	if !ok {
		return nil
	}
	return known.entries[index].names
}

// UnitOf returns the unit of a metric's figures that do not state their own. It is empty if there is no such unit.
func UnitOf(key string) kernel.Unit {
	index, ok := known.byKey[key]
	if !ok {
		return kernel.NoUnit
	}
	return known.entries[index].unit
}

// Days is the unit of times between sales and payments.
const Days kernel.Unit = "days"

// Formula returns the formula by which a metric is computed from the keys of other metrics, if no document states it.
// It is empty if the metric has no formula.
func Formula(key string) string {
	index, ok := known.byKey[key]
	if !ok {
		return ""
	}
	return known.entries[index].formula
}

// Good returns the condition that the value of a healthy company's metric meets, such as ">= 1" for the current ratio.
// It is empty if no condition is known.
func Good(key string) string {
	index, ok := known.byKey[key]
	if !ok {
		return ""
	}
	return known.entries[index].good
}

// Spent reports whether a metric is an amount paid or spent. Statements write such amounts with either sign.
func Spent(key string) bool {
	index, ok := known.byKey[key]
	return ok && known.entries[index].spent
}

// Concept returns the metric that a concept of the us-gaap taxonomy of XBRL reports, such as revenue for the concept
// "Revenues" or "SalesRevenueNet". name is the concept's name without the prefix "us-gaap:". Concept returns false if
// no metric has this concept.
func Concept(name string) (kernel.Metric, bool) {
	index, ok := known.concepts[name]
	if !ok {
		return kernel.Metric{}, false
	}
	return known.entries[index].Metric, true
}

// Rank returns the position of a concept among the concepts of its metric, from 0 for the concept that states the
// metric best, or -1 if no metric has this concept.
func Rank(concept string) int {
	index, ok := known.concepts[concept]
	if !ok {
		return -1
	}
	for i, c := range known.entries[index].concepts {
		if c == concept {
			return i
		}
	}
	return -1
}

// MetricMention is a mention of a metric in a text.
type MetricMention struct {
	Metric     kernel.Metric
	Start, End int // the byte offsets of the name in the text
}

// stemPosition is a stem with its position in a text.
type stemPosition struct {
	stem       string
	start, end int
}

// Find returns the metrics that a text names, in the order of the text. Of overlapping names it takes the longest.
func Find(text string) []MetricMention {
	var found []MetricMention
	stems := stemPositions(text)
	for i := 0; i < len(stems); {
		n, index := 0, 0 // the number of stems of the longest name at i, and the index of its metric
		var key strings.Builder
		for k := 0; k < known.maxNameStems && i+k < len(stems); k++ {
			if k > 0 {
				key.WriteByte(' ')
			}
			key.WriteString(stems[i+k].stem)
			if entry, ok := known.byName[key.String()]; ok {
				n, index = k+1, entry
			}
		}
		if n == 0 {
			i++
			continue
		}
		found = append(found, MetricMention{known.entries[index].Metric, stems[i].start, stems[i+n-1].end})
		i += n
	}
	return found
}

// maxStems bounds the words of a text that are read.
const maxStems = 2000

// stemPositions returns the stems of the words of a text, at most maxStems, with the positions of the words.
func stemPositions(text string) []stemPosition {
	var list []stemPosition
	for _, word := range wordRuns.FindAllStringIndex(text, maxStems) {
		terms.Each(text[word[0]:word[1]], func(w string) {
			if t := terms.Stem(w); t != "" {
				list = append(list, stemPosition{string(t), word[0], word[1]})
			}
		})
	}
	return list
}

// wordRuns matches runs of characters in which terms.Each finds at most one word.
var wordRuns = regexp.MustCompile(`[\pL\pN\pM]+(?:[&'’.,/][\pL\pN\pM]+)*`)

var (
	// footnotes matches references to notes, such as "(a)" or "(see note 3)".
	footnotes = regexp.MustCompile(`(?i)\s*\((?:\d{1,2}|[a-z]|see note[^)]*|refer to note[^)]*|notes? [^)]*)\)`)
	// leadWords matches words before the name of a metric, such as "less:".
	leadWords = regexp.MustCompile(`(?i)^(?:less|add|plus|of which|including|consolidated)\b:?\s+`)
)

// ByLabel returns the metric whose name is the label of a table's row. The label must be one of the metric's names.
// Only references to notes, such as "(a)" or "(see note 3)", and words before the name, such as "less:", are ignored.
// ByLabel returns false if there is no such metric, or if the label is longer than 200 bytes.
func ByLabel(label string) (kernel.Metric, bool) {
	if len(label) > 200 {
		return kernel.Metric{}, false
	}
	label = footnotes.ReplaceAllString(label, "")
	label = leadWords.ReplaceAllString(label, "")
	index, ok := known.byName[stemsOf(label)]
	if !ok {
		return kernel.Metric{}, false
	}
	return known.entries[index].Metric, true
}
