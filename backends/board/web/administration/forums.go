package administration

import (
	"strconv"

	"github.com/tollgate-gateway/tollgate/backends/board/admin"
	"github.com/tollgate-gateway/tollgate/backends/board/kernel"
	"github.com/tollgate-gateway/tollgate/internal/pages"
	"github.com/tollgate-gateway/tollgate/internal/resource"
)

// adminForums lists all forums.
func (c *Call) adminForums() error {
	list, err := c.Admin.ForumTree(c.Context(), c.Actor)
	if err != nil {
		return err
	}
	return c.Show("admin_forums", "Forums", list)
}

// shiftForum moves a forum up or down among its siblings.
func (c *Call) shiftForum() error {
	id := c.ID("forumId")
	step := 1
	if c.Form.Text("to") == "up" {
		step = -1
	}
	return c.Then(c.Admin.ShiftForum(c.Context(), c.Actor, id, step), "/admin/forums#forum-"+kernel.Itoa(id), "")
}

// forum holds the values of the form for a forum.
type forum struct {
	ID int64 // 0 for a new forum
	admin.ForumSpec
	flood string // empty for the value of the board
}

// forumForm is the form for a new or an existing forum.
var forumForm = resource.Form[*Call, forum]{
	Path: "/admin/forums/{forumId}", New: "/admin/forums/new",
	Head: formHead("New forum", "Forums", "/admin/forums"),
	About: func(_ *Call, f *forum, h *resource.Head) error {
		if f.ID != 0 {
			h.Title = "Edit " + f.Title
			h.Links = []resource.Target{
				{Label: "Rights", Path: "/admin/forums/" + kernel.Itoa(f.ID) + "/rights"},
				{Label: "Moderators", Path: "/admin/moderators" + query("forum", kernel.Itoa(f.ID))},
			}
		}
		return nil
	},
	Load: func(c *Call) (*forum, error) {
		if c.isNew("forumId") {
			f := &forum{ForumSpec: admin.NewForumSpec()}
			f.Parent = c.Query.Number("parent")
			return f, c.Query.Err()
		}
		row, err := c.Admin.ForumByID(c.Context(), c.Actor, c.ID("forumId"))
		if err != nil {
			return nil, err
		}
		f := &forum{ID: row.ID, ForumSpec: row.ForumSpec}
		if f.FloodSeconds != nil {
			f.flood = kernel.Itoa(*f.FloodSeconds)
		}
		return f, nil
	},
	Version: func(f *forum) string { return f.Tag() },
	Fields: []resource.Field[*Call, forum]{
		{Name: "title", Label: "Title", Required: true, Max: 100, Text: func(f *forum) *string { return &f.Title }},
		{
			Name: "type", Label: "Kind", Text: func(f *forum) *string { return &f.Type },
			Options: resource.Fixed[*Call, *forum](
				resource.Choice{Value: "forum", Label: "Forum: holds threads"},
				resource.Choice{Value: "category", Label: "Category: holds forums"},
				resource.Choice{Value: "link", Label: "Link: points to another page"}),
		},
		{Name: "parent", Label: "In", Number: func(f *forum) *int64 { return &f.Parent }, Options: (*Call).parentChoices},
		{
			Name: "description", Label: "Description", Lines: 2, Max: 500,
			Text: func(f *forum) *string { return &f.Description },
		},
		{
			Name: "link_url", Label: "Address (of a link)", Type: "url", Max: 2000,
			Text: func(f *forum) *string { return &f.LinkURL },
		},
		{
			Name: "open", Section: "Rules", Label: "Open for new threads and replies",
			Flag: func(f *forum) *bool { return &f.Open },
		},
		{Name: "allow_threads", Label: "Takes new threads", Flag: func(f *forum) *bool { return &f.AllowThreads }},
		{Name: "allow_replies", Label: "Takes replies", Flag: func(f *forum) *bool { return &f.AllowReplies }},
		{
			Name: "moderate_threads", Label: "New threads wait for approval",
			Flag: func(f *forum) *bool { return &f.ModerateThreads },
		},
		{Name: "moderate_posts", Label: "Replies wait for approval", Flag: func(f *forum) *bool { return &f.ModeratePosts }},
		{Name: "requires_prefix", Label: "Threads need a prefix", Flag: func(f *forum) *bool { return &f.RequiresPrefix }},
		{
			Name: "answers", Label: "A reply can be marked as the answer",
			Flag: func(f *forum) *bool { return &f.Answers },
		},
		{
			Name: "flood_seconds", Label: "Seconds between posts of a member", Help: "Empty: as on the board; 0: no limit.",
			Type: "number", Max: 86_400, Text: func(f *forum) *string { return &f.flood },
		},
		{
			Name: "min_words", Label: "Minimum words of a post", Help: "Empty: one.", Max: 10_000,
			Number: func(f *forum) *int64 { return &f.MinWords },
		},
		{
			Name: "max_words", Label: "Maximum words of a post", Help: "Empty: as on the board.", Max: 10_000,
			Number: func(f *forum) *int64 { return &f.MaxWords },
		},
	},
	Save: func(c *Call, f *forum) (resource.Done, error) {
		spec := f.ForumSpec
		spec.FloodSeconds = nil
		if f.flood != "" {
			seconds, err := strconv.ParseInt(f.flood, 10, 64)
			if err != nil {
				seconds = -1 // which the service refuses with an error for the field
			}
			spec.FloodSeconds = &seconds
		}
		if f.ID != 0 {
			err := c.Admin.EditForum(c.Context(), c.Actor, f.ID, spec, c.Match())
			return resource.Done{To: "/admin/forums#forum-" + kernel.Itoa(f.ID)}, err
		}
		id, err := c.Admin.CreateForum(c.Context(), c.Actor, spec)
		notice := "The forum is created. It inherits the rights of its parent; change them under Rights."
		return resource.Done{To: "/admin/forums#forum-" + kernel.Itoa(id), Notice: notice}, err
	},
	Actions: []resource.Action[*Call]{{
		Name: "delete", Label: "Delete", Done: "deleted", Danger: true, To: "/admin/forums",
		Confirm: "This cannot be undone. Only an empty forum can be deleted: move its threads and the forums in it first.",
		Do:      func(c *Call, _ string) error { return c.Admin.DeleteForum(c.Context(), c.Actor, c.ID("forumId")) },
	}},
	Name:   func(f *forum) string { return f.Title },
	Offers: func(_ *Call, f *forum, _ string) bool { return f.ID != 0 },
}

// parentChoices returns the possible parents of a forum: all forums and categories except the forum itself and those
// below it.
func (c *Call) parentChoices(moved *forum) ([]resource.Choice, error) {
	tree, err := c.Admin.ForumTree(c.Context(), c.Actor)
	list := []resource.Choice{{Value: "0", Label: "None: at the top"}}
	skipBelow := int64(-1) // the depth of the forum while the loop skips the forums below it, and otherwise -1
	for _, f := range tree {
		if skipBelow >= 0 && f.Depth > skipBelow {
			continue
		}
		skipBelow = -1
		switch {
		case f.ID == moved.ID:
			skipBelow = f.Depth
		case f.Type != "link":
			list = append(list, resource.Choice{Value: kernel.Itoa(f.ID), Label: Indented(f.Title, f.Depth)})
		}
	}
	return list, err
}

// matrixPage shows the rights of groups in a forum as a table, with a row for each right and a column for each group.
type matrixPage struct {
	pages.Edit
	Forum    admin.ForumRow
	Groups   pages.Select // to show only one group
	Only     int64        // the only group that is shown; 0 for all
	Columns  []admin.MatrixColumn
	Sections []matrixSection
}

// matrixSection is a section of the table.
type matrixSection struct {
	Title string
	Rows  []matrixRow
}

// matrixRow is the row of a right.
type matrixRow struct {
	admin.Right
	Cells []matrixCell // one for each column
}

// matrixCell is the field for the right of a group.
type matrixCell struct {
	Field     string // the name of the field; see MatrixField
	Group     string // the name of the group
	State     string // allow, deny, or empty if the right is inherited
	Inherited bool   // whether the group has the right if it is inherited
}

// MatrixField returns the name of a form field on the page with the rights of groups in a forum. The field decides
// whether the group with this id is allowed or denied a right there, or inherits it. bit is the number of the right's
// bit in a rights.Mask, starting at 0.
func MatrixField(group int64, bit int) string {
	return "g" + kernel.Itoa(group) + "b" + strconv.Itoa(bit)
}

// matrix shows the rights of groups in a forum.
func (c *Call) matrix() error {
	id := c.ID("forumId")
	groupID := c.Query.Number("group")
	if err := c.Query.Err(); err != nil {
		return err
	}
	return c.showMatrix(nil, id, groupID, nil)
}

// showMatrix shows the rights of the group with the id groupID in the forum with this id. If groupID is 0, it shows
// the rights of all groups in that forum. refusal is the reason why a sent form was refused, or nil. overrides holds
// the values of that form by group, which are then shown instead of the stored values.
func (c *Call) showMatrix(refusal error, id, groupID int64, overrides map[int64]admin.Override) error {
	f, err := c.Admin.ForumByID(c.Context(), c.Actor, id)
	if err != nil {
		return err
	}
	columns, err := c.Admin.Matrix(c.Context(), c.Actor, id)
	if err != nil {
		return err
	}
	page := matrixPage{Forum: f, Only: groupID}
	page.Groups.Add("0", "All groups", groupID == 0)
	stored := make(map[int64]admin.Override)
	var differences []admin.Difference // between the stored values and those in overrides
	for _, column := range columns {
		page.Groups.Add(kernel.Itoa(column.Group.ID), column.Group.Name, column.Group.ID == groupID)
		if groupID != 0 && column.Group.ID != groupID {
			continue
		}
		stored[column.Group.ID] = column.Override
		if override, ok := overrides[column.Group.ID]; ok {
			differences = append(differences, overrideDifferences(column, override)...)
			column.Override = override
		}
		page.Columns = append(page.Columns, column)
	}
	page.Edit, refusal = c.Edit(refusal, func() (string, any, error) {
		return admin.OverridesTag(stored), differences, nil
	})
	page.Sections = matrixSections(page.Columns)
	return c.ShowForm(refusal, "admin_rights", "Rights in "+f.Title, page)
}

// matrixSections returns the sections of the table with these columns. The rights of a section follow each other in the
// list of all rights.
func matrixSections(columns []admin.MatrixColumn) (sections []matrixSection) {
	for _, right := range admin.Rights() {
		if !right.InForums {
			continue
		}
		if n := len(sections); n == 0 || sections[n-1].Title != right.Section {
			sections = append(sections, matrixSection{Title: right.Section})
		}
		row := matrixRow{Right: right}
		for _, column := range columns {
			cell := matrixCell{
				Field: MatrixField(column.Group.ID, right.Bit), Group: column.Group.Name,
				Inherited: column.Inherited.Has(right.Mask()),
			}
			switch {
			case column.Deny.Has(right.Mask()):
				cell.State = "deny"
			case column.Allow.Has(right.Mask()):
				cell.State = "allow"
			}
			row.Cells = append(row.Cells, cell)
		}
		section := &sections[len(sections)-1]
		section.Rows = append(section.Rows, row)
	}
	return sections
}

// overrideDifferences lists the differences between the stored rights of a group and override, which the form has sent.
func overrideDifferences(column admin.MatrixColumn, override admin.Override) (list []admin.Difference) {
	for _, right := range admin.Rights() {
		if oldWord, newWord := column.Word(right.Mask()), override.Word(right.Mask()); oldWord != newWord {
			list = append(list, admin.Difference{What: right.Label + ": " + column.Group.Name, From: oldWord, To: newWord})
		}
	}
	return list
}

// saveMatrix saves the rights of the groups on the form.
func (c *Call) saveMatrix() error {
	id := c.ID("forumId")
	groups, err := c.Admin.Groups(c.Context(), c.Actor)
	if err != nil {
		return err
	}
	overrides := make(map[int64]admin.Override)
	for _, g := range groups {
		var override admin.Override
		onForm := false // a group that was created in the meantime is not on the form
		for _, right := range admin.Rights() {
			field := MatrixField(g.ID, right.Bit)
			onForm = onForm || c.Form.Has(field)
			switch c.Form.Text(field) {
			case "allow":
				override.Allow |= right.Mask()
			case "deny":
				override.Deny |= right.Mask()
			}
		}
		if onForm {
			overrides[g.ID] = override
		}
	}
	groupID := c.Form.Number("group")
	if err := c.Form.Err(); err != nil {
		return err
	}
	if err := c.Admin.SetOverrides(c.Context(), c.Actor, id, overrides, c.Match()); err != nil {
		return c.showMatrix(err, id, groupID, overrides)
	}
	location := "/admin/forums/" + kernel.Itoa(id) + "/rights"
	if groupID != 0 {
		location += "?group=" + kernel.Itoa(groupID)
	}
	return c.Redirect(location, "Saved. The rights count from now on.")
}
