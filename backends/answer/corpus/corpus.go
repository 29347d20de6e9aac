package corpus

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tollgate-gateway/tollgate/backends/answer/corpus/fileformat"
	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Corpus holds the documents of a server. It is safe for concurrent use.
type Corpus struct {
	*kernel.Server

	mu        sync.Mutex // guards directory, issuers and version
	directory *metrics.Directory
	issuers   map[int64]kernel.Issuer // by id
	version   int64                   // the version of the corpus from which directory and issuers were read

	doubts atomic.Int64 // see Doubts
}

// New returns the corpus of a server.
func New(k *kernel.Server) *Corpus { return &Corpus{Server: k} }

// Outcome is the effect of ingesting a document.
type Outcome int

// Outcomes of documents.
const (
	Added Outcome = iota
	Replaced
	Skipped // the document is there already
)

// String returns "added", "replaced" or "skipped".
func (o Outcome) String() string { return [...]string{"added", "replaced", "skipped"}[o] }

// Put ingests a document in one transaction. It replaces the document that its URL had before, and skips a document
// that the corpus has already. It returns a *RefusedError for a document that cannot be accepted.
func (c *Corpus) Put(ctx context.Context, s fileformat.Source) (Outcome, error) {
	p, err := prepare(s)
	if err != nil {
		return Skipped, err
	}
	outcomes, err := c.putAll(ctx, []*prepared{p})
	if err != nil {
		return Skipped, err
	}
	return outcomes[0], nil
}

// putAll ingests documents in one transaction, or in several if one of the documents replaces another of them. It
// returns the outcomes of the documents in the same order.
func (c *Corpus) putAll(ctx context.Context, documents []*prepared) (outcomes []Outcome, err error) {
	for len(outcomes) < len(documents) { // each round ingests at least one document
		var batch []Outcome
		err := c.Write(ctx, func(conn kernel.Conn) (err error) {
			batch, err = putSome(conn, documents[len(outcomes):], c.Micros())
			return err
		})
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, batch...)
	}
	return outcomes, nil
}

// putSome ingests documents until one has to wait for the next transaction, and returns the outcomes of the ingested
// ones. The first document never has to wait. now is the current time in microseconds.
func putSome(conn kernel.Conn, documents []*prepared, now int64) (outcomes []Outcome, err error) {
	w := &writer{conn, now, make(map[int64]bool)}
	changed := false
	for _, p := range documents {
		outcome, err := w.put(p)
		if errors.Is(err, errNextWrite) {
			break
		}
		if err != nil {
			return nil, err
		}
		outcomes = append(outcomes, outcome)
		changed = changed || outcome != Skipped
	}
	if !changed {
		return outcomes, nil
	}
	return outcomes, incrementVersion(conn)
}

// writer is a transaction that ingests documents. A row that was written with Conn.Later is not sent before the
// transaction ends. Until then, a document that the transaction has added cannot be read or removed completely.
type writer struct {
	kernel.Conn
	now   int64
	added map[int64]bool // the documents added by this transaction; some of their rows are written at its end
}

// errNextWrite is returned for a document that has to wait for the next transaction, because it replaces a document of
// this one. Nothing was written for it.
var errNextWrite = errors.New("the document must be written in the next transaction")

// incrementVersion increments the version of the corpus.
func incrementVersion(c kernel.Conn) error {
	return c.Later("UPDATE answer_corpus SET version = version + 1")
}

// put writes a document, and removes its earlier version from its former URL.
func (w *writer) put(p *prepared) (Outcome, error) {
	moved := false
	if former := p.source.Former; former != "" {
		id, err := idAtURL(w.Conn, former)
		if err != nil {
			return Skipped, err
		}
		if id != 0 {
			if err := w.detach(id, former); err != nil {
				return Skipped, err
			}
			moved = true
		}
	}
	outcome, err := w.putAtURL(p)
	if moved && err == nil {
		outcome = Replaced // the earlier version had another URL
	}
	return outcome, err
}

// putAtURL writes a document to its URL, in place of a document that was there. If the same document is stored under
// another URL, putAtURL only adds the URL to that document.
func (w *writer) putAtURL(p *prepared) (Outcome, error) {
	s, c := p.source, w.Conn
	duplicate, err := queryID(c, "SELECT id FROM answer_documents WHERE sha256 = ?", p.digest)
	if err != nil {
		return Skipped, err
	}
	old, err := idAtURL(c, s.URL)
	if err != nil || old != 0 && old == duplicate { // the same document is there already
		return Skipped, err
	}
	outcome := Added
	if old != 0 {
		outcome = Replaced
		if err := w.detach(old, s.URL); err != nil {
			return outcome, err
		}
	}
	if duplicate != 0 { // the document is stored under another URL already
		if outcome == Added { // nothing was replaced, and no document is added
			outcome = Skipped
		}
		_, err := c.Exec("INSERT INTO answer_copies (url, document_id) VALUES (?, ?)", s.URL, duplicate)
		return outcome, err
	}
	var issuer int64
	if s.Issuer.Name != "" {
		var err error
		if issuer, err = putIssuer(c, s.Issuer); err != nil {
			return outcome, err
		}
	}
	var id int64
	err = c.Row("INSERT INTO answer_documents (kind, form, issuer_id, fiscal, quarter, period_start, period_end, published_at, title, url, lang, sha256, pages, chunks, ingested_at) "+
		"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
		string(s.Kind), s.Form, sql.NullInt64{Int64: issuer, Valid: issuer != 0}, p.period.Year, p.period.Quarter,
		string(p.period.Start()), string(p.period.End), kernel.MicrosOf(s.Published),
		s.Title, s.URL, s.Lang, p.digest, len(s.Pages), len(p.chunks), w.now).Scan(&id)
	if err != nil {
		return outcome, err
	}
	w.added[id] = true
	ids, err := putChunks(c, p, id, issuer)
	if err != nil {
		return outcome, err
	}
	if err := putFacts(c, p, id, issuer, ids); err != nil {
		return outcome, err
	}
	return outcome, putPrices(c, s, issuer)
}

// queryID returns the id of the document that a query selects, or 0 if there is no such document.
func queryID(c kernel.Conn, query string, args ...any) (id int64, err error) {
	if err = c.Row(query, args...).Scan(&id); errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return id, err
}

// documentAtURL is an SQL expression for the id of the document at a URL. The URL must be given for both of its
// parameters.
const documentAtURL = "COALESCE((SELECT id FROM answer_documents WHERE url = ?), (SELECT document_id FROM answer_copies WHERE url = ?))"

// idAtURL returns the id of the document at a URL, or 0 if there is no such document.
func idAtURL(c kernel.Conn, url string) (int64, error) {
	return queryID(c, "SELECT COALESCE("+documentAtURL+", 0)", url, url)
}

// detach removes a document from one of its URLs. It deletes a document without other URLs, and keeps any other
// document, because the files of the other URLs may have been read already and would not be read again. detach returns
// errNextWrite for a document that the same transaction has added.
func (w *writer) detach(id int64, url string) error {
	copies, err := w.Exec("DELETE FROM answer_copies WHERE url = ?", url)
	if err != nil || copies > 0 { // if the URL was that of a copy, the document keeps its main URL
		return err
	}
	if w.added[id] {
		return errNextWrite
	}
	var next string
	err = w.Row("SELECT url FROM answer_copies WHERE document_id = ? ORDER BY url LIMIT 1", id).Scan(&next)
	if errors.Is(err, sql.ErrNoRows) {
		return remove(w.Conn, id)
	}
	if err != nil {
		return err
	}
	return replaceMainURL(w.Conn, id, url, next)
}

// replaceMainURL replaces oldURL, the main URL of a document, by newURL, which was the URL of a copy.
func replaceMainURL(c kernel.Conn, id int64, oldURL, newURL string) error {
	if _, err := c.Exec("DELETE FROM answer_copies WHERE url = ?", newURL); err != nil {
		return err
	}
	if _, err := c.Exec("UPDATE answer_documents SET url = ? WHERE id = ?", newURL, id); err != nil {
		return err
	}
	_, err := c.Exec("UPDATE answer_prices SET source = ? WHERE source = ? AND issuer_id = (SELECT issuer_id FROM answer_documents WHERE id = ?)", newURL, oldURL, id)
	return err
}

// rowsAtOnce is how many rows one statement inserts. The remaining rows are inserted one by one, so that the database
// sees only two texts of the statement.
const rowsAtOnce = 20

// rowPlaceholders returns the SQL placeholders of n rows with width columns.
func rowPlaceholders(n, width int) string {
	row := "(" + strings.TrimSuffix(strings.Repeat("?, ", width), ", ") + "), "
	return strings.TrimSuffix(strings.Repeat(row, n), ", ")
}

// inBatches calls insert until all of the n rows are inserted. Each call gets the placeholders and the values of
// rowsAtOnce rows, or of one row if fewer rows are left. A row has width columns, and values returns the values of
// row i.
func inBatches(n, width int, values func(i int) []any, insert func(placeholders string, args []any) error) error {
	for start := 0; start < n; {
		size := rowsAtOnce
		if n-start < size {
			size = 1
		}
		args := make([]any, 0, size*width)
		for i := start; i < start+size; i++ {
			args = append(args, values(i)...)
		}
		if err := insert(rowPlaceholders(size, width), args); err != nil {
			return err
		}
		start += size
	}
	return nil
}

// insertRows inserts n rows of width columns (see inBatches) with statements that consist of prefix, the placeholders
// of the rows, and suffix.
func insertRows(c kernel.Conn, prefix, suffix string, n, width int, values func(i int) []any) error {
	return inBatches(n, width, values, func(placeholders string, args []any) error {
		return c.Later(prefix+placeholders+suffix, args...)
	})
}

// putChunks writes the chunks of a document, their vectors and their entries in the full-text index. It returns the ids
// of the chunks in their order. document and issuer are ids; issuer may be 0.
func putChunks(c kernel.Conn, p *prepared, document, issuer int64) (ids []int64, err error) {
	s := p.source
	ids = make([]int64, 0, len(p.chunks))
	values := func(i int) []any {
		chunk := &p.chunks[i]
		return []any{
			document, i, chunk.section, chunk.page, chunk.text, chunk.tokens, flag(len(chunk.tables) > 0), chunk.headers,
		}
	}
	err = inBatches(len(p.chunks), 8, values, func(placeholders string, args []any) error {
		// Both databases return the ids in the order of the rows.
		inserted, err := store.Column[int64](c, "INSERT INTO answer_chunks (document_id, seq, section, page, text, tokens, is_table, headers) VALUES "+
			placeholders+" RETURNING id", args...)
		ids = append(ids, inserted...)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = insertRows(c, "INSERT INTO answer_vectors (issuer_id, fiscal, chunk_id, document_id, kind, terms) VALUES ", "",
		len(ids), 6, func(i int) []any {
			return []any{issuer, p.period.Year, ids[i], document, string(s.Kind), []byte(p.vectors[i])}
		})
	if err != nil {
		return nil, err
	}
	for i := range p.chunks {
		entry := indexEntry{ids[i], document, issuer, p.period.Year, s.Title, p.chunks[i].section, p.chunks[i].text}
		if err := entry.put(c); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// Scope returns the words, such as "i12 y2019", that the full-text index contains for each chunk of a document about an
// issuer and a fiscal year. A search for these words is limited to such chunks. A zero issuer or year has no word.
func Scope(issuer int64, year int) string {
	words := make([]string, 0, 2)
	if issuer != 0 {
		words = append(words, "i"+strconv.FormatInt(issuer, 10))
	}
	if year != 0 {
		words = append(words, "y"+strconv.Itoa(year))
	}
	return strings.Join(words, " ")
}

// flag returns the form in which the database stores a boolean.
func flag(value bool) int {
	if value {
		return 1
	}
	return 0
}

// putFacts writes the facts of a document, unless it has no issuer. Of several facts for the same metric and period it
// writes only the first. chunks has the ids of the document's chunks.
func putFacts(c kernel.Conn, p *prepared, document, issuer int64, chunks []int64) error {
	if issuer == 0 {
		return nil
	}
	return insertRows(c, "INSERT INTO answer_facts (issuer_id, metric, period_end, period_len, fiscal, quarter, label, shown, value, step, unit, currency, document_id, chunk_id, statement, sure) VALUES ",
		" ON CONFLICT DO NOTHING", len(p.facts), 16, func(i int) []any {
			f := p.facts[i]
			chunk := int64(0)
			if f.chunk >= 0 {
				chunk = chunks[f.chunk]
			}
			end := string(f.Period.End)
			if end == "" { // the year distinguishes facts whose last day is unknown
				end = strconv.Itoa(f.Period.Year)
			}
			return []any{
				issuer, f.Metric, end, f.Period.Months, f.Period.AnyYear(), f.Period.Quarter, f.Label, f.Figure.Text,
				f.Figure.Value, f.Figure.Step,
				string(f.Figure.Unit), f.Figure.Currency, document, chunk, string(f.Statement), f.Sure,
			}
		})
}

// putPrices writes the prices of a document. They replace prices of the same issuer and days.
func putPrices(c kernel.Conn, s *fileformat.Source, issuer int64) error {
	return insertRows(c, "INSERT INTO answer_prices (issuer_id, day, open, high, low, close, adj_close, volume, source) VALUES ",
		" ON CONFLICT (issuer_id, day) DO UPDATE SET open = excluded.open, high = excluded.high, low = excluded.low, close = excluded.close, "+
			"adj_close = excluded.adj_close, volume = excluded.volume, source = excluded.source",
		len(s.Prices), 9, func(i int) []any {
			p := s.Prices[i]
			return []any{issuer, string(p.Day), p.Open, p.High, p.Low, p.Close, p.AdjClose, p.Volume, s.URL}
		})
}

// remove deletes a document and everything that belongs to it.
func remove(c kernel.Conn, id int64) error {
	statements := []string{
		"DELETE FROM answer_prices WHERE source = (SELECT url FROM answer_documents WHERE id = ?)",
		"DELETE FROM answer_facts WHERE document_id = ?",
		"DELETE FROM answer_vectors WHERE document_id = ?",
	}
	if c.Dialect() == store.SQLite {
		statements = append(statements, "DELETE FROM answer_search WHERE rowid IN (SELECT id FROM answer_chunks WHERE document_id = ?)")
	} else {
		statements = append(statements, "DELETE FROM answer_search WHERE document_id = ?")
	}
	statements = append(statements, "DELETE FROM answer_chunks WHERE document_id = ?",
		"DELETE FROM answer_documents WHERE id = ?")
	for _, statement := range statements {
		if _, err := c.Exec(statement, id); err != nil {
			return err
		}
	}
	return nil
}

// Version returns the version of the corpus, which each change increments.
func (c *Corpus) Version(ctx context.Context) (version int64, err error) {
	err = c.Read(ctx, func(conn kernel.Conn) error {
		return conn.Row("SELECT version FROM answer_corpus").Scan(&version)
	})
	return version, err
}
