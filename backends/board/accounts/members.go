package accounts

import (
	"context"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Profile returns a member in the form that others may see. The post count has only posts that the actor could read.
// The error is NotFound for members who were deleted or never let in, and for other members if the actor may not see
// profiles.
func (s *Service) Profile(ctx context.Context, a *rights.Actor, id int64) (*rights.User, error) {
	return kernel.Value(ctx, s.Read, func(c store.Conn) (u *rights.User, err error) {
		if u, err = rights.LoadUser(c, id); err != nil {
			return u, err
		}
		if u.State == "deleted" || u.State == "awaiting" || u.State == "unconfirmed" || !a.May(rights.ProfileView) &&
			a.ID() != id {
			return u, kernel.NotFound()
		}
		u.PostCount, err = content.PostsSeen(c, a, id)
		return u, err
	})
}
