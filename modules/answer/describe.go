package answer

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/modules/cli"
)

// shownDescription is the output form of the description of a document.
type shownDescription struct {
	shownDocument
	Form      string       `json:"form"`
	Issuer    string       `json:"issuer"`
	Ticker    string       `json:"ticker"`
	CIK       string       `json:"cik"`
	Published string       `json:"published"` // a day; empty if unknown
	Copies    []string     `json:"copies"`
	Pages     int          `json:"pages"`
	Tables    int          `json:"tables"`
	Tokens    int          `json:"tokens"`
	Facts     []shownFacts `json:"facts"`
	Prices    int          `json:"prices"`
	// EmptyPages are the first hundred pages without text, by number. EmptyPageCount counts all of them. Missing are the
	// primary statements of which no facts were read.
	EmptyPages     []int              `json:"empty_pages"`
	EmptyPageCount int                `json:"empty_page_count"`
	Missing        []kernel.Statement `json:"missing_statements"`
}

// shownFacts is the number of facts of one statement and one origin.
type shownFacts struct {
	Statement kernel.Statement `json:"statement"` // empty for facts of no statement
	Origin    corpus.Origin    `json:"origin"`
	Facts     int              `json:"facts"`
}

// describedOf returns a description of a document in the form of the output.
func describedOf(d corpus.Description) shownDescription {
	shown := shownDescription{
		shownDocument: shownDocumentOf(d.Document), Form: d.Form, Issuer: d.Company.Name, Ticker: d.Company.Ticker,
		CIK: d.Company.CIK, Copies: cli.List(d.Copies),
		Pages: d.Pages, Tables: d.Tables, Tokens: d.Tokens, Prices: d.Prices, EmptyPages: cli.List(d.Empty),
		EmptyPageCount: d.EmptyPages, Missing: cli.List(d.Missing),
		Facts: make([]shownFacts, len(d.Facts)),
	}
	if !d.Published.IsZero() {
		shown.Published = d.Published.Format("2006-01-02")
	}
	for i, f := range d.Facts {
		shown.Facts[i] = shownFacts(f)
	}
	return shown
}

// facts returns the number of facts with an origin, or of all facts if origin is empty.
func (d *shownDescription) facts(origin corpus.Origin) (n int) {
	for _, f := range d.Facts {
		if origin == "" || f.Origin == origin {
			n += f.Facts
		}
	}
	return n
}

// unread lists what could not be read: the pages without text and the statements without facts. It returns the empty
// string if everything was read.
func (d *shownDescription) unread() string {
	var parts []string
	if d.EmptyPageCount > 0 {
		pages := make([]string, 0, 10)
		for _, p := range d.EmptyPages[:min(len(d.EmptyPages), 10)] {
			pages = append(pages, strconv.Itoa(p))
		}
		if len(pages) < d.EmptyPageCount {
			pages = append(pages, "…")
		}
		parts = append(parts, fmt.Sprintf("%d pages without text: %s", d.EmptyPageCount, strings.Join(pages, ", ")))
	}
	for _, s := range d.Missing {
		parts = append(parts, "no statement "+string(s))
	}
	return strings.Join(parts, "; ")
}

// showCommand returns the command tollgate answer corpus show.
func showCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "show <url>", Args: cobra.ExactArgs(1),
		Short: "Shows what was read from a document",
		Long: `
Shows the issuer, form and period of a document, the number of its pages, passages and
tables, and how many facts of each statement were read and from where: the issuer's tags
(inline XBRL, company facts), the primary statements, or other tables. It also shows what
could not be read: pages without text, and primary statements without facts.
`,
		RunE: o.run(func(s *session, _ *cobra.Command, args []string) error {
			found, err := s.Corpus.Describe(s.Ctx, args[0])
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			d := describedOf(found)
			return s.Table(d, d.rows)
		}),
	}
}

// rows writes a line for each known property of the document.
func (d *shownDescription) rows(w io.Writer) {
	line := func(name, value string) {
		if value != "" {
			_, _ = fmt.Fprintf(w, "%s\t%s\n", name, cli.Plain(value)) // an error of the output cannot be reported
		}
	}
	line("title", d.Title)
	line("url", d.URL)
	for _, copyURL := range d.Copies {
		line("also at", copyURL)
	}
	line("kind", d.Kind)
	line("issuer", d.Issuer)
	line("ticker", d.Ticker)
	line("cik", d.CIK)
	line("form", d.Form)
	line("period", d.Period)
	line("published", d.Published)
	line("pages", strconv.Itoa(d.Pages))
	line("passages", strconv.Itoa(d.Passages))
	line("tables", strconv.Itoa(d.Tables))
	for _, f := range d.Facts {
		line("facts, "+cmp.Or(string(f.Statement), "other"), fmt.Sprintf("%d from %s", f.Facts, f.Origin))
	}
	if d.Prices > 0 {
		line("prices", strconv.Itoa(d.Prices))
	}
	line("not read", d.unread())
}

// maxReported is the maximum number of documents that the report on an ingest describes.
const maxReported = 10_000

// report adds descriptions of the ingested documents to total. It leaves out documents that were replaced by others in
// the meantime.
func (s *session) report(urls []string, total *ingestResult) error {
	total.Reports = []shownDescription{}
	for _, url := range urls {
		d, err := s.Corpus.Describe(s.Ctx, url)
		if errors.Is(err, corpus.ErrNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", url, err)
		}
		total.Reports = append(total.Reports, describedOf(d))
	}
	return nil
}

// reportRows writes a table with a row for each document of an ingest.
func reportRows(w io.Writer, reports []shownDescription) {
	if len(reports) == 0 {
		return
	}
	cli.Row(w, "ISSUER", "FORM", "PERIOD", "PAGES", "PASSAGES", "TABLES", "TAGGED", "STATED", "OTHER", "NOT READ", "URL")
	for i := range reports {
		d := &reports[i]
		cli.Row(w, cli.Cell(d.Issuer), cli.Cell(d.Form), cli.Cell(d.Period), d.Pages, d.Passages, d.Tables,
			d.facts(corpus.FromTags), d.facts(corpus.FromStatements), d.facts(corpus.FromTables), cli.Cell(d.unread()),
			cli.Cell(d.URL))
	}
}
