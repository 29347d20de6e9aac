package management

import (
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// aliasRoutes returns the routes of the aliases of users, teams and the organisation.
func (s *Service) aliasRoutes() []rest.Route {
	return slices.Concat(
		s.aliasRoutesOf("/users/{user_id}/aliases", tagModels, "the user", keychain.OnUser),
		s.aliasRoutesOf("/operator/teams/{team_id}/aliases", tagOperator, "a team", keychain.OnTeam),
		s.aliasRoutesOf("/operator/organisation/aliases", tagOperator, "the organisation", keychain.OnOrganisation))
}

// aliasRoutesOf returns the routes for the aliases of one kind of owner. tag and owner are for the documentation; owner
// names the kind, such as "a team".
func (s *Service) aliasRoutesOf(path, tag, owner, kind string) []rest.Route {
	guard := s.forOwner(kind)
	return []rest.Route{
		{
			Method: "GET", Path: path, Tag: tag, Serve: guard(s.aliases), Answer: "AliasList", Errors: []int{403, 404},
			Summary: "List the aliases of " + owner, Description: "Other names for models and tiers, ordered by name.",
		},
		{
			Method: "PUT", Path: path + "/{alias...}", Tag: tag, Serve: guard(s.setAlias), Body: "AliasInput", Answer: "Alias",
			Errors:      []int{403, 404, 409},
			Summary:     "Set an alias of " + owner,
			Description: "A request for the alias is a request for its target: provider/model, the id of a model, or low, medium, high. An alias does not circumvent limits. A user's aliases win over those of the team, and these over those of the organisation.",
		},
		{
			Method: "DELETE", Path: path + "/{alias...}", Tag: tag, Serve: guard(s.removeAlias), Errors: []int{403, 404},
			Summary: "Remove an alias of " + owner,
		},
	}
}

func (s *Service) aliases(c *rest.Call, owner keychain.Owner) (any, error) {
	list, err := s.Keychain.Aliases(c.R.Context(), owner)
	return listInData(list, err)
}

func (s *Service) setAlias(c *rest.Call, owner keychain.Owner) (any, error) {
	var in struct {
		Target string `json:"target"`
	}
	if err := c.Decode(&in); err != nil {
		return nil, err
	}
	return s.Keychain.SetAlias(c.R.Context(), s.Catalog(), owner, c.Path("alias"), in.Target)
}

func (s *Service) removeAlias(c *rest.Call, owner keychain.Owner) (any, error) {
	return nil, s.Keychain.RemoveAlias(c.R.Context(), owner, c.Path("alias"))
}
