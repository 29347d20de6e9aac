package web

import (
	"github.com/tollgate-gateway/tollgate/backends/board/admin"
	"github.com/tollgate-gateway/tollgate/internal/pages"
)

func (c *call) groups() error { return c.showGroups(nil) }

func (c *call) showGroups(refusal error) error {
	list, err := c.service.Groups(c.Context(), c.actor)
	if err != nil {
		return err
	}
	return c.ShowForm(refusal, "admin_groups", "Groups", list)
}

// groupForm is a group to be made or changed.
type groupForm struct {
	ID   int64 // 0: a new one
	Kind string
	pages.Edit
	admin.GroupSpec
	Sections     []rightSection
	Restrictions []rightBox
	Members      []admin.MemberRow
	More         bool
}

// membersShown is how many members the page of a group lists.
const membersShown = 30

func (c *call) showGroup(refusal error, id int64, kind string, spec admin.GroupSpec) error {
	form := groupForm{ID: id, Kind: kind, GroupSpec: spec, Sections: sections(spec.Allow, false)}
	for _, right := range admin.Restrictions() {
		form.Restrictions = append(form.Restrictions, rightBox{right, spec.Restrict.Has(right.Mask())})
	}
	if id != 0 && kind != "guest" && kind != "registered" {
		list, err := c.service.GroupMembers(c.Context(), c.actor, id, membersShown+1)
		if err != nil {
			return err
		}
		form.More = len(list) > membersShown
		form.Members = list[:min(len(list), membersShown)]
	}
	title := "New group"
	if id != 0 {
		title = "Group"
		form.Edit, refusal = c.Edit(refusal, func() (string, any, error) {
			g, err := c.group()
			return g.Tag(), g.Differences(&spec), err
		})
	}
	return c.ShowForm(refusal, "admin_group", title, form)
}

func (c *call) newGroup() error {
	return c.showGroup(nil, 0, "custom", admin.GroupSpec{EditWindow: 1440})
}

func (c *call) groupSpec() (admin.GroupSpec, error) {
	return admin.GroupSpec{
		Name: c.Form.Text("name"), Allow: c.mask("allow", admin.Rights()), Restrict: c.mask("restrict", admin.Restrictions()),
		EditWindow: c.Form.Number("edit_window"), PostsPerDay: c.Form.Number("posts_per_day"),
	}, c.Form.Err()
}

func (c *call) createGroup() error {
	spec, err := c.groupSpec()
	if err != nil {
		return err
	}
	if _, err := c.service.CreateGroup(c.Context(), c.actor, spec); err != nil {
		return c.showGroup(err, 0, "custom", spec)
	}
	return c.Redirect("/admin/groups", "The group is made. Members come into it on their own pages.")
}

// group reads the group of the path.
func (c *call) group() (g admin.GroupRow, err error) {
	id := c.ID("groupId")
	list, err := c.service.Groups(c.Context(), c.actor)
	if err != nil {
		return g, err
	}
	for _, g := range list {
		if g.ID == id {
			return g, nil
		}
	}
	return g, pages.NotFound()
}

func (c *call) editGroup() error {
	g, err := c.group()
	if err != nil {
		return err
	}
	return c.showGroup(nil, g.ID, g.Kind, g.GroupSpec)
}

func (c *call) saveGroup() error {
	g, err := c.group()
	if err != nil {
		return err
	}
	spec, err := c.groupSpec()
	if err != nil {
		return err
	}
	if g.Kind != "custom" {
		spec.Name = g.Name
	}
	if err := c.service.EditGroup(c.Context(), c.actor, g.ID, spec, c.Match()); err != nil {
		return c.showGroup(err, g.ID, g.Kind, spec)
	}
	return c.Redirect("/admin/groups", "Saved. The rights count from now on.")
}

func (c *call) deleteGroup() error {
	if err := c.service.DeleteGroup(c.Context(), c.actor, c.ID("groupId")); err != nil {
		return c.showGroups(err)
	}
	return c.Redirect("/admin/groups", "The group is deleted.")
}

// moderatorsPage are the moderators, and one to be made or changed.
type moderatorsPage struct {
	List     []admin.Moderator
	Forums   pages.Select
	Groups   pages.Select
	Sections []rightSection
	admin.Moderator
}

func (c *call) moderators() error {
	m := admin.Moderator{Forum: c.Query.Number("forum"), Rights: admin.ModeratorMask, Cascades: true}
	edit := c.Query.Number("edit")
	if err := c.Query.Err(); err != nil {
		return err
	}
	return c.showModerators(nil, m, edit)
}

func (c *call) showModerators(refusal error, m admin.Moderator, edit int64) error {
	list, err := c.service.Moderators(c.Context(), c.actor)
	if err != nil {
		return err
	}
	for _, found := range list {
		if found.ID == edit {
			m = found
		}
	}
	tree, err := c.service.ForumTree(c.Context(), c.actor)
	if err != nil {
		return err
	}
	groups, err := c.service.Groups(c.Context(), c.actor)
	if err != nil {
		return err
	}
	page := moderatorsPage{List: list, Moderator: m, Sections: sections(m.Rights, true)}
	page.Groups.Add("0", "None: the member", m.Group == 0)
	for _, f := range tree {
		if f.Type != "link" {
			page.Forums.Add(itoa(f.ID), indented(f.Title, f.Depth), f.ID == m.Forum)
		}
	}
	for _, g := range groups {
		if g.Kind != "guest" {
			page.Groups.Add(itoa(g.ID), g.Name, g.ID == m.Group)
		}
	}
	return c.ShowForm(refusal, "admin_moderators", "Moderators", page)
}

func (c *call) setModerator() error {
	m := admin.Moderator{
		UserName: c.Form.Text("user"), Forum: c.Form.Number("forum"), Group: c.Form.Number("group"),
		Rights: c.mask("rights", admin.Rights()), Cascades: c.Form.Flag("cascades"),
	}
	if err := c.Form.Err(); err != nil {
		return err
	}
	if err := c.service.SetModerator(c.Context(), c.actor, m); err != nil {
		return c.showModerators(err, m, 0)
	}
	return c.Redirect("/admin/moderators", "Saved.")
}

func (c *call) removeModerator() error {
	return c.Then(c.service.RemoveModerator(c.Context(), c.actor, c.ID("moderatorId")), "/admin/moderators", "The moderator's rights are gone.")
}
