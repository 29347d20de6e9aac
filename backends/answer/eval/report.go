package eval

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Report is what results come to.
type Report struct {
	Questions, Class, Answerable, Right, Wrong, Refused int
	Numeric, NumericRight                               int
	Marks, Held, Foreign                                int
	Ranked, Hit5, Hit12                                 int
	P50, P95                                            time.Duration
}

// Sum adds results up.
func Sum(results []Result) Report {
	var r Report
	took := make([]time.Duration, 0, len(results))
	for i := range results {
		one := &results[i]
		r.Questions++
		took = append(took, one.Took)
		if one.Class {
			r.Class++
		}
		r.Marks, r.Held, r.Foreign = r.Marks+one.Marks, r.Held+one.Held, r.Foreign+one.Foreign
		if one.Question.Expect != "answered" {
			if one.Answered {
				r.Wrong++
			}
			continue
		}
		r.Answerable++
		switch {
		case one.Right:
			r.Right++
		case one.Answered:
			r.Wrong++
		default:
			r.Refused++
		}
		if one.Question.Gold.number() {
			r.Numeric++
			if one.Right {
				r.NumericRight++
			}
		}
		if len(one.Question.Gold.Evidence) > 0 && one.Rank >= 0 {
			r.Ranked++
			if one.Rank > 0 && one.Rank <= 5 {
				r.Hit5++
			}
			if one.Rank > 0 && one.Rank <= 12 {
				r.Hit12++
			}
		}
	}
	slices.Sort(took)
	if n := len(took); n > 0 {
		r.P50, r.P95 = took[n/2], took[min(n-1, n*95/100)]
	}
	return r
}

// Rate is a share in per cent; 0 of none is 0.
func Rate(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return 100 * float64(n) / float64(of)
}

// Row names results.
type Row struct {
	Name string
	Report
}

// Markdown writes a table of reports.
func Markdown(w io.Writer, rows []Row) error {
	share := func(n, of int) string {
		if of == 0 {
			return "–"
		}
		return fmt.Sprintf("%.1f %%", Rate(n, of))
	}
	var b strings.Builder
	b.WriteString("| Set | questions | outcome class | exact | wrong | honest no | numeric | hit@5 | hit@12 | citations | foreign references | p95 |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %s | %s | %s | %s | %s | %d | %s |\n", r.Name, r.Questions, share(r.Class, r.Questions), share(r.Right, r.Answerable), share(r.Wrong, r.Questions),
			share(r.Refused, r.Answerable), share(r.NumericRight, r.Numeric), share(r.Hit5, r.Ranked), share(r.Hit12, r.Ranked), share(r.Held, r.Marks), r.Foreign, r.P95.Round(100*time.Microsecond))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Types divides results by the type of their question, in the order of its name.
func Types(results []Result) []Row {
	byType := make(map[string][]Result)
	var names []string
	for _, r := range results {
		if byType[r.Question.Type] == nil {
			names = append(names, r.Question.Type)
		}
		byType[r.Question.Type] = append(byType[r.Question.Type], r)
	}
	slices.Sort(names)
	rows := make([]Row, 0, len(names))
	for _, n := range names {
		rows = append(rows, Row{n, Sum(byType[n])})
	}
	return rows
}
