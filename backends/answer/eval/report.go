package eval

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/pipeline"
)

// Report sums up results.
type Report struct {
	Questions, Class, Answerable, Right, Wrong, Refused int
	Numeric, NumericRight                               int
	Marks, Held, Foreign                                int
	Ranked, Hit5, Hit12                                 int
	// Referred is the number of answers to questions with a gold document. Documented is the number of those answers
	// that refer to the gold document.
	Referred, Documented int
	P50, P95             time.Duration
}

// Sum sums up results.
func Sum(results []Result) Report {
	var r Report
	took := make([]time.Duration, 0, len(results))
	for i := range results {
		result := &results[i]
		r.Questions++
		took = append(took, result.Took)
		if result.Class {
			r.Class++
		}
		r.Marks, r.Held, r.Foreign = r.Marks+result.Marks, r.Held+result.Held, r.Foreign+result.Foreign
		if result.Question.Expect != "answered" {
			if result.Answered {
				r.Wrong++
			}
			continue
		}
		r.Answerable++
		switch {
		case result.Right:
			r.Right++
		case result.Answered:
			r.Wrong++
		default:
			r.Refused++
		}
		if result.Question.Gold.number() {
			r.Numeric++
			if result.Right {
				r.NumericRight++
			}
		}
		if len(result.Question.Gold.Evidence) > 0 && result.Answered {
			r.Referred++
			if result.Document {
				r.Documented++
			}
		}
		if len(result.Question.Gold.Evidence) > 0 && result.Rank >= 0 {
			r.Ranked++
			if result.Rank > 0 && result.Rank <= 5 {
				r.Hit5++
			}
			if result.Rank > 0 && result.Rank <= 12 {
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

// Rate returns the share of n in of in per cent, and 0 if of is 0.
func Rate(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return 100 * float64(n) / float64(of)
}

// Row is a named report.
type Row struct {
	Name string
	Report
}

// share formats a Rate. If of is 0, it returns a dash.
func share(n, of int) string {
	if of == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", Rate(n, of))
}

// Markdown writes a table of reports. It leaves out the times, which differ from run to run.
func Markdown(w io.Writer, rows []Row) error {
	var b strings.Builder
	b.WriteString("| Set | Questions | Outcome class | Exact | Wrong | Refused | Numeric | hit@5 | hit@12 | Citations | Foreign references |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %s | %s | %s | %s | %s | %d |\n",
			r.Name, r.Questions, share(r.Class, r.Questions), share(r.Right, r.Answerable), share(r.Wrong, r.Questions),
			share(r.Refused, r.Answerable), share(r.NumericRight, r.Numeric), share(r.Hit5, r.Ranked), share(r.Hit12, r.Ranked),
			share(r.Held, r.Marks), r.Foreign)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Table returns the rows of a set: the whole set, the half that rules are developed with, the half that is
// held back, and the types of questions.
func Table(results []Result) []Row {
	var halves [2][]Result
	for i := range results {
		n := 0
		if results[i].Question.Held {
			n = 1
		}
		halves[n] = append(halves[n], results[i])
	}
	return append([]Row{{"all", Sum(results)}, {"worked on", Sum(halves[0])}, {"held back", Sum(halves[1])}},
		Types(results)...)
}

// Types returns a row for each type of question, sorted by name.
func Types(results []Result) []Row {
	return grouped(results, func(r *Result) string { return r.Question.Type })
}

func grouped(results []Result, nameOf func(r *Result) string) []Row {
	parts := make(map[string][]Result)
	for i := range results {
		name := nameOf(&results[i])
		parts[name] = append(parts[name], results[i])
	}
	rows := make([]Row, 0, len(parts))
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		rows = append(rows, Row{name, Sum(parts[name])})
	}
	return rows
}

// Counts writes two tables. The first counts the right, wrong and missing answers by kind and by part of the set. The
// second counts the reasons why answerable questions are not right.
func Counts(w io.Writer, results []Result) error {
	part := func(r *Result) string {
		if r.Question.Held {
			return "held back"
		}
		return "worked on"
	}
	rows := append([]Row{{"all", Sum(results)}}, grouped(results, part)...)
	rows = append(rows, grouped(results,
		func(r *Result) string { return part(r) + ", " + cmp.Or(r.Question.Gold.Kind, r.Question.Type) })...)
	var b strings.Builder
	b.WriteString("| Questions | All | Right | Wrong | No answer | Gold document referred to | Gold page in 12 |\n|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d of %d | %d of %d |\n", r.Name, r.Questions, r.Right, r.Wrong,
			r.Refused, r.Documented, r.Referred, r.Hit12, r.Ranked)
	}
	causes := make(map[string]int)
	for i := range results {
		if results[i].Cause != "" {
			causes[part(&results[i])+", "+results[i].Cause]++
		}
	}
	b.WriteString("\n| Why not right | Questions |\n|---|---|\n")
	for _, cause := range slices.Sorted(maps.Keys(causes)) {
		fmt.Fprintf(&b, "| %s | %d |\n", cause, causes[cause])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cause returns why a result is not right, or the empty string if it is right.
func (r *Result) cause(t *pipeline.Trace) string {
	switch {
	case r.Right:
		return ""
	case !r.Class && !r.Answered && r.Outcome.Reason != pipeline.FailedToAnswer, !r.Class && r.Answered:
		return "class: " + cmp.Or(r.Outcome.Reason, "answered")
	case r.Answered && r.Question.Gold.number():
		return "wrong: " + r.Question.Gold.deviation(results(r.Outcome.Claims))
	case r.Answered && len(t.Computed) > 0:
		return "wrong: another text, computed"
	case r.Answered:
		return "wrong: another text, quoted"
	}
	page := "page found"
	if r.Rank == 0 {
		page = "page not found"
	}
	gap, _, _ := strings.Cut(t.Gap, ":") // the name of the missing figure would reveal questions that are held back
	return "no answer: " + page + ", " + cmp.Or(gap, "refused by checks")
}

// Failures lists the questions that were not answered as expected. Questions that are held back are left out, because
// readers would develop rules with them.
func Failures(w io.Writer, results []Result) {
	for i := range results {
		r := &results[i]
		if r.Question.Held || r.Right && r.Rank != 0 && r.Held == r.Marks {
			continue
		}
		outcome := r.Outcome.Reason
		if r.Answered {
			outcome = fmt.Sprintf("%q", r.Outcome.Answer)
		}
		_, _ = fmt.Fprintf(w, "\n%s: %s\n  expected %s %v, was %s\n  rank %d, %d of %d citations hold\n",
			r.Question.ID, r.Question.Query, r.Question.Expect, r.Question.Gold.parts(), outcome, r.Rank, r.Held, r.Marks)
	}
}
