package formula

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/inquiry"
	"github.com/tollgate-gateway/tollgate/backends/answer/terms"
)

// yearsIn returns the years of the table that best matches the subject. It returns nil if no table matches well or two
// match equally well.
func (r request) yearsIn(f *finder) *Value {
	subject := strings.Join(r.Subjects, "")
	stems := terms.Of(subject)
	var best []*Series
	var bestYears []int
	bestScore := 0.0
	// The series of one table follow each other in f.series. The loop finds those of the next table, from the index start
	// up to but not including end.
	for start, end := 0, 0; start < len(f.series); start = end {
		for end < len(f.series) && f.series[end].table == f.series[start].table {
			end++
		}
		table := f.series[start:end]
		years := make(map[int]bool)
		words := maps.Clone(table[0].around) // the terms in and around the table
		for _, s := range table {
			maps.Copy(words, s.name)
			maps.Copy(words, s.group)
			for _, p := range s.Points {
				years[p.Period.AnyYear()] = true
			}
		}
		delete(years, 0) // points without a year
		if len(years) == 0 {
			continue
		}
		score := 0.5 // the score if the question has no subject
		if len(stems) > 0 {
			matched := slices.DeleteFunc(slices.Clone(stems), func(t terms.Term) bool { return !words[t] })
			score = float64(len(matched)) / float64(len(stems))
		}
		sorted := slices.Sorted(maps.Keys(years))
		switch {
		case score > bestScore:
			best, bestScore, bestYears = table, score, sorted
		case score == bestScore && !slices.Equal(sorted, bestYears):
			best = nil // two tables match equally well
		}
	}
	if best == nil || bestScore < 0.5 {
		return nil
	}
	v := &Value{Op: r.Op, Label: "years for which " + subject + " is reported", Confidence: bestScore}
	if subject == "" {
		v.Label = "years that the table has"
	}
	for _, y := range bestYears {
		v.Words = append(v.Words, strconv.Itoa(y))
	}
	v.Inputs = inputs(best[0], best[0].Points[:1])
	return v
}

// itemsIn returns the names of the rows below a heading: the first one with all words of the subject. It returns nil if
// there are fewer than two such rows.
func (r request) itemsIn(f *finder) *Value {
	stems := terms.Of(r.Subjects[0])
	if len(stems) == 0 {
		return nil
	}
	var names []string
	var first *Series // the first row under the heading
	for _, s := range f.series {
		if s.Group == "" || s.total || !covers(s.group, stems) {
			continue
		}
		if first == nil {
			first = s
		}
		if s.table != first.table || s.Group != first.Group {
			continue
		}
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	if len(names) < 2 {
		return nil
	}
	return &Value{
		Op: inquiry.Items, Label: "items under " + first.Group, Words: names, Inputs: inputs(first, first.Points[:1]),
		Confidence: 0.8,
	}
}

// covers reports whether words contains all stems and at most one other word.
func covers(words terms.Set, stems []terms.Term) bool {
	return len(words) <= len(stems)+1 && !slices.ContainsFunc(stems, func(t terms.Term) bool { return !words[t] })
}
