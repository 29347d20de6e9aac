package keychain

import (
	"context"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// maxGroups is the number of groups of one person that are looked at.
const maxGroups = 500

// teamsByRule returns the ids of the teams that rules put a person into. Teams named by the operator's rules are
// created if they do not exist.
func (s *Service) teamsByRule(c store.Conn, who *Arrival) (ids []string, err error) {
	for _, name := range who.Teams {
		id, err := s.ensureTeam(c, name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	names := make([]any, 0, min(len(who.Groups), maxGroups))
	for _, name := range who.Groups[:min(len(who.Groups), maxGroups)] {
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

// followRules puts a user into the teams with the given ids. If complete is set it also removes the user from teams
// that an earlier rule has put them into and no rule does any more. Memberships that people have made stay. It reports
// whether it changed a membership.
func (s *Service) followRules(
	ctx context.Context, c store.Conn, userID string, ids []string, complete bool,
) (changed bool, err error) {
	memberships := make(map[string]bool) // by the id of the team: whether a rule has made the membership
	if _, err = store.List(c, func(row store.Row) (id string, err error) {
		var byRule bool
		err = row.Scan(&id, &byRule)
		memberships[id] = byRule
		return id, err
	}, `SELECT team_id, by_rule FROM gateway_team_members WHERE user_id = ?`, userID); err != nil {
		return false, err
	}
	ctx = ActedBy(ctx, SignInRule)
	wanted := make(map[string]bool)
	for _, id := range ids {
		wanted[id] = true
		if _, ok := memberships[id]; ok {
			continue
		}
		changed, memberships[id] = true, true
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
		if !complete || !byRule || wanted[id] {
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
