package answer

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// ingestResult is the result of an ingest.
type ingestResult struct {
	Documents int      `json:"documents"` // the documents found: the sum of the next four fields
	Added     int      `json:"added"`
	Replaced  int      `json:"replaced"`
	Known     int      `json:"known"` // documents that were in the corpus already
	Refused   int      `json:"refused"`
	Passages  int      `json:"passages"` // of the added and replaced documents
	Problems  []string `json:"problems"` // the reasons why documents were refused
	// Reports describe the ingested documents. They are present only if the flag --report is given.
	Reports []shownDescription `json:"reports,omitempty"`
}

// add adds the result of ingesting a file or a folder.
func (t *ingestResult) add(p corpus.Progress, problems []string) {
	t.Documents += p.Documents()
	t.Added += p.Added
	t.Replaced += p.Replaced
	t.Known += p.Skipped
	t.Refused += p.Refused
	t.Passages += p.Chunks
	t.Problems = append(cli.List(t.Problems), problems...)
}

// ingestCommand returns the command tollgate answer ingest.
func ingestCommand(o *options) *cobra.Command {
	var opts corpus.IngestOptions
	var report bool
	cmd := &cobra.Command{
		Use: "ingest <folder or file>...", Args: cobra.MinimumNArgs(1),
		Short: "Ingests documents into the corpus",
		Long: `
Ingests files of the kinds that docs/reference/answer.md lists, including those in
subfolders: reports, news and tables become the passages and facts that questions are
answered from. Documents that are already in the corpus are skipped, so an interrupted
ingest can simply be run again. A newer version of a document replaces the older one at
once. If a document cannot be ingested, the command prints the reason, continues with
the others, and exits with status 1.
`,
	}
	cmd.Flags().IntVar(&opts.Workers, "workers",
		0, "Number of files read at the same time (default: one per processor, at most 8)")
	cmd.Flags().StringVar(&opts.Source.Issuer.Name, "issuer", "",
		"Issuer of documents that do not name one")
	cmd.Flags().BoolVar(&report, "report",
		false, "Report on each new or replaced document, at most 10,000, as corpus show does")
	cmd.RunE = o.run(func(s *session, _ *cobra.Command, args []string) error {
		var total ingestResult
		var urls []string // of the documents to report on
		if report {
			opts.Document = func(t corpus.DocumentResult) {
				if t.Err == nil && t.Outcome != corpus.Skipped && len(urls) < maxReported {
					urls = append(urls, t.URL)
				}
			}
		}
		for _, path := range args {
			if err := s.ingest(path, opts, &total); err != nil {
				return err
			}
		}
		if err := s.report(urls, &total); err != nil {
			return err
		}
		err := s.Table(total, func(w io.Writer) {
			_, _ = fmt.Fprintf(w, "%d documents: %d new, %d replaced, %d known, %d refused; %d passages\n",
				total.Documents, total.Added, total.Replaced, total.Known, total.Refused, total.Passages)
			for _, p := range total.Problems {
				_, _ = fmt.Fprintln(w, p)
			}
			reportRows(w, total.Reports)
		})
		if err == nil && total.Refused > 0 {
			err = errors.New("some documents were not ingested")
		}
		return err
	})
	return cmd
}

// ingest ingests a file or a folder, shows a progress bar, and adds the result to total, also if it returns an error.
func (s *session) ingest(path string, opts corpus.IngestOptions, total *ingestResult) error {
	bar := cli.NewProgress(s.Notes, 0, "", func(n int64) string { return humanize.Bytes(uint64(max(n, 0))) })
	defer bar.Clear()
	var done int64
	opts.Progress = func(p corpus.Progress) {
		bar.Step(p.Done-done, p.Bytes)
		done = p.Done
	}
	report, err := s.Corpus.Ingest(s.Ctx, path, opts)
	if report != nil {
		total.add(report.Progress, report.Problems)
	}
	return err
}

// corpusCommands returns the command tollgate answer corpus.
func corpusCommands(o *options) *cobra.Command {
	return cli.Group(&cobra.Command{Use: "corpus", Short: "Shows and changes the corpus"},
		listCommand(o), showCommand(o), removeCommand(o), statsCommand(o))
}

// shownDocument is a document in the output.
type shownDocument struct {
	ID       int64  `json:"id"`
	Kind     string `json:"kind"`
	Period   string `json:"period"`
	Title    string `json:"title"`
	URL      string `json:"url"`
	Passages int    `json:"passages"`
}

func shownDocumentOf(d kernel.Document) shownDocument {
	return shownDocument{d.ID, string(d.Kind), d.Period.String(), d.Title, d.URL, d.Chunks}
}

// listCommand returns the command tollgate answer corpus list.
func listCommand(o *options) *cobra.Command {
	var q corpus.ListQuery
	var kind string
	cmd := &cobra.Command{
		Use: "list [--kind <kind>] [--after <id>] [--limit <n>]", Args: cobra.NoArgs,
		Short: "Lists the documents, in the order they were ingested",
	}
	cmd.Flags().StringVar(&kind, "kind", "", "List only one kind: filing, news, transcript, table or web")
	cmd.Flags().Int64Var(&q.After, "after", 0, "List only documents after this id")
	cmd.Flags().IntVar(&q.Limit, "limit", 100, "Number of documents, at most 1000")
	cmd.RunE = o.run(func(s *session, _ *cobra.Command, _ []string) error {
		q.Kind = kernel.Kind(kind)
		list, err := s.Corpus.List(s.Ctx, q)
		if err != nil {
			return err
		}
		rows := make([]shownDocument, len(list))
		for i, d := range list {
			rows[i] = shownDocumentOf(d)
		}
		return s.Table(rows, func(w io.Writer) {
			cli.Row(w, "ID", "KIND", "PERIOD", "PASSAGES", "TITLE", "URL")
			for _, r := range rows {
				cli.Row(w, r.ID, r.Kind, cli.Cell(r.Period), r.Passages, cli.Cell(r.Title), cli.Cell(r.URL))
			}
		})
	})
	return cmd
}

// removeCommand returns the command tollgate answer corpus remove.
func removeCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "remove <url>...", Args: cobra.MinimumNArgs(1),
		Short: "Removes documents from the corpus, by URL",
		RunE: o.run(func(s *session, _ *cobra.Command, args []string) error {
			for _, url := range args {
				if err := s.Corpus.Remove(s.Ctx, url); err != nil {
					return fmt.Errorf("%s: %w", url, err)
				}
			}
			return s.Answer(map[string]int{"removed": len(args)},
				func(w io.Writer) { _, _ = fmt.Fprintf(w, "%d removed\n", len(args)) })
		}),
	}
}

// shownStats is the output form of the numbers of documents, passages and facts in the corpus.
type shownStats struct {
	Version   int64                 `json:"version"`
	Issuers   int64                 `json:"issuers"`
	Documents int64                 `json:"documents"`
	Passages  int64                 `json:"passages"`
	Tokens    int64                 `json:"tokens"`
	Facts     int64                 `json:"facts"`
	Prices    int64                 `json:"prices"`
	Kinds     map[kernel.Kind]int64 `json:"kinds"`
	Vectors   map[string]int64      `json:"vectors"`
}

func shownStatsOf(n corpus.Stats) shownStats {
	return shownStats{n.Version, n.Issuers, n.Documents, n.Chunks, n.Tokens, n.Facts, n.Prices, n.Kinds, n.Vectors}
}

// statsCommand returns the command tollgate answer corpus stats.
func statsCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "stats", Args: cobra.NoArgs,
		Short: "Counts the documents, passages and facts in the corpus",
		RunE: o.run(func(s *session, _ *cobra.Command, _ []string) error {
			n, err := s.Corpus.Stats(s.Ctx)
			if err != nil {
				return err
			}
			return s.Answer(shownStatsOf(n), func(w io.Writer) {
				_, _ = fmt.Fprintf(w, "%d documents of %d issuers: %d passages (%d tokens), %d facts, %d prices\n",
					n.Documents, n.Issuers, n.Chunks, n.Tokens, n.Facts, n.Prices)
				for _, model := range slices.Sorted(maps.Keys(n.Vectors)) {
					_, _ = fmt.Fprintf(w, "%d passages have a vector of %s\n", n.Vectors[model], model)
				}
			})
		}),
	}
}
