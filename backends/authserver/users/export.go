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
	for after := ""; ; {
		var list []row
		err := s.Read(ctx, func(c store.Conn) (err error) {
			list, err = store.List(c, func(r store.Row) (found row, err error) {
				found.user, err = scan(r, &found.hash)
				return found, err
			}, "SELECT "+columns+", password FROM authserver_users WHERE id > ? ORDER BY id LIMIT ?", after, eachRows)
			return err
		})
		if err != nil || len(list) == 0 {
			return err
		}
		for _, row := range list {
			if err := fn(row.user, row.hash); err != nil {
				return err
			}
		}
		after = list[len(list)-1].user.ID
	}
}
