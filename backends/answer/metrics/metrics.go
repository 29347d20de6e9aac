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
	names    []string
	unit     kernel.Unit
	concepts []string
	spent    bool
	formula  string
	good     string
}

// vocabulary is what is known of metrics.
type vocabulary struct {
	entries  []entry
	byKey    map[string]int
	byName   map[string]int // stems of a name, joined with blanks
	concepts map[string]int // of us-gaap
	most     int            // stems of the longest name
}

var known = read(vocabularyText)

func read(text string) *vocabulary {
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
		at := len(v.entries)
		v.byKey[e.Key] = at
		e.names = append([]string{e.Name}, list(fields[4])...)
		for _, name := range e.names {
			stems := stemsOf(name)
			if _, taken := v.byName[stems]; !taken {
				v.byName[stems] = at
			}
			v.most = max(v.most, strings.Count(stems, " ")+1)
		}
		e.concepts = list(fields[5])
		e.spent, e.formula, e.good = strings.Contains(fields[3], "o"), fields[6], fields[7]
		for _, concept := range e.concepts {
			if _, taken := v.concepts[concept]; !taken {
				v.concepts[concept] = at
			}
		}
		v.entries = append(v.entries, e)
	}
	return v
}

func list(s string) (all []string) {
	for one := range strings.SplitSeq(s, ";") {
		if one = strings.TrimSpace(one); one != "" {
			all = append(all, one)
		}
	}
	return all
}

// stemsOf are the stems of a name with blanks between.
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

// Metric is the one with a key.
func Metric(key string) (kernel.Metric, bool) {
	at, ok := known.byKey[key]
	if !ok {
		return kernel.Metric{}, false
	}
	return known.entries[at].Metric, true
}

// Order returns the place of a metric in the vocabulary, which lists them as reports do. What is unknown comes last.
func Order(key string) int {
	if at, ok := known.byKey[key]; ok {
		return at
	}
	return len(known.entries)
}

// Names are all names of a metric, the one that sentences write first.
func Names(key string) []string {
	at, ok := known.byKey[key]
	if !ok {
		return nil
	}
	return known.entries[at].names
}

// UnitOf is what the figures of a metric count where nothing else is said.
func UnitOf(key string) kernel.Unit {
	at, ok := known.byKey[key]
	if !ok {
		return kernel.NoUnit
	}
	return known.entries[at].unit
}

// Days is the unit of times between sales and payments.
const Days kernel.Unit = "days"

// Formula is how a metric is computed of others, by their keys, where no document states it; empty: it is not.
func Formula(key string) string {
	at, ok := known.byKey[key]
	if !ok {
		return ""
	}
	return known.entries[at].formula
}

// Good is when a metric is good, ">= 1"; empty: nothing is known of that.
func Good(key string) string {
	at, ok := known.byKey[key]
	if !ok {
		return ""
	}
	return known.entries[at].good
}

// Spent reports whether a metric is what was paid or spent, which statements write with either sign.
func Spent(key string) bool {
	at, ok := known.byKey[key]
	return ok && known.entries[at].spent
}

// Concept is the metric of a concept of the taxonomy us-gaap, such as "Revenues".
func Concept(name string) (kernel.Metric, bool) {
	at, ok := known.concepts[name]
	if !ok {
		return kernel.Metric{}, false
	}
	return known.entries[at].Metric, true
}

// Rank is the place of a concept among those of its metric, the best 0.
func Rank(concept string) int {
	at, ok := known.concepts[concept]
	if !ok {
		return -1
	}
	for i, c := range known.entries[at].concepts {
		if c == concept {
			return i
		}
	}
	return -1
}

// MetricMention is a metric that a text names.
type MetricMention struct {
	Metric     kernel.Metric
	Start, End int // of what names it, in bytes
}

// place is a stem of a text.
type place struct {
	stem       string
	start, end int
}

// Find finds the metrics that a text names, the longest names first where they overlap,
// in the order of the text.
func Find(text string) []MetricMention {
	var found []MetricMention
	places := placesOf(text)
	for i := 0; i < len(places); {
		n := 0
		var at int
		var key strings.Builder
		for k := 0; k < known.most && i+k < len(places); k++ {
			if k > 0 {
				key.WriteByte(' ')
			}
			key.WriteString(places[i+k].stem)
			if one, ok := known.byName[key.String()]; ok {
				n, at = k+1, one
			}
		}
		if n == 0 {
			i++
			continue
		}
		found = append(found, MetricMention{known.entries[at].Metric, places[i].start, places[i+n-1].end})
		i += n
	}
	return found
}

// mostStems bounds the words of a text that are looked at.
const mostStems = 2000

func placesOf(text string) []place {
	var list []place
	for _, word := range runs.FindAllStringIndex(text, mostStems) {
		terms.Each(text[word[0]:word[1]], func(w string) {
			if t := terms.Stem(w); t != "" {
				list = append(list, place{string(t), word[0], word[1]})
			}
		})
	}
	return list
}

// runs are runs that terms.Each makes one word of, or none.
var runs = regexp.MustCompile(`[\pL\pN\pM]+(?:[&'’.,/][\pL\pN\pM]+)*`)

var (
	footnotes = regexp.MustCompile(`(?i)\s*\((?:\d{1,2}|[a-z]|see note[^)]*|refer to note[^)]*|notes? [^)]*)\)`)
	leads     = regexp.MustCompile(`(?i)^(?:less|add|plus|of which|including|consolidated)\b:?\s+`)
)

// Label is the metric that the name of a row is: one of its names and nothing more, but
// for references to notes.
func Label(label string) (kernel.Metric, bool) {
	if len(label) > 200 {
		return kernel.Metric{}, false
	}
	label = footnotes.ReplaceAllString(label, "")
	label = leads.ReplaceAllString(label, "")
	at, ok := known.byName[stemsOf(label)]
	if !ok {
		return kernel.Metric{}, false
	}
	return known.entries[at].Metric, true
}
