package formula

import (
	"slices"
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/answer/inquiry"
	"github.com/tollgate-gateway/tollgate/backends/answer/terms"
)

// yearsIn returns the years of the table that a question is about, or nil if there is no best one.
func (w want) yearsIn(f *finder) *Value {
	byTable := make(map[int][]*Series)
	var order []int
	for _, s := range f.series {
		if byTable[s.table] == nil {
			order = append(order, s.table)
		}
		byTable[s.table] = append(byTable[s.table], s)
	}
	subject := ""
	if len(w.Subjects) > 0 {
		subject = w.Subjects[0]
	}
	stems := terms.Of(subject)
	var best []*Series
	bestScore := 0.0
	var bestYears []int
	for _, n := range order {
		list := byTable[n]
		var years []int
		words := make(set)
		for _, s := range list {
			for t := range s.name {
				words[t] = true
			}
			for t := range s.group {
				words[t] = true
			}
			for t := range s.around {
				words[t] = true
			}
			for _, p := range s.Points {
				if y := p.Period.AnyYear(); y != 0 && !slices.Contains(years, y) {
					years = append(years, y)
				}
			}
		}
		if len(years) == 0 {
			continue
		}
		score := 0.5 // the score for a question that names nothing
		if len(stems) > 0 {
			got := 0.0
			for _, t := range stems {
				if words[t] {
					got++
				}
			}
			score = got / float64(len(stems))
		}
		slices.Sort(years)
		if score == bestScore && !slices.Equal(years, bestYears) {
			best = nil // two tables match equally well
		}
		if score > bestScore {
			best, bestScore, bestYears = list, score, years
		}
	}
	if best == nil || bestScore < 0.5 {
		return nil
	}
	v := &Value{Op: inquiry.Years, Label: "years for which " + subject + " is reported", Confidence: bestScore}
	if subject == "" {
		v.Label = "years that the table has"
	}
	for _, y := range bestYears {
		v.Words = append(v.Words, strconv.Itoa(y))
	}
	v.Inputs = inputs(best[0], best[0].Points[:1])
	return v
}

// itemsIn returns the names of the rows under a heading, or nil if there are fewer than two.
func (w want) itemsIn(f *finder) *Value {
	stems := terms.Of(w.Subjects[0])
	if len(stems) == 0 {
		return nil
	}
	var names []string
	var first *Series
	for _, s := range f.series {
		if s.Group == "" || s.total || !covers(s.group, stems) ||
			first != nil && (s.table != first.table || s.Group != first.Group) {
			continue
		}
		if first == nil {
			first = s
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

// covers reports whether words contain all stems and at most one more.
func covers(words set, stems []terms.Term) bool {
	for _, t := range stems {
		if !words.has(t) {
			return false
		}
	}
	return len(words) <= len(stems)+1
}
