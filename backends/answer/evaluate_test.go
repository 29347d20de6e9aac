package answer

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tollgate-gateway/tollgate/backends/answer/answertest"
	"github.com/tollgate-gateway/tollgate/backends/answer/eval"
	"github.com/tollgate-gateway/tollgate/backends/answer/models"
	"github.com/tollgate-gateway/tollgate/backends/answer/sample"
)

// evaluated returns the rows of the shipped set, all results, and their table.
func evaluated(t *testing.T, model models.Model) (rows []eval.Row, results []eval.Result, table string) {
	t.Helper()
	total := 0
	results, err := EvaluateSample(t.Context(), model, func(questions int) { total = questions }, nil)
	if err != nil || total != 120 || len(results) != total {
		t.Fatalf("%d of %d questions: %v", len(results), total, err)
	}
	rows = eval.Table(results)
	var b strings.Builder
	if err := eval.Markdown(&b, rows); err != nil {
		t.Fatal(err)
	}
	return rows, results, b.String()
}

// What the shipped questions reach, in per cent.
const (
	leastClass, leastHit, leastNumeric, leastHeld = 95, 95, 85, 99
)

func TestShippedSet(t *testing.T) {
	t.Parallel()
	rows, results, table := evaluated(t, nil)
	t.Log("\n" + table)
	var b strings.Builder
	eval.Failures(&b, results)
	t.Log(b.String())
	reached(t, rows[0].Report)
	documented(t, "../../docs/reference/answer.md", table)
	documented(t, "../../docs/reference/answer.md", short("rules alone", rows))
}

// TestShippedSetOnPostgres checks that PostgreSQL, whose index has other words, leads to the same answers.
func TestShippedSetOnPostgres(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := sample.Write(dir); err != nil {
		t.Fatal(err)
	}
	all, err := eval.Read(bytes.NewReader(sample.Questions))
	if err != nil {
		t.Fatal(err)
	}
	results, err := evaluateOn(t.Context(), answertest.Postgres(t).DB, filepath.Join(dir, sample.CorpusFolder), all, nil, func(int) {}, nil)
	if err != nil {
		t.Fatal(err)
	}
	reached(t, eval.Sum(results))
}

// reached reports what is below the targets.
func reached(t *testing.T, all eval.Report) {
	t.Helper()
	if eval.Rate(all.Class, all.Questions) < leastClass || eval.Rate(all.Hit12, all.Ranked) < leastHit || eval.Rate(all.NumericRight, all.Numeric) < leastNumeric ||
		eval.Rate(all.Supported, all.Marks) < leastHeld || all.Foreign > 0 {
		t.Errorf("%+v", all)
	}
}

// TestShippedSetWithModel checks that a model that follows its instructions is not worse than the rules.
func TestShippedSetWithModel(t *testing.T) {
	t.Parallel()
	rows, _, table := evaluated(t, answertest.Scripted())
	t.Log("\n" + table)
	if all := rows[0]; eval.Rate(all.Supported, all.Marks) < leastHeld || all.Foreign > 0 || eval.Rate(all.NumericRight, all.Numeric) < leastNumeric {
		t.Errorf("%+v", all)
	}
	documented(t, "../../docs/reference/answer.md", short("a scripted model", rows))
}

// short returns the rows of a set in the form of the table that compares rules with a model.
func short(name string, rows []eval.Row) string {
	var b strings.Builder
	if err := eval.Markdown(&b, []eval.Row{rows[0], rows[2]}); err != nil {
		panic(err)
	}
	lines := strings.Split(b.String(), "\n")[2:4]
	for i, line := range lines {
		cells := strings.Split(line, " | ")
		lines[i] = "| " + name + []string{"", ", half held back"}[i] + " | " + strings.Join([]string{cells[1], cells[2], cells[4], cells[6], cells[8], cells[9]}, " | ") + " |"
	}
	return strings.Join(lines, "\n") + "\n"
}

// documented reports a table that a page does not have as it is.
func documented(t *testing.T, page, table string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	// Formatters of Markdown may pad cells.
	plain := func(s string) string { return regexp.MustCompile(` +`).ReplaceAllString(s, " ") }
	if !strings.Contains(plain(string(text)), plain(table)) {
		t.Errorf("%s has another table; `tollgate answer eval` says:\n%s", page, table)
	}
}
