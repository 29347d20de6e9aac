package keychain

import (
	"context"
	"net/http"
	"time"

	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// CreateTeamKey creates a gateway key that belongs to a team rather than a person, for the team's services. The key's
// user is the account of the team, with which nobody can sign in. Requests with the key count for the team, and the key
// stays valid when members leave. Its limits are imposed. Its errors are those of CreateKey, 404 if the team does not
// exist, and 409 if a person has the team's id as user id.
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
				"a user has the id of this team, %q: remove that user first", team.ID)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.CreateKey(ctx, teamID, options)
}

// RegenerateTeamKey replaces a gateway key that belongs to a team and revokes the old key in the same transaction. The
// new key has the options, the imposed limits and the spending of the old key. The error has status 404 if the team has
// no such key, and 409 if the key is revoked or has expired.
func (s *Service) RegenerateTeamKey(ctx context.Context, teamID, keyID string) (*NewKey, error) {
	var created *GatewayKey
	var text string
	err := s.changeKey(ctx, func(c store.Conn) (string, error) {
		old, oldHash, err := s.keyWithHash(c, teamID, keyID)
		if err != nil {
			return "", err
		}
		if old.Status != StatusActive {
			return "", apierror.New(http.StatusConflict, old.Status, "the gateway key %q is %s: create another key", keyID, old.Status)
		}
		if created, text, err = s.replaceKey(c, old); err != nil {
			return "", err
		}
		return oldHash, s.auditGatewayKey(ctx, c, "key.replaced", created)
	})
	if err != nil {
		return nil, err
	}
	return &NewKey{GatewayKey: *created, Key: text}, nil
}
