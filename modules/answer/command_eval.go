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

func sampleCommand() *cobra.Command {
	return &cobra.Command{
		Use: "sample <folder>", Args: cobra.ExactArgs(1),
		Short: "Writes the shipped corpus and its questions into a folder",
		Long: `
Writes about 1 MB of documents of twelve invented issuers over three fiscal years
into the folder corpus of the one that is named: reports, of which three have more
than a hundred pages, news, calls, prices, key figures. 120 questions about them,
with the answers expected, are in questions.jsonl. They are the same each time;
a file that is there and differs is left as it is, and is an error.
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

// shownRow is a row of the table in the output.
type shownRow struct {
	Set               string   `json:"set"`
	Questions         int      `json:"questions"`
	OutcomeClass      *float64 `json:"outcome_class"` // in per cent; null if there are no such questions
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

func evalCommand(o *options) *cobra.Command {
	var files []string
	var documents string
	var withModel, failures bool
	cmd := &cobra.Command{
		Use: "eval [--questions <file>]... [--corpus <path>] [--model] [--failures]", Args: cobra.NoArgs,
		Short: "Measures how well questions are answered",
		Long: `
Asks the 120 shipped questions on the shipped corpus, in a database of its own that is
gone afterwards, or the questions of files on the corpus that the configuration names,
or on the documents of a path, which are taken into a database of its own as well.
The table tells how many outcomes are of the expected class, how many answers are exact,
wrong or refused, whether the gold passage is among the first 5 and 12, and how many
citations hold the figure that they stand at: for all questions, for the half that the
rules were made with and the half that was held back, and for each type.

A line of a file is {"id", "query", "type", "issuer", "expect", "gold": {"answer", "kind",
"scale", "percent", "evidence": [{"url", "page", "text"}]}}; expect is answered, or the
reason why there is no answer. For questions of files a second table counts what is right,
wrong and not answered by kind, and why. Where a set asks issuers several questions each,
three eighths of the issuers are held back. Answers are extracted unless --model is given.
`,
	}
	cmd.Flags().StringSliceVar(&files, "questions",
		nil, "A file with questions, on the configured corpus (default the shipped set)")
	cmd.Flags().StringVar(&documents, "corpus", "",
		"A file or a folder of documents that the questions of files are about")
	cmd.Flags().BoolVar(&withModel, "model", false, "Write and judge with the model that the configuration names")
	cmd.Flags().BoolVar(&failures, "failures",
		false, "Show the questions that were not answered as expected, but for those held back")
	cmd.RunE = o.run(func(s *session, _ *cobra.Command, _ []string) error {
		var model models.Model
		if withModel {
			var err error
			if model, err = s.configuredModel(); err != nil {
				return err
			}
		}
		var bar *cli.Progress
		total := 0
		begin := func(questions int) {
			total = questions
			bar = cli.NewProgress(s.Notes, int64(total), " questions", func(n int64) string { return strconv.FormatInt(n, 10) })
		}
		done := func() { bar.Step(1, int64(total)) }
		var results []eval.Result
		var err error
		switch {
		case len(files) == 0 && documents != "":
			return errors.New("--corpus needs --questions, which are about it")
		case len(files) == 0:
			results, err = answer.EvaluateSample(s.Ctx, model, begin, done)
		default:
			var all []eval.Question
			switch all, err = readQuestions(files); {
			case err != nil:
			case documents != "":
				results, err = answer.EvaluateOn(s.Ctx, documents, all, model, begin, done)
			default:
				begin(len(all))
				results = s.Evaluate(s.Ctx, all, model, done)
				err = s.Ctx.Err()
			}
		}
		if bar != nil {
			bar.Clear()
		}
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

// maxSet bounds a file of questions, in bytes.
const maxSet = 64 << 20

func readQuestions(files []string) (all []eval.Question, err error) {
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		list, err := eval.Read(io.LimitReader(f, maxSet))
		_ = f.Close() // it has been read
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, list...)
	}
	if len(all) == 0 {
		return nil, errors.New("there are no questions in it")
	}
	return all, nil
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
			return errors.New("the model is the cascade of the server: it is asked there alone, so name a URL for eval, such as that of the gateway")
		}
		model, err = h.provisionModel(nil)
		return err
	})
	if err == nil && model == nil {
		err = errors.New("the configuration names no model")
	}
	return model, err
}
