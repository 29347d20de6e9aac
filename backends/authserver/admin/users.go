package admin

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/authserver/tokens"
	"github.com/tollgate-gateway/tollgate/backends/authserver/users"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// userRoutes returns the routes of users.
func (a *API) userRoutes() []route {
	return group("Users", []route{
		{rest.Route{
			Method: get, Path: "/users", Summary: "List users", Query: listParams(newest, searchParam), Answer: "Users",
		}, a.users},
		{rest.Route{
			Method: post, Path: "/users", Summary: "Create a user", Body: "NewUser", Answer: "User",
			Status: http.StatusCreated, Errors: refused,
		}, a.createUser},
		{rest.Route{
			Method: post, Path: "/users/invite", Summary: "Invite a user",
			Description: "Mails the user a link for choosing a password. Without a mail server, the response contains the link.",
			Body:        "Invitation", Answer: "InvitedUser", Status: http.StatusCreated, Errors: refused,
		}, a.inviteUser},
		{rest.Route{
			Method: get, Path: "/users/{id}", Summary: "Read a user", Answer: "User", Versioned: true,
		}, a.user},
		{rest.Route{
			Method: patch, Path: "/users/{id}", Summary: "Change a user", Body: "UserChange", Answer: "User",
			Versioned: true, Errors: refused,
		}, a.patchUser},
		{rest.Route{
			Method: del, Path: "/users/{id}", Summary: "Delete a user", Versioned: true,
		}, a.deleteUser},
		{rest.Route{
			Method: patch, Path: "/users/{id}/disable", Summary: "Disable a user", Answer: "User", Versioned: true,
		}, a.changeUserStatus(a.Users.Disable)},
		{rest.Route{
			Method: patch, Path: "/users/{id}/enable", Summary: "Enable a user", Answer: "User", Versioned: true,
		}, a.changeUserStatus(a.Users.Enable)},
		{rest.Route{
			Method: get, Path: "/users/{id}/tokens", Summary: "List the valid tokens of a user",
			Query: listParams(newest, namesParam), Answer: "Tokens",
		}, a.userTokens},
		{rest.Route{
			Method: del, Path: "/users/{id}/tokens", Summary: "End the sessions and tokens of a user",
			Answer: "SignedOut",
		}, a.signOut},
		{rest.Route{
			Method: get, Path: "/users/{id}/factors", Summary: "List the second factors of a user", Answer: "Factors",
		}, a.userFactors},
		{rest.Route{
			Method: del, Path: "/users/{id}/factors", Summary: "Remove the second factors of a user",
			Answer: "FactorsRemoved",
		}, a.resetFactors},
		{rest.Route{
			Method: get, Path: "/users/{id}/identities",
			Summary: "List the accounts at providers that a user signs in with", Answer: "Identities",
		}, a.userIdentities},
		{rest.Route{
			Method: del, Path: "/users/{id}/identities/{identity}", Summary: "Disconnect an account from a user",
		}, a.removeIdentity},
		{rest.Route{
			Method: get, Path: "/users/{id}/attributes", Summary: "Read the groups, roles and attributes of a user",
			Answer: "UserFacts",
		}, a.userFacts},
		{rest.Route{
			Method: patch, Path: "/users/{id}/attributes",
			Summary: "Change the groups, roles and attributes of a user", Body: "UserFactsChange", Answer: "UserFacts",
			Errors: invalid,
		}, a.patchUserFacts},
		{rest.Route{
			Method: get, Path: "/group-roles", Summary: "List the roles of groups", Query: pageParams,
			Answer: "GroupRolesList",
		}, a.groupRoles},
		{rest.Route{
			Method: put, Path: "/group-roles", Summary: "Set the roles of a group",
			Description: "An empty list removes them.", Body: "GroupRoles", Answer: "GroupRoles", Errors: refused,
		}, a.setGroupRoles},
		{rest.Route{
			Method: get, Path: "/users/{id}/grants", Summary: "List the consents and connections of a user",
			Query: []rest.Param{namesParam}, Answer: "Grants",
		}, a.userGrants},
		{rest.Route{
			Method: del, Path: "/grants/consent/{id}", Summary: "Revoke a consent and the tokens that depend on it",
		}, a.revokeConsent},
	})
}

// user is the response about a user.
type user struct {
	ID        string `json:"id"`
	Email     string `json:"email"`
	Name      string `json:"name"`
	Role      string `json:"role"`
	Status    string `json:"status"`
	Provider  string `json:"provider"`
	CreatedAt string `json:"created_at"`
}

// userResponse returns the response about a user.
func userResponse(u *users.User) user {
	return user{u.ID, u.Email, u.Name, u.Role, u.Status, u.Provider, stamp(time.UnixMicro(u.CreatedAt))}
}

// users serves GET /admin/users.
func (a *API) users(c *call) (any, error) {
	p, err := c.cursorPage(newest)
	if err != nil {
		return nil, err
	}
	text, err := c.search()
	if err != nil {
		return nil, err
	}
	ctx := c.R.Context()
	found, err := a.Users.List(ctx, text, p)
	if err != nil {
		return nil, err
	}
	return cursorResponse(c, "users", found, p, userResponse, func(limit int) (int, error) {
		return a.Users.Total(ctx, text, limit)
	})
}

// user serves GET /admin/users/{id}.
func (a *API) user(c *call) (any, error) {
	u, err := a.Users.Find(c.R.Context(), c.Path("id"))
	return objectResponse(c, u, err, userResponse, userTag)
}

// createUser serves POST /admin/users.
func (a *API) createUser(c *call) (any, error) {
	var body struct {
		Email    string `json:"email"`
		Name     string `json:"name"`
		Password string `json:"password"`
		Role     string `json:"role"`
	}
	if err := c.Decode(&body); err != nil {
		return nil, err
	}
	u, err := a.Users.Create(c.R.Context(), users.New{
		Email: body.Email, Name: body.Name, Password: body.Password,
		Role: body.Role,
	}, actor)
	if err != nil {
		return nil, err
	}
	return userResponse(u), nil
}

// inviteUser mails a link with which a user chooses a password. If the server cannot send mails, the response contains
// the link, and the administrator must pass it on.
func (a *API) inviteUser(c *call) (any, error) {
	var body struct {
		Email string `json:"email"`
		Name  string `json:"name"`
	}
	if err := c.Decode(&body); err != nil {
		return nil, err
	}
	u, link, err := a.Accounts.Invite(c.R.Context(), body.Email, body.Name, a.Accounts.Mail == nil)
	if err != nil {
		return nil, err
	}
	c.note("user.invited", "", "user", u.ID)
	return struct {
		user
		Link string `json:"invitation_link,omitempty"`
	}{userResponse(u), link}, nil
}

// patchUser serves PATCH /admin/users/{id}.
func (a *API) patchUser(c *call) (any, error) {
	var body struct {
		Email    *string `json:"email"`
		Name     *string `json:"name"`
		Password *string `json:"password"`
		Role     *string `json:"role"`
	}
	ifMatch, err := decodeChange(c, &body, userTag)
	if err != nil {
		return nil, err
	}
	u, err := a.Users.Update(c.R.Context(), c.Path("id"),
		users.Change{Email: body.Email, Name: body.Name, Password: body.Password, Role: body.Role, May: ifMatch}, actor)
	if err != nil {
		return nil, err
	}
	return tagged(c, userResponse(u), userTag(u)), nil
}

// deleteUser serves DELETE /admin/users/{id}.
func (a *API) deleteUser(c *call) (any, error) {
	ifMatch, err := checkIfMatch(c, userTag)
	if err != nil {
		return nil, err
	}
	return nil, a.Users.Delete(c.R.Context(), c.Path("id"), actor, ifMatch)
}

// changeUserStatus returns the handler that changes the status of a user by calling set.
func (a *API) changeUserStatus(
	set func(ctx context.Context, id, actor string, checks ...func(u *users.User) error) (*users.User, error),
) func(c *call) (any, error) {
	return func(c *call) (any, error) {
		ifMatch, err := checkIfMatch(c, userTag)
		if err != nil {
			return nil, err
		}
		u, err := set(c.R.Context(), c.Path("id"), actor, ifMatch)
		if err != nil {
			return nil, err
		}
		return tagged(c, userResponse(u), userTag(u)), nil
	}
}

// userTokens serves GET /admin/users/{id}/tokens.
func (a *API) userTokens(c *call) (any, error) {
	id := c.Path("id")
	if _, err := a.Users.Find(c.R.Context(), id); err != nil {
		return nil, err
	}
	return a.listIssuances(c, "tokens", tokens.IssuanceFilter{User: id, Live: true})
}

// signOut ends all sessions and tokens of a user.
func (a *API) signOut(c *call) (any, error) {
	ctx, id := c.R.Context(), c.Path("id")
	n, err := a.Tokens.LiveOfUser(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := a.Users.SignOut(ctx, id, actor); err != nil {
		return nil, err
	}
	return map[string]any{"user_id": id, "tokens_revoked": n}, nil
}

// factor is the response about an authenticator app or a passkey, without its secrets.
type factor struct {
	ID        string  `json:"id"`
	Kind      string  `json:"kind"` // app, passkey
	Name      string  `json:"name"`
	CreatedAt string  `json:"created_at"`
	UsedAt    *string `json:"used_at"`
}

// userFactors serves the second factors of a user.
func (a *API) userFactors(c *call) (any, error) {
	ctx, id := c.R.Context(), c.Path("id")
	if _, err := a.Users.Find(ctx, id); err != nil {
		return nil, err
	}
	list, err := a.Factors.Of(ctx, id)
	if err != nil {
		return nil, err
	}
	codesLeft, err := a.Factors.Left(ctx, id)
	if err != nil {
		return nil, err
	}
	rows := make([]factor, len(list))
	for i, f := range list {
		rows[i] = factor{ID: f.ID, Kind: f.Kind, Name: f.Name, CreatedAt: stamp(time.UnixMicro(f.CreatedAt))}
		if f.UsedAt != 0 {
			usedAt := stamp(time.UnixMicro(f.UsedAt))
			rows[i].UsedAt = &usedAt
		}
	}
	return map[string]any{"factors": rows, "recovery_codes": codesLeft}, nil
}

// resetFactors removes all second factors of a user, who may have lost them.
func (a *API) resetFactors(c *call) (any, error) {
	n, err := a.Factors.Reset(c.R.Context(), c.Path("id"), actor)
	if err != nil {
		return nil, err
	}
	return map[string]any{"user_id": c.Path("id"), "factors_removed": n}, nil
}

// userGrants serves GET /admin/users/{id}/grants.
func (a *API) userGrants(c *call) (any, error) {
	id := c.Path("id")
	if _, err := a.Users.Find(c.R.Context(), id); err != nil {
		return nil, err
	}
	grants, err := a.Consents.Of(c.R.Context(), id)
	if err != nil {
		return nil, err
	}
	rows, m := make([]map[string]any, len(grants)), newMentioned()
	for i, g := range grants {
		addIDs(m.clients, g.Client)
		addIDs(m.resources, g.Resource)
		rows[i] = map[string]any{
			"id": g.ID, "user_id": g.User, "client_id": g.Client, "resource_id": g.Resource, "scopes": words(g.Scope),
			"created_at": stamp(time.UnixMicro(g.CreatedAt)), "updated_at": stamp(time.UnixMicro(g.UpdatedAt)),
		}
	}
	connected, err := a.connectionsOf(c, id)
	if err != nil {
		return nil, err
	}
	return a.names(c, map[string]any{"consent_grants": rows, "broker_grants": connected}, m)
}

// revokeConsent revokes a consent and all tokens that depend on it.
func (a *API) revokeConsent(c *call) (any, error) {
	g, err := a.Accounts.EndConsent(c.R.Context(), c.Path("id"))
	if err != nil {
		return nil, err
	}
	c.note("consent_grant.revoked_admin", g.Client, "user", g.User, "resource", g.Resource, "scope",
		strings.Join(g.Scope, " "))
	return nil, nil
}
