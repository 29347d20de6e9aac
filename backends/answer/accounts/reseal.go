package accounts

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/answer/kernel"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Stored are the texts of the answers behind an id, in the order of their ids, at most most.
func (a *Accounts) Stored(ctx context.Context, after string, most int) (list []Answer, err error) {
	err = a.Read(ctx, func(c kernel.Conn) error {
		list, err = store.List(c, func(r store.Row) (ans Answer, err error) {
			err = r.Scan(&ans.ID, &ans.Body, &ans.Trace)
			return ans, err
		}, "SELECT id, body, trace FROM answer_answers WHERE id > ? ORDER BY id LIMIT ?", after, most)
		return err
	})
	return list, err
}

// Replace puts the texts of an answer in the place of those that it had, if it has them still.
func (a *Accounts) Replace(ctx context.Context, had, has Answer) error {
	return a.Write(ctx, func(c kernel.Conn) error {
		_, err := c.Exec("UPDATE answer_answers SET body = ?, trace = ? WHERE id = ? AND body = ? AND trace = ?", has.Body, has.Trace, had.ID, had.Body, had.Trace)
		return err
	})
}
