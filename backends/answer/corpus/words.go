package corpus

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// indexEntry is the entry of a chunk in the full-text index.
type indexEntry struct {
	chunk, document, issuer int64
	year                    int
	title, section, text    string
}

// put adds the entry to the index (see store.Conn.Later). In PostgreSQL the entry also has the words of Scope and
// Spans; in SQLite, scope is a column.
func (e *indexEntry) put(c kernel.Conn) error {
	scope := Scope(e.issuer, e.year)
	if c.Dialect() == store.SQLite {
		return c.Later("INSERT INTO answer_search (rowid, scope, title, section, text) VALUES (?, ?, ?, ?, ?)",
			e.chunk, scope, e.title, e.section, e.text)
	}
	return c.Later("INSERT INTO answer_search (chunk_id, document_id, words) VALUES (?, ?, setweight(to_tsvector('english', ?), 'A') || "+
		"setweight(to_tsvector('english', ?), 'B') || to_tsvector('english', ?) || to_tsvector('simple', ?) || array_to_tsvector(CAST(? AS text[])))",
		e.chunk, e.document, e.title, e.section, e.text, scope, spanWords(e.chunk))
}

// reindexBatch is how many chunks are indexed in one transaction of Reindex.
const reindexBatch = 500

// Reindex rebuilds the full-text index for all chunks. It calls step with the number of chunks after each transaction.
// Package store calls it after a change of the schema (see store.Schema).
func Reindex(ctx context.Context, db *store.DB, step func(rows int64)) error {
	clear := "DELETE FROM answer_search"
	if db.Dialect() == store.SQLite {
		clear = "INSERT INTO answer_search (answer_search) VALUES ('delete-all')"
	}
	if err := db.Write(ctx, func(c store.Conn) error { _, err := c.Exec(clear); return err }); err != nil {
		return err
	}
	return db.Walk(ctx, reindexBatch, step, func(c store.Conn, lastID int64, limit int) (int, int64, error) {
		list, err := store.List(c, func(r store.Row) (e indexEntry, err error) {
			err = r.Scan(&e.chunk, &e.document, &e.issuer, &e.year, &e.title, &e.section, &e.text)
			return e, err
		}, "SELECT c.id, d.id, COALESCE(d.issuer_id, 0), d.fiscal, d.title, c.section, c.text FROM answer_chunks c"+
			" JOIN answer_documents d ON d.id = c.document_id WHERE c.id > ? ORDER BY c.id LIMIT ?", lastID, limit)
		for i := range list {
			if err == nil {
				err = list[i].put(c)
			}
			lastID = list[i].chunk // the next batch begins after the last chunk of this one
		}
		return len(list), lastID, err
	})
}
