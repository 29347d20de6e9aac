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

// Report counts results.
type Report struct {
	Questions  int
	Class      int // outcomes of the expected class
	Answerable int // questions that have an answer
	Right      int // expected answers
	Wrong      int // answers other than the expected ones, including answers to questions that have none
	Refused    int // answerable questions without an answer
	// Numeric is the number of questions whose answer is a number, NumericRight how many of them are answered right.
	Numeric, NumericRight int
	// Marks, Supported and Foreign are sums of the fields of Result.
	Marks, Supported, Foreign int
	// Ranked is the number of questions with gold passages. Hit5 and Hit12 count those whose gold passages were among
	// the first 5 and 12.
	Ranked, Hit5, Hit12 int
	// Referred is the number of answers to questions with a gold document. Documented is the number of those answers
	// that refer to the gold document.
	Referred, Documented int
	P50, P95             time.Duration // the median and the 95th percentile of the time for an answer
}

// Sum returns the report on results.
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
		r.Marks, r.Supported, r.Foreign = r.Marks+result.Marks, r.Supported+result.Supported, r.Foreign+result.Foreign
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
		if result.Question.Gold.isNumeric() {
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
			if result.Rank > 0 && result.Rank <= 5 { // 0 means not found
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

// Rate returns n as a percentage of total, and 0 if total is 0.
func Rate(n, total int) float64 {
	if total == 0 {
		return 0
	}
	return 100 * float64(n) / float64(total)
}

// Row is a named report.
type Row struct {
	Name string
	Report
}

// share formats a Rate. If total is 0, it returns a dash.
func share(n, total int) string {
	if total == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", Rate(n, total))
}

// Markdown writes a table of reports. It leaves out the times, which differ from run to run.
func Markdown(w io.Writer, rows []Row) error {
	var b strings.Builder
	b.WriteString("| Set | Questions | Outcome class | Exact | Wrong | Refused | Numeric | hit@5 | hit@12 | Citations | Foreign references |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %d | %s | %s | %s | %s | %s | %s | %s | %s | %d |\n",
			r.Name, r.Questions, share(r.Class, r.Questions), share(r.Right, r.Answerable), share(r.Wrong, r.Questions),
			share(r.Refused, r.Answerable), share(r.NumericRight, r.Numeric), share(r.Hit5, r.Ranked), share(r.Hit12, r.Ranked),
			share(r.Supported, r.Marks), r.Foreign)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Table returns the rows of a set: the whole set ("all"), the part that rules are developed with ("worked on"), the
// part that is held back, and each type of question.
func Table(results []Result) []Row {
	var workedOn, heldBack []Result
	for i := range results {
		if results[i].Question.HeldBack {
			heldBack = append(heldBack, results[i])
		} else {
			workedOn = append(workedOn, results[i])
		}
	}
	return append([]Row{{"all", Sum(results)}, {"worked on", Sum(workedOn)}, {"held back", Sum(heldBack)}},
		Types(results)...)
}

// Types returns a row for each type of question, sorted by name.
func Types(results []Result) []Row {
	return grouped(results, func(r *Result) string { return r.Question.Type })
}

// grouped groups the results by the names that nameOf returns for them. It returns a row for each name, sorted by
// name.
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
		if r.Question.HeldBack {
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

// cause returns why a result is not right, or the empty string if it is right. t is the trace of the question.
func (r *Result) cause(t *pipeline.Trace) string {
	switch {
	case r.Right:
		return ""
	case !r.Class && (r.Answered || r.Outcome.Reason != pipeline.FailedToAnswer):
		return "class: " + cmp.Or(r.Outcome.Reason, "answered")
	case r.Answered && r.Question.Gold.isNumeric():
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

// Failures lists the questions that were not answered as expected. It leaves out questions that are held back,
// because readers of the list would otherwise use them to develop rules.
func Failures(w io.Writer, results []Result) {
	for i := range results {
		r := &results[i]
		if r.Question.HeldBack || r.Right && r.Rank != 0 && r.Supported == r.Marks {
			continue
		}
		outcome := r.Outcome.Reason
		if r.Answered {
			outcome = fmt.Sprintf("%q", r.Outcome.Answer)
		}
		_, _ = fmt.Fprintf(w, "\n%s: %s\n  expected %s %v, was %s\n  rank %d, %d of %d citations hold\n",
			r.Question.ID, r.Question.Query, r.Question.Expect, r.Question.Gold.parts(), outcome, r.Rank, r.Supported, r.Marks)
	}
}
