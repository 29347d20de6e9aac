package corpus

import (
	"context"
	"slices"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
	"github.com/tollgate-gateway/tollgate/backends/answer/statements"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Description describes a stored document and the result of reading it.
type Description struct {
	kernel.Document
	Company kernel.Issuer
	Pages   int
	Tables  int // the number of passages with a table
	Tokens  int
	Prices  int
	// Facts are the numbers of facts by statement and origin.
	Facts []FactCount
	// Copies are the document's other URLs, at most 100.
	Copies []string
	// Empty are the first 100 pages without text. EmptyPages counts all of them.
	Empty      []int
	EmptyPages int
	// Missing lists the primary statements of a filing from which no facts were read.
	Missing []kernel.Statement
}

// FactCount is the number of facts with the same statement and origin.
type FactCount struct {
	Statement kernel.Statement
	Origin    Origin
	Facts     int
}

// Origin is the kind of source that facts were read from.
type Origin string

// Origins of facts.
const (
	FromTags       Origin = "tags"       // data of the issuer: inline XBRL, company facts
	FromStatements Origin = "statements" // primary statements
	FromTables     Origin = "tables"     // other tables
)

// originOf returns the origin of a fact by its certainty (see kernel.Fact).
func originOf(sure int) Origin {
	switch {
	case sure >= statements.Tagged:
		return FromTags
	case sure >= statements.Stated:
		return FromStatements
	}
	return FromTables
}

// maxDescribed bounds the lists of a description.
const maxDescribed = 100

// Describe describes the document at a URL. A document may have several URLs. Describe returns ErrNotFound if there
// is no document at the URL.
func (c *Corpus) Describe(ctx context.Context, url string) (d Description, err error) {
	err = c.Read(ctx, func(conn kernel.Conn) error {
		if d.Document, err = scanDocument(conn.Row(documentColumns+"WHERE d.id = "+documentAtURL, url, url)); err != nil {
			return notFound(err)
		}
		if d.Document.Issuer != 0 {
			err := conn.Row("SELECT id, name, ticker, exchange, cik FROM answer_issuers WHERE id = ?", d.Document.Issuer).
				Scan(&d.Company.ID, &d.Company.Name, &d.Company.Ticker, &d.Company.Exchange, &d.Company.CIK)
			if err != nil {
				return notFound(err)
			}
		}
		err := conn.Row("SELECT d.pages, COALESCE(sum(c.tokens), 0), COALESCE(sum(c.is_table), 0), "+
			"(SELECT count(*) FROM answer_prices p WHERE p.source = d.url AND p.issuer_id = d.issuer_id) "+
			"FROM answer_documents d LEFT JOIN answer_chunks c ON c.document_id = d.id WHERE d.id = ? GROUP BY d.id, d.pages, d.url, d.issuer_id", d.ID).
			Scan(&d.Pages, &d.Tokens, &d.Tables, &d.Prices)
		if err != nil {
			return notFound(err)
		}
		d.Copies, err = store.Column[string](conn,
			"SELECT url FROM answer_copies WHERE document_id = ? ORDER BY url LIMIT ?", d.ID, maxDescribed)
		if err != nil {
			return err
		}
		if err := d.countPages(conn); err != nil {
			return err
		}
		return d.countFacts(conn)
	})
	return d, err
}

// countPages sets Empty and EmptyPages from the pages that have no passage. A document without page numbers has no such
// pages. If a passage has a page number above Pages, countPages raises Pages to that number.
func (d *Description) countPages(conn kernel.Conn) error {
	last := 0                          // the last page with a passage
	addEmptyBefore := func(next int) { // counts the pages between last and next
		for page := last + 1; page < next; page++ {
			if d.EmptyPages++; len(d.Empty) < maxDescribed {
				d.Empty = append(d.Empty, page)
			}
		}
	}
	err := conn.All("SELECT DISTINCT page FROM answer_chunks WHERE document_id = ? AND page > 0 ORDER BY page",
		[]any{d.ID}, func(r store.Row) error {
			var page int
			if err := r.Scan(&page); err != nil {
				return err
			}
			addEmptyBefore(page)
			last = page
			return nil
		})
	if d.Pages = max(d.Pages, last); last > 0 {
		addEmptyBefore(d.Pages + 1)
	}
	return err
}

// countFacts counts the facts by statement and origin, and finds the missing statements. A fact without a statement is
// counted under the statement of its metric.
func (d *Description) countFacts(conn kernel.Conn) error {
	type countKey struct {
		statement kernel.Statement
		origin    Origin
	}
	counts := make(map[countKey]int)
	err := conn.All("SELECT metric, statement, sure, count(*) FROM answer_facts WHERE document_id = ? GROUP BY metric, statement, sure", []any{d.ID}, func(r store.Row) error {
		var metric string
		var key countKey
		var sure, n int
		if err := r.Scan(&metric, &key.statement, &sure, &n); err != nil {
			return err
		}
		if m, ok := metrics.Metric(metric); ok && key.statement == "" {
			key.statement = m.Statement
		}
		key.origin = originOf(sure)
		counts[key] += n
		return nil
	})
	if err != nil {
		return err
	}
	for _, statement := range append(slices.Clone(kernel.Statements), "") { // "" is that of other metrics
		found := false // there are facts from tags or from the statement itself, not only from other tables
		for _, origin := range []Origin{FromTags, FromStatements, FromTables} {
			if n := counts[countKey{statement, origin}]; n > 0 {
				d.Facts = append(d.Facts, FactCount{statement, origin, n})
				found = found || origin != FromTables
			}
		}
		if statement.IsPrimary() && !found && isPeriodicReport(d.Document) {
			d.Missing = append(d.Missing, statement)
		}
	}
	return nil
}

// isPeriodicReport reports whether a document should contain the primary statements, as annual and quarterly reports
// do.
func isPeriodicReport(d kernel.Document) bool {
	if d.Kind != kernel.Filing {
		return false
	}
	form := strings.ToUpper(d.Form)
	return form == "" && d.Period.Year != 0 || strings.HasPrefix(form, "10-") || strings.HasPrefix(form, "20-F") ||
		strings.HasPrefix(form, "40-F")
}
