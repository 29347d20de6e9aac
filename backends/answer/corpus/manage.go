package corpus

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// ListQuery selects the documents of a list.
type ListQuery struct {
	Issuer int64       // 0 for all
	Kind   kernel.Kind // empty for all
	After  int64       // the id of the last document of the previous page
	Limit  int         // the size of a page; default 100, at most 1,000
}

// documentColumns is the beginning of a query for documents, whose rows scanDocument reads.
const documentColumns = "SELECT d.id, d.kind, d.form, COALESCE(d.issuer_id, 0), d.fiscal, d.quarter, d.period_end, d.published_at, d.title, d.url, d.lang, d.sha256, d.chunks FROM answer_documents d "

// scanDocument reads a row of a query that begins with documentColumns.
func scanDocument(r store.Row) (d kernel.Document, err error) {
	var micros int64
	err = r.Scan(&d.ID, &d.Kind, &d.Form, &d.Issuer, &d.Period.Year, &d.Period.Quarter, &d.Period.End, &micros, &d.Title,
		&d.URL, &d.Lang, &d.SHA256, &d.Chunks)
	d.Published = kernel.TimeOf(micros)
	return d, err
}

// List returns the documents that a query selects, in the order in which they were added. If it returns as many
// documents as the limit, there may be more.
func (c *Corpus) List(ctx context.Context, q ListQuery) (list []kernel.Document, err error) {
	if q.Limit <= 0 {
		q.Limit = 100
	}
	conditions, args := []string{"d.id > ?"}, []any{q.After}
	if q.Issuer != 0 {
		conditions, args = append(conditions, "d.issuer_id = ?"), append(args, q.Issuer)
	}
	if q.Kind != "" {
		conditions, args = append(conditions, "d.kind = ?"), append(args, string(q.Kind))
	}
	err = c.Read(ctx, func(conn kernel.Conn) error {
		list, err = store.List(conn, scanDocument, documentColumns+"WHERE "+strings.Join(conditions, " AND ")+
			" ORDER BY d.id LIMIT ?", append(args, min(q.Limit, 1000))...)
		return err
	})
	return list, err
}

// ErrNotFound is returned if there is no such document.
var ErrNotFound = errors.New("there is no such document")

// Document returns the document at a URL. A document may have several URLs. Document returns ErrNotFound if there is
// no document at the URL.
func (c *Corpus) Document(ctx context.Context, url string) (d kernel.Document, err error) {
	err = c.Read(ctx, func(conn kernel.Conn) error {
		d, err = scanDocument(conn.Row(documentColumns+"WHERE d.id = "+documentAtURL, url, url))
		return notFound(err)
	})
	return d, err
}

// Text returns at most limit chunks of a document in their order, beginning with the sequence number start.
func (c *Corpus) Text(ctx context.Context, document int64, start, limit int) (passages []kernel.Passage, err error) {
	err = c.Read(ctx, func(conn kernel.Conn) error {
		passages, err = store.List(conn, func(r store.Row) (p kernel.Passage, err error) {
			p.Document = document
			err = r.Scan(&p.ID, &p.Seq, &p.Section, &p.Page, &p.Text, &p.Tokens, &p.Table)
			return p, err
		}, "SELECT id, seq, section, page, text, tokens, is_table = 1 FROM answer_chunks WHERE document_id = ? AND seq >= ? ORDER BY seq LIMIT ?", document, start, limit)
		return err
	})
	return passages, err
}

// Passages returns the passages with the given ids that still exist, in the order of the ids and without
// repetitions.
func (c *Corpus) Passages(ctx context.Context, ids []int64) (passages []kernel.Passage, err error) {
	byID := make(map[int64]kernel.Passage, len(ids))
	err = c.Read(ctx, func(conn kernel.Conn) error {
		condition, list := Among(conn, "c.id", ids)
		return conn.All("SELECT c.id, c.document_id, c.seq, c.section, c.page, c.text, d.title, d.url, d.kind, d.fiscal, d.quarter, d.period_end "+
			"FROM answer_chunks c JOIN answer_documents d ON d.id = c.document_id WHERE "+condition, []any{list},
			func(r store.Row) error {
				var p kernel.Passage
				err := r.Scan(&p.ID, &p.Document, &p.Seq, &p.Section, &p.Page, &p.Text, &p.Title, &p.URL, &p.Kind, &p.Period.Year,
					&p.Period.Quarter, &p.Period.End)
				byID[p.ID] = p
				return err
			})
	})
	for _, id := range ids {
		if p, ok := byID[id]; ok {
			passages = append(passages, p)
			delete(byID, id)
		}
	}
	return passages, err
}

// notFound returns ErrNotFound if err reports that a query has no rows, and err otherwise.
func notFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return err
}

// Remove removes the document at a URL. If the document has other URLs, it is still found at these. Remove returns
// ErrNotFound if there is no document at the URL.
func (c *Corpus) Remove(ctx context.Context, url string) error {
	return c.Write(ctx, func(conn kernel.Conn) error {
		id, err := idAtURL(conn, url)
		if err != nil {
			return err
		}
		if id == 0 {
			return ErrNotFound
		}
		if err := (&writer{Conn: conn}).detach(id, url); err != nil {
			return err
		}
		return incrementVersion(conn)
	})
}

// Stats counts the contents of a corpus.
type Stats struct {
	Version                                           int64
	Issuers, Documents, Chunks, Tokens, Facts, Prices int64
	Kinds                                             map[kernel.Kind]int64 // the number of documents by kind
	Vectors                                           map[string]int64      // the number of vectors by model
}

// Stats counts the contents of the corpus. It reads all rows.
func (c *Corpus) Stats(ctx context.Context) (s Stats, err error) {
	s.Kinds, s.Vectors = make(map[kernel.Kind]int64), make(map[string]int64)
	err = c.Read(ctx, func(conn kernel.Conn) error {
		err := conn.Row("SELECT version, (SELECT count(*) FROM answer_issuers), (SELECT count(*) FROM answer_facts), (SELECT count(*) FROM answer_prices), "+
			"(SELECT COALESCE(sum(tokens), 0) FROM answer_chunks) FROM answer_corpus").Scan(&s.Version, &s.Issuers, &s.Facts,
			&s.Prices, &s.Tokens)
		if err != nil {
			return err
		}
		err = conn.All("SELECT model, count(*) FROM answer_dense GROUP BY model", nil, func(r store.Row) error {
			var model string
			var n int64
			err := r.Scan(&model, &n)
			s.Vectors[model] = n
			return err
		})
		if err != nil {
			return err
		}
		return conn.All("SELECT kind, count(*), sum(chunks) FROM answer_documents GROUP BY kind",
			nil, func(r store.Row) error {
				var kind kernel.Kind
				var documents, chunks int64
				err := r.Scan(&kind, &documents, &chunks)
				s.Kinds[kind] = documents
				s.Documents += documents
				s.Chunks += chunks
				return err
			})
	})
	return s, err
}
