package management

import "github.com/tollgate-gateway/tollgate/internal/rest"

// teamKeys lists the gateway keys that belong to a team.
func (s *Service) teamKeys(c *rest.Call, team string) (any, error) {
	if _, err := s.Keychain.Team(c.R.Context(), team); err != nil {
		return nil, err
	}
	return s.listKeys(c, team)
}

// makeTeamKey creates a gateway key that belongs to a team.
func (s *Service) makeTeamKey(c *rest.Call, team string) (any, error) {
	options, err := s.keyOptions(c)
	if err != nil {
		return nil, err
	}
	return s.Keychain.CreateTeamKey(c.R.Context(), team, options)
}

func (s *Service) revokeTeamKey(c *rest.Call, team string) (any, error) {
	return nil, s.Keychain.RevokeKey(c.R.Context(), team, c.Path("key_id"))
}
