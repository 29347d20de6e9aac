package search

import (
	"context"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// reindexBatch is how many posts Reindex indexes in one write.
const reindexBatch = 500

// Reindex rebuilds the search index from all posts. It implements Reindex of store.Schema.
func Reindex(ctx context.Context, db *store.DB, step func(rows int64)) error {
	clear := "DELETE FROM board_search"
	if db.Dialect() == store.SQLite {
		clear = "INSERT INTO board_search (board_search) VALUES ('delete-all')"
	}
	if err := db.Write(ctx, func(c store.Conn) error { _, err := c.Exec(clear); return err }); err != nil {
		return err
	}
	type post struct {
		id             int64
		title, message string
	}
	return db.Walk(ctx, reindexBatch, step, func(c store.Conn, after int64, limit int) (int, int64, error) {
		list, err := store.List(c, func(r store.Row) (p post, err error) {
			err = r.Scan(&p.id, &p.title, &p.message)
			return p, err
		}, "SELECT i.id, CASE p.number WHEN 1 THEN t.title ELSE '' END, p.message FROM board_post_ids i"+
			" JOIN board_threads t ON t.id = i.thread_id"+
			" JOIN board_posts p ON p.thread_id = i.thread_id AND p.id = i.id WHERE i.id > ? ORDER BY i.id LIMIT ?",
			after, limit)
		for _, p := range list {
			if err == nil {
				err = c.Last(IndexRows(c.Dialect())+"VALUES "+IndexRow(c.Dialect()), IndexValues(c.Dialect(), p.id, p.title,
					p.message)...)
			}
			after = p.id
		}
		return len(list), after, err
	})
}
