package management

import (
	"net/http"
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/gateway/keychain"
	"github.com/tollgate-gateway/tollgate/internal/rest"
)

// pathValue returns a function that returns the value of the path's wildcard name.
func pathValue(name string) func(c *rest.Call) string {
	return func(c *rest.Call) string { return c.Path(name) }
}

// organisation returns the holder of the limits on the whole organisation.
func organisation(*rest.Call) string { return keychain.Organisation }

var (
	pageParams = []rest.Param{
		{Name: "limit", Description: "How many.", Schema: `{"type":"integer","minimum":1,"maximum":500,"default":100}`},
		{Name: "after", Description: "next_after of the page before.", Schema: `{"type":"string"}`},
	}
	auditParams = []rest.Param{
		{Name: "limit", Description: "How many.", Schema: `{"type":"integer","minimum":1,"maximum":500,"default":100}`},
		{Name: "cursor", Description: "next_cursor of the page before.", Schema: `{"type":"string"}`},
	}
	spendingParams = []rest.Param{
		{Name: "from", Description: "First day, in UTC. Default: 30 days before the end.", Schema: `{"type":"string"}`},
		{Name: "to", Description: "End; its day is not in it. Default: tomorrow.", Schema: `{"type":"string"}`},
		{Name: "by", Description: "What to sum by, between commas: organisation, team, user, key, provider, model, tag, end_user, day, hour. user and key cannot be combined with team, tag and end_user; within a team, there is no key, and user is not with provider and model; tag and end_user cannot be combined with each other or with hour.", Schema: `{"type":"string","default":"team,model"}`},
		{
			Name: "compare", Description: "Compare with the period of the same length before it; not by day and hour.",
			Schema: `{"type":"boolean","default":false}`,
		},
		{
			Name: "limit", Description: "The maximum number of lines: the first ones by day or hour, else those with the highest cost.",
			Schema: `{"type":"integer","minimum":1,"maximum":10000,"default":10000}`,
		},
		{Name: "format", Description: "json or csv.", Schema: `{"type":"string","enum":["json","csv"],"default":"json"}`},
	}
)

// operatorRoutes returns the routes for operators, auditors and administrators of teams. Other users get a 403.
func (s *Service) operatorRoutes() []rest.Route {
	routes := slices.Concat([]rest.Route{s.overviewRoute()}, s.peopleRoutes(), s.teamAdminRoutes(), s.ownedKeyRoutes(),
		s.offerRoutes())
	for i := range routes {
		routes[i].Tag = tagOperator
		routes[i].Errors = append(routes[i].Errors, http.StatusForbidden)
	}
	return routes
}

func (s *Service) peopleRoutes() []rest.Route {
	onUser, onTeam := pathValue("user_id"), pathValue("team_id")
	raises := slices.Concat(
		s.raiseRoutes("/operator/users/{user_id}/raise", "a user", keychain.OnUser, onUser, s.operating),
		s.raiseRoutes("/operator/teams/{team_id}/raise", "a team", keychain.OnTeam, onTeam, s.forTeam),
		s.raiseRoutes("/operator/organisation/raise", "all users together", keychain.OnOrganisation, organisation, s.operating))
	return append(raises, []rest.Route{
		{
			Method: "GET", Path: "/operator/self", Serve: s.ofCaller(s.self), Answer: "Self",
			Summary: "Tell who signed in and what they may do", Description: "For every user.",
		},
		{
			Method: "GET", Path: "/operator/self/budgets", Serve: s.ofCaller(s.budgets), Answer: "BudgetsLeft",
			Summary:     "Tell what is left of the budgets that bind who signed in",
			Description: "For every user: the budgets on the organisation, their teams, themselves and their active keys, at most 50 of them.",
		},
		{
			Method: "GET", Path: "/operator/users", Serve: s.operating(s.users), Answer: "UserList",
			Summary: "List the users", Description: "By id. For operators and auditors.",
			Query: append([]rest.Param{{
				Name: "q", Description: "Part of the id, mail address or name.", Schema: `{"type":"string"}`,
			}}, pageParams...),
		},
		{
			Method: "POST", Path: "/operator/users", Serve: s.operating(s.makeUser), Body: "UserInput", Answer: "InitResult",
			Status: 201, Errors: []int{409},
			Summary: "Make a user", Description: "With a first gateway key, whose text is shown only once.",
		},
		{
			Method: "GET", Path: "/operator/users/{user_id}", Serve: s.operating(s.user), Answer: "UserDetails",
			Errors:      []int{404, 409},
			Summary:     "Show a user",
			Description: "By id or by mail address, with the teams they are in and the limits on them.",
		},
		{
			Method: "POST", Path: "/operator/users/{user_id}/suspend", Serve: s.operating(s.suspend), Errors: []int{404},
			Summary:     "Suspend a user",
			Description: "Their gateway keys and tokens are refused at once, on other nodes within 5 seconds. What they have stays.",
		},
		{
			Method: "POST", Path: "/operator/users/{user_id}/resume", Serve: s.operating(s.resume), Errors: []int{404},
			Summary: "Let a suspended user go on", Description: "Lets in a user who waits for approval, too.",
		},
		{
			Method: "DELETE", Path: "/operator/users/{user_id}", Serve: s.operating(s.removeUser), Errors: []int{404},
			Summary: "Remove a user", Description: "With all that they have. Their usage stays.",
		},
		{
			Method: "GET", Path: "/operator/users/{user_id}/limits", Serve: s.operating(s.limits(keychain.OnUser, onUser)),
			Answer: "Limits", Errors: []int{404},
			Summary: "Show the limits on a user",
		},
		{
			Method: "PUT", Path: "/operator/users/{user_id}/limits", Serve: s.operating(s.setLimits(keychain.OnUser, onUser)),
			Body: "Limits", Answer: "Limits", Errors: []int{404},
			Summary:     "Replace the limits on a user",
			Description: "All keys of the user share them. What is left away is without limit.",
		},
		{
			Method: "GET", Path: "/operator/users/{user_id}/keychain-keys", Serve: s.operating(s.keysOf),
			Answer:  "GatewayKeyList",
			Summary: "List the gateway keys of a user",
		},
		{
			Method: "POST", Path: "/operator/users/{user_id}/keychain-keys", Serve: s.operating(s.makeKeyFor),
			Body: "GatewayKeyInput", OptionalBody: true, Answer: "NewGatewayKey", Status: 201, Errors: []int{404, 409},
			Summary: "Make a gateway key for a user", Description: "Its limits are imposed: the user cannot change them.",
		},
		{
			Method: "DELETE", Path: "/operator/users/{user_id}/keychain-keys/{key_id}", Serve: s.operating(s.revokeKeyOf),
			Errors:  []int{404},
			Summary: "Revoke a gateway key of a user",
		},
		{
			Method: "PUT", Path: "/operator/users/{user_id}/keychain-keys/{key_id}/limits",
			Serve: s.operating(s.limitKeyOf(onUser)), Body: "Limits", Answer: "GatewayKey", Errors: []int{404, 409},
			Summary:     "Replace the limits on a gateway key of a user",
			Description: "They are imposed, and shared by the keys that replace it. What is absent or null is without limit. For operators alone.",
		},

		{
			Method: "GET", Path: "/operator/teams", Serve: s.operating(s.teams), Answer: "TeamList",
			Summary: "List the teams", Description: "By name. For operators and auditors.", Query: pageParams,
		},
		{
			Method: "POST", Path: "/operator/teams", Serve: s.operating(s.makeTeam), Body: "TeamInput", Answer: "Team",
			Status: 201, Errors: []int{409},
			Summary: "Make a team",
		},
		{
			Method: "GET", Path: "/operator/teams/{team_id}", Serve: s.ofTeam(s.team), Answer: "TeamDetails",
			Errors:      []int{404},
			Summary:     "Show a team",
			Description: "With the limits on it. For its administrators, too, as all that follows on its members and its spending.",
		},
		{
			Method: "PATCH", Path: "/operator/teams/{team_id}", Serve: s.operating(s.renameTeam), Body: "TeamInput",
			Answer: "TeamDetails", Errors: []int{404, 409},
			Summary: "Rename a team",
		},
		{
			Method: "DELETE", Path: "/operator/teams/{team_id}", Serve: s.operating(s.removeTeam), Errors: []int{404},
			Summary:     "Remove a team",
			Description: "With its limits. Its members stay as users, and its spending in the reports.",
		},
		{
			Method: "PUT", Path: "/operator/teams/{team_id}/limits", Serve: s.operating(s.setLimits(keychain.OnTeam, onTeam)),
			Body: "Limits", Answer: "Limits", Errors: []int{404},
			Summary:     "Replace the limits on a team",
			Description: "All members share them. What is left away is without limit.",
		},
		{
			Method: "GET", Path: "/operator/teams/{team_id}/members", Serve: s.ofTeam(s.members), Answer: "MemberList",
			Errors:  []int{404},
			Summary: "List the members of a team", Description: "By user id.", Query: pageParams,
		},
		{
			Method: "PUT", Path: "/operator/teams/{team_id}/members/{user_id}", Serve: s.ofTeam(s.setMember),
			Body: "MemberInput", OptionalBody: true, Errors: []int{404, 409},
			Summary:     "Add a user to a team",
			Description: "By id or mail address. Or change how they are in it: only operators make default teams. The first team of a user is their default one.",
		},
		{
			Method: "DELETE", Path: "/operator/teams/{team_id}/members/{user_id}", Serve: s.ofTeam(s.removeMember),
			Errors:      []int{404},
			Summary:     "Take a user out of a team",
			Description: "Their keys of that team count for their default team then. Only operators take somebody out of their only team: 403 only_team.",
		},
		{
			Method: "GET", Path: "/operator/teams/{team_id}/keychain-keys", Serve: s.ofTeam(s.teamKeys),
			Answer: "GatewayKeyList", Errors: []int{404},
			Summary: "List the gateway keys of a team", Description: "Those that belong to the team and to no person.",
		},
		{
			Method: "POST", Path: "/operator/teams/{team_id}/keychain-keys", Serve: s.ofTeam(s.makeTeamKey),
			Body: "GatewayKeyInput", OptionalBody: true, Answer: "NewGatewayKey", Status: 201, Errors: []int{404, 409},
			Summary:     "Make a gateway key for a team",
			Description: "It belongs to the team and to no person: it counts for the team, and goes on whoever leaves. For administrators of the team, too.",
		},
		{
			Method: "DELETE", Path: "/operator/teams/{team_id}/keychain-keys/{key_id}", Serve: s.ofTeam(s.revokeTeamKey),
			Errors:  []int{404},
			Summary: "Revoke a gateway key of a team",
		},
		{
			Method: "PUT", Path: "/operator/teams/{team_id}/keychain-keys/{key_id}/limits",
			Serve: s.operating(s.limitKeyOf(onTeam)), Body: "Limits", Answer: "GatewayKey", Errors: []int{404, 409},
			Summary:     "Replace the limits on a gateway key of a team",
			Description: "They are imposed, and shared by the keys that replace it. What is absent or null is without limit. For operators alone.",
		},
		{
			Method: "GET", Path: "/operator/teams/{team_id}/spending", Serve: s.ofTeam(s.spendingOf), Answer: "SpendingList",
			Media:   "text/csv",
			Summary: "Add up what a team spent", Query: spendingParams,
		},

		{
			Method: "GET", Path: "/operator/invitations", Serve: s.operating(s.invitations), Answer: "InvitationList",
			Summary: "List the invitations", Description: "By id, accepted ones too. For operators and auditors.",
			Query: pageParams,
		},
		{
			Method: "POST", Path: "/operator/invitations", Serve: s.operating(s.inviteUser), Body: "InvitationInput",
			Answer: "NewInvitation", Status: 201, Errors: []int{404, 409},
			Summary:     "Invite a person",
			Description: "Whoever signs in by the link is let in, whatever new_users says. It works once; its token is shown only once.",
		},
		{
			Method: "DELETE", Path: "/operator/invitations/{invitation_id}", Serve: s.operating(s.withdraw),
			Errors:  []int{404},
			Summary: "Withdraw an invitation", Description: "Whoever has accepted it stays.",
		},
		{
			Method: "POST", Path: "/operator/invitations/accept", Serve: s.signedIn(s.acceptInvitation),
			Body: "InvitationToken", Answer: "InitResult", Also: []int{201},
			Summary: "Accept an invitation", Description: "For every user, instead of POST /users/init.",
		},

		{
			Method: "GET", Path: "/operator/keychain-keys", Serve: s.operating(s.allKeys), Answer: "HeldKeyList",
			Summary:     "List the gateway keys of all users and teams",
			Description: "Newest first. Their text is never shown again.",
			Query: append([]rest.Param{
				{Name: "q", Description: "Part of the label, or of the id, mail address or name of the user or team.", Schema: `{"type":"string"}`},
				{Name: "revoked", Description: "With those that are revoked.", Schema: `{"type":"boolean","default":false}`},
			}, pageParams...),
		},
		{
			Method: "GET", Path: "/operator/limits", Serve: s.operating(s.limited), Answer: "LimitedList",
			Summary:     "List who has limits, and what is left of their budgets",
			Description: "Those on the organisation, then on teams, users and gateway keys. What was spent in the last second may be missing.",
			Query: append([]rest.Param{{
				Name: "on", Description: "Of one kind alone.",
				Schema: `{"type":"string","enum":["all","organisation","team","team_own","user","key"],"default":"all"}`,
			}}, pageParams...),
		},
		{
			Method: "GET", Path: "/operator/organisation/limits",
			Serve: s.operating(s.limits(keychain.OnOrganisation, organisation)), Answer: "Limits",
			Summary: "Show the limits on all users together",
		},
		{
			Method: "PUT", Path: "/operator/organisation/limits",
			Serve: s.operating(s.setLimits(keychain.OnOrganisation, organisation)), Body: "Limits", Answer: "Limits",
			Summary: "Replace the limits on all users together",
		},
		{
			Method: "GET", Path: "/operator/spending", Serve: s.operating(s.spending), Answer: "SpendingList",
			Media:       "text/csv",
			Summary:     "Add up what all users spent",
			Description: "The most money first. What was used in the last second may be missing.", Query: spendingParams,
		},
		{
			Method: "GET", Path: "/operator/alerts", Serve: s.operating(s.listAlerts), Answer: "AlertList",
			Summary:     "List the alerts",
			Description: "Newest first, with who was told, and whether it got there. Kept for 180 days; those of budgets in total stay.",
			Query:       auditParams,
		},
		{
			Method: "POST", Path: "/operator/alerts/test", Serve: s.operating(s.testAlerts), Errors: []int{409},
			Summary:     "Send an alert of no consequence",
			Description: "To the addresses and webhooks of the option alerts. 409 alerts_off without it.",
		},
		{
			Method: "GET", Path: "/operator/audit", Serve: s.operating(s.audit), Answer: "AuditList",
			Summary: "List who changed what", Description: "Users, teams and limits, newest first.", Query: auditParams,
		},
	}...)
}
