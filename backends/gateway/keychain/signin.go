package keychain

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/apierror"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// NewUsers is the policy for people who sign in for the first time.
type NewUsers struct {
	// Refuse makes SignIn refuse unknown users.
	Refuse bool
	// Approve makes unknown users wait until ResumeUser lets them in.
	Approve bool
	// Limits are imposed on new users.
	Limits Limits
	// Team is the name of the team to which new users are added unless a rule or an invitation names another team. The
	// team is created if it does not exist. If Team is empty, new users are added to no team.
	Team string
}

// Check returns an error if the team or the limits are invalid.
func (n *NewUsers) Check() error {
	if n.Team != "" {
		if err := CheckTeamName(n.Team); err != nil {
			return err
		}
	}
	return n.Limits.check(time.Time{})
}

// Arrival describes a person who signs in.
type Arrival struct {
	// ID is the person's id according to the identity provider.
	ID string
	Profile
	// Teams are the names of the teams to which the operator's rules add the person. Teams that do not exist are
	// created.
	Teams []string
	// Groups are the names of the person's groups at the identity provider. The person is added to the existing teams
	// with these names. Only the first maxGroups names count.
	Groups []string
	// Complete reports that the identity provider stated all claims that the rules use. Only then are people removed from
	// teams. A missing claim does not mean that a rule no longer applies, since the token may have been requested without
	// the claim.
	Complete bool
	// Invitation is the token of the invitation that the person brings, or empty.
	Invitation string
	// Operator reports that the configuration makes the person an operator. They are always let in, since they could
	// add themselves.
	Operator bool

	now time.Time // of the sign-in
}

// SignIn works like InitUser, but first decides whether a new user is let in. The user is let in if they bring an
// invitation, if a rule adds them to a team, or if they are an operator. Otherwise the policy decides. The policy's
// limits are imposed on new users in any case. For a known user SignIn updates the profile and the memberships that
// rules have made.
//
// Its errors are 403 new_users_refused, user_waiting, user_suspended, team_account, invitation_invalid and
// invitation_for_another.
func (s *Service) SignIn(
	ctx context.Context, arrival Arrival, policy NewUsers,
) (user User, key *NewKey, created bool, err error) {
	return s.letIn(ctx, &arrival, &policy)
}

// InitUser creates the user with the id if they do not exist, and a primary gateway key for a user who never had a key.
// created reports whether it created a key. If it is false, key is nil; otherwise key has the key's text.
func (s *Service) InitUser(ctx context.Context, id string) (user User, key *NewKey, created bool, err error) {
	return s.letIn(ctx, &Arrival{ID: id}, new(NewUsers))
}

// letIn implements SignIn in one transaction. created is true, and key is set, when the user is let in for the first
// time. For a user who had to wait that is the first sign-in after the approval.
func (s *Service) letIn(
	ctx context.Context, arrival *Arrival, policy *NewUsers,
) (user User, key *NewKey, created bool, err error) {
	if err := CheckUserID(arrival.ID); err != nil {
		return User{}, nil, false, err
	}
	var changed bool
	arrival.now = s.now().UTC().Truncate(time.Microsecond)
	err = s.db.Write(ctx, func(c store.Conn) (err error) {
		if user, changed, err = s.arrive(ctx, c, arrival, policy); err != nil {
			return err
		}
		if changed {
			if err := s.notify(c, "limits", "changed"); err != nil {
				return err
			}
		}
		if user.WaitingSince == nil {
			key, err = s.firstKey(c, user.ID, arrival.now) // nil if the user had a key before
		}
		return err
	})
	if err != nil {
		return User{}, nil, false, err
	}
	if changed {
		s.forgetAll()
	}
	if user.WaitingSince != nil {
		return User{}, nil, false, errWaiting(user.ID)
	}
	return user, key, key != nil, nil
}

// arrive creates or updates the row and the memberships of a person who signs in. changed reports whether cached
// identities and accounts may be stale.
func (s *Service) arrive(
	ctx context.Context, c store.Conn, arrival *Arrival, policy *NewUsers,
) (user User, changed bool, err error) {
	// The rules and the invitation come first, since they decide whether a new user is let in.
	ruleTeams, err := s.teamsByRule(c, arrival)
	if err != nil {
		return User{}, false, err
	}
	invitation, err := s.acceptInvitation(ctx, c, arrival)
	if err != nil {
		return User{}, false, err
	}
	welcome := len(ruleTeams) > 0 || invitation != nil || arrival.Operator
	user, isNew, err := s.ensureUser(c, arrival, policy, welcome)
	if err != nil {
		return User{}, false, err
	}
	if welcome && user.WaitingSince != nil { // an operator, a rule or an invitation approves the user
		changed = true
		if err := s.endWaiting(c, user.ID); err != nil {
			return User{}, false, err
		}
	}
	if err := s.updateProfile(c, &user, arrival.Profile); err != nil {
		return User{}, false, err
	}
	teamsChanged, err := s.followRules(ctx, c, user.ID, ruleTeams, arrival.Complete)
	if err != nil {
		return User{}, false, err
	}
	changed = changed || teamsChanged
	if invitation != nil && invitation.TeamID != "" {
		changed = true
		if err := s.setMember(c, invitation.TeamID, user.ID, Membership{Role: invitation.Role}); err != nil {
			return User{}, false, err
		}
	}
	if isNew && policy.Team != "" && len(ruleTeams) == 0 && (invitation == nil || invitation.TeamID == "") {
		if err := s.joinByName(c, policy.Team, user.ID); err != nil {
			return User{}, false, err
		}
	}
	user, err = s.userByID(c, user.ID) // with all these changes
	return user, changed, err
}

// ensureUser reads the user. A user who does not exist is created if welcome is set or the policy allows it. If the
// policy requires approval, a new user who is not welcome waits for it. welcome reports that the person is an operator
// or is let in by a rule or an invitation. ensureUser returns an error with status 403 for users who may not sign in.
func (s *Service) ensureUser(
	c store.Conn, arrival *Arrival, policy *NewUsers, welcome bool,
) (user User, isNew bool, err error) {
	id := arrival.ID
	user, err = s.userByID(c, id)
	if err == nil {
		standing := user.standing()
		standing.waiting = false // letIn refuses users who still wait
		return user, false, standing.refusal(id)
	}
	if !isNotFound(err) {
		return User{}, false, err
	}
	switch _, err := s.teamByID(c, id); {
	case err == nil:
		return User{}, false, errTeamAccount(id)
	case !isNotFound(err):
		return User{}, false, err
	}
	if policy.Refuse && !welcome {
		return User{}, false, apierror.New(http.StatusForbidden, "new_users_refused",
			"this gateway does not accept new users: ask its operator to add the user %q", id)
	}
	user = User{ID: id, CreatedAt: arrival.now}
	if policy.Approve && !welcome {
		user.WaitingSince = &user.CreatedAt
	}
	created, err := s.insertUser(c, &user)
	if err != nil {
		return User{}, false, err
	}
	if !created { // a concurrent request has just created the user, who therefore cannot be suspended
		user, err = s.userByID(c, id)
		return user, false, err
	}
	// Limits that were imposed on this id before the user existed are kept.
	imposed, err := s.imposedLimits(c, OnUser, id)
	if err == nil && imposed.empty() {
		err = s.impose(c, OnUser, id, &policy.Limits)
	}
	return user, true, err
}

// firstKey creates the primary key of a user who never had a key. It returns nil for all other users.
func (s *Service) firstKey(c store.Conn, userID string, now time.Time) (*NewKey, error) {
	var hadKey bool
	err := c.Row(`SELECT EXISTS (SELECT 1 FROM gateway_keys WHERE user_id = ?)`, userID).Scan(&hadKey)
	if err != nil || hadKey {
		return nil, err
	}
	created, text, err := s.storePrimaryKey(c, userID, now)
	if err != nil {
		return nil, err
	}
	return &NewKey{GatewayKey: *created, Key: text}, nil
}

// errWaiting returns the error for a user who still needs an operator's approval.
func errWaiting(userID string) error {
	return apierror.New(http.StatusForbidden, "user_waiting",
		"the user %.200q waits for the approval of an operator of this gateway", userID)
}

// maxGroups is the largest number of a person's groups that are used.
const maxGroups = 500

// teamsByRule returns the ids of the teams to which rules add a person. Teams named by the operator's rules are created
// if they do not exist.
func (s *Service) teamsByRule(c store.Conn, arrival *Arrival) (ids []string, err error) {
	for _, name := range arrival.Teams {
		id, err := s.ensureTeam(c, name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	names := make([]any, 0, min(len(arrival.Groups), maxGroups))
	for _, name := range arrival.Groups[:min(len(arrival.Groups), maxGroups)] {
		if schema.StorableID(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ids, nil
	}
	found, err := store.List(c, schema.Text, `SELECT id FROM gateway_teams WHERE name IN (?`+strings.Repeat(", ?",
		len(names)-1)+`) ORDER BY name`, names...)
	return append(ids, found...), err
}

// followRules adds a user to the teams with the given ids. If complete is set, it also removes the user from other
// teams to which a rule has added them. Memberships made by people stay. It reports whether a membership was changed.
func (s *Service) followRules(
	ctx context.Context, c store.Conn, userID string, ids []string, complete bool,
) (changed bool, err error) {
	memberships := make(map[string]bool) // the user's teams by id; true if a rule has made the membership
	if _, err = store.List(c, func(row store.Row) (id string, err error) {
		var byRule bool
		err = row.Scan(&id, &byRule)
		memberships[id] = byRule
		return id, err
	}, `SELECT team_id, by_rule FROM gateway_team_members WHERE user_id = ?`, userID); err != nil {
		return false, err
	}
	ctx = ActedBy(ctx, SignInRule)
	idSet := make(map[string]bool) // the elements of ids
	for _, id := range ids {
		idSet[id] = true
		if _, ok := memberships[id]; ok {
			continue
		}
		changed, memberships[id] = true, true // ids may name a team twice
		if err := s.insertMember(c, id, userID, false); err != nil {
			return false, err
		}
		if _, err := c.Exec(`UPDATE gateway_team_members SET by_rule = 1 WHERE team_id = ? AND user_id = ?`, id,
			userID); err != nil {
			return false, err
		}
		if err := s.audit(ctx, c, "member.set", id, map[string]any{"user_id": userID}); err != nil {
			return false, err
		}
	}
	for id, byRule := range memberships {
		if !complete || !byRule || idSet[id] {
			continue
		}
		changed = true
		if err := s.removeMember(c, id, userID); err != nil {
			return false, err
		}
		if err := s.audit(ctx, c, "member.removed", id, map[string]string{"user_id": userID}); err != nil {
			return false, err
		}
	}
	return changed, nil
}
