package keychain

import (
	"context"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/gateway/schema"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// maxGroups bounds the groups of one person that are looked at.
const maxGroups = 500

// teamsByRule returns the ids of the teams that rules put somebody into.
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
	found, err := store.List(c, schema.Text, `SELECT id FROM gateway_teams WHERE name IN (?`+strings.Repeat(", ?", len(names)-1)+`) ORDER BY name`, names...)
	return append(ids, found...), err
}

// followRules puts a user into the teams of the rules. Where complete, it takes them out of those
// that rules have put them into and no rule does any more. Memberships that people have made stay.
func (s *Service) followRules(ctx context.Context, c store.Conn, userID string, ids []string, complete bool) (changed bool, err error) {
	now := make(map[string]bool) // whether a rule has made the membership, by the id of the team
	if _, err = store.List(c, func(row store.Row) (id string, err error) {
		var byRule bool
		err = row.Scan(&id, &byRule)
		now[id] = byRule
		return id, err
	}, `SELECT team_id, by_rule FROM gateway_team_members WHERE user_id = ?`, userID); err != nil {
		return false, err
	}
	ctx = ActedBy(ctx, SignInRule)
	wanted := make(map[string]bool)
	for _, id := range ids {
		wanted[id] = true
		if _, ok := now[id]; ok {
			continue
		}
		changed, now[id] = true, true
		if err := s.insertMember(c, id, userID, false); err != nil {
			return false, err
		}
		if _, err := c.Exec(`UPDATE gateway_team_members SET by_rule = 1 WHERE team_id = ? AND user_id = ?`, id, userID); err != nil {
			return false, err
		}
		if err := s.audit(ctx, c, "member.set", id, map[string]any{"user_id": userID}); err != nil {
			return false, err
		}
	}
	for id, byRule := range now {
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
