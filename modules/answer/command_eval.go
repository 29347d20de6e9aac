package answer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/answer"
	"github.com/tollgate-gateway/tollgate/backends/answer/eval"
	"github.com/tollgate-gateway/tollgate/backends/answer/models"
	"github.com/tollgate-gateway/tollgate/backends/answer/sample"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// sampleCommand returns the command tollgate answer sample.
func sampleCommand() *cobra.Command {
	return &cobra.Command{
		Use: "sample <folder>", Args: cobra.ExactArgs(1),
		Short: "Writes the shipped corpus and its questions into a folder",
		Long: `
Writes documents of twelve invented issuers over three fiscal years, about 1 MB in all,
into the subfolder corpus of the folder: reports, three of which have more than a hundred
pages, news, transcripts of calls, prices and key figures. It also writes questions.jsonl
with 120 questions about them and the expected answers. The files are always the same. An
existing file with different content is not overwritten; the command then fails.
`,
		RunE: func(cmd *cobra.Command, args []string) error {
			files, err := sample.Write(args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d files written\n", files)
			return err
		},
	}
}

// shownRow is a row of the table in the output. The fields that are pointers are percentages. A percentage is null if
// its total is 0, for example if a set has no numeric questions.
type shownRow struct {
	Set               string   `json:"set"`
	Questions         int      `json:"questions"`
	OutcomeClass      *float64 `json:"outcome_class"`
	Exact             *float64 `json:"exact"`
	Wrong             *float64 `json:"wrong"`
	Refused           *float64 `json:"refused"`
	Numeric           *float64 `json:"numeric"`
	Hit5              *float64 `json:"hit_5"`
	Hit12             *float64 `json:"hit_12"`
	Citations         *float64 `json:"citations"`
	ForeignReferences int      `json:"foreign_references"`
	P50               float64  `json:"p50_ms"`
	P95               float64  `json:"p95_ms"`
}

// shownRows returns the rows of a table in the form of the output.
func shownRows(rows []eval.Row) []shownRow {
	rate := func(n, total int) *float64 {
		if total == 0 {
			return nil
		}
		r := math.Round(10*eval.Rate(n, total)) / 10
		return &r
	}
	millis := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	list := make([]shownRow, len(rows))
	for i, r := range rows {
		list[i] = shownRow{
			r.Name, r.Questions, rate(r.Class, r.Questions), rate(r.Right, r.Answerable), rate(r.Wrong, r.Questions),
			rate(r.Refused, r.Answerable), rate(r.NumericRight, r.Numeric),
			rate(r.Hit5, r.Ranked), rate(r.Hit12, r.Ranked), rate(r.Supported, r.Marks), r.Foreign, millis(r.P50), millis(r.P95),
		}
	}
	return list
}

// evalCommand returns the command tollgate answer eval.
func evalCommand(o *options) *cobra.Command {
	var files []string
	var documents string
	var withModel, failures bool
	cmd := &cobra.Command{
		Use: "eval [--questions <file>]... [--corpus <path>] [--model] [--failures]", Args: cobra.NoArgs,
		Short: "Measures how well questions are answered",
		Long: `
Asks the 120 shipped questions about the shipped corpus, which is ingested into a temporary
database. With --questions it asks the questions in files about the corpus of the
configuration or, with --corpus, about the documents at a path, which are also ingested into
a temporary database.

The table shows how many outcomes are of the expected class, how many answers are exact,
wrong or refused, how often a passage with the expected evidence is among the first 5 and 12
passages found, and how many citations lead to a passage with the cited figure. It has rows
for all questions, for the half with which the rules were developed, for the half that was
held back, and for each type of question.

A line of a file is {"id", "query", "type", "issuer", "expect", "gold": {"answer", "kind",
"scale", "percent", "evidence": [{"url", "page", "text"}]}}; expect is answered, or the
reason why there is no answer. For questions in files, a second table counts the right,
wrong and missing answers by kind, with the reasons. If there are several questions about
each issuer, the questions about three eighths of the issuers are held back. Answers are
extracted unless --model is given.
`,
	}
	cmd.Flags().StringSliceVar(&files, "questions",
		nil, "A file with questions about the configured corpus (default: the shipped questions)")
	cmd.Flags().StringVar(&documents, "corpus", "",
		"A file or a folder of documents that the questions in files are about")
	cmd.Flags().BoolVar(&withModel, "model", false, "Write and judge answers with the model of the configuration")
	cmd.Flags().BoolVar(&failures, "failures",
		false, "Show the questions that were not answered as expected, except those that are held back")
	cmd.RunE = o.run(func(s *session, _ *cobra.Command, _ []string) error {
		if len(files) == 0 && documents != "" {
			return errors.New("--corpus requires --questions: name a file with questions about these documents")
		}
		var model models.Model // nil extracts answers
		if withModel {
			var err error
			if model, err = s.configuredModel(); err != nil {
				return err
			}
		}
		results, err := s.evaluate(files, documents, model)
		if err != nil {
			return err
		}
		rows := eval.Table(results)
		return s.Answer(shownRows(rows), func(w io.Writer) {
			_ = eval.Markdown(w, rows) // an error of the output cannot be reported
			_, _ = fmt.Fprintf(w, "\nA question took %s in the median, %s at the 95th percentile.\n",
				rows[0].P50.Round(100*time.Microsecond), rows[0].P95.Round(100*time.Microsecond))
			if len(files) > 0 {
				_, _ = fmt.Fprintln(w)
				_ = eval.Counts(w, results)
			}
			if failures {
				eval.Failures(w, results)
			}
		})
	})
	return cmd
}

// evaluate asks the questions in files about the documents at a path or, if documents is empty, about the corpus of the
// configuration. Without files it asks the shipped questions about the shipped corpus. It shows a progress bar.
func (s *session) evaluate(files []string, documents string, model models.Model) ([]eval.Result, error) {
	var bar *cli.Progress // nil until the number of questions is known
	total := 0
	announce := func(questions int) {
		total = questions
		bar = cli.NewProgress(s.Notes, int64(total), " questions", func(n int64) string { return strconv.FormatInt(n, 10) })
	}
	done := func() { bar.Step(1, int64(total)) }
	defer func() {
		if bar != nil {
			bar.Clear()
		}
	}()
	if len(files) == 0 {
		return answer.EvaluateSample(s.Ctx, model, announce, done)
	}
	all, err := readQuestions(files)
	if err != nil {
		return nil, err
	}
	if documents != "" {
		return answer.EvaluateOn(s.Ctx, documents, all, model, announce, done)
	}
	announce(len(all))
	return s.Evaluate(s.Ctx, all, model, done), s.Ctx.Err()
}

// maxSet bounds a file of questions, in bytes.
const maxSet = 64 << 20

// readQuestions reads the questions in files. It returns an error if there are none.
func readQuestions(files []string) (questions []eval.Question, err error) {
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		list, err := eval.Read(io.LimitReader(f, maxSet))
		_ = f.Close() // an error does not matter after reading
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		questions = append(questions, list...)
	}
	if len(questions) == 0 {
		return nil, errors.New("the files of --questions have no questions")
	}
	return questions, nil
}

// configuredModel returns the model of the first answer handler that has a model. It returns an error if no handler has
// a model, or if the model is the cascade, which only works inside the server.
func (s *session) configuredModel() (model models.Model, err error) {
	err = s.App.Handlers(answer.SchemaName, func(text json.RawMessage) error {
		var h Handler
		if err := json.Unmarshal(text, &h); err != nil || model != nil {
			return err
		}
		if h.Model != nil && h.Model.URL == Cascade {
			return errors.New("the configured model is cascade, which works only inside the server: for eval, configure the URL of a model API, such as that of the gateway")
		}
		model, err = h.provisionModel(nil)
		return err
	})
	if err == nil && model == nil {
		err = errors.New("no answer handler of the configuration has a model")
	}
	return model, err
}
