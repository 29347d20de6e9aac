package accounts

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Stored returns the texts of at most limit answers whose ids are greater than after, in the order of their
// ids.
func (a *Accounts) Stored(ctx context.Context, after string, limit int) (list []Answer, err error) {
	err = a.Read(ctx, func(c kernel.Conn) error {
		list, err = store.List(c, func(r store.Row) (ans Answer, err error) {
			err = r.Scan(&ans.ID, &ans.Body, &ans.Trace)
			return ans, err
		}, "SELECT id, body, trace FROM answer_answers WHERE id > ? ORDER BY id LIMIT ?", after, limit)
		return err
	})
	return list, err
}

// Replace replaces the texts of the answer previous by those of replacement, unless they have changed since
// they were read.
func (a *Accounts) Replace(ctx context.Context, previous, replacement Answer) error {
	return a.Write(ctx, func(c kernel.Conn) error {
		_, err := c.Exec("UPDATE answer_answers SET body = ?, trace = ? WHERE id = ? AND body = ? AND trace = ?",
			replacement.Body, replacement.Trace, previous.ID, previous.Body, previous.Trace)
		return err
	})
}
