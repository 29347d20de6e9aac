package management

import (
	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// teamAdminRoutes returns the routes by which the administrators of a team set tighter limits, replace the team's keys,
// and see the team's audit log.
func (s *Service) teamAdminRoutes() []rest.Route {
	onTeam := pathValue("team_id")
	return []rest.Route{
		{
			Method: "GET", Path: "/operator/teams/{team_id}/limits", Serve: s.forTeam(s.limits(keychain.OnTeam, onTeam)),
			Answer: "Limits", Errors: []int{404},
			Summary:     "Show the limits that the operator has set on a team",
			Description: "Also for the team's administrators, who cannot change them.",
		},
		{
			Method: "GET", Path: "/operator/teams/{team_id}/own-limits", Serve: s.forTeam(s.limits(keychain.OnTeamOwn, onTeam)),
			Answer: "Limits", Errors: []int{404},
			Summary: "Show the limits that a team has set on itself", Description: "Also for the team's administrators.",
		},
		{
			Method: "PUT", Path: "/operator/teams/{team_id}/own-limits",
			Serve: s.forTeam(s.setLimits(keychain.OnTeamOwn, onTeam)), Body: "Limits", Answer: "Limits", Errors: []int{404},
			Summary:     "Replace the limits that a team has set on itself",
			Description: "Also for the team's administrators. These limits apply in addition to those of the operator, so that the tighter limit counts. An omitted limit is removed.",
		},
		{
			Method: "POST", Path: "/operator/teams/{team_id}/keychain-keys/{key_id}/regenerate",
			Serve: s.forTeamID(s.regenerateTeamKey), Answer: "NewGatewayKey", Status: 201, Errors: []int{404, 409},
			Summary:     "Replace a gateway key of a team",
			Description: "The old key is revoked in the same step. The new key has its label, limits and budgets; its text is shown only once. If both keys should work for a time, make another key and revoke the old one later. Also for the team's administrators.",
		},
		{
			Method: "GET", Path: "/operator/teams/{team_id}/audit", Serve: s.forTeamID(s.auditOfTeam), Answer: "AuditList",
			Errors:      []int{404},
			Summary:     "List the changes of a team",
			Description: "Changes of the team itself and of its members, limits, keys and aliases, newest first. Also for the team's administrators.",
			Query:       auditParams,
		},
	}
}

// regenerateTeamKey replaces a gateway key that belongs to a team.
func (s *Service) regenerateTeamKey(c *rest.Call, team string) (any, error) {
	return s.Keychain.RegenerateTeamKey(c.R.Context(), team, c.Path("key_id"))
}

// auditOfTeam serves the audit log of a team.
func (s *Service) auditOfTeam(c *rest.Call, team string) (any, error) {
	if _, err := s.Keychain.Team(c.R.Context(), team); err != nil {
		return nil, err
	}
	return listNewest(c, func(beforeID int64, limit int) ([]keychain.AuditEntry, error) {
		return s.Keychain.AuditOf(c.R.Context(), team, beforeID, limit)
	}, auditPosition)
}
