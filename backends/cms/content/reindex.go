package content

import (
	"context"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// reindexBatch is the number of searchable copies that Reindex indexes in one transaction.
const reindexBatch = 500

// Reindex rebuilds the full-text index of all searchable copies. It calls step with the number of indexed rows after
// each transaction.
func Reindex(ctx context.Context, db *store.DB, step func(rows int64)) error {
	// On PostgreSQL, the words are in a column of the table, which is overwritten below.
	if db.Dialect() == store.SQLite {
		err := db.Write(ctx, func(c store.Conn) error {
			_, err := c.Exec("INSERT INTO cms_search (cms_search) VALUES ('delete-all')")
			return err
		})
		if err != nil {
			return err
		}
	}
	type value struct {
		id   int64
		text string
	}
	return db.Walk(ctx, reindexBatch, step, func(c store.Conn, lastID int64, limit int) (int, int64, error) {
		list, err := store.List(c, func(r store.Row) (v value, err error) {
			err = r.Scan(&v.id, &v.text)
			return v, err
		}, "SELECT id, COALESCE(whole, text) FROM cms_page_values WHERE id > ? AND text IS NOT NULL ORDER BY id LIMIT ?",
			lastID, limit)
		if err != nil {
			return 0, lastID, err
		}
		for _, v := range list {
			words := wordsOf(v.text)
			if c.Dialect() == store.Postgres {
				err = c.Later("UPDATE cms_page_values SET words = CAST(? AS tsvector) WHERE id = ?", tsvector(words), v.id)
			} else {
				err = addWords(c, v.id, words)
			}
			if err != nil {
				return 0, lastID, err
			}
			lastID = v.id
		}
		return len(list), lastID, nil
	})
}
