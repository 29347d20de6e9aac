package users

import (
	"context"

	"github.com/tollgate-gateway/tollgate/internal/store"
)

// eachRows is the number of users that one query reads.
const eachRows = 500

// Each calls fn with every user and the hash of the user's password, ordered by id. If fn returns an error, Each stops
// and returns it.
func (s *Users) Each(ctx context.Context, fn func(u *User, hash string) error) error {
	type row struct {
		user *User
		hash string
	}
	for lastID := ""; ; {
		var rows []row
		err := s.Read(ctx, func(c store.Conn) (err error) {
			rows, err = store.List(c, func(r store.Row) (found row, err error) {
				found.user, err = scan(r, &found.hash)
				return found, err
			}, "SELECT "+columns+", password FROM authserver_users WHERE id > ? ORDER BY id LIMIT ?", lastID, eachRows)
			return err
		})
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, row := range rows {
			if err := fn(row.user, row.hash); err != nil {
				return err
			}
		}
		lastID = rows[len(rows)-1].user.ID
	}
}
