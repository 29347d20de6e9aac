package admin

import (
	"context"
	"maps"
	"strings"

	"github.com/tollgate-gateway/tollgate/backends/board/content"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/internal/store"
)

// Override holds the rights that a forum allows a group, and the rights that it denies the group. Rights in neither
// mask are inherited.
type Override struct{ Allow, Deny rights.Mask }

// MatrixColumn holds the rights of one group in a forum.
type MatrixColumn struct {
	Group     GroupRow
	Inherited rights.Mask // from the group and the forums above
	Override
}

// Matrix returns the rights of every group in a forum.
func (s *Service) Matrix(ctx context.Context, a *rights.Actor, forum int64) (columns []MatrixColumn, err error) {
	groups, err := s.Groups(ctx, a)
	if err != nil {
		return nil, err
	}
	access := a.Rights.Access
	f := access.Forums[forum]
	if f == nil {
		return nil, kernel.NotFound()
	}
	for _, g := range groups {
		o := access.Overrides[[2]int64{forum, g.ID}]
		columns = append(columns, MatrixColumn{
			g, access.Inherited(f.Parent, g.ID, g.Allow),
			Override{o.Set &^ o.Clear, o.Clear},
		})
	}
	return columns, nil
}

// OverridesTag returns the entity tag of a forum's overrides, which are keyed by group id.
func OverridesTag(overrides map[int64]Override) string { return kernel.Tag(overrides) }

// SetOverrides sets a forum's overrides for some groups, by group id. The overrides of other groups do not change.
// match is checked against the OverridesTag of these groups' current overrides, unless nothing changes.
func (s *Service) SetOverrides(
	ctx context.Context, a *rights.Actor, forum int64, overrides map[int64]Override, match rest.Match,
) error {
	return s.rights.Administer(ctx, a, func(c store.Conn) error {
		if _, err := content.ReadForum(c, forum); err != nil {
			return err
		}
		current := make(map[int64]Override)
		for group := range overrides {
			var err error
			if current[group], err = overrideOf(c, forum, group); err != nil {
				return err
			}
		}
		if !maps.Equal(current, overrides) {
			if err := match.Check(OverridesTag(current)); err != nil {
				return err
			}
		}
		for group, o := range overrides {
			if err := s.setOverride(c, a, forum, group, o); err != nil {
				return err
			}
		}
		return nil
	})
}

// overrideOf returns the override of a forum for a group, or the zero Override if the group has no override there.
func overrideOf(c store.Conn, forum, group int64) (o Override, err error) {
	err = c.Row("SELECT set_mask, clear_mask FROM board_forum_overrides WHERE forum_id = ? AND group_id = ?",
		forum, group).Scan(&o.Allow, &o.Deny)
	o.Allow &^= o.Deny // a right in both masks is denied
	return o, kernel.IgnoreNoRows(err)
}

// setOverride sets the override of a forum for a group and records the change in the log. If the override is the same
// already, it does nothing.
func (s *Service) setOverride(c store.Conn, a *rights.Actor, forum, group int64, override Override) error {
	g, err := groupByID(c, group)
	if err != nil {
		return err
	}
	if (override.Allow|override.Deny)&^forumMask != 0 || override.Allow&override.Deny != 0 {
		return kernel.Invalid("allow", "unknown", "a right cannot be set for a forum, or is both allowed and denied")
	}
	current, err := overrideOf(c, forum, group)
	switch {
	case err != nil:
		return err
	case current == override:
		return nil
	case override == Override{}:
		_, err = c.Exec("DELETE FROM board_forum_overrides WHERE forum_id = ? AND group_id = ?", forum, group)
	default:
		_, err = c.Exec("INSERT INTO board_forum_overrides (forum_id, group_id, set_mask, clear_mask) VALUES (?, ?, ?, ?)"+
			" ON CONFLICT (forum_id, group_id) DO UPDATE SET set_mask = excluded.set_mask, clear_mask = excluded.clear_mask",
			forum, group, override.Allow, override.Deny)
	}
	if err != nil {
		return err
	}
	detail := []string{kernel.ForLog(g.Name) + ":"}
	for _, right := range Rights() {
		oldWord, newWord := current.Word(right.Mask()), override.Word(right.Mask())
		if oldWord != newWord {
			detail = append(detail, right.Name+" "+newWord)
		}
	}
	return s.rights.LogForumChange(c, a, "forum.rights", forum, strings.Join(detail, " "))
}

// Word returns "denied", "allowed" or "inherited" for a right.
func (o Override) Word(right rights.Mask) string {
	switch {
	case o.Deny.Has(right):
		return "denied"
	case o.Allow.Has(right):
		return "allowed"
	}
	return "inherited"
}
