package keychain

import (
	"context"
	"net/http"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// CreateTeamKey makes a gateway key that belongs to a team and to no person, for the team's services. It is a key of a
// user with the id of the team, as whom nobody can sign in. Requests with it count for the team, and it stays valid
// whoever leaves. Its limits are imposed. Its errors are those of CreateKey, and 404 if there is no such team.
func (s *Service) CreateTeamKey(ctx context.Context, teamID string, options KeyOptions) (*NewKey, error) {
	options.Impose, options.TeamID = true, ""
	err := s.db.Write(ctx, func(c store.Conn) error {
		team, err := s.teamByID(c, teamID)
		if err != nil {
			return err
		}
		if _, err = s.insertUser(c, &User{
			ID: team.ID, TeamID: team.ID, Name: team.Name, Service: true, CreatedAt: s.now().UTC().Truncate(time.Microsecond),
		}); err != nil {
			return err
		}
		user, err := s.userByID(c, team.ID)
		if err == nil && !user.Service {
			err = apierror.New(http.StatusConflict, "already_exists",
				"there is a user called as the team is, %q: remove them first", team.ID)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.CreateKey(ctx, teamID, options)
}
