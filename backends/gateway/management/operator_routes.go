package management

import (
	"net/http"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// pathValue returns a function that returns the value of the wildcard with the given name in the path.
func pathValue(name string) func(c *rest.Call) string {
	return func(c *rest.Call) string { return c.Path(name) }
}

// organisation returns the holder of the limits on the whole organisation.
func organisation(*rest.Call) string { return keychain.Organisation }

var (
	pageParams = []rest.Param{
		{Name: "limit", Description: "How many.", Schema: `{"type":"integer","minimum":1,"maximum":500,"default":100}`},
		{Name: "after", Description: "next_after from the previous page.", Schema: `{"type":"string"}`},
	}
	auditParams = []rest.Param{
		{Name: "limit", Description: "How many.", Schema: `{"type":"integer","minimum":1,"maximum":500,"default":100}`},
		{Name: "cursor", Description: "next_cursor from the previous page.", Schema: `{"type":"string"}`},
	}
	spendingParams = []rest.Param{
		{Name: "from", Description: "First day, in UTC. Default: 30 days before the end.", Schema: `{"type":"string"}`},
		{Name: "to", Description: "End of the period; that day is not included. Default: tomorrow.", Schema: `{"type":"string"}`},
		{Name: "by", Description: "What to sum by, between commas: organisation, team, user, key, provider, model, tag, end_user, day, hour. user and key cannot be combined with team, tag and end_user; within a team, there is no key, and user is not with provider and model; tag and end_user cannot be combined with each other or with hour.", Schema: `{"type":"string","default":"team,model"}`},
		{
			Name: "compare", Description: "Compare with the period of the same length before it; not by day and hour.",
			Schema: `{"type":"boolean","default":false}`,
		},
		{
			Name: "limit", Description: "The maximum number of lines: by day or hour the first lines, otherwise those with the highest cost.",
			Schema: `{"type":"integer","minimum":1,"maximum":10000,"default":10000}`,
		},
		{Name: "format", Description: "json or csv.", Schema: `{"type":"string","enum":["json","csv"],"default":"json"}`},
	}
)

// operatorRoutes returns the routes for operators, auditors and administrators of teams. Other users get a 403.
func (s *Service) operatorRoutes() []rest.Route {
	routes := slices.Concat([]rest.Route{s.overviewRoute()}, s.allRaiseRoutes(), s.userRoutes(), s.teamRoutes(),
		s.invitationRoutes(), s.reportRoutes(), s.teamAdminRoutes(), s.ownedKeyRoutes(), s.offerRoutes())
	for i := range routes {
		routes[i].Tag = tagOperator
		routes[i].Errors = append(routes[i].Errors, http.StatusForbidden)
	}
	return routes
}

// allRaiseRoutes returns the routes for raises of all kinds of holders.
func (s *Service) allRaiseRoutes() []rest.Route {
	onUser, onTeam := pathValue("user_id"), pathValue("team_id")
	return slices.Concat(
		s.raiseRoutes("/operator/users/{user_id}/raise", "a user", keychain.OnUser, onUser, s.forOperator),
		s.raiseRoutes("/operator/teams/{team_id}/raise", "a team", keychain.OnTeam, onTeam, s.forTeam),
		s.raiseRoutes("/operator/organisation/raise", "all users together", keychain.OnOrganisation, organisation, s.forOperator))
}

// keyLimitsRoute returns the route by which operators replace the limits on a gateway key of a user or a team.
// keysPath is the path of the keys, owner names the owner in the documentation, and ownerID returns the owner's id.
func (s *Service) keyLimitsRoute(keysPath, owner string, ownerID func(c *rest.Call) string) rest.Route {
	return rest.Route{
		Method: "PUT", Path: keysPath + "/{key_id}/limits", Serve: s.forOperator(s.limitKeyOf(ownerID)), Body: "Limits",
		Answer: "GatewayKey", Errors: []int{404, 409},
		Summary:     "Replace the limits on a gateway key of " + owner,
		Description: "The limits are imposed, and keys that replace this key share them. A limit that is absent or null is removed. Only for operators.",
	}
}

// userRoutes returns the routes for the signed-in user's permissions, and for all users.
func (s *Service) userRoutes() []rest.Route {
	onUser := pathValue("user_id")
	return []rest.Route{
		{
			Method: "GET", Path: "/operator/self", Serve: s.forCaller(s.self), Answer: "Self",
			Summary: "Show the signed-in user and their permissions", Description: "For every user.",
		},
		{
			Method: "GET", Path: "/operator/self/budgets", Serve: s.forCaller(s.budgets), Answer: "BudgetsLeft",
			Summary:     "Show what is left of the signed-in user's budgets",
			Description: "For every user. Lists the budgets of the organisation, of the user's teams, of the user and of at most 50 active keys.",
		},
		{
			Method: "GET", Path: "/operator/users", Serve: s.forOperator(s.users), Answer: "UserList",
			Summary: "List the users", Description: "Ordered by id. For operators and auditors.",
			Query: append([]rest.Param{{
				Name: "q", Description: "Part of the id, mail address or name.", Schema: `{"type":"string"}`,
			}}, pageParams...),
		},
		{
			Method: "POST", Path: "/operator/users", Serve: s.forOperator(s.makeUser), Body: "UserInput", Answer: "InitResult",
			Status: 201, Errors: []int{409},
			Summary: "Make a user", Description: "The answer has a first gateway key, whose text is shown only once.",
		},
		{
			Method: "GET", Path: "/operator/users/{user_id}", Serve: s.forOperator(s.user), Answer: "UserDetails",
			Errors:      []int{404, 409},
			Summary:     "Show a user",
			Description: "The user is named by id or mail address. The answer has the user's teams and limits.",
		},
		{
			Method: "POST", Path: "/operator/users/{user_id}/suspend", Serve: s.forOperator(s.suspend), Errors: []int{404},
			Summary:     "Suspend a user",
			Description: "The user's gateway keys and tokens are refused at once, on other nodes within 5 seconds. Nothing of the user is deleted.",
		},
		{
			Method: "POST", Path: "/operator/users/{user_id}/resume", Serve: s.forOperator(s.resume), Errors: []int{404},
			Summary: "Reactivate a suspended user", Description: "Also approves a user who waits for approval.",
		},
		{
			Method: "DELETE", Path: "/operator/users/{user_id}", Serve: s.forOperator(s.removeUser), Errors: []int{404},
			Summary: "Remove a user", Description: "Removes the user's keys, models and limits too. The usage log keeps their requests.",
		},
		{
			Method: "GET", Path: "/operator/users/{user_id}/limits", Serve: s.forOperator(s.limits(keychain.OnUser, onUser)),
			Answer: "Limits", Errors: []int{404},
			Summary: "Show the limits on a user",
		},
		{
			Method: "PUT", Path: "/operator/users/{user_id}/limits", Serve: s.forOperator(s.setLimits(keychain.OnUser, onUser)),
			Body: "Limits", Answer: "Limits", Errors: []int{404},
			Summary:     "Replace the limits on a user",
			Description: "All keys of the user share these limits. An omitted limit is removed.",
		},
		{
			Method: "GET", Path: "/operator/users/{user_id}/keychain-keys", Serve: s.forOperator(s.keysOf),
			Answer:  "GatewayKeyList",
			Summary: "List the gateway keys of a user",
		},
		{
			Method: "POST", Path: "/operator/users/{user_id}/keychain-keys", Serve: s.forOperator(s.makeKeyFor),
			Body: "GatewayKeyInput", OptionalBody: true, Answer: "NewGatewayKey", Status: 201, Errors: []int{404, 409},
			Summary: "Make a gateway key for a user", Description: "Its limits are imposed: the user cannot change them.",
		},
		{
			Method: "DELETE", Path: "/operator/users/{user_id}/keychain-keys/{key_id}", Serve: s.forOperator(s.revokeKeyOf),
			Errors:  []int{404},
			Summary: "Revoke a gateway key of a user",
		},
		s.keyLimitsRoute("/operator/users/{user_id}/keychain-keys", "a user", onUser),
	}
}

// teamRoutes returns the routes for teams, their members and their gateway keys.
func (s *Service) teamRoutes() []rest.Route {
	onTeam := pathValue("team_id")
	return []rest.Route{
		{
			Method: "GET", Path: "/operator/teams", Serve: s.forOperator(s.teams), Answer: "TeamList",
			Summary: "List the teams", Description: "Ordered by name. For operators and auditors.", Query: pageParams,
		},
		{
			Method: "POST", Path: "/operator/teams", Serve: s.forOperator(s.makeTeam), Body: "TeamInput", Answer: "Team",
			Status: 201, Errors: []int{409},
			Summary: "Make a team",
		},
		{
			Method: "GET", Path: "/operator/teams/{team_id}", Serve: s.forTeamID(s.team), Answer: "TeamDetails",
			Errors:      []int{404},
			Summary:     "Show a team",
			Description: "The answer has the team's limits. Also for the team's administrators, as are its members, keys and spending.",
		},
		{
			Method: "PATCH", Path: "/operator/teams/{team_id}", Serve: s.forOperator(s.renameTeam), Body: "TeamInput",
			Answer: "TeamDetails", Errors: []int{404, 409},
			Summary: "Rename a team",
		},
		{
			Method: "DELETE", Path: "/operator/teams/{team_id}", Serve: s.forOperator(s.removeTeam), Errors: []int{404},
			Summary:     "Remove a team",
			Description: "Removes its limits too. The members stay as users, and reports keep the team's spending.",
		},
		{
			Method: "PUT", Path: "/operator/teams/{team_id}/limits", Serve: s.forOperator(s.setLimits(keychain.OnTeam, onTeam)),
			Body: "Limits", Answer: "Limits", Errors: []int{404},
			Summary:     "Replace the limits on a team",
			Description: "All members share these limits. An omitted limit is removed.",
		},
		{
			Method: "GET", Path: "/operator/teams/{team_id}/members", Serve: s.forTeamID(s.members), Answer: "MemberList",
			Errors:  []int{404},
			Summary: "List the members of a team", Description: "Ordered by user id.", Query: pageParams,
		},
		{
			Method: "PUT", Path: "/operator/teams/{team_id}/members/{user_id}", Serve: s.forTeamID(s.setMember),
			Body: "MemberInput", OptionalBody: true, Errors: []int{404, 409},
			Summary:     "Add a user to a team",
			Description: "Adds a user, named by id or mail address, or changes their role. Only operators change default teams. A user's first team becomes their default team.",
		},
		{
			Method: "DELETE", Path: "/operator/teams/{team_id}/members/{user_id}", Serve: s.forTeamID(s.removeMember),
			Errors:      []int{404},
			Summary:     "Take a user out of a team",
			Description: "The user's keys for this team then count for their default team. Only operators may take a user out of their only team; others get 403 only_team.",
		},
		{
			Method: "GET", Path: "/operator/teams/{team_id}/keychain-keys", Serve: s.forTeamID(s.teamKeys),
			Answer: "GatewayKeyList", Errors: []int{404},
			Summary: "List the gateway keys of a team", Description: "The keys that belong to the team rather than to a person.",
		},
		{
			Method: "POST", Path: "/operator/teams/{team_id}/keychain-keys", Serve: s.forTeamID(s.makeTeamKey),
			Body: "GatewayKeyInput", OptionalBody: true, Answer: "NewGatewayKey", Status: 201, Errors: []int{404, 409},
			Summary:     "Make a gateway key for a team",
			Description: "The key belongs to the team rather than to a person: it counts for the team and stays valid when members leave. Also for the team's administrators.",
		},
		{
			Method: "DELETE", Path: "/operator/teams/{team_id}/keychain-keys/{key_id}", Serve: s.forTeamID(s.revokeTeamKey),
			Errors:  []int{404},
			Summary: "Revoke a gateway key of a team",
		},
		s.keyLimitsRoute("/operator/teams/{team_id}/keychain-keys", "a team", onTeam),
		{
			Method: "GET", Path: "/operator/teams/{team_id}/spending", Serve: s.forTeamID(s.spendingOf), Answer: "SpendingList",
			Media:   "text/csv",
			Summary: "Report a team's spending", Query: spendingParams,
		},
	}
}

// invitationRoutes returns the routes for invitations.
func (s *Service) invitationRoutes() []rest.Route {
	return []rest.Route{
		{
			Method: "GET", Path: "/operator/invitations", Serve: s.forOperator(s.invitations), Answer: "InvitationList",
			Summary: "List the invitations", Description: "Ordered by id, including accepted invitations. For operators and auditors.",
			Query: pageParams,
		},
		{
			Method: "POST", Path: "/operator/invitations", Serve: s.forOperator(s.inviteUser), Body: "InvitationInput",
			Answer: "NewInvitation", Status: 201, Errors: []int{404, 409},
			Summary:     "Invite a person",
			Description: "Whoever signs in through the link gets access, regardless of new_users. The link works once, and its token is shown only once.",
		},
		{
			Method: "DELETE", Path: "/operator/invitations/{invitation_id}", Serve: s.forOperator(s.withdraw),
			Errors:  []int{404},
			Summary: "Withdraw an invitation", Description: "A user who has accepted the invitation stays.",
		},
		{
			Method: "POST", Path: "/operator/invitations/accept", Serve: s.forSignedIn(s.acceptInvitation),
			Body: "InvitationToken", Answer: "InitResult", Also: []int{201},
			Summary: "Accept an invitation", Description: "For every user, instead of POST /users/init.",
		},
	}
}

// reportRoutes returns the routes that list keys, limits, spending, alerts and changes of all users and teams, and
// those for the limits on the organisation.
func (s *Service) reportRoutes() []rest.Route {
	return []rest.Route{
		{
			Method: "GET", Path: "/operator/keychain-keys", Serve: s.forOperator(s.allKeys), Answer: "HeldKeyList",
			Summary:     "List the gateway keys of all users and teams",
			Description: "Newest first. Their text is never shown again.",
			Query: append([]rest.Param{
				{Name: "q", Description: "Part of the label, or of the id, mail address or name of the user or team.", Schema: `{"type":"string"}`},
				{Name: "revoked", Description: "Includes revoked keys.", Schema: `{"type":"boolean","default":false}`},
			}, pageParams...),
		},
		{
			Method: "GET", Path: "/operator/limits", Serve: s.forOperator(s.limited), Answer: "LimitedList",
			Summary:     "List the imposed limits, with what is left of their budgets",
			Description: "The limits on the organisation come first, then those on teams, users and gateway keys. Spending of the last second may be missing.",
			Query: append([]rest.Param{{
				Name: "on", Description: "Lists only the limits of one kind.",
				Schema: `{"type":"string","enum":["all","organisation","team","team_own","user","key"],"default":"all"}`,
			}}, pageParams...),
		},
		{
			Method: "GET", Path: "/operator/organisation/limits",
			Serve: s.forOperator(s.limits(keychain.OnOrganisation, organisation)), Answer: "Limits",
			Summary: "Show the limits on all users together",
		},
		{
			Method: "PUT", Path: "/operator/organisation/limits",
			Serve: s.forOperator(s.setLimits(keychain.OnOrganisation, organisation)), Body: "Limits", Answer: "Limits",
			Summary: "Replace the limits on all users together",
		},
		{
			Method: "GET", Path: "/operator/spending", Serve: s.forOperator(s.spending), Answer: "SpendingList",
			Media:       "text/csv",
			Summary:     "Report the spending of all users",
			Description: "Ordered by cost, highest first. Spending of the last second may be missing.", Query: spendingParams,
		},
		{
			Method: "GET", Path: "/operator/alerts", Serve: s.forOperator(s.listAlerts), Answer: "AlertList",
			Summary:     "List the alerts",
			Description: "Newest first, with the recipients and the outcome of each delivery. Alerts are kept for 180 days; those of total budgets are kept for ever.",
			Query:       auditParams,
		},
		{
			Method: "POST", Path: "/operator/alerts/test", Serve: s.forOperator(s.testAlerts), Errors: []int{409},
			Summary:     "Send a test alert",
			Description: "Sends it to the addresses and webhooks of the option alerts. Without that option the answer is 409 alerts_off.",
		},
		{
			Method: "GET", Path: "/operator/audit", Serve: s.forOperator(s.audit), Answer: "AuditList",
			Summary: "List the changes", Description: "Changes of users, teams and limits, newest first, with who made them.", Query: auditParams,
		},
	}
}
