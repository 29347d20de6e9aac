package admin

import (
	"net/http"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
)

// facts is the response about the groups, roles and attributes of a user.
type facts struct {
	Groups     []string            `json:"groups"`
	Roles      []string            `json:"roles"`
	Attributes map[string][]string `json:"attributes"`
	// Effective are the user's roles, including the roles of the user's groups.
	Effective []string `json:"effective_roles"`
}

// userFacts serves GET /admin/users/{id}/attributes.
func (a *API) userFacts(c *call) (any, error) {
	u, err := a.Users.Find(c.R.Context(), c.Path("id"))
	if err != nil {
		return nil, err
	}
	g, err := a.Users.Given(c.R.Context(), u.ID)
	if err != nil {
		return nil, err
	}
	return a.factsResponse(c, u, g)
}

// factsResponse returns the response about the facts that are stored for a user.
func (a *API) factsResponse(c *call, u *users.User, g users.Given) (any, error) {
	effective, err := a.Users.Facts(c.R.Context(), u.ID)
	if err != nil {
		return nil, err
	}
	response := facts{
		Groups: words(u.Groups), Roles: words(g.Roles), Attributes: g.Attributes, Effective: words(effective.Roles),
	}
	if response.Attributes == nil {
		response.Attributes = map[string][]string{}
	}
	return response, nil
}

// patchUserFacts serves PATCH /admin/users/{id}/attributes.
func (a *API) patchUserFacts(c *call) (any, error) {
	var body struct {
		Groups     *[]string            `json:"groups"`
		Roles      *[]string            `json:"roles"`
		Attributes *map[string][]string `json:"attributes"`
	}
	if err := c.Decode(&body); err != nil {
		return nil, err
	}
	u, g, err := a.Users.Regroup(c.R.Context(), c.Path("id"), body.Groups, body.Roles, body.Attributes, actor)
	if err != nil {
		return nil, err
	}
	return a.factsResponse(c, u, g)
}

// groupRole is the response about a group and its roles.
type groupRole struct {
	Group string   `json:"group"`
	Roles []string `json:"roles"`
}

// groupRoles serves GET /admin/group-roles.
func (a *API) groupRoles(c *call) (any, error) {
	all, err := a.Users.GroupRoles(c.R.Context())
	return slicePage(c, "group_roles", all, err, func(g users.GroupRoles) groupRole {
		return groupRole{g.Group, words(g.Roles)}
	})
}

// setGroupRoles serves PUT /admin/group-roles.
func (a *API) setGroupRoles(c *call) (any, error) {
	var body groupRole
	if err := c.Decode(&body); err != nil {
		return nil, err
	}
	if body.Roles == nil {
		return nil, apierror.New(http.StatusBadRequest, "invalid_value",
			"roles is required; an empty list removes all roles of the group").With("roles")
	}
	slices.Sort(body.Roles)
	if err := a.Users.SetGroupRoles(c.R.Context(), users.GroupRoles{Group: body.Group, Roles: body.Roles},
		actor); err != nil {
		return nil, err
	}
	return body, nil
}
