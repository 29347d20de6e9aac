// Package corpus is what questions are answered from: documents, the chunks they are
// divided into, their issuers, facts and prices. It reads files of many formats, writes
// each document in one transaction, and tells what there is.
//
// Choices where the specification is silent:
//   - The same document under another URL is a duplicate and skipped, whatever its
//     address; one that differs in its title alone is a new version.
//   - A chunk does not go over the end of a page, so that a citation names one page.
//   - Issuers are told apart by CIK, then by ticker, then by name.
package corpus

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/backends/answer/metrics"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Corpus is the documents of a server.
type Corpus struct {
	*kernel.Server

	mu        sync.Mutex
	directory *metrics.Directory
	issuers   map[int64]kernel.Issuer
	version   int64 // that the two are of

	doubts atomic.Int64
}

// New makes the corpus of a server.
func New(k *kernel.Server) *Corpus { return &Corpus{Server: k} }

// Outcome is what became of a document.
type Outcome int

// Outcomes of documents.
const (
	Added Outcome = iota
	Replaced
	Skipped // it is there
)

// String is "added", "replaced" or "skipped".
func (o Outcome) String() string { return [...]string{"added", "replaced", "skipped"}[o] }

// Put takes a document in, in one transaction: what its URL held before is replaced, and
// one that is there already is skipped. The error of one that is not taken is a
// *RefusedError.
func (c *Corpus) Put(ctx context.Context, s Source) (Outcome, error) {
	p, err := prepare(s, nil)
	if err != nil {
		return Skipped, err
	}
	outcomes, err := c.putAll(ctx, []*prepared{p})
	if err != nil {
		return Skipped, err
	}
	return outcomes[0], nil
}

// putAll takes documents in, in one transaction.
func (c *Corpus) putAll(ctx context.Context, all []*prepared) (outcomes []Outcome, err error) {
	err = c.Write(ctx, func(conn kernel.Conn) error {
		outcomes = make([]Outcome, len(all))
		changed := false
		for i, p := range all {
			var err error
			if outcomes[i], err = put(conn, p, c.Micros()); err != nil {
				return err
			}
			changed = changed || outcomes[i] != Skipped
		}
		if !changed {
			return nil
		}
		return touch(conn)
	})
	return outcomes, err
}

// touch gives the corpus its next version.
func touch(c kernel.Conn) error {
	return c.Later("UPDATE answer_corpus SET version = version + 1")
}

// put writes a document.
func put(c kernel.Conn, p *prepared, now int64) (Outcome, error) {
	s := p.source
	find := func(query, value string) (id int64, err error) {
		if err = c.Row(query, value).Scan(&id); errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		return id, err
	}
	same, err := find("SELECT id FROM answer_documents WHERE sha256 = ?", p.digest)
	if err != nil {
		return Skipped, err
	}
	old, err := find("SELECT id FROM answer_documents WHERE url = ?", s.URL)
	if err != nil {
		return Skipped, err
	}
	outcome := Added
	if old != 0 && old != same { // also where another address has what this one says now
		outcome = Replaced
		if err := remove(c, old); err != nil {
			return outcome, err
		}
	}
	switch {
	case same != 0 && outcome == Added:
		return Skipped, nil
	case same != 0:
		return outcome, nil
	}
	var issuer int64
	if s.Issuer.Name != "" {
		var err error
		if issuer, err = putIssuer(c, s.Issuer); err != nil {
			return outcome, err
		}
	}
	published := int64(0)
	if !s.Published.IsZero() {
		published = s.Published.UnixMicro()
	}
	var id int64
	err = c.Row("INSERT INTO answer_documents (kind, form, issuer_id, fiscal, quarter, period_start, period_end, published_at, title, url, lang, sha256, pages, chunks, ingested_at) "+
		"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
		string(s.Kind), s.Form, sql.NullInt64{Int64: issuer, Valid: issuer != 0}, p.period.Year, p.period.Quarter, string(p.period.Start()), string(p.period.End), published,
		s.Title, s.URL, s.Lang, p.digest, len(s.Pages), len(p.chunks), now).Scan(&id)
	if err != nil {
		return outcome, err
	}
	ids, err := putChunks(c, p, id, issuer)
	if err != nil {
		return outcome, err
	}
	if err := putFacts(c, p, id, issuer, ids); err != nil {
		return outcome, err
	}
	return outcome, putPrices(c, s, issuer)
}

// rowsAtOnce is how many rows one statement adds.
const rowsAtOnce = 20

// rows are the placeholders of n rows of width columns.
func rows(n, width int) string {
	one := "(" + strings.TrimSuffix(strings.Repeat("?, ", width), ", ") + "), "
	return strings.TrimSuffix(strings.Repeat(one, n), ", ")
}

// inRows adds rows, many with one statement. args has those of row i.
func inRows(c kernel.Conn, statement, after string, n, width int, args func(i int) []any) error {
	for from := 0; from < n; {
		size := rowsAtOnce
		if n-from < size {
			size = 1
		}
		all := make([]any, 0, size*width)
		for i := from; i < from+size; i++ {
			all = append(all, args(i)...)
		}
		if err := c.Later(statement+rows(size, width)+after, all...); err != nil {
			return err
		}
		from += size
	}
	return nil
}

// putChunks writes the chunks of a document with what they are found by.
func putChunks(c kernel.Conn, p *prepared, document, issuer int64) (ids []int64, err error) {
	s := p.source
	const columns = 8
	ids = make([]int64, 0, len(p.chunks))
	for from := 0; from < len(p.chunks); {
		size := rowsAtOnce
		if len(p.chunks)-from < size {
			size = 1
		}
		args := make([]any, 0, size*columns)
		for i := from; i < from+size; i++ {
			one := &p.chunks[i]
			args = append(args, document, i, one.section, one.page, one.text, one.tokens, flag(len(one.tables) > 0), one.headers)
		}
		// The numbers come in the order of the rows: both engines give them so.
		err := c.All("INSERT INTO answer_chunks (document_id, seq, section, page, text, tokens, is_table, headers) VALUES "+rows(size, columns)+" RETURNING id",
			args, func(r store.Row) error {
				var id int64
				ids = append(ids, 0)
				err := r.Scan(&id)
				ids[len(ids)-1] = id
				return err
			})
		if err != nil {
			return nil, err
		}
		from += size
	}
	err = inRows(c, "INSERT INTO answer_vectors (issuer_id, fiscal, chunk_id, document_id, kind, terms) VALUES ", "", len(ids), 6, func(i int) []any {
		return []any{issuer, p.period.Year, ids[i], document, string(s.Kind), []byte(p.vectors[i])}
	})
	if err != nil {
		return nil, err
	}
	scope := Scope(issuer, p.period.Year, s.Kind)
	for i := range p.chunks {
		one := &p.chunks[i]
		if c.Dialect() == store.SQLite {
			err = c.Later("INSERT INTO answer_search (rowid, scope, title, section, text) VALUES (?, ?, ?, ?, ?)", ids[i], scope, s.Title, one.section, one.text)
		} else {
			err = c.Later("INSERT INTO answer_search (chunk_id, document_id, words) VALUES (?, ?, setweight(to_tsvector('english', ?), 'A') || "+
				"setweight(to_tsvector('english', ?), 'B') || to_tsvector('english', ?) || to_tsvector('simple', ?) || array_to_tsvector(CAST(? AS text[])))",
				ids[i], document, s.Title, one.section, one.text, scope, spanWords(ids[i]))
		}
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// Scope is the words that the full-text index has for an issuer, a year and a kind. Of
// unknown ones there is none.
func Scope(issuer int64, year int, kind kernel.Kind) string {
	words := make([]string, 0, 3)
	if issuer != 0 {
		words = append(words, "i"+strconv.FormatInt(issuer, 10))
	}
	if year != 0 {
		words = append(words, "y"+strconv.Itoa(year))
	}
	if kind != "" {
		words = append(words, "k"+string(kind))
	}
	return strings.Join(words, " ")
}

func flag(is bool) int {
	if is {
		return 1
	}
	return 0
}

// putFacts writes the facts of a document, the first of those of one metric and period.
func putFacts(c kernel.Conn, p *prepared, document, issuer int64, chunks []int64) error {
	if issuer == 0 {
		return nil
	}
	return inRows(c, "INSERT INTO answer_facts (issuer_id, metric, period_end, period_len, fiscal, quarter, label, shown, value, step, unit, currency, document_id, chunk_id) VALUES ",
		" ON CONFLICT DO NOTHING", len(p.facts), 14, func(i int) []any {
			f := p.facts[i]
			chunk := int64(0)
			if f.chunk >= 0 {
				chunk = chunks[f.chunk]
			}
			end := string(f.Period.End)
			if end == "" {
				end = strconv.Itoa(f.Period.Year)
			}
			return []any{
				issuer, f.Metric, end, f.Period.Months, f.Period.AnyYear(), f.Period.Quarter, f.Label, f.Figure.Text, f.Figure.Value, f.Figure.Step,
				string(f.Figure.Unit), f.Figure.Currency, document, chunk,
			}
		})
}

func putPrices(c kernel.Conn, s *Source, issuer int64) error {
	return inRows(c, "INSERT INTO answer_prices (issuer_id, day, open, high, low, close, adj_close, volume, source) VALUES ",
		" ON CONFLICT (issuer_id, day) DO UPDATE SET open = excluded.open, high = excluded.high, low = excluded.low, close = excluded.close, "+
			"adj_close = excluded.adj_close, volume = excluded.volume, source = excluded.source",
		len(s.Prices), 9, func(i int) []any {
			p := s.Prices[i]
			return []any{issuer, string(p.Day), p.Open, p.High, p.Low, p.Close, p.AdjClose, p.Volume, s.URL}
		})
}

// remove takes a document away with all that is of it.
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
	statements = append(statements, "DELETE FROM answer_chunks WHERE document_id = ?", "DELETE FROM answer_documents WHERE id = ?")
	for _, statement := range statements {
		if _, err := c.Exec(statement, id); err != nil {
			return err
		}
	}
	return nil
}

// putIssuer finds an issuer by CIK, ticker or name, or adds it, and remembers its names.
func putIssuer(c kernel.Conn, company Company) (id int64, err error) {
	key := metrics.Key(company.Name)
	find := func(query string, args ...any) error {
		if id != 0 {
			return nil
		}
		err := c.Row(query, args...).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	}
	if company.CIK != "" {
		err = find("SELECT id FROM answer_issuers WHERE cik = ? ORDER BY id LIMIT 1", company.CIK)
	}
	if err == nil && company.Ticker != "" {
		err = find("SELECT id FROM answer_issuers WHERE ticker = ? AND exchange = ? ORDER BY id LIMIT 1", company.Ticker, company.Exchange)
	}
	if err == nil {
		err = find("SELECT id FROM answer_issuers WHERE name_key = ?", key)
	}
	if err != nil {
		return 0, err
	}
	if id == 0 {
		err = c.Row("INSERT INTO answer_issuers (name, name_key, ticker, exchange, cik) VALUES (?, ?, ?, ?, ?) "+
			"ON CONFLICT (name_key) DO UPDATE SET name = answer_issuers.name RETURNING id", company.Name, key, company.Ticker, company.Exchange, company.CIK).Scan(&id)
	} else {
		err = c.Later("UPDATE answer_issuers SET ticker = CASE WHEN ticker = '' THEN ? ELSE ticker END, exchange = CASE WHEN exchange = '' THEN ? ELSE exchange END, "+
			"cik = CASE WHEN cik = '' THEN ? ELSE cik END WHERE id = ? AND (ticker = '' OR exchange = '' OR cik = '')", company.Ticker, company.Exchange, company.CIK, id)
	}
	if err != nil {
		return 0, err
	}
	for _, alias := range append([]string{company.Name}, company.Aliases...) {
		if k := metrics.Key(alias); k != "" && len(alias) <= mostTitle {
			if err := c.Later("INSERT INTO answer_aliases (alias_key, issuer_id, alias) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", k, id, alias); err != nil {
				return 0, err
			}
		}
	}
	return id, nil
}

// Version is the number of the last change of the corpus.
func (c *Corpus) Version(ctx context.Context) (version int64, err error) {
	err = c.Read(ctx, func(conn kernel.Conn) error {
		return conn.Row("SELECT version FROM answer_corpus").Scan(&version)
	})
	return version, err
}

// mostIssuers bounds the issuers whose names are known.
const mostIssuers = 200_000

// Issuers are all of them by id, with the directory that finds them in a text. Both are
// kept until the corpus changes, and nobody changes them.
func (c *Corpus) Issuers(ctx context.Context) (map[int64]kernel.Issuer, *metrics.Directory, error) {
	version, err := c.Version(ctx)
	if err != nil {
		return nil, nil, err
	}
	c.mu.Lock()
	issuers, directory, of := c.issuers, c.directory, c.version
	c.mu.Unlock()
	if directory != nil && of == version {
		return issuers, directory, nil
	}
	issuers = make(map[int64]kernel.Issuer)
	var names []metrics.Named
	err = c.Read(ctx, func(conn kernel.Conn) error {
		err := conn.All("SELECT id, name, ticker, exchange, cik FROM answer_issuers ORDER BY id LIMIT ?", []any{mostIssuers}, func(r store.Row) error {
			var i kernel.Issuer
			err := r.Scan(&i.ID, &i.Name, &i.Ticker, &i.Exchange, &i.CIK)
			issuers[i.ID] = i
			names = append(names, metrics.Named{Issuer: i.ID, Name: i.Name})
			if i.Ticker != "" {
				names = append(names, metrics.Named{Issuer: i.ID, Name: i.Ticker, Ticker: true})
			}
			return err
		})
		if err != nil {
			return err
		}
		return conn.All("SELECT issuer_id, alias FROM answer_aliases ORDER BY issuer_id, alias_key LIMIT ?", []any{4 * mostIssuers}, func(r store.Row) error {
			var n metrics.Named
			err := r.Scan(&n.Issuer, &n.Name)
			names = append(names, n)
			return err
		})
	})
	if err != nil {
		return nil, nil, err
	}
	directory = metrics.NewDirectory(names)
	c.mu.Lock()
	defer c.mu.Unlock()
	if version >= c.version {
		c.issuers, c.directory, c.version = issuers, directory, version
	}
	return issuers, directory, nil
}

// published is a time as it is stored.
func published(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}
