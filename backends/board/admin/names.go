package admin

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// NameClash is a member whose name looks like the name that another member, Like, has had for longer. Both keep their
// names.
type NameClash struct{ Member, Like MemberRow }

// maxClashes is the maximum length of the list of clashes.
const maxClashes = 500

// NameClashes lists members whose names look like the name of another member, at most 500.
func (s *Service) NameClashes(ctx context.Context, a *rights.Actor) ([]NameClash, error) {
	return rights.Surveyed(ctx, s.rights, a, func(c store.Conn) ([]NameClash, error) {
		return store.List(c, func(r store.Row) (clash NameClash, err error) {
			return clash, r.Scan(&clash.Member.ID, &clash.Member.Name, &clash.Member.State, &clash.Member.JoinedAt,
				&clash.Like.ID,
				&clash.Like.Name, &clash.Like.State, &clash.Like.JoinedAt)
		}, "SELECT DISTINCT u.id, u.username, u.state, u.joined_at, o.id, o.username, o.state, o.joined_at"+
			" FROM board_names n JOIN board_users u ON u.id = n.user_id"+
			" JOIN board_names h ON h.skeleton = n.skeleton AND h.clashes = 0 JOIN board_users o ON o.id = h.user_id"+
			" WHERE n.clashes = 1 ORDER BY o.id, u.id LIMIT ?", maxClashes)
	})
}
