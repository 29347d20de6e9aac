package board

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxGroups     = 200
	maxModerators = 2000
	maxWindow     = 5_256_000 // minutes: ten years
	maxPerDay     = 100_000
)

// GroupSpec is what administrators set of a group.
type GroupSpec struct {
	Name        string
	Allow       Mask
	Restrict    Mask
	EditWindow  int64 // minutes; 0: no limit
	PostsPerDay int64 // 0: no limit
}

// GroupRow is a group as administrators see it.
type GroupRow struct {
	ID   int64
	Kind string // guest, registered, staff or custom
	GroupSpec
}

// Groups lists the groups.
func (s *Service) Groups(ctx context.Context, a *Actor) (list []GroupRow, err error) {
	err = s.survey(ctx, a, func(c conn) error {
		list = nil
		return c.all(groupRows+" ORDER BY id", nil, func(r row) error {
			g, err := scanGroup(r)
			list = append(list, g)
			return err
		})
	})
	return list, err
}

const groupRows = "SELECT id, kind, name, allow_mask, restrict_mask, edit_window_min, max_posts_per_day FROM board_groups"

func scanGroup(r row) (g GroupRow, err error) {
	return g, r.Scan(&g.ID, &g.Kind, &g.Name, &g.Allow, &g.Restrict, &g.EditWindow, &g.PostsPerDay)
}

func groupByID(c conn, id int64) (GroupRow, error) {
	g, err := scanGroup(c.row(groupRows+" WHERE id = ?", id))
	return g, none(err)
}

func (g *GroupSpec) check(kind string) error {
	g.Name = normal(g.Name)
	switch n := utf8.RuneCountInString(g.Name); {
	case n < 1 || n > 40 || strings.ContainsFunc(g.Name, forbiddenInLine):
		return invalid("name", "length", "a group has a name of 1 to 40 characters, in one line")
	case g.Allow&^everything != 0 || g.Restrict&^restrictions != 0:
		return invalid("allow", "unknown", "there is no such right")
	case (kind == "guest" || kind == "registered") && g.Allow.Has(AdminAccess):
		return invalid("allow", "admin.access", "not everybody can be an administrator")
	case g.EditWindow < 0 || g.EditWindow > maxWindow:
		return invalid("edit_window", "range", "an edit window has 0 to "+itoa(maxWindow)+" minutes")
	case g.PostsPerDay < 0 || g.PostsPerDay > maxPerDay:
		return invalid("posts_per_day", "range", "0 to "+itoa(maxPerDay)+" posts a day")
	}
	return nil
}

// CreateGroup adds a group of the board's own.
func (s *Service) CreateGroup(ctx context.Context, a *Actor, spec GroupSpec) (id int64, err error) {
	err = s.administer(ctx, a, func(c conn) error {
		var count int
		if err := c.row("SELECT count(*) FROM board_groups").Scan(&count); err != nil {
			return err
		}
		if count >= maxGroups {
			return conflict("a board has at most " + itoa(maxGroups) + " groups")
		}
		if err := spec.check("custom"); err != nil {
			return err
		}
		if err := groupNameFree(c, spec.Name, 0); err != nil {
			return err
		}
		err := c.row("INSERT INTO board_groups (name, kind, allow_mask, restrict_mask, edit_window_min, max_posts_per_day) VALUES (?, 'custom', ?, ?, ?, ?) RETURNING id",
			spec.Name, int64(spec.Allow), int64(spec.Restrict), spec.EditWindow, spec.PostsPerDay).Scan(&id) //nolint:gosec // 42 bits
		if err != nil {
			return err
		}
		return s.note(c, a, "group.create", brief(spec.Name)+": "+maskChange(0, spec.Allow))
	})
	return id, err
}

func groupNameFree(c conn, name string, but int64) error {
	var taken int
	if err := c.row("SELECT count(*) FROM board_groups WHERE name = ? AND id <> ?", name, but).Scan(&taken); err != nil {
		return err
	}
	if taken > 0 {
		return invalid("name", "taken", "there is a group of that name")
	}
	return nil
}

// EditGroup changes a group. Those that a board begins with keep their names.
func (s *Service) EditGroup(ctx context.Context, a *Actor, id int64, spec GroupSpec) error {
	return s.administer(ctx, a, func(c conn) error {
		g, err := groupByID(c, id)
		if err != nil {
			return err
		}
		if err := spec.check(g.Kind); err != nil {
			return err
		}
		if g.Kind != "custom" && spec.Name != g.Name {
			return invalid("name", "built_in", "the group "+g.Name+" keeps its name")
		}
		if err := groupNameFree(c, spec.Name, id); err != nil {
			return err
		}
		_, err = c.exec("UPDATE board_groups SET name = ?, allow_mask = ?, restrict_mask = ?, edit_window_min = ?, max_posts_per_day = ? WHERE id = ?",
			spec.Name, int64(spec.Allow), int64(spec.Restrict), spec.EditWindow, spec.PostsPerDay, id) //nolint:gosec // 42 bits
		if err != nil || g.GroupSpec == spec {
			return err
		}
		return s.note(c, a, "group.edit", g.changes(&spec))
	})
}

// changes tells what differs, for the log.
func (g *GroupRow) changes(to *GroupSpec) string {
	changes := []string{brief(g.Name) + ":", maskChange(g.Allow, to.Allow)}
	for _, v := range [][3]string{
		{"name", g.Name, to.Name}, {"restrictions", itoa(int64(g.Restrict)), itoa(int64(to.Restrict))}, //nolint:gosec // three bits
		{"edit window", itoa(g.EditWindow), itoa(to.EditWindow)}, {"posts a day", itoa(g.PostsPerDay), itoa(to.PostsPerDay)},
	} {
		if v[1] != v[2] {
			changes = append(changes, v[0]+": "+brief(v[1])+" → "+brief(v[2]))
		}
	}
	return strings.Join(slices.DeleteFunc(changes, func(change string) bool { return change == "" }), " ")
}

// maskChange names the rights that came and went.
func maskChange(from, to Mask) string {
	var list []string
	for _, right := range Rights() {
		switch before, after := from.Has(right.Mask()), to.Has(right.Mask()); {
		case !before && after:
			list = append(list, "+"+right.Name)
		case before && !after:
			list = append(list, "-"+right.Name)
		}
	}
	return strings.Join(list, " ")
}

// DeleteGroup removes a group of the board's own, with all that refers to it.
func (s *Service) DeleteGroup(ctx context.Context, a *Actor, id int64) error {
	return s.administer(ctx, a, func(c conn) error {
		g, err := groupByID(c, id)
		if err != nil {
			return err
		}
		if g.Kind != "custom" {
			return conflict("the group " + g.Name + " belongs to every board")
		}
		for _, table := range []string{"board_user_groups", "board_forum_overrides", "board_forum_moderators"} {
			if _, err := c.exec("DELETE FROM "+table+" WHERE group_id = ?", id); err != nil {
				return err
			}
		}
		if _, err := c.exec("DELETE FROM board_groups WHERE id = ?", id); err != nil {
			return err
		}
		return s.note(c, a, "group.delete", brief(g.Name))
	})
}

// GroupMembers lists members of a group by id, at most limit.
func (s *Service) GroupMembers(ctx context.Context, a *Actor, group int64, limit int) (list []MemberRow, err error) {
	err = s.survey(ctx, a, func(c conn) error {
		list = nil
		return c.all("SELECT "+memberColumns+" FROM board_user_groups m JOIN board_users u ON u.id = m.user_id WHERE m.group_id = ? ORDER BY m.user_id LIMIT ?",
			[]any{group, limit}, func(r row) error {
				m, err := scanMember(r)
				list = append(list, m)
				return err
			})
	})
	return list, err
}

// Override is what a forum says of a group's rights: those of neither mask are
// inherited.
type Override struct{ Allow, Deny Mask }

// MatrixColumn are the rights of a group in a forum.
type MatrixColumn struct {
	Group     GroupRow
	Inherited Mask // from the group and the forums above
	Override
}

// Matrix are the rights of every group in a forum.
func (s *Service) Matrix(ctx context.Context, a *Actor, forum int64) (columns []MatrixColumn, err error) {
	groups, err := s.Groups(ctx, a)
	if err != nil {
		return nil, err
	}
	access, err := s.currentAccess(ctx)
	if err != nil {
		return nil, err
	}
	n := access.forums[forum]
	if n == nil {
		return nil, notFound()
	}
	for _, g := range groups {
		o := access.overrides[[2]int64{forum, g.ID}]
		columns = append(columns, MatrixColumn{g, access.inherited(n.parent, g.ID, g.Allow), Override{o.set &^ o.clear, o.clear}})
	}
	return columns, nil
}

// inherited is the mask of a group in a forum.
func (a *access) inherited(forum, group int64, mask Mask) Mask {
	var line []int64
	for id := forum; id != 0 && a.forums[id] != nil; id = a.forums[id].parent {
		line = append(line, id)
	}
	for _, id := range slices.Backward(line) {
		if o, ok := a.overrides[[2]int64{id, group}]; ok {
			mask = (mask | o.set) &^ o.clear
		}
	}
	return mask
}

// SetOverrides sets what a forum says of the rights of groups; the groups that
// are not in by keep what they have.
func (s *Service) SetOverrides(ctx context.Context, a *Actor, forum int64, by map[int64]Override) error {
	return s.administer(ctx, a, func(c conn) error {
		if _, err := readForum(c, forum); err != nil {
			return err
		}
		for group, o := range by {
			if err := s.setOverride(c, a, forum, group, o); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *Service) setOverride(c conn, a *Actor, forum, group int64, to Override) error {
	g, err := groupByID(c, group)
	if err != nil {
		return err
	}
	if (to.Allow|to.Deny)&^forumMask != 0 || to.Allow&to.Deny != 0 {
		return invalid("allow", "unknown", "a forum can allow or deny each right of forums, and no other")
	}
	var from Override
	err = c.row("SELECT set_mask, clear_mask FROM board_forum_overrides WHERE forum_id = ? AND group_id = ?", forum, group).Scan(&from.Allow, &from.Deny)
	switch {
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return err
	case from == to:
		return nil
	case to == Override{}:
		_, err = c.exec("DELETE FROM board_forum_overrides WHERE forum_id = ? AND group_id = ?", forum, group)
	default:
		_, err = c.exec("INSERT INTO board_forum_overrides (forum_id, group_id, set_mask, clear_mask) VALUES (?, ?, ?, ?)"+
			" ON CONFLICT (forum_id, group_id) DO UPDATE SET set_mask = excluded.set_mask, clear_mask = excluded.clear_mask", forum, group, int64(to.Allow), int64(to.Deny)) //nolint:gosec // 42 bits
	}
	if err != nil {
		return err
	}
	detail := []string{brief(g.Name) + ":"}
	for _, right := range Rights() {
		before, after := from.word(right.Mask()), to.word(right.Mask())
		if before != after {
			detail = append(detail, right.Name+" "+after)
		}
	}
	return s.noteIn(c, a, "forum.rights", forum, strings.Join(detail, " "))
}

// word is what the override says of a right.
func (o Override) word(right Mask) string {
	switch {
	case o.Deny.Has(right):
		return "denied"
	case o.Allow.Has(right):
		return "allowed"
	}
	return "inherited"
}

// Moderator gives a member or a group rights in a forum.
type Moderator struct {
	ID         int64
	Forum      int64
	ForumTitle string
	User       int64 // 0: a group
	UserName   string
	Group      int64 // 0: a member
	GroupName  string
	Rights     Mask
	Cascades   bool // in the forums below too
}

// Name is whose rights they are.
func (m Moderator) Name() string {
	if m.User != 0 {
		return m.UserName
	}
	return m.GroupName
}

// ModeratorMask are the rights that a form of a new moderator begins with.
const ModeratorMask = moderatorMask &^ registeredMask & forumMask

// Moderators lists the moderators of all forums.
func (s *Service) Moderators(ctx context.Context, a *Actor) (list []Moderator, err error) {
	err = s.survey(ctx, a, func(c conn) error {
		list = nil
		return c.all(moderatorRows+" ORDER BY f.path, m.id", nil, func(r row) error {
			m, err := scanModerator(r)
			list = append(list, m)
			return err
		})
	})
	return list, err
}

const moderatorRows = "SELECT m.id, m.forum_id, f.title, COALESCE(m.user_id, 0), COALESCE(u.username, ''), COALESCE(m.group_id, 0), COALESCE(g.name, ''), m.rights_mask, m.cascades" +
	" FROM board_forum_moderators m JOIN board_forums f ON f.id = m.forum_id LEFT JOIN board_users u ON u.id = m.user_id LEFT JOIN board_groups g ON g.id = m.group_id"

func scanModerator(r row) (m Moderator, err error) {
	return m, r.Scan(&m.ID, &m.Forum, &m.ForumTitle, &m.User, &m.UserName, &m.Group, &m.GroupName, &m.Rights, &m.Cascades)
}

// SetModerator gives a member, by name, or a group rights in a forum; who has
// some there gets these instead.
func (s *Service) SetModerator(ctx context.Context, a *Actor, m Moderator) error {
	return s.administer(ctx, a, func(c conn) error {
		f, err := readForum(c, m.Forum)
		if notFoundErr(err) {
			return invalid("forum", "unknown", "there is no such forum")
		}
		if err != nil {
			return err
		}
		if err := m.find(c); err != nil {
			return err
		}
		if m.Rights == 0 || m.Rights&^forumMask != 0 {
			return invalid("rights", "unknown", "a moderator needs at least one of the rights of forums")
		}
		if _, err := c.exec("DELETE FROM board_forum_moderators WHERE forum_id = ? AND COALESCE(user_id, 0) = ? AND COALESCE(group_id, 0) = ?", f.id, m.User, m.Group); err != nil {
			return err
		}
		var count int
		if err := c.row("SELECT count(*) FROM board_forum_moderators").Scan(&count); err != nil {
			return err
		}
		if count >= maxModerators {
			return conflict("a board has at most " + itoa(maxModerators) + " entries of moderators; use groups")
		}
		_, err = c.exec("INSERT INTO board_forum_moderators (forum_id, user_id, group_id, rights_mask, cascades) VALUES (?, ?, ?, ?, ?)",
			f.id, null(m.User), null(m.Group), int64(m.Rights), boolean(m.Cascades)) //nolint:gosec // 42 bits
		if err != nil {
			return err
		}
		detail := brief(m.Name()) + ": " + maskChange(0, m.Rights)
		if m.Cascades {
			detail += ", in the forums below too"
		}
		return s.noteIn(c, a, "moderator.set", f.id, detail)
	})
}

// find looks up whom it is about.
func (m *Moderator) find(c conn) (err error) {
	switch {
	case (m.UserName == "") == (m.Group == 0):
		return invalid("user", "required", "give the name of a member, or choose a group")
	case m.Group != 0:
		m.User = 0
		err = c.row("SELECT name FROM board_groups WHERE id = ? AND kind <> 'guest'", m.Group).Scan(&m.GroupName)
	default:
		err = c.row("SELECT id, username FROM board_users WHERE username_key = ? AND state <> 'deleted'", fold(m.UserName)).Scan(&m.User, &m.UserName)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return invalid("user", "unknown", "there is no such member or group")
	}
	return err
}

// RemoveModerator takes the rights of an entry away.
func (s *Service) RemoveModerator(ctx context.Context, a *Actor, id int64) error {
	return s.administer(ctx, a, func(c conn) error {
		m, err := scanModerator(c.row(moderatorRows+" WHERE m.id = ?", id))
		if err != nil {
			return none(err)
		}
		if _, err := c.exec("DELETE FROM board_forum_moderators WHERE id = ?", id); err != nil {
			return err
		}
		return s.noteIn(c, a, "moderator.remove", m.Forum, brief(m.Name()))
	})
}
