package administration

import (
	"slices"

	"github.com/tollgate-gateway/tollgate/backends/board/admin"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/resource"
)

// groupAt returns the path of the page of a group.
func groupAt(id int64) string { return "/admin/groups/" + kernel.Itoa(id) }

// groupKinds describes the members of each kind of group.
var groupKinds = map[string]string{
	"guest": "Everybody who is not signed in", "registered": "Every new member", "staff": "Chosen members (built in)",
	"custom": "Chosen members",
}

// groupList is the list of groups.
var groupList = resource.List[*Call, admin.GroupRow]{
	Path: "/admin/groups", Head: listHead("Groups", "New group", "/admin/groups/new"),
	Nouns: [2]string{"group", "groups"},
	Columns: []resource.Column[admin.GroupRow]{
		{Label: "Name", Show: func(g admin.GroupRow) resource.Cell { return resource.Link(groupAt(g.ID), g.Name) }},
		{Label: "Contains", Show: func(g admin.GroupRow) resource.Cell {
			return resource.Text(groupKinds[g.Kind])
		}},
		{Label: "Edits within", Show: func(g admin.GroupRow) resource.Cell {
			return resource.Text(pages.Plural(g.EditWindow, "minute", "minutes")).If(g.EditWindow != 0)
		}},
		{Label: "Limit", Show: func(g admin.GroupRow) resource.Cell {
			return resource.Text(pages.Plural(g.PostsPerDay, "post", "posts") + " a day").If(g.PostsPerDay != 0)
		}},
		{Label: "Members", Show: func(g admin.GroupRow) resource.Cell {
			return resource.Link("/admin/members"+query("group", kernel.Itoa(g.ID)), "Members").If(g.Kind != "guest")
		}},
	},
	Rows: resource.Whole(func(c *Call) ([]admin.GroupRow, error) { return c.Admin.Groups(c.Context(), c.Actor) }),
}

// group holds the values of the form for a group.
type group struct {
	admin.GroupRow
	allow, restrict []string // names of rights and of restrictions
}

// groupForm is the form for a new or an existing group.
var groupForm = resource.Form[*Call, group]{
	Path: "/admin/groups/{groupId}", New: "/admin/groups/new",
	Head: formHead("New group", "Groups", "/admin/groups"),
	About: func(_ *Call, g *group, h *resource.Head) error {
		if g.ID != 0 {
			h.Title = "Group " + g.GroupRow.Name
			h.Links = []resource.Target{{Label: "Members", Path: "/admin/members" + query("group", kernel.Itoa(g.ID))}}
		}
		return nil
	},
	Load: func(c *Call) (*group, error) {
		row := admin.GroupRow{Kind: "custom", GroupSpec: admin.GroupSpec{EditWindow: 1440}}
		if !c.isNew("groupId") {
			list, err := c.Admin.Groups(c.Context(), c.Actor)
			if row, err = resource.One(list, err, func(g admin.GroupRow) bool { return g.ID == c.ID("groupId") }); err != nil {
				return nil, err
			}
		}
		return &group{row, rightNames(row.Allow, admin.Rights()), rightNames(row.Restrict, admin.Restrictions())}, nil
	},
	Version: func(g *group) string { return g.Tag() },
	Fields: []resource.Field[*Call, group]{
		{
			Name: "name", Label: "Name", Required: true, Max: 40, Text: func(g *group) *string { return &g.GroupRow.Name },
			Hide: func(_ *Call, g *group) bool { return g.Kind != "custom" },
		},
		{
			Name: "allow", Label: "May", List: func(g *group) *[]string { return &g.allow },
			Help:    "These apply to the whole board; a forum can allow or deny everything that is not under Board.",
			Options: func(*Call, *group) ([]resource.Choice, error) { return rightChoices(admin.Rights(), false), nil },
		},
		{
			Name: "restrict", Section: "Limits", Label: "Approval", List: func(g *group) *[]string { return &g.restrict },
			Help:    "For a member of several groups, these apply only if all of the groups have them.",
			Options: func(*Call, *group) ([]resource.Choice, error) { return rightChoices(admin.Restrictions(), false), nil },
		},
		{
			Name: "edit_window", Label: "Minutes in which own posts can be edited", Help: "0: no limit.", Required: true,
			Max: 5_256_000, Number: func(g *group) *int64 { return &g.EditWindow },
		},
		{
			Name: "posts_per_day", Label: "Posts a day", Help: "0: no limit.", Required: true, Max: 100_000,
			Number: func(g *group) *int64 { return &g.PostsPerDay },
		},
	},
	Save: func(c *Call, g *group) (resource.Done, error) {
		spec := g.GroupSpec
		spec.Allow, spec.Restrict = maskOf(g.allow, admin.Rights()), maskOf(g.restrict, admin.Restrictions())
		if g.ID == 0 {
			_, err := c.Admin.CreateGroup(c.Context(), c.Actor, spec)
			return resource.Done{To: "/admin/groups", Notice: "The group is created. Add members to it on their pages."}, err
		}
		err := c.Admin.EditGroup(c.Context(), c.Actor, g.ID, spec, c.Match())
		return resource.Done{To: "/admin/groups", Notice: "Saved. The rights count from now on."}, err
	},
	Actions: []resource.Action[*Call]{{
		Name: "delete", Label: "Delete", Done: "deleted", Danger: true, To: "/admin/groups",
		Confirm: "Its rights in all forums are deleted too.",
		Do:      func(c *Call, _ string) error { return c.Admin.DeleteGroup(c.Context(), c.Actor, c.ID("groupId")) },
	}},
	Name:   func(g *group) string { return g.GroupRow.Name },
	Offers: func(_ *Call, g *group, _ string) bool { return g.ID != 0 && g.Kind == "custom" },
}

// moderatorList is the list of the moderators of forums.
var moderatorList = resource.List[*Call, admin.Moderator]{
	Path: "/admin/moderators", Head: listHead("Moderators", "New moderator", "/admin/moderators/new"),
	Nouns: [2]string{"moderator", "moderators"},
	Empty: "No forum has moderators of its own. The members of the group “moderators” moderate all forums.",
	Columns: []resource.Column[admin.Moderator]{
		{Label: "Who", Show: func(m admin.Moderator) resource.Cell {
			link := resource.Link("/admin/moderators/"+kernel.Itoa(m.ID), m.Name())
			return resource.Cells(link, resource.Tag("group", "").If(m.Group != 0))
		}},
		{Label: "Forum", Show: func(m admin.Moderator) resource.Cell {
			return resource.Cells(resource.Text(m.ForumTitle), resource.Note("and below").If(m.Cascades))
		}},
	},
	Filters: []resource.Input[*Call]{{Name: "forum", Label: "Forum", Options: func(c *Call) ([]resource.Choice, error) {
		return c.forumChoices(resource.All(), "forum", "category")
	}}},
	Rows: func(c *Call, q resource.Query) ([]admin.Moderator, string, error) {
		list, err := c.Admin.Moderators(c.Context(), c.Actor)
		forum := q.Number("forum")
		return slices.DeleteFunc(list, func(m admin.Moderator) bool { return forum != 0 && m.Forum != forum }), "", err
	},
	ID:   func(m admin.Moderator) string { return kernel.Itoa(m.ID) },
	Name: func(m admin.Moderator) string { return m.Name() + " in " + m.ForumTitle },
	Actions: []resource.Action[*Call]{{
		Name: "remove", Label: "Remove", Done: "removed", Danger: true, Each: true,
		Do: withID((*admin.Service).RemoveModerator, ""),
	}},
}

// moderator holds the values of the form for a moderator.
type moderator struct {
	admin.Moderator
	names []string // of rights
}

// isOldModerator reports whether the form is for an existing moderator, of which only the rights can be changed.
func isOldModerator(_ *Call, m *moderator) bool { return m.ID != 0 }

// moderatorForm is the form for a new or an existing moderator of a forum.
var moderatorForm = resource.Form[*Call, moderator]{
	Path: "/admin/moderators/{moderatorId}", New: "/admin/moderators/new",
	Head: formHead("New moderator", "Moderators", "/admin/moderators"),
	About: func(_ *Call, m *moderator, h *resource.Head) error {
		if m.ID != 0 {
			h.Title = "Rights of " + m.Name() + " in " + m.ForumTitle
		}
		return nil
	},
	Load: func(c *Call) (*moderator, error) {
		m := admin.Moderator{Forum: c.Query.Number("forum"), Rights: admin.ModeratorMask, Cascades: true}
		if !c.isNew("moderatorId") {
			list, err := c.Admin.Moderators(c.Context(), c.Actor)
			m, err = resource.One(list, err, func(m admin.Moderator) bool { return m.ID == c.ID("moderatorId") })
			if err != nil {
				return nil, err
			}
		}
		return &moderator{m, rightNames(m.Rights, admin.Rights())}, c.Query.Err()
	},
	Fields: []resource.Field[*Call, moderator]{
		{
			Name: "user", Label: "Member", Max: 40, Hide: isOldModerator,
			Text: func(m *moderator) *string { return &m.UserName },
		},
		{
			Name: "group", Label: "Or group", Hide: isOldModerator, Number: func(m *moderator) *int64 { return &m.Group },
			Options: func(c *Call, _ *moderator) ([]resource.Choice, error) {
				return c.groupChoices([]resource.Choice{{Value: "0", Label: "None: the member"}})
			},
		},
		{
			Name: "forum", Label: "Forum", Hide: isOldModerator, Number: func(m *moderator) *int64 { return &m.Forum },
			Options: func(c *Call, _ *moderator) ([]resource.Choice, error) {
				return c.forumChoices(nil, "forum", "category")
			},
		},
		{Name: "cascades", Label: "In the forums below too", Flag: func(m *moderator) *bool { return &m.Cascades }},
		{
			Name: "rights", Label: "May", List: func(m *moderator) *[]string { return &m.names },
			Options: func(*Call, *moderator) ([]resource.Choice, error) { return rightChoices(admin.Rights(), true), nil },
		},
	},
	Save: func(c *Call, m *moderator) (resource.Done, error) {
		set := m.Moderator
		set.Rights = maskOf(m.names, admin.Rights())
		return resource.Done{To: "/admin/moderators"}, c.Admin.SetModerator(c.Context(), c.Actor, set)
	},
}
