package accounts

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Profile reads a member for others to see. Posts that the actor could not read
// are not counted.
func (s *Service) Profile(ctx context.Context, a *rights.Actor, id int64) (u *rights.User, err error) {
	err = s.Read(ctx, func(c store.Conn) error {
		if u, err = rights.LoadUser(c, id); err != nil {
			return err
		}
		if u.State == "deleted" || u.State == "awaiting" || u.State == "unconfirmed" || !a.May(rights.ProfileView) &&
			a.ID() != id {
			return kernel.NotFound()
		}
		u.PostCount, err = content.PostsSeen(c, a, id)
		return err
	})
	return u, err
}
