package metrics

import (
	"cmp"
	_ "embed"
	"regexp"
	"slices"
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
	order    int         // the position in the vocabulary
}

// vocabulary holds all known metrics. It is not changed after it was parsed.
type vocabulary struct {
	// A name or a concept belongs to one metric only, as a test checks.
	byKey        map[string]*entry // keyed by Metric.Key
	byName       map[string]*entry // keyed by the stems of a name, joined by spaces
	concepts     map[string]*entry // keyed by concept of the us-gaap taxonomy
	maxNameStems int               // the number of stems of the longest name
}

// known is the vocabulary in metrics.txt.
var known = parseVocabulary(vocabularyText)

// parseVocabulary parses a text in the format that the beginning of metrics.txt describes.
func parseVocabulary(text string) *vocabulary {
	v := &vocabulary{
		byKey: make(map[string]*entry), byName: make(map[string]*entry), concepts: make(map[string]*entry),
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Split(line+"|||", "|") // the last fields of a line may be missing
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		hasFlag := func(letter string) bool { return strings.Contains(fields[3], letter) }
		e := &entry{
			Metric: kernel.Metric{
				Key: fields[0], Name: fields[1], Statement: kernel.Statement(fields[2]), Instant: hasFlag("i"), Ratio: hasFlag("r"),
			},
			names: append([]string{fields[1]}, splitList(fields[4])...), concepts: splitList(fields[5]),
			spent: hasFlag("o"), formula: fields[6], good: fields[7], order: len(v.byKey),
		}
		switch {
		case hasFlag("s"):
			e.unit = kernel.Shares
		case hasFlag("p"):
			e.unit = kernel.PerShare
		case hasFlag("%"):
			e.unit = kernel.Percent
		case hasFlag("d"):
			e.unit = Days
		case !e.Ratio:
			e.unit = kernel.Money
		}
		v.byKey[e.Key] = e
		for _, name := range e.names {
			stems := stemsOf(name)
			v.byName[stems] = e
			v.maxNameStems = max(v.maxNameStems, strings.Count(stems, " ")+1)
		}
		for _, concept := range e.concepts {
			v.concepts[concept] = e
		}
	}
	return v
}

// splitList returns the items of a list without white space around them. The items are separated by ";".
func splitList(s string) (items []string) {
	for item := range strings.SplitSeq(s, ";") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
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

// unknown is the entry of unknown metrics. All of its fields are zero.
var unknown entry

// entryOf returns the entry of the metric with a key, or &unknown.
func entryOf(key string) *entry { return cmp.Or(known.byKey[key], &unknown) }

// metricOf returns the metric of an entry, and false if the entry is nil.
func metricOf(e *entry) (kernel.Metric, bool) {
	if e == nil {
		return kernel.Metric{}, false
	}
	return e.Metric, true
}

// Metric returns the metric with a key. It returns false if the vocabulary does not have the key.
func Metric(key string) (kernel.Metric, bool) { return metricOf(known.byKey[key]) }

// Order returns the position of a metric in the vocabulary, which lists metrics in the order of reports. Unknown
// metrics come last.
func Order(key string) int {
	if e, ok := known.byKey[key]; ok {
		return e.order
	}
	return len(known.byKey)
}

// Names returns all names of a metric, the name for use in sentences first. It returns nil for an unknown key.
func Names(key string) []string { return entryOf(key).names }

// UnitOf returns the unit of those figures of a metric that state no unit themselves. The result is empty if there is
// no such unit.
func UnitOf(key string) kernel.Unit { return entryOf(key).unit }

// Days is the unit of times between sales and payments.
const Days kernel.Unit = "days"

// Formula returns the formula of a metric, for values that no document states. It is written with the keys of other
// metrics: "gross_profit / revenue" for the gross margin. It is empty if the metric has no formula.
func Formula(key string) string { return entryOf(key).formula }

// Good returns the condition that the value of a healthy company's metric meets, such as ">= 1" for the current ratio.
// It is empty if no condition is known.
func Good(key string) string { return entryOf(key).good }

// Spent reports whether a metric is an amount paid or spent. Statements write such amounts with either sign.
func Spent(key string) bool { return entryOf(key).spent }

// Concept returns the metric that a concept of the us-gaap taxonomy of XBRL reports, such as revenue for the concept
// "Revenues" or "SalesRevenueNet". name is the concept's name without the prefix "us-gaap:". Concept returns false if
// no metric has this concept.
func Concept(name string) (kernel.Metric, bool) { return metricOf(known.concepts[name]) }

// Rank returns the position of a concept among the concepts of its metric, from 0 for the concept that states the
// metric best, or -1 if no metric has this concept.
func Rank(concept string) int {
	e := cmp.Or(known.concepts[concept], &unknown)
	return slices.Index(e.concepts, concept)
}

// MetricMention is a place in a text that names a metric: "net sales" in "Net sales rose.", which names revenue.
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
	var mentions []MetricMention
	stems := stemPositions(text)
	for i := 0; i < len(stems); {
		n, longest := 0, &unknown // the number of stems of the longest name at i, and its metric
		var key strings.Builder
		for k := 0; k < known.maxNameStems && i+k < len(stems); k++ {
			if k > 0 {
				key.WriteByte(' ')
			}
			key.WriteString(stems[i+k].stem)
			if e, ok := known.byName[key.String()]; ok {
				n, longest = k+1, e
			}
		}
		if n == 0 {
			i++
			continue
		}
		mentions = append(mentions, MetricMention{longest.Metric, stems[i].start, stems[i+n-1].end})
		i += n
	}
	return mentions
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
	return metricOf(known.byName[stemsOf(label)])
}
