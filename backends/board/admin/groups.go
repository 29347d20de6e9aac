package admin

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/backends/board/rights"
	"github.com/tollgate-gateway/tollgate/internal/rest"
	"github.com/tollgate-gateway/tollgate/internal/store"
	"github.com/tollgate-gateway/tollgate/internal/text"
)

// Limits of groups: their number, the edit window, and the number of posts per day.
const (
	maxGroups = 200
	maxWindow = 5_256_000 // minutes, which are ten years
	maxPerDay = 100_000
)

// GroupSpec holds the properties of a group that administrators can set.
type GroupSpec struct {
	Name        string
	Allow       rights.Mask // the rights of the group's members
	Restrict    rights.Mask // the restrictions of its members, see Restrictions
	EditWindow  int64       // the number of minutes after posting in which members may edit a post; 0 means no limit
	PostsPerDay int64       // 0 means no limit
}

// Tag returns the entity tag of the properties.
func (g *GroupSpec) Tag() string { return kernel.Tag(g) }

// yes returns "yes" for true and "no" for false.
func yes(value bool) string {
	if value {
		return "yes"
	}
	return "no"
}

// GroupRow is a group in the views of administrators.
type GroupRow struct {
	ID   int64
	Kind string // guest, registered, staff or custom
	GroupSpec
}

// Groups lists the groups by their ids.
func (s *Service) Groups(ctx context.Context, a *rights.Actor) ([]GroupRow, error) {
	return rights.ReadAsAdministratorValue(ctx, s.rights, a, func(c store.Conn) ([]GroupRow, error) {
		return store.List(c, scanGroup, groupRows+" ORDER BY id")
	})
}

// groupRows begins the statements whose rows scanGroup reads.
const groupRows = "SELECT id, kind, name, allow_mask, restrict_mask, edit_window_min, max_posts_per_day" +
	" FROM board_groups"

func scanGroup(r store.Row) (g GroupRow, err error) {
	return g, r.Scan(&g.ID, &g.Kind, &g.Name, &g.Allow, &g.Restrict, &g.EditWindow, &g.PostsPerDay)
}

// groupByID returns the group with this id, or NotFound.
func groupByID(c store.Conn, id int64) (GroupRow, error) {
	g, err := scanGroup(c.Row(groupRows+" WHERE id = ?", id))
	return g, kernel.OrNotFound(err)
}

// check normalizes the name. It returns an error of Invalid for the first property whose value a group of this kind
// cannot have.
func (g *GroupSpec) check(kind string) error {
	g.Name = text.Normal(g.Name)
	switch n := utf8.RuneCountInString(g.Name); {
	case n < 1 || n > 40 || !text.IsLine(g.Name):
		return kernel.Invalid("name", "length", "the name of a group must have 1 to 40 characters and no line break")
	case g.Allow&^rights.Everything != 0 || g.Restrict&^restrictions != 0:
		return kernel.Invalid("allow", "unknown", "there is no such right")
	case (kind == "guest" || kind == "registered") && g.Allow.Has(rights.AdminAccess):
		return kernel.Invalid("allow", "admin.access", "the groups of all guests and of all registered members cannot"+
			" be groups of administrators")
	case g.EditWindow < 0 || g.EditWindow > maxWindow:
		return kernel.Invalid("edit_window", "range", "the edit window must be 0 to "+kernel.Itoa(maxWindow)+" minutes")
	case g.PostsPerDay < 0 || g.PostsPerDay > maxPerDay:
		return kernel.Invalid("posts_per_day", "range", "the posts per day must be 0 to "+kernel.Itoa(maxPerDay))
	}
	return nil
}

// CreateGroup adds a custom group and returns its id.
func (s *Service) CreateGroup(ctx context.Context, a *rights.Actor, spec GroupSpec) (int64, error) {
	return rights.AdministerValue(ctx, s.rights, a, func(c store.Conn) (id int64, err error) {
		var count int
		if err := c.Row("SELECT count(*) FROM board_groups").Scan(&count); err != nil {
			return id, err
		}
		if count >= maxGroups {
			return id, kernel.Conflict("a board has at most " + kernel.Itoa(maxGroups) + " groups")
		}
		if err := spec.check("custom"); err != nil {
			return id, err
		}
		if err := checkGroupNameFree(c, spec.Name, 0); err != nil {
			return id, err
		}
		err = c.Row("INSERT INTO board_groups (name, kind, allow_mask, restrict_mask, edit_window_min, max_posts_per_day)"+
			" VALUES (?, 'custom', ?, ?, ?, ?) RETURNING id",
			spec.Name, spec.Allow, spec.Restrict, spec.EditWindow, spec.PostsPerDay).Scan(&id)
		if err != nil {
			return id, err
		}
		return id, s.rights.LogChange(c, a, "group.create", kernel.ForLog(spec.Name)+": "+maskChange(0, spec.Allow))
	})
}

// checkGroupNameFree returns an error of Invalid if a group has this name. The group with the id excludedID is ignored.
func checkGroupNameFree(c store.Conn, name string, excludedID int64) error {
	var n int
	if err := c.Row("SELECT count(*) FROM board_groups WHERE name = ? AND id <> ?",
		name, excludedID).Scan(&n); err != nil {
		return err
	}
	if n > 0 {
		return kernel.Invalid("name", "taken", "another group has this name")
	}
	return nil
}

// EditGroup changes the properties of a group. The built-in groups keep their names. match is checked against the Tag
// of the current properties, unless nothing changes.
func (s *Service) EditGroup(ctx context.Context, a *rights.Actor, id int64, spec GroupSpec, match rest.Match) error {
	return s.rights.Administer(ctx, a, func(c store.Conn) error {
		g, err := groupByID(c, id)
		if err != nil {
			return err
		}
		if err := spec.check(g.Kind); err != nil {
			return err
		}
		if g.Kind != "custom" && spec.Name != g.Name {
			return kernel.Invalid("name", "built_in", "the built-in group "+g.Name+" cannot be renamed")
		}
		if err := checkGroupNameFree(c, spec.Name, id); err != nil {
			return err
		}
		if g.GroupSpec == spec {
			return nil
		}
		if err := match.Check(g.Tag()); err != nil {
			return err
		}
		_, err = c.Exec("UPDATE board_groups"+
			" SET name = ?, allow_mask = ?, restrict_mask = ?, edit_window_min = ?, max_posts_per_day = ? WHERE id = ?",
			spec.Name, spec.Allow, spec.Restrict, spec.EditWindow, spec.PostsPerDay, id)
		if err != nil {
			return err
		}
		return s.rights.LogChange(c, a, "group.edit", g.changes(&spec))
	})
}

// changes describes the differences between g and newSpec for the moderation log.
func (g *GroupRow) changes(newSpec *GroupSpec) string {
	differences := Differences([]Difference{
		{"name", g.Name, newSpec.Name},
		{"restrictions", kernel.Itoa(g.Restrict.Int64()), kernel.Itoa(newSpec.Restrict.Int64())},
		{"edit window", kernel.Itoa(g.EditWindow), kernel.Itoa(newSpec.EditWindow)},
		{"posts a day", kernel.Itoa(g.PostsPerDay), kernel.Itoa(newSpec.PostsPerDay)},
	})
	changes := make([]string, 0, 2+len(differences))
	changes = append(changes, kernel.ForLog(g.Name)+":", maskChange(g.Allow, newSpec.Allow))
	for _, d := range differences {
		changes = append(changes, d.What+": "+kernel.ForLog(d.From)+" → "+kernel.ForLog(d.To))
	}
	return strings.Join(slices.DeleteFunc(changes, func(change string) bool { return change == "" }), " ")
}

// maskChange lists the names of the rights that newMask adds to oldMask (+) and removes from it (-).
func maskChange(oldMask, newMask rights.Mask) string {
	var list []string
	for _, right := range Rights() {
		switch inOld, inNew := oldMask.Has(right.Mask()), newMask.Has(right.Mask()); {
		case !inOld && inNew:
			list = append(list, "+"+right.Name)
		case inOld && !inNew:
			list = append(list, "-"+right.Name)
		}
	}
	return strings.Join(list, " ")
}

// DeleteGroup deletes a custom group with its memberships, overrides and moderator entries. It returns a conflict error
// for a built-in group.
func (s *Service) DeleteGroup(ctx context.Context, a *rights.Actor, id int64) error {
	return s.rights.Administer(ctx, a, func(c store.Conn) error {
		g, err := groupByID(c, id)
		if err != nil {
			return err
		}
		if g.Kind != "custom" {
			return kernel.Conflict("the built-in group " + g.Name + " cannot be deleted")
		}
		if err := kernel.DeleteFrom(c, "group_id", id, "board_user_groups", "board_forum_overrides",
			"board_forum_moderators"); err != nil {
			return err
		}
		if _, err := c.Exec("DELETE FROM board_groups WHERE id = ?", id); err != nil {
			return err
		}
		return s.rights.LogChange(c, a, "group.delete", kernel.ForLog(g.Name))
	})
}
